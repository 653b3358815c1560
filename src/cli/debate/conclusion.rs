//! Layout of a conclusion: the summary of many documents, answers with documents for and against each, withdrawn
//! answers.

use super::page::{CUT, FAINT, Page, hang};
use super::view::{STRONG, WRONG};
use crate::assess::Verdict;
use crate::assess::verdict::{Stand, Voice, quoted};
use crate::cli::terminal::columns::{printable, shorten, wrap};
use crate::protocol::formats::is_cut_back;
use crate::question::{Conclusion, Conflict};
use crate::transcript::QuestionRecord;
use anstyle::{AnsiColor, Style};

const ACCEPTED: Style = AnsiColor::Green.on_default().bold();

/// Documents named for an answer where there are many; the others are numbers.
const NAMED: usize = 3;
/// Numbers listed after them.
const NUMBERED: usize = 12;
/// Quotes of one answer, unless all are wanted.
const QUOTED: usize = 3;
/// Different answers in the summary.
const SUMMED: usize = 12;
/// Columns of an answer in the summary, and of an opponents' answer in front of their numbers.
const BRIEF: usize = 30;

impl Page {
    /// The conclusion: answers with the documents for and against each, rejected answers, the explanation.
    pub(super) fn conclusion(&self, conclusion: &Conclusion, verdict: &Verdict, record: &QuestionRecord) -> String {
        let heading = format!("\n{STRONG}Conclusion{STRONG:#}  ");
        let mut text = heading + hang("", 12, &wrap(&rounds(conclusion), self.columns - 12)).trim_start() + "\n";
        if self.is_short() && !verdict.tally.is_empty() {
            text.push_str(&(self.entry("  ", 2, &tally(verdict)) + "\n"));
        }
        if let Some(why) = conclusion.without_answer() {
            let style = if conclusion.malformed { WRONG } else { Style::new() };
            text.push_str(&format!("  {style}{why}{style:#}\n\n"));
        }
        verdict.answers.iter().for_each(|answer| text.push_str(&self.answer(answer, record)));
        text.push_str(&self.others(verdict));
        // Reasons for nothing but refused answers are those of the worked example.
        let all_refused = conclusion.answers.is_empty() && !conclusion.refused.is_empty();
        if !all_refused && !conclusion.explanation.trim().is_empty() {
            let cut = if concluded_by_a_cut_reply(record) { CUT } else { "" };
            let why = format!("{}{cut}", conclusion.explanation.trim_end());
            text.push_str(&self.block(&format!("{STRONG}Why{STRONG:#}"), &why));
        }
        // One blank line between the sections that are present.
        text.replace("\n\n\n", "\n\n")
    }

    /// An accepted answer, with the documents for and against it.
    fn answer(&self, answer: &Stand, record: &QuestionRecord) -> String {
        let lines = wrap(&printable(&answer.text), self.columns - 2);
        let mut text: String = lines.iter().map(|line| format!("  {ACCEPTED}{line}{ACCEPTED:#}\n")).collect();
        for mark in &answer.marks {
            let told = wrap(mark.description(), self.columns - 4);
            text.extend(told.iter().map(|line| format!("    {WRONG}{line}{WRONG:#}\n")));
        }
        if let Some(estimate) = &answer.estimate {
            let about = printable(&estimate.about);
            let about = if about.is_empty() { String::new() } else { format!(", about {about}") };
            text.push_str(&self.entry("    probable", 13, &format!("{} %{about}", estimate.percent())));
            let conflict = estimate.conflict.as_ref().map(Conflict::description).unwrap_or_default();
            text.push_str(&self.entry("    conflict", 13, &printable(&conflict)));
        }
        let also: Vec<String> = answer.also.iter().map(|other| printable(other)).collect();
        text.push_str(&self.entry("    also as", 13, &also.join("; ")));
        let mentions: Vec<Voice> = answer.mentions.iter().map(|&document| Voice { document, said: None }).collect();
        if !mentions.is_empty() {
            text.push_str(&self.entry("    mentioned in", 18, &self.voices(&mentions)));
        } else if self.documents() > 0 {
            let supporters = self.voices(&answer.supporters);
            text.push_str(&self.entry("    for", 13, if supporters.is_empty() { "no document" } else { &supporters }));
            let opponents =
                if self.is_short() { self.grouped(&answer.opponents) } else { self.voices(&answer.opponents) };
            text.push_str(&self.entry("    against", 13, &opponents));
        }
        if self.view.quotes {
            text.push_str(&self.quotes(answer, record));
        }
        text + "\n"
    }

    /// The sentences of the documents for an answer that show it.
    fn quotes(&self, answer: &Stand, record: &QuestionRecord) -> String {
        let supporters = answer.supporters.iter().map(|voice| (voice.document, voice.said.as_deref()));
        let shown = supporters.chain(answer.mentions.iter().map(|&document| (document, None)));
        let quote = |(number, said): (usize, Option<&str>)| {
            let document = record.document(number)?;
            let quote = quoted(document, said.unwrap_or(&answer.text), &record.question.text)?;
            let room = if self.view.full { usize::MAX } else { 2 * (self.columns - 13) };
            let lines = wrap(&format!("\"{}\"", shorten(&printable(quote), room - 2)), self.columns - 13);
            let faint: Vec<String> = lines.iter().map(|line| format!("{FAINT}{line}{FAINT:#}")).collect();
            Some(hang(&format!("    {} says", number + 1), 13, &faint))
        };
        shown.filter_map(quote).take(if self.view.full { usize::MAX } else { QUOTED }).collect()
    }

    /// Rejected, refused and abandoned answers, and documents whose agents gave no answer.
    fn others(&self, verdict: &Verdict) -> String {
        let mut text = String::new();
        for answer in &verdict.rejected {
            let percent = answer.estimate.iter().map(|estimate| format!("{} %; ", estimate.percent()));
            let conflict = answer.estimate.iter().filter_map(|estimate| estimate.conflict.as_ref());
            let conflict = conflict.map(|conflict| format!("; {}", conflict.description()));
            let (percent, conflict): (String, String) = (percent.collect(), conflict.collect());
            let supporters = self.voices(&answer.supporters);
            let said = format!("{} ({percent}{supporters}{})", printable(&answer.text), printable(&conflict));
            text.push_str(&self.entry("  not taken up", 16, &said));
        }
        for refused in &verdict.refused {
            let said = format!("{}: it is from the prompt's worked example and in no document", printable(refused));
            text.push_str(&self.entry("  refused", 16, &said));
        }
        for withdrawn in &verdict.withdrawn {
            let (name, said) = (self.name(withdrawn.document, self.columns / 2), printable(&withdrawn.said));
            let told = format!("{} {name} (said {said} in round {})", withdrawn.document + 1, withdrawn.round);
            text.push_str(&self.entry("  withdrawn", 16, &told));
        }
        for answer in &verdict.given_up {
            let voices: Vec<Voice> = answer.documents.iter().map(|&document| Voice { document, said: None }).collect();
            let now = answer.now.as_deref().map_or_else(|| "no answer".to_owned(), printable);
            let told = format!("{} ({}); changed to {now}", printable(&answer.said), self.voices(&voices));
            text.push_str(&self.entry("  given up", 16, &told));
        }
        let numbered = |numbers: &[usize]| {
            self.voices(&numbers.iter().map(|&document| Voice { document, said: None }).collect::<Vec<_>>())
        };
        text.push_str(&self.entry("  knew nothing", 16, &numbered(&verdict.silent)));
        text.push_str(&self.entry("  malformed", 16, &numbered(&verdict.malformed)));
        text
    }

    /// "1 notes.txt, 3 blog.md (1998; council, 1884; weight 0.50)": documents with what they say in other words, their source and
    /// date where they are known, and their source's weight where the run had weights. Of many, the first by name.
    fn voices(&self, voices: &[Voice]) -> String {
        let one = |voice: &Voice| {
            let number = voice.document;
            let weight = self.weights.get(number).map(|weight| format!("weight {weight:.2}"));
            let known = self.known(number, self.columns / 2);
            let said: Vec<String> = voice.said.iter().map(|said| printable(said)).chain(known).chain(weight).collect();
            let said = if said.is_empty() { String::new() } else { format!(" ({})", said.join("; ")) };
            format!("{} {}{said}", number + 1, self.name(number, self.columns / 2))
        };
        let named = if self.is_short() { NAMED.min(voices.len()) } else { voices.len() };
        let names = voices[..named].iter().map(one).collect::<Vec<_>>().join(", ");
        match &voices[named..] {
            [] => names,
            more => format!("{names} and {} more: {}", more.len(), numbers(more)),
        }
    }

    /// "1935 (8): 2, 4, 5; 1968 (2): 7, 9": opponents by the answer that they give, most first.
    fn grouped(&self, voices: &[Voice]) -> String {
        let mut groups: Vec<(String, Vec<Voice>)> = Vec::new();
        for voice in voices {
            let said = voice.said.as_deref().map(printable).unwrap_or_default();
            match groups.iter_mut().find(|(known, _)| *known == said) {
                Some((_, group)) => group.push(voice.clone()),
                None => groups.push((said, vec![voice.clone()])),
            }
        }
        groups.sort_by_key(|(_, group)| std::cmp::Reverse(group.len()));
        let told = groups
            .iter()
            .map(|(said, group)| format!("{} ({}): {}", shorten(said, BRIEF), group.len(), numbers(group)));
        told.collect::<Vec<_>>().join("; ")
    }
}

/// Whether the explanation is that of one reply, which was cut back to a sentence.
fn concluded_by_a_cut_reply(record: &QuestionRecord) -> bool {
    match record.concluding().as_slice() {
        [only] => is_cut_back(only),
        _ => false,
    }
}

/// "1931: 8, 1935: 8, 1968: 2, unknown: 12".
fn tally(verdict: &Verdict) -> String {
    let told = verdict.tally.iter().map(|(answer, count)| format!("{}: {count}", shorten(&printable(answer), BRIEF)));
    let more = verdict.tally.len().saturating_sub(SUMMED);
    let more = (more > 0).then(|| format!("{more} other answers"));
    told.take(SUMMED).chain(more).collect::<Vec<_>>().join(", ")
}

/// Numbers of documents, of many the first.
fn numbers(voices: &[Voice]) -> String {
    let listed = voices.iter().take(NUMBERED).map(|voice| (voice.document + 1).to_string());
    let more = (voices.len() > NUMBERED).then(|| "...".to_owned());
    listed.chain(more).collect::<Vec<_>>().join(", ")
}

/// The number of rounds, and whether the debate converged.
fn rounds(conclusion: &Conclusion) -> String {
    match (conclusion.rounds, conclusion.converged) {
        (1, true) => "after 1 round: the documents agree".to_owned(),
        (rounds, true) => format!("after {rounds} rounds: every agent kept its answer"),
        (rounds, false) if rounds > 1 => format!("after {rounds} rounds"),
        _ => String::new(),
    }
}

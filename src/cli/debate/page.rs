//! Layout of a debate: replies, events, positions of passages, token counts.

use super::view::{STRONG, View, WRONG};
use crate::answers::words::Level;
use crate::cli::terminal::columns::{pad, printable, shorten, shorten_middle, width, wrap};
use crate::generation::Usage;
use crate::protocol::formats::is_cut_back;
use crate::question::{Document, Question};
use crate::transcript::{CallRecord, Event, Parsed};
use crate::units::plural;
use anstyle::{AnsiColor, Style};
use moot_models::kernels::math::exp;

pub(super) const FAINT: Style = Style::new().dimmed();
const CHANGED: Style = AnsiColor::Yellow.on_default();

/// Follows an explanation that was cut back to whole sentences because its reply reached its limit of tokens.
pub(super) const CUT: &str = " [cut]";

/// Documents beyond which each agent has one line and the conclusion begins with a summary.
const MANY: usize = 8;

/// The layout: a column of speakers and a column of replies.
pub(super) struct Page {
    pub(super) columns: usize,
    /// As asked for.
    pub(super) view: View,
    names: Vec<String>,
    /// Source and date of each document.
    known: Vec<Known>,
    /// Columns of the largest document number.
    digits: usize,
    /// Columns of a speaker's name.
    speaker: usize,
    /// Weights of the documents' sources; empty where there are none.
    pub(super) weights: Vec<f64>,
}

impl Page {
    /// A layout for the documents of `question`.
    pub(super) fn new(question: &Question, view: View) -> Self {
        let columns = view.columns.max(40);
        let names: Vec<String> = question.documents.iter().map(|document| printable(&document.name)).collect();
        let widest = names.iter().map(|name| width(name)).max().unwrap_or(0).max("aggregator".len());
        let speaker = widest.min(columns / 3).min(24);
        let known = question.documents.iter().map(Known::of).collect();
        Self { columns, view, digits: names.len().to_string().len(), speaker, names, known, weights: Vec::new() }
    }

    /// Adds a document that was retrieved; its number follows the largest one.
    pub(super) fn add(&mut self, document: &Document) {
        self.names.push(printable(&document.name));
        self.known.push(Known::of(document));
        self.digits = self.names.len().to_string().len();
    }

    /// Whether the documents are too many to show in full: each has one line, and the conclusion names few of them.
    pub(super) fn is_short(&self) -> bool {
        !self.view.full && self.names.len() > MANY
    }

    /// Number of documents.
    pub(super) fn documents(&self) -> usize {
        self.names.len()
    }

    /// First column of the replies.
    fn margin(&self) -> usize {
        2 + self.digits + 1 + self.speaker + 2
    }

    /// One reply: its speaker, the answer, how it changed since `before`, its round where that is over (`late`), and the reason.
    pub(super) fn turn(&self, call: &CallRecord, before: Option<&Parsed>, late: bool) -> String {
        let speaker = match call.document {
            Some(number) => format!("  {:>1$} {2}", number + 1, self.digits, self.name(number, self.speaker)),
            None => format!("  {} {}", " ".repeat(self.digits), shorten(&printable(&call.role), self.speaker)),
        };
        let room = self.columns - self.margin();
        let (answer, style, mut reason) = said(call);
        if call.not_held.is_some() {
            // The note after the answer already says it.
            reason.clear();
        }
        let short = self.is_short() && call.document.is_some();
        let mut lines = if short { vec![shorten(&answer, room)] } else { wrap(&answer, room) };
        let mut used = lines.last().map_or(0, |line| width(line));
        for line in &mut lines {
            *line = format!("{style}{line}{style:#}");
        }
        let known = call.document.filter(|_| !short).and_then(|number| self.known(number, room - 2));
        let known = known.map(|known| (format!("({known})"), FAINT));
        let note = before.map(|before| change(before, &call.parsed));
        let late = late.then(|| (format!("of round {}", call.round), FAINT));
        let not_held =
            call.not_held.as_ref().map(|said| (format!("said {}, not in its document", printable(said)), CHANGED));
        for (note, style) in not_held.into_iter().chain(note).chain(known).chain(late) {
            match lines.last_mut() {
                Some(line) if used + 2 + width(&note) <= room => {
                    line.push_str(&format!("  {style}{note}{style:#}"));
                    used += 2 + width(&note);
                }
                // A short turn is one line: a note that does not fit is left out.
                _ if short => {}
                _ => {
                    for part in wrap(&shorten(&note, 2 * room), room) {
                        used = width(&part);
                        lines.push(format!("{style}{part}{style:#}"));
                    }
                }
            }
        }
        // An unchanged reply's reason is not printed again.
        if !short && !reason.is_empty() && before != Some(&call.parsed) {
            let cut = if is_cut_back(call) { CUT } else { "" };
            let reasons = if self.view.full {
                wrap(&(reason + cut), room)
            } else {
                vec![shorten(&reason, room.saturating_sub(cut.len())) + cut]
            };
            lines.extend(reasons.iter().map(|line| format!("{FAINT}{line}{FAINT:#}")));
        }
        hang(&speaker, self.margin(), &lines)
    }

    /// An event other than a call: one line, or one line a query.
    pub(super) fn event(&self, event: &Event) -> String {
        let room = self.columns - 4;
        let line = |text: String| format!("  {FAINT}{}{FAINT:#}\n", shorten(&printable(&text), room));
        match event {
            Event::Retrieval { queries, hits, .. } => queries
                .iter()
                .zip(hits)
                .map(|(query, hits)| line(format!("search: {query:?}, {}", plural(hits.len(), "passage", "passages"))))
                .collect(),
            Event::Entailment { pairs, by, .. } => {
                line(format!("entailment of {} by {by}", plural(pairs.len(), "pair", "pairs")))
            }
            Event::Embedding { texts, by, .. } => line(format!("{} embedded by {by}", plural(*texts, "text", "texts"))),
            Event::Failure { what, error, .. } => line(format!("{what} failed: {error}")),
            Event::Fallback { what, dropped: Some(_), .. } => line(what.clone()),
            Event::Fallback { what, .. } => line(format!("fallback: {what}")),
        }
    }

    /// Positions of retrieved documents in the corpus.
    pub(super) fn passages(&self, documents: &[&Document]) -> String {
        let mut text = String::new();
        for (number, document) in (1..).zip(documents) {
            let Some(origin) = &document.origin else { continue };
            let positions = std::iter::once(origin).chain(&document.parts).map(ToString::to_string);
            let told = positions.chain(document.source.clone()).chain(document.date.clone());
            let told: Vec<String> = told.map(|part| printable(&part)).collect();
            let digits = self.digits;
            let margin = 2 + digits + 1;
            let label = format!("  {number:>digits$}");
            text.push_str(&hang(&label, margin, &wrap(&told.join(", "), self.columns - margin)));
            text.push_str(&copies(document, margin, self.columns));
        }
        if text.is_empty() { text } else { format!("\n{STRONG}Passages{STRONG:#}\n{text}") }
    }

    /// A heading and one wrapped paragraph per line of `body`.
    pub(super) fn block(&self, heading: &str, body: &str) -> String {
        let paragraphs = body.lines().flat_map(|line| wrap(&printable(line), self.columns - 2));
        paragraphs.fold(format!("\n{heading}\n"), |text, line| text + "  " + &line + "\n")
    }

    /// A label and, from column `margin` on, the wrapped text; empty if `text` is empty.
    pub(super) fn entry(&self, label: &str, margin: usize, text: &str) -> String {
        if text.is_empty() { String::new() } else { hang(label, margin, &wrap(text, self.columns - margin)) }
    }

    /// "council, 1884-05-12": source and date of a document in at most `columns`; `None` where neither is known.
    pub(super) fn known(&self, number: usize, columns: usize) -> Option<String> {
        self.known.get(number)?.shown(columns)
    }

    pub(super) fn name(&self, number: usize, columns: usize) -> String {
        self.names.get(number).map_or_else(|| "?".to_owned(), |name| shorten_middle(name, columns))
    }
}

/// A document's source and date; empty where they are not known. A source that is the document's name is not repeated.
struct Known {
    source: String,
    date: String,
}

impl Known {
    fn of(document: &Document) -> Self {
        let source = document.source.as_ref().filter(|source| **source != document.name);
        let part = |part: Option<&String>| part.map(|part| printable(part)).unwrap_or_default();
        Self { source: part(source), date: part(document.date.as_ref()) }
    }

    /// Both in at most `columns`: the source is shortened, the date stays.
    fn shown(&self, columns: usize) -> Option<String> {
        let room = columns.saturating_sub(if self.date.is_empty() { 0 } else { width(&self.date) + 2 });
        let source = shorten_middle(&self.source, room);
        let parts: Vec<&str> = [source.as_str(), &self.date].into_iter().filter(|part| !part.is_empty()).collect();
        (!parts.is_empty()).then(|| parts.join(", "))
    }
}

/// The positions of a document's near-duplicates.
fn copies(document: &Document, margin: usize, columns: usize) -> String {
    /// Maximum number of copies listed.
    const NAMED: usize = 8;
    if document.copies.is_empty() {
        return String::new();
    }
    let named = document.copies.iter().take(NAMED).map(|copy| {
        let source = copy.source.as_ref().map(|source| format!("{source}, ")).unwrap_or_default();
        printable(&format!("{source}{}", copy.origin))
    });
    let more = document.copies.len().saturating_sub(NAMED);
    let more = (more > 0).then(|| format!("{more} more"));
    let said = format!("copies, counted once: {}", named.chain(more).collect::<Vec<_>>().join("; "));
    let lines: Vec<String> =
        wrap(&said, columns - margin).iter().map(|line| format!("{FAINT}{line}{FAINT:#}")).collect();
    hang("", margin, &lines)
}

/// The label, and the lines in a column to its right.
pub(super) fn hang(label: &str, margin: usize, lines: &[String]) -> String {
    let mut text = String::new();
    for (i, line) in lines.iter().enumerate() {
        let label = if i == 0 { label } else { "" };
        text.push_str(&format!("{}{line}\n", pad(label, margin)));
    }
    text
}

/// A reply's answer, its style, and its reason; for a malformed reply the raw text.
fn said(call: &CallRecord) -> (String, Style, String) {
    let (answer, explanation) = match &call.parsed {
        Parsed::Answer { answer, explanation } => (answer.clone(), explanation),
        Parsed::Answers { answers, explanation } => ((!answers.is_empty()).then(|| answers.join(" | ")), explanation),
        Parsed::Text(text) => return (printable(text), Style::new(), String::new()),
        Parsed::Choice { explanation, .. } => {
            let chosen = call.chosen().unwrap_or(&call.reply);
            // A scored choice is read as a probability: over both orders, not the word but the difference counts.
            let sure = call.logprobs.first().map(|first| format!(" {:.2}", exp(f64::from(first.logprob))));
            let told = call
                .about
                .as_ref()
                .map_or_else(|| chosen.to_owned(), |about| format!("{about}: {chosen}{}", sure.unwrap_or_default()));
            (Some(told), explanation)
        }
        Parsed::Fields(_) => return (printable(call.reply.trim()), Style::new(), String::new()),
        Parsed::Scored => return (scored(call), FAINT, String::new()),
        Parsed::Malformed => return ("malformed reply".to_owned(), WRONG, quoted(&call.reply)),
    };
    let (answer, style) = answer.map_or(("unknown".to_owned(), FAINT), |answer| (printable(&answer), STRONG));
    (answer, style, printable(explanation))
}

/// The total log-probability of a scored call.
fn scored(call: &CallRecord) -> String {
    let (tokens, total) = (call.scores.len(), call.total_score());
    format!("scored {tokens} tokens: log-probability {total:.3}")
}

/// The change of an agent's answer since its last round.
fn change(before: &Parsed, now: &Parsed) -> (String, Style) {
    let was = match before {
        Parsed::Answer { answer, .. } => answer.as_deref().unwrap_or("unknown"),
        _ => return ("was malformed".to_owned(), CHANGED),
    };
    match now {
        Parsed::Answer { answer: None, .. } if was != "unknown" => {
            (format!("withdrawn; said {}", printable(was)), CHANGED)
        }
        Parsed::Answer { answer, .. } if Level::Voted.equal(answer.as_deref().unwrap_or("unknown"), was) => {
            ("kept".to_owned(), FAINT)
        }
        _ => (format!("was {}", printable(was)), CHANGED),
    }
}

/// A malformed reply in quotation marks.
fn quoted(reply: &str) -> String {
    let reply = printable(reply);
    if reply.is_empty() { "(an empty reply)".to_owned() } else { format!("\"{reply}\"") }
}

/// Tokens by role and in total: a table, or lines where the terminal is narrower than that.
pub(super) fn ledger(calls: &[CallRecord], columns: usize) -> String {
    const LABEL: usize = 14;
    const NUMBER: usize = 10;
    const HEAD: [&str; 5] = ["calls", "prompt", "reused", "computed", "generated"];
    let wide = columns >= LABEL + HEAD.len() * NUMBER;
    let mut text = format!("\n{STRONG}{}{STRONG:#}", if wide { pad("Tokens", LABEL) } else { "Tokens".to_owned() });
    if wide {
        text.extend(HEAD.iter().map(|title| format!("{title:>NUMBER$}")));
    }
    text.push('\n');
    for (role, count, usage) in by_role(calls) {
        let label = format!("  {}", shorten(role, LABEL - 3));
        let numbers = [count, usage.prompt, usage.reused, usage.computed, usage.generated];
        if wide {
            text.push_str(&pad(&label, LABEL));
            text.extend(numbers.iter().map(|number| format!("{number:>NUMBER$}")));
            text.push('\n');
        } else {
            let told: Vec<String> =
                HEAD.iter().zip(numbers).map(|(title, number)| format!("{title} {number}")).collect();
            text.push_str(&hang(&label, LABEL, &wrap(&told.join(", "), columns - LABEL)));
        }
    }
    let taken = calls.iter().filter(|call| call.taken_from.is_some()).count();
    if taken > 0 {
        let told = format!("{} of an equal call", plural(taken, "call took the reply", "calls took the reply"));
        text.push_str(&hang("", 2, &wrap(&told, columns - 2)));
    }
    text
}

/// The calls of each role with their tokens, and of several roles all together.
fn by_role(calls: &[CallRecord]) -> Vec<(&str, usize, Usage)> {
    let mut roles: Vec<(&str, usize, Usage)> = Vec::new();
    let mut total = Usage::default();
    for call in calls {
        total += call.usage;
        match roles.iter_mut().find(|(role, ..)| *role == call.role) {
            Some((_, count, usage)) => {
                *count += 1;
                *usage += call.usage;
            }
            None => roles.push((&call.role, 1, call.usage)),
        }
    }
    if roles.len() > 1 {
        roles.push(("in all", calls.len(), total));
    }
    roles
}

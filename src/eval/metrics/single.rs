//! Questions with one answer: SQuAD's exact match and token F1, yes/no questions, and multiple choice.
//!
//! A concluded list of several answers is one text, joined by commas. A malformed reply and an error score 0.

use super::answers;
use super::metric::Tally;
use crate::answers::align;
use crate::answers::words::{Level, squad};
use crate::question::Gold;
use crate::transcript::{CallRecord, Parsed, QuestionRecord};
use std::collections::HashMap;

/// 1 where the answer equals one of the aliases after SQuAD's normalisation.
///
/// `None` without gold, and where several answers are required. Where no answer is right, 1 for no answer (SQuAD 2.0).
#[must_use]
pub(crate) fn exact_match(record: &QuestionRecord) -> Option<f64> {
    score(record, |given, alias| f64::from(u8::from(given == alias)))
}

/// As [`exact_match`], and 1 also where an answer that the vote counted as equal to the concluded one equals an alias: the answer
/// is right if its class has the right one (RA-RAG, appendix I). Answers of a class are those of calls for documents that support
/// the conclusion.
#[must_use]
pub(crate) fn class_match(record: &QuestionRecord) -> Option<f64> {
    let own = exact_match(record)?;
    let (Some(conclusion), Some(gold)) = (&record.conclusion, &record.question.gold) else { return Some(own) };
    if own > 0.0 || conclusion.malformed || gold.required() == 0 {
        return Some(own);
    }
    let supports = |number| conclusion.answers.iter().any(|answer| answer.supporters.contains(&number));
    let calls = conclusion.calls.iter().filter_map(|number| record.calls.get(*number));
    let mut equal = calls.filter(|call| call.document.is_some_and(supports)).filter_map(align::answer).map(squad);
    let right: Vec<Vec<String>> = gold.aliases().map(squad).collect();
    Some(f64::from(u8::from(equal.any(|answer| right.contains(&answer)))))
}

/// The token F1 with the alias that gives the largest, after SQuAD's normalisation; otherwise as [`exact_match`].
#[must_use]
pub(crate) fn token_f1(record: &QuestionRecord) -> Option<f64> {
    score(record, f1)
}

/// As [`token_f1`], but an answer or an alias "yes", "no" or "noanswer" shares tokens with itself alone: the script of HotpotQA, which
/// FlashRAG's metric follows.
#[must_use]
pub(crate) fn hotpot_f1(record: &QuestionRecord) -> Option<f64> {
    score(
        record,
        |given, gold| if given != gold && (is_whole(given) || is_whole(gold)) { 0.0 } else { f1(given, gold) },
    )
}

fn is_whole(tokens: &[String]) -> bool {
    matches!(tokens, [word] if ["yes", "no", "noanswer"].contains(&word.as_str()))
}

/// 1 where the answer reads as the gold yes or no; `None` where gold is neither.
#[must_use]
pub(crate) fn yes_no(record: &QuestionRecord) -> Option<f64> {
    let gold = gold_yes_no(record.question.gold.as_ref()?)?;
    Some(f64::from(u8::from(concluded(record).and_then(|text| read_yes_no(&text)) == Some(gold))))
}

/// Of questions whose answer is `class` ("yes" or "no"): those answered right, and all.
#[must_use]
pub(crate) fn class(record: &QuestionRecord, class: &str) -> Option<Tally> {
    let gold = gold_yes_no(record.question.gold.as_ref()?)?;
    (gold == (class == "yes")).then(|| [yes_no(record).unwrap_or(0.0), 1.0, 0.0, 0.0])
}

/// 1 where the answer names a right option and no other: by its text, or by its letter alone.
#[must_use]
pub(crate) fn choice(record: &QuestionRecord) -> Option<f64> {
    let (options, gold) = (&record.question.options, record.question.gold.as_ref()?);
    if options.is_empty() {
        return None;
    }
    let chosen = chosen_option(record);
    let right = chosen.is_some_and(|option| gold.aliases().any(|alias| Level::Scored.equal(alias, &options[option])));
    Some(f64::from(u8::from(right)))
}

/// The index of the option that the conclusion names; `None` where it names none or several, and without options.
pub(super) fn chosen_option(record: &QuestionRecord) -> Option<usize> {
    concluded(record).and_then(|text| chosen(&text, &record.question.options))
}

/// 1 where the answer equals the one that a document of misinformation gives; `None` where no document is labelled so.
#[must_use]
pub(crate) fn planted(record: &QuestionRecord) -> Option<f64> {
    let labels = record.question.documents.iter().filter_map(|document| document.label.as_ref());
    let mut planted = labels.filter(|label| label.kind == "misinfo").map(|label| squad(&label.answer)).peekable();
    planted.peek()?;
    let given = concluded(record).map(|text| squad(&text)).unwrap_or_default();
    Some(f64::from(u8::from(!given.is_empty() && planted.any(|answer| answer == given))))
}

/// 1 where there is an answer that is neither right nor planted; `None` without gold.
///
/// Right is SQuAD's exact match, whatever the question's kind, as the column is defined in RA-RAG's table 1. It asks how answers
/// divide into types that [`planted`] and [`exact_match`] compare in the same way, not whether a question is answered right
/// (`eval::judgement`).
#[must_use]
pub(crate) fn hallucinated(record: &QuestionRecord) -> Option<f64> {
    let right = exact_match(record)? > 0.0;
    let given = concluded(record).is_some_and(|text| !text.is_empty());
    Some(f64::from(u8::from(given && !right && planted(record) != Some(1.0))))
}

/// Of several replies that a conclusion counts, those that give its one answer.
#[must_use]
pub(crate) fn majority_count(record: &QuestionRecord) -> Option<f64> {
    let conclusion = record.conclusion.as_ref()?;
    let ([winner], true) = (conclusion.answers.as_slice(), conclusion.calls.len() > 1) else { return None };
    let gives = |call: &&CallRecord| match &call.parsed {
        Parsed::Answer { answer: Some(answer), .. } => Level::Voted.equal(answer, &winner.text),
        _ => false,
    };
    Some(conclusion.calls.iter().filter_map(|number| record.calls.get(*number)).filter(gives).count() as f64)
}

/// The concluded answers as one text; empty for "unknown", `None` for a malformed reply or an error.
fn concluded(record: &QuestionRecord) -> Option<String> {
    let conclusion = record.conclusion.as_ref().filter(|c| !c.malformed)?;
    Some(conclusion.answers.iter().map(|answer| answer.text.trim()).collect::<Vec<_>>().join(", "))
}

fn score(record: &QuestionRecord, of: fn(&[String], &[String]) -> f64) -> Option<f64> {
    let gold = record.question.gold.as_ref()?;
    if gold.required() > 1 {
        return None;
    }
    let Some(text) = concluded(record) else { return Some(0.0) };
    if gold.required() == 0 {
        return Some(f64::from(u8::from(text.is_empty())));
    }
    let given = squad(&text);
    Some(gold.aliases().map(|alias| of(&given, &squad(alias))).fold(0.0, f64::max))
}

/// SQuAD's token F1: of the tokens that both have, each as often as both have it. Where either has none, 1 if both do.
fn f1(given: &[String], gold: &[String]) -> f64 {
    if given.is_empty() || gold.is_empty() {
        return f64::from(u8::from(given.is_empty() && gold.is_empty()));
    }
    let mut left: HashMap<&str, usize> = HashMap::new();
    for token in gold {
        *left.entry(token).or_default() += 1;
    }
    let mut common = 0_usize;
    for token in given {
        if let Some(count) = left.get_mut(token.as_str()).filter(|count| **count > 0) {
            *count -= 1;
            common += 1;
        }
    }
    answers::harmonic(common as f64 / given.len() as f64, common as f64 / gold.len() as f64)
}

/// Gold that is yes or no under every alias.
fn gold_yes_no(gold: &Gold) -> Option<bool> {
    let mut read = gold.aliases().map(|alias| match Level::Scored.words(alias).to_vec().as_slice() {
        [word] => polarity(word),
        _ => None,
    });
    let first = read.next()??;
    read.all(|other| other == Some(first)).then_some(first)
}

/// The first word decides; an answer that also holds the opposite word is neither.
fn read_yes_no(text: &str) -> Option<bool> {
    let words = Level::Scored.words(text).to_vec();
    let first = polarity(words.first()?)?;
    (!words.iter().any(|word| polarity(word) == Some(!first))).then_some(first)
}

fn polarity(word: &str) -> Option<bool> {
    match word {
        "yes" | "true" => Some(true),
        "no" | "false" => Some(false),
        _ => None,
    }
}

/// The option that `text` names: the one that it equals, else its letter ("B", "(b)", "B. Paris"), else the only one
/// that it contains.
fn chosen(text: &str, options: &[String]) -> Option<usize> {
    let only = |matches: &dyn Fn(&str) -> bool| {
        let mut found = (0..options.len()).filter(|&i| matches(&options[i]));
        found.next().filter(|_| found.next().is_none())
    };
    only(&|option| Level::Scored.equal(option, text))
        .or_else(|| lettered(text, options))
        .or_else(|| only(&|option| Level::Scored.contains(text, option)))
}

/// A letter alone, or before its own option.
fn lettered(text: &str, options: &[String]) -> Option<usize> {
    let text = text.trim().trim_start_matches('(');
    let mut characters = text.chars();
    let letter = characters.next().filter(char::is_ascii_alphabetic)?;
    let index = usize::from(letter.to_ascii_uppercase() as u8 - b'A');
    let rest = characters.as_str();
    if rest.starts_with(char::is_alphanumeric) {
        return None;
    }
    let rest = rest.trim_start_matches(|c: char| !c.is_alphanumeric());
    let option = options.get(index)?;
    // "A. Paris" names option A only if that is Paris; "A river" is a text.
    (rest.is_empty() || Level::Scored.equal(rest, option)).then_some(index)
}

//! Answers against gold: strict exact match, precision, recall and F1 (MADAM-RAG, sections 5.1 and 6.1).
//!
//! **Matching** is that of [`gold`](crate::answers::gold), by default by containment. Wrong answers are matched in the same way,
//! so a list of everything that the documents say loses its exact match to the wrong ones. Where a gold answer contains a wrong
//! one ("New York City", "New York"), this rule can never be satisfied; the rule of equality, which is reported too, can.
//!
//! **Required answers.** All gold answers, or one of them ([`Gold::required`]). Where one is enough, recall is 1 as soon
//! as any is given.
//!
//! **Nothing is dropped.** A malformed concluding reply and an error score 0 everywhere, under every rule. "Unknown" is
//! the empty list.
//!
//! **Empty lists.** Where no answer is right (unanswerable, or no gold answers), all four are 1 for the empty list and 0
//! for any answer, under every rule. Where some are and none is given, precision is 0. F1 is 0 where precision and recall
//! both are.

use super::metric::Tally;
use crate::answers::gold::{Known, Match};
use crate::answers::words::{Level, Words};
use crate::question::Gold;
use crate::transcript::QuestionRecord;

/// When an answer counts as given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    /// Its words are in one of the parsed answers, in order and next to each other.
    Contained,
    /// One of the parsed answers is equal to it after normalisation.
    Equal,
    /// Its words are anywhere in the raw concluding reply. The parsed list decides only where no answer is right.
    WholeText,
}

/// 1 where every required answer is given and no wrong one; answers that are neither do no harm.
#[must_use]
pub(crate) fn exact_match(record: &QuestionRecord, rule: Rule) -> Option<f64> {
    score(record, rule, |counts| {
        f64::from(u8::from(counts.required_given == counts.required && counts.wrong_given == 0))
    })
}

/// The share of given answers that match a gold answer and no wrong one.
#[must_use]
pub fn precision(record: &QuestionRecord, rule: Rule) -> Option<f64> {
    score(record, rule, Counts::precision)
}

/// The share of required answers that are given.
#[must_use]
pub(crate) fn recall(record: &QuestionRecord, rule: Rule) -> Option<f64> {
    score(record, rule, Counts::recall)
}

/// The harmonic mean of [`precision`] and [`recall`].
#[must_use]
pub(crate) fn f1(record: &QuestionRecord, rule: Rule) -> Option<f64> {
    score(record, rule, |counts| harmonic(counts.precision(), counts.recall()))
}

/// Right answers, answers given, required answers given, required answers; by containment.
#[must_use]
pub fn tally(record: &QuestionRecord) -> Option<Tally> {
    let gold = record.question.gold.as_ref()?;
    let counts = count(record, gold, Rule::Contained).unwrap_or_else(|| Counts::nothing(gold));
    Some([counts.right, counts.given, counts.required_given, counts.required].map(|n| n as f64))
}

/// F1 from the sums of [`tally`]; undefined where no question requires an answer.
#[must_use]
pub(crate) fn corpus_f1(tally: &Tally) -> Option<f64> {
    let [right, given, required_given, required] = *tally;
    let precision = if given > 0.0 { right / given } else { 0.0 };
    (required > 0.0).then(|| harmonic(precision, required_given / required))
}

/// 0 where both are.
pub(super) fn harmonic(precision: f64, recall: f64) -> f64 {
    if precision + recall == 0.0 { 0.0 } else { 2.0 * precision * recall / (precision + recall) }
}

/// Numbers of answers of one question.
struct Counts {
    required: usize,
    required_given: usize,
    wrong_given: usize,
    given: usize,
    right: usize,
}

impl Counts {
    fn precision(&self) -> f64 {
        if self.given == 0 { 0.0 } else { self.right as f64 / self.given as f64 }
    }

    fn recall(&self) -> f64 {
        self.required_given as f64 / self.required as f64
    }

    fn nothing(gold: &Gold) -> Self {
        Self { required: gold.required(), required_given: 0, wrong_given: 0, given: 0, right: 0 }
    }
}

fn score(record: &QuestionRecord, rule: Rule, of: fn(&Counts) -> f64) -> Option<f64> {
    let gold = record.question.gold.as_ref()?;
    let Some(conclusion) = record.conclusion.as_ref().filter(|c| !c.malformed) else { return Some(0.0) };
    if gold.required() == 0 {
        return Some(f64::from(u8::from(conclusion.answers.is_empty())));
    }
    count(record, gold, rule).map(|counts| of(&counts))
}

/// `None` for a malformed conclusion, or none.
fn count(record: &QuestionRecord, gold: &Gold, rule: Rule) -> Option<Counts> {
    let conclusion = record.conclusion.as_ref().filter(|c| !c.malformed)?;
    let by = match rule {
        Rule::WholeText => return Some(in_text(&concluding_text(record), gold)),
        Rule::Contained => Match::Contained,
        Rule::Equal => Match::Equal,
    };
    let known = Known::of(gold);
    let given: Vec<Words> = conclusion.answers.iter().map(|answer| Level::Scored.words(&answer.text)).collect();
    Some(Counts {
        required: gold.required(),
        required_given: required_given(gold, known.right_given(&given, by)),
        wrong_given: known.wrong_given(&given, by),
        given: given.len(),
        right: given.iter().filter(|answer| known.is_right(answer, by)).count(),
    })
}

/// Answers given of those that are required: where one is enough, at most one counts.
fn required_given(gold: &Gold, given: usize) -> usize {
    given.min(gold.required())
}

/// A text has no list of answers; the known answers that it contains are those given.
fn in_text(text: &str, gold: &Gold) -> Counts {
    let (known, text) = (Known::of(gold), [Level::Scored.words(text)]);
    let right = known.right_given(&text, Match::Contained);
    let wrong = known.wrong_given(&text, Match::Contained);
    Counts {
        required: gold.required(),
        required_given: required_given(gold, right),
        wrong_given: wrong,
        given: right + wrong,
        right,
    }
}

fn concluding_text(record: &QuestionRecord) -> String {
    record.concluding().into_iter().map(|call| call.reply.as_str()).collect::<Vec<_>>().join("\n")
}

//! Queries on a record, for every face that shows one: the chosen question, its outcome, whether it was right, and its
//! calls.

use crate::error::{MootError, Result};
use crate::escape;
use crate::eval::judgement::{self, Outcome};
use crate::generation::{Logprobs, Message, Sampling, Segment};
use crate::question::Gold;
use crate::transcript::{CallRecord, QuestionRecord};
use crate::unicode;
use serde::Serialize;
use std::collections::BTreeSet;
use std::fmt;

/// The questions in the dataset's order where the record has it, else in the order in which they were recorded.
#[must_use]
pub fn ordered(questions: &[QuestionRecord]) -> Vec<&QuestionRecord> {
    let mut ordered: Vec<&QuestionRecord> = questions.iter().collect();
    let indices: BTreeSet<usize> = questions.iter().filter_map(|question| question.place).collect();
    // Parts of one run that were merged may have the same indices.
    if indices.len() == questions.len() {
        ordered.sort_by_key(|question| question.place);
    }
    ordered
}

/// The question named by `wanted`: an id, else a number from 1 in the order of [`ordered`], else a part of its text.
///
/// # Errors
/// [`MootError::Usage`] if no question or several match.
pub fn find<'a>(questions: &'a [QuestionRecord], wanted: &str) -> Result<&'a QuestionRecord> {
    // Ids first: an id may itself be a number.
    if let Some(found) = questions.iter().find(|q| q.question.id == wanted) {
        return Ok(found);
    }
    let numbered = |n: usize| ordered(questions).get(n.checked_sub(1)?).copied();
    if let Some(found) = wanted.parse::<usize>().ok().and_then(numbered) {
        return Ok(found);
    }
    let part = unicode::folded(wanted);
    let holding: Vec<_> = questions.iter().filter(|q| unicode::folded(&q.question.text).contains(&*part)).collect();
    match holding.as_slice() {
        [only] => Ok(only),
        [] => Err(MootError::Usage(format!(
            "no question of the {} recorded has the id, number or text {wanted:?}",
            questions.len()
        ))),
        several => Err(ambiguous(questions, several, wanted)),
    }
}

fn ambiguous(questions: &[QuestionRecord], several: &[&QuestionRecord], wanted: &str) -> MootError {
    let held = |q: &QuestionRecord| several.iter().any(|other| std::ptr::eq(*other, q));
    let named = ordered(questions).into_iter().zip(1_usize..).filter(|(q, _)| held(q));
    let named: Vec<String> =
        named.take(5).map(|(q, number)| format!("{number} (id {})", escape::line(&q.question.id))).collect();
    let more = if several.len() > named.len() { ", ..." } else { "" };
    let count = several.len();
    MootError::Usage(format!("{count} questions hold {wanted:?}: {}{more}", named.join(", ")))
}

/// The conclusion in one line: the answers with `between` between them, "unknown", "malformed", or the error.
#[must_use]
pub fn outcome(record: &QuestionRecord, between: &str) -> String {
    match (&record.conclusion, &record.error) {
        (_, Some(error)) => format!("error: {error}"),
        (Some(c), _) if c.malformed => "malformed".into(),
        (Some(c), _) if c.answers.is_empty() => "unknown".into(),
        (Some(c), _) => c.answers.iter().map(|answer| answer.text.as_str()).collect::<Vec<_>>().join(between),
        (None, None) => "nothing concluded".into(),
    }
}

/// How the answers of a question with gold answers are judged, in words: "right, and 1 more".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Judged {
    outcome: Outcome,
    /// Extra answers, neither right nor labelled wrong, which exact match ignores.
    more: usize,
}

impl Judged {
    /// `None` without gold answers.
    #[must_use]
    pub fn of(record: &QuestionRecord) -> Option<Self> {
        let gold = record.question.gold.as_ref()?;
        Some(match Outcome::of(record) {
            Outcome::Right if gold.unanswerable => Self { outcome: Outcome::Right, more: 0 },
            Outcome::Right => Self { outcome: Outcome::Right, more: judgement::others(record) },
            Outcome::Malformed | Outcome::Error => Self { outcome: Outcome::Unknown, more: 0 },
            outcome => Self { outcome, more: 0 },
        })
    }

    /// Whether all right answers are there.
    #[must_use]
    pub fn is_right(self) -> bool {
        self.outcome == Outcome::Right
    }
}

impl fmt::Display for Judged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.outcome.name())?;
        if self.more > 0 { write!(f, ", and {} more", self.more) } else { Ok(()) }
    }
}

/// The gold answers in words: "1931 (Nineteen thirty-one), 1968; all of them".
#[must_use]
pub(crate) fn gold_in_words(gold: &Gold) -> String {
    if gold.unanswerable || gold.answers.is_empty() {
        return "no answer is right".to_owned();
    }
    let answer = |aliases: &Vec<String>| match aliases.as_slice() {
        [] => String::new(),
        [only] => only.clone(),
        [first, others @ ..] => format!("{first} ({})", others.join(", ")),
    };
    let answers: Vec<String> = gold.answers.iter().map(answer).collect();
    let every = if gold.all_required && answers.len() > 1 { "; all of them" } else { "" };
    let wrong = if gold.wrong.is_empty() { String::new() } else { format!("; wrong: {}", gold.wrong.join(", ")) };
    format!("{}{every}{wrong}", answers.join(", "))
}

/// A call as it is sent to another server: what was sent, and how many tokens came back.
#[derive(Debug, Serialize)]
pub(crate) struct MadeCall<'a> {
    question: &'a str,
    stage: usize,
    role: &'a str,
    round: usize,
    messages: &'a [Message],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    raw_prompt: &'a [Segment],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    prefill: &'a [Segment],
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    score: bool,
    max_tokens: usize,
    seed: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    sampling: Option<Sampling>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    stop: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    logprobs: Option<&'a Logprobs>,
    completion_tokens: usize,
}

/// The calls of a question that were made, in the order asked: those whose replies were taken from equal ones are left out.
pub(crate) fn calls_made(record: &QuestionRecord) -> impl Iterator<Item = MadeCall<'_>> {
    let made = record.calls.iter().filter(|call| call.taken_from.is_none());
    made.map(|call: &CallRecord| MadeCall {
        question: &record.question.id,
        stage: call.stage,
        role: &call.role,
        round: call.round,
        messages: &call.messages,
        raw_prompt: &call.raw_prompt,
        prefill: &call.prefill,
        score: call.score,
        max_tokens: call.max_tokens,
        seed: call.seed,
        sampling: call.sampling,
        stop: &call.stop,
        logprobs: call.wanted_logprobs.as_ref(),
        completion_tokens: call.usage.generated,
    })
}

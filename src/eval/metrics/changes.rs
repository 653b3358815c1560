//! Changes in later rounds: each agent's reply compared with its reply of the round before.

use super::metric::Tally;
use super::single;
use crate::answers::words::Level;
use crate::eval::judgement;
use crate::methods::self_reflection;
use crate::question::{Answer, Conclusion, Judged, Question};
use crate::transcript::{CallRecord, Parsed, QuestionRecord};

/// How a reply differs from the one of the round before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// In its answer, after normalisation.
    Any,
    /// From wrong to unknown or right, or from unknown to right.
    Better,
    /// From right to unknown or wrong, or from unknown to wrong.
    Worse,
}

/// Of the agents' replies of round 2 and later: those that changed in this way, and all.
///
/// Right is a reply that [`judgement::is_right`] finds right, or that gives none where no answer is right; a malformed reply is
/// wrong. `None` without gold, and where there is no later reply.
#[must_use]
pub fn tally(record: &QuestionRecord, change: Change) -> Option<Tally> {
    let mut tally = Tally::default();
    for call in record.calls.iter().filter(|call| call.round > 1 && call.document.is_some()) {
        let Some(before) = earlier(record, call) else { continue };
        let (Some(was), Some(is)) = (rank(before, &record.question), rank(call, &record.question)) else { continue };
        let changed = match change {
            Change::Any => is_changed(before, call),
            Change::Better => is > was,
            Change::Worse => is < was,
        };
        tally[0] += f64::from(u8::from(changed));
        tally[1] += 1.0;
    }
    (tally[1] > 0.0).then_some(tally)
}

/// Refined answers of self-reflection: those that differ from the answer reviewed, and all.
#[must_use]
pub(crate) fn refined(record: &QuestionRecord) -> Option<Tally> {
    self_reflection::refined(record).map(|(changed, all)| [changed as f64, all as f64, 0.0, 0.0])
}

/// The same speaker's reply of the round before.
#[must_use]
pub fn earlier<'a>(record: &'a QuestionRecord, call: &CallRecord) -> Option<&'a CallRecord> {
    let same = |other: &&CallRecord| {
        (other.role.as_str(), other.document, other.sample) == (call.role.as_str(), call.document, call.sample)
    };
    record.calls.iter().filter(same).find(|other| other.round + 1 == call.round)
}

/// Whether a reply answers otherwise than the one before. Free texts and fields are not compared.
#[must_use]
pub(crate) fn is_changed(before: &CallRecord, now: &CallRecord) -> bool {
    let differ = |a: &[String], b: &[String]| {
        let set = |answers: &[String]| Level::Scored.set(answers.iter().map(String::as_str));
        set(a) != set(b)
    };
    match (&before.parsed, &now.parsed) {
        (Parsed::Answer { answer: a, .. }, Parsed::Answer { answer: b, .. }) => differ(a.as_slice(), b.as_slice()),
        (Parsed::Answers { answers: a, .. }, Parsed::Answers { answers: b, .. }) => differ(a, b),
        (Parsed::Choice { option: a, .. }, Parsed::Choice { option: b, .. }) => a != b,
        (a, b) => std::mem::discriminant(a) != std::mem::discriminant(b),
    }
}

/// 0 wrong, 1 unknown, 2 right; `None` for a reply that is not one answer, and without gold.
fn rank(call: &CallRecord, question: &Question) -> Option<u8> {
    let gold = question.gold.as_ref()?;
    match &call.parsed {
        Parsed::Malformed => Some(0),
        Parsed::Answer { answer: None, .. } => Some(if gold.required() == 0 { 2 } else { 1 }),
        Parsed::Answer { answer: Some(given), .. } => {
            judgement::is_right(question, given).map(|right| if right { 2 } else { 0 })
        }
        _ => None,
    }
}

/// The effect of answering again on an answer (ConflictScore, section 6.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Revision {
    /// The same answer; of judged free answers the same verdict.
    Kept,
    /// Wrong, then right.
    Corrected,
    /// Right, then wrong.
    Spoilt,
}

/// Whether the documents' conflict was shown and a reply made again (`regenerated-rag`).
#[must_use]
pub(crate) fn is_answered_again(record: &QuestionRecord) -> bool {
    record.calls.iter().any(|call| call.prompt == "regenerated_rag/again.jinja")
}

/// Of questions answered again, those revised in this way, and all. A kept answer has no rejected ones; a changed one lists the
/// first answer as rejected.
///
/// An answer is right by [`judgement::exact`]. A free answer that a judge judged is right where the judge found it truthful,
/// since a free answer seldom has the words of a gold one; it is kept where its verdict is. `None` without gold, and where no
/// reply was made again.
#[must_use]
pub fn revised(record: &QuestionRecord, revision: Revision) -> Option<Tally> {
    let again = is_answered_again(record) && record.question.gold.is_some();
    let conclusion = record.conclusion.as_ref().filter(|_| again)?;
    let kept = conclusion.rejected.is_empty();
    let first = if kept { conclusion.judged } else { conclusion.judged_first };
    let outcome = match (first, conclusion.judged) {
        (Some(was), Some(is)) if record.question.options.is_empty() => Outcome::judged(was, is),
        _ => {
            let before = if kept { &conclusion.answers } else { &conclusion.rejected };
            Outcome { was: is_right(record, before), is: is_right(record, &conclusion.answers), kept }
        }
    };
    Some([f64::from(u8::from(outcome.is(revision))), 1.0, 0.0, 0.0])
}

/// How the answer of `record` differs from that of `base` to the same question: kept, corrected or spoilt, in this order, as for
/// an answer given again. `None` without gold, and where a question has no conclusion. Options are compared by the chosen ones,
/// free answers by a judge's verdicts where both were judged.
#[must_use]
pub fn against(base: &QuestionRecord, record: &QuestionRecord) -> Option<[bool; 3]> {
    record.question.gold.as_ref()?;
    let (before, after) = (base.conclusion.as_ref()?, record.conclusion.as_ref()?);
    let outcome = match (before.judged, after.judged) {
        (Some(was), Some(is)) if record.question.options.is_empty() => Outcome::judged(was, is),
        _ => {
            let set = |answers: &[Answer]| Level::Scored.set(answers.iter().map(|answer| answer.text.as_str()));
            let same_option = single::chosen_option(base).is_some_and(|one| single::chosen_option(record) == Some(one));
            let same = same_option || set(&before.answers) == set(&after.answers);
            // A malformed conclusion has no answers; it is not the same as an unknown one.
            let kept = before.malformed == after.malformed && same;
            Outcome { was: is_right(base, &before.answers), is: is_right(record, &after.answers), kept }
        }
    };
    Some([Revision::Kept, Revision::Corrected, Revision::Spoilt].map(|revision| outcome.is(revision)))
}

/// How the answers of one record differ from those of another to the same questions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Revisions {
    /// Questions that both concluded.
    pub questions: usize,
    /// Answers of the first record that the other one keeps.
    pub kept: usize,
    /// Wrong answers of the first record that are right in the other one.
    pub corrected: usize,
    /// Right answers of the first record that are wrong in the other one.
    pub spoilt: usize,
}

/// Counts [`against`] over pairs of the same question.
#[must_use]
pub fn revisions(pairs: &[(&QuestionRecord, &QuestionRecord)]) -> Revisions {
    let mut counts = Revisions::default();
    for [kept, corrected, spoilt] in pairs.iter().filter_map(|(base, record)| against(base, record)) {
        counts.questions += 1;
        counts.kept += usize::from(kept);
        counts.corrected += usize::from(corrected);
        counts.spoilt += usize::from(spoilt);
    }
    counts
}

/// Whether the first answer was right, whether the revised one is, and whether they are equal.
struct Outcome {
    was: bool,
    is: bool,
    kept: bool,
}

impl Outcome {
    /// By a judge's verdicts on both.
    fn judged(was: Judged, is: Judged) -> Self {
        Self { was: was.truthful == Some(true), is: is.truthful == Some(true), kept: was.truthful == is.truthful }
    }

    fn is(&self, revision: Revision) -> bool {
        match revision {
            Revision::Kept => self.kept,
            Revision::Corrected => !self.was && self.is,
            Revision::Spoilt => self.was && !self.is,
        }
    }
}

/// Whether `answers` are right, as if they were the conclusion of `record`.
fn is_right(record: &QuestionRecord, answers: &[Answer]) -> bool {
    let conclusion = Conclusion { answers: answers.to_vec(), ..Conclusion::default() };
    let question = QuestionRecord { question: record.question.clone(), ..QuestionRecord::default() };
    let record = QuestionRecord { conclusion: Some(conclusion), ..question };
    judgement::exact(&record) == Some(1.0)
}

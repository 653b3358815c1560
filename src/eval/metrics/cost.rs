//! Cost of a question, and its failed replies.

use crate::generation::Usage;
use crate::methods::drag;
use crate::question::Answer;
use crate::transcript::{CallRecord, Event, Parsed, QuestionRecord};

fn share(yes: bool) -> Option<f64> {
    Some(f64::from(u8::from(yes)))
}

/// No answer was given, by a reply that kept its format.
#[must_use]
pub(crate) fn unknown(record: &QuestionRecord) -> Option<f64> {
    share(record.conclusion.as_ref().is_some_and(|c| c.answers.is_empty() && !c.malformed))
}

/// The concluding reply did not keep its format.
#[must_use]
pub(crate) fn malformed(record: &QuestionRecord) -> Option<f64> {
    share(record.conclusion.as_ref().is_some_and(|c| c.malformed))
}

/// There is no conclusion.
#[must_use]
pub fn error(record: &QuestionRecord) -> Option<f64> {
    share(record.conclusion.is_none())
}

/// Replies of any role that did not keep their format.
#[must_use]
pub(crate) fn malformed_replies(record: &QuestionRecord) -> Option<f64> {
    Some(record.calls.iter().filter(|call| call.parsed == Parsed::Malformed).count() as f64)
}

/// Calls of the model.
#[must_use]
pub fn calls(record: &QuestionRecord) -> Option<f64> {
    Some(record.calls.len() as f64)
}

/// Duplicate calls that reused a reply.
#[must_use]
pub fn taken_over(record: &QuestionRecord) -> Option<f64> {
    Some(record.calls.iter().filter(|call| call.taken_from.is_some()).count() as f64)
}

/// Agents' answers that counted as unknown, because their document does not hold them.
#[must_use]
pub(crate) fn not_held(record: &QuestionRecord) -> Option<f64> {
    Some(record.calls.iter().filter(|call| call.not_held.is_some()).count() as f64)
}

/// Values of `moot` whose documents read like notes about the answer.
#[must_use]
pub(crate) fn steering(record: &QuestionRecord) -> Option<f64> {
    let conclusion = record.conclusion.as_ref()?;
    let quantity = |answer: &Answer| answer.estimate.as_ref()?.features.get("steering").copied();
    let known: Vec<f64> = conclusion.answers.iter().chain(&conclusion.rejected).filter_map(quantity).collect();
    (!known.is_empty()).then(|| known.iter().filter(|excess| **excess > 0.0).count() as f64)
}

/// Rounds held; of a question that ended in an error, the last round that was asked.
#[must_use]
pub(crate) fn rounds(record: &QuestionRecord) -> Option<f64> {
    let asked = || record.calls.iter().map(|call| call.round).max().unwrap_or(0);
    Some(record.conclusion.as_ref().map_or_else(asked, |c| c.rounds) as f64)
}

/// Tokens of all calls, the kind that `kind` picks.
#[must_use]
pub fn tokens(record: &QuestionRecord, kind: fn(&Usage) -> usize) -> Option<f64> {
    Some(record.calls.iter().map(|call| kind(&call.usage) as f64).sum())
}

/// Tokens of all replies. A call that was not made counts the tokens of the reply that it reused.
#[must_use]
pub(crate) fn reply_tokens(record: &QuestionRecord) -> Option<f64> {
    let of = |call: &CallRecord| {
        let mut call = call;
        // Only backwards: a record that was changed could name calls in a circle.
        while let Some(earlier) = call.taken_from.filter(|earlier| *earlier < call.number) {
            let Some(made) = record.calls.get(earlier) else { break };
            call = made;
        }
        call.usage.generated as f64
    };
    Some(record.calls.iter().map(of).sum())
}

/// Queries sent to the retriever.
#[must_use]
pub(crate) fn retriever_calls(record: &QuestionRecord) -> Option<f64> {
    events(record, |event| if let Event::Retrieval { queries, .. } = event { queries.len() } else { 0 })
}

/// Rounds of DRAG's retrieval debate (its Table 3); `None` for other methods.
#[must_use]
pub(crate) fn retrieval_rounds(record: &QuestionRecord) -> Option<f64> {
    drag::debates(record).map(|debates| debates.retrieval_rounds as f64)
}

/// Rounds of DRAG's response debate (its Table 2); `None` for other methods.
#[must_use]
pub(crate) fn response_rounds(record: &QuestionRecord) -> Option<f64> {
    drag::debates(record).map(|debates| debates.response_rounds as f64)
}

/// Queries in DRAG's final pool (its Table 3); `None` for other methods, and where the question's own documents were read.
#[must_use]
pub(crate) fn queries(record: &QuestionRecord) -> Option<f64> {
    drag::debates(record)?.queries.map(|queries| queries as f64)
}

/// Pairs of texts that were classified for entailment.
#[must_use]
pub(crate) fn entailment_pairs(record: &QuestionRecord) -> Option<f64> {
    events(record, |event| if let Event::Entailment { pairs, .. } = event { pairs.len() } else { 0 })
}

/// Calls that failed and that the method went on without.
#[must_use]
pub(crate) fn failed_calls(record: &QuestionRecord) -> Option<f64> {
    events(record, |event| usize::from(matches!(event, Event::Failure { .. })))
}

/// Departures from the method's protocol.
#[must_use]
pub fn fallbacks(record: &QuestionRecord) -> Option<f64> {
    events(record, |event| usize::from(is_fallback(event)))
}

/// Whether an event is a departure from the method's protocol.
#[must_use]
pub(crate) fn is_fallback(event: &Event) -> bool {
    matches!(event, Event::Fallback { dropped: None, .. })
}

fn events(record: &QuestionRecord, count: fn(&Event) -> usize) -> Option<f64> {
    Some(record.events.iter().map(count).sum::<usize>() as f64)
}

/// Wall time.
#[must_use]
pub(crate) fn seconds(record: &QuestionRecord) -> Option<f64> {
    Some(record.seconds)
}

//! Extraction: whether an agent's first reply gives the answer that its document supports, by the document's label.

use super::metric::Tally;
use crate::answers::unknown::is_unknown;
use crate::answers::words::Level;
use crate::question::Label;
use crate::transcript::{CallRecord, Parsed, QuestionRecord};

/// A first reply compared with its document's label.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It gives the label's answer; for a document without an answer, it gives none.
    Right,
    /// It gives another answer, or does not keep its format.
    Wrong,
    /// It gives no answer though the document supports one.
    Unknown,
}

/// Of first-round replies about documents of `kind` (all labelled ones where `None`): those of `outcome`, and all.
///
/// Documents whose label names no answer do not take part; `None` where no reply does.
#[must_use]
pub(crate) fn tally(record: &QuestionRecord, kind: Option<&str>, outcome: Outcome) -> Option<Tally> {
    let mut tally = Tally::default();
    for call in record.calls.iter().filter(|call| call.round == 1) {
        let Some(label) = call.document.and_then(|number| record.document(number)?.label.as_ref()) else {
            continue;
        };
        if kind.is_some_and(|kind| kind != label.kind) {
            continue;
        }
        if let Some(found) = judged(call, label) {
            tally[0] += f64::from(u8::from(found == outcome));
            tally[1] += 1.0;
        }
    }
    (tally[1] > 0.0).then_some(tally)
}

/// `None` for a reply of another form than an agent's, and for a label without an answer.
fn judged(call: &CallRecord, label: &Label) -> Option<Outcome> {
    let expected = match label.answer.as_str() {
        "" => return None,
        answer if is_unknown(answer) => None,
        answer => Some(answer),
    };
    // Other replies about a document, as labels of claims, are no answers even where they cannot be read. Records of version 1
    // name no format.
    let answers = ["", "answer", "short", "thought"].contains(&call.format.as_str());
    match (&call.parsed, expected) {
        (Parsed::Malformed, _) if !answers => None,
        (Parsed::Malformed, _) | (Parsed::Answer { answer: Some(_), .. }, None) => Some(Outcome::Wrong),
        (Parsed::Answer { answer: None, .. }, None) => Some(Outcome::Right),
        (Parsed::Answer { answer: None, .. }, Some(_)) => Some(Outcome::Unknown),
        (Parsed::Answer { answer: Some(given), .. }, Some(expected)) => {
            Some(if Level::Scored.contains(given, expected) { Outcome::Right } else { Outcome::Wrong })
        }
        _ => None,
    }
}

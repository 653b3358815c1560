//! What was said of a pair, as quantities: code compares each answer with the statement that was asked about.

use super::claims::Claim;
use super::quantities::{Numbers, Relation};
use super::said::Said;
use super::value::value;
use super::words::{Words, overlap};

/// Quantities of what was said of a pair.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Judged {
    /// Directions in which the other document gives another value for what was asked about, from 0 to 2.
    pub(super) differ: f64,
    /// Directions in which it gives the same value.
    pub(super) agree: f64,
    /// Directions in which it does not say.
    pub(super) unknown: f64,
    /// Log-odds that the statements are true according to the other document.
    pub(super) truth: f64,
}

/// How an answer relates to the statement that was asked about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Answered {
    Same,
    Other,
    Unknown,
    /// It cannot be compared.
    Unclear,
}

impl Judged {
    /// Of two claims; without what was said, of a pair whose calls failed, all are 0.
    pub(super) fn of(a: &Claim, b: &Claim, said: Option<&Said>) -> Self {
        let Some(said) = said else { return Self::default() };
        let answered = [answered(a, b, said.answers[0].as_deref()), answered(b, a, said.answers[1].as_deref())];
        let count = |wanted: Answered| answered.iter().filter(|answered| **answered == wanted).count() as f64;
        Self {
            differ: count(Answered::Other),
            agree: count(Answered::Same),
            unknown: count(Answered::Unknown),
            truth: said.truth,
        }
    }
}

/// Whether an answer says in a sentence that the document does not say.
fn is_evasive(answer: &str) -> bool {
    let lower = answer.to_lowercase();
    ["does not", "doesn't", "not provide", "not mention", "not specif", "not stated", "no information"]
        .iter()
        .any(|part| lower.contains(part) && (lower.contains("document") || lower.contains("information")))
}

/// How `answer`, of the document of `other`, relates to what `own` states.
fn answered(own: &Claim, other: &Claim, answer: Option<&str>) -> Answered {
    let Some(answer) = answer.filter(|answer| !is_evasive(answer)) else { return Answered::Unknown };
    let wanted = value(own, other);
    let (asked, given) = (Numbers::of(wanted.as_deref().unwrap_or(&own.text)), Numbers::of(answer));
    let relations = [asked.quantities_with(&given), asked.dates_with(&given)];
    if relations.contains(&Relation::Agree) || asked.share_a_value(&given) {
        return Answered::Same;
    }
    if relations.contains(&Relation::Differ) || (relations.contains(&Relation::Apart) && wanted.is_some()) {
        return Answered::Other;
    }
    let (stated, words) =
        (Words::of(&format!("x {}", wanted.as_deref().unwrap_or(&own.text))), Words::of(&format!("x {answer}")));
    match wanted {
        Some(_) if !stated.names.is_disjoint(&words.names) => Answered::Same,
        Some(_) if words.names.iter().any(|name| other.words.names.contains(name)) => Answered::Other,
        Some(_) => Answered::Unclear,
        None if stated.oppose(&words) || stated.negate(&words) => Answered::Other,
        None if overlap(&stated.content, &words.content, |_| 1.0).1 > 0.6 => Answered::Same,
        None => Answered::Unclear,
    }
}

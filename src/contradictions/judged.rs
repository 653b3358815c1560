//! Turns the judge's replies on a pair into numbers: code compares each filled blank with the values of both statements.

use super::claims::Claim;
use super::quantities::Numbers;
use super::said::Said;
use super::value::number;
use super::words::Words;
use crate::protocol::scored::log_odds;

/// The largest log-odds.
const MOST: f64 = 5.0;

/// Numbers from the judge's replies on a pair.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Judged {
    /// Number of blanks, 0 to 2, that were filled with the other statement's value.
    pub(super) differ: f64,
    /// Number of blanks that were filled with the statement's own value.
    pub(super) agree: f64,
    /// Log-odds that one statement contradicts the other, the mean of both directions.
    pub(super) conflict: f64,
    /// The same for a pair without blanks, whose statements differ in their words alone; else 0.
    pub(super) conflict_of_words: f64,
}

/// The statement whose value an answer has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Whose {
    /// That of the statement with the blank.
    Own,
    /// That of the other one.
    Other,
}

impl Judged {
    /// Of two claims; all 0 for a pair whose calls failed.
    pub(super) fn of(a: &Claim, b: &Claim, said: Option<&Said>) -> Self {
        let Some(said) = said else { return Self::default() };
        let filled = [(a, b), (b, a)].into_iter().zip(&said.answers);
        let values: Vec<Whose> =
            filled.filter_map(|((own, other), answer)| whose(own, other, answer.as_deref()?)).collect();
        let count = |wanted: Whose| values.iter().filter(|value| **value == wanted).count() as f64;
        let [one, other] = said.relations.map(|[contradicts, ..]| log_odds(contradicts, MOST));
        let conflict = (one + other) / 2.0;
        Self {
            differ: count(Whose::Other),
            agree: count(Whose::Own),
            conflict,
            conflict_of_words: if said.blanks.iter().all(Option::is_none) { conflict } else { 0.0 },
        }
    }
}

/// The statement whose value `answer` has; `None` if it has neither value, or both. `answer` fills the blank in `own`.
fn whose(own: &Claim, other: &Claim, answer: &str) -> Option<Whose> {
    let (numbers, words) = (Numbers::of(answer), Words::of(&format!("x {answer}")));
    // The blank is a number or a date where there is one, else a name: an answer of the same kind fills it.
    let is_number = number(own, other).is_some();
    let gives = |claim: &Claim, against: &Claim| match is_number {
        true => numbers.give(&claim.numbers, &against.numbers),
        false => claim.words.names.iter().any(|name| !against.knows(name) && words.names.contains(name)),
    };
    match (gives(own, other), gives(other, own)) {
        (true, false) => Some(Whose::Own),
        (false, true) => Some(Whose::Other),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{Whose, whose};
    use crate::contradictions::claims::Claim;

    #[test]
    fn an_answer_has_the_value_of_one_statement() {
        let of = |own: &str, other: &str, answer: &str| whose(&Claim::of_text(own), &Claim::of_text(other), answer);
        let (own, other) = ("It has 240 seats.", "It has 310 seats.");
        assert_eq!(of(own, other, "310"), Some(Whose::Other));
        assert_eq!(of(own, other, "240 seats"), Some(Whose::Own));
        assert_eq!(of(own, other, "12"), None);
        assert_eq!(of(own, other, "The text does not mention it."), None);
        let (own, other) = ("It was led by Nurse Ada Brook.", "It was led by Nurse Olive Ruhl.");
        assert_eq!(of(own, other, "Nurse Olive Ruhl"), Some(Whose::Other));
        assert_eq!(of(own, other, "Nurse"), None);
        let (own, other) = ("It was led by Ada in 1899.", "It was led by Olive in 1904.");
        assert_eq!(of(own, other, "by Ada in 1904"), Some(Whose::Other), "the blank was a date");
    }
}

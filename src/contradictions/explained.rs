//! Differences that a sentence of the folder explains: it has both values, and says that one replaced or corrects the other.

use super::claims::Claim;
use super::pairs::Pair;
use super::quantities::Numbers;

/// Marks the pairs whose difference is explained.
pub(super) fn mark(pairs: &mut [Pair], claims: &[Claim]) {
    let known: Vec<Numbers> = claims.iter().filter_map(explanation).collect();
    for pair in pairs {
        let (a, b) = (&claims[pair.of.0].numbers, &claims[pair.of.1].numbers);
        pair.signals.explained = known.iter().any(|numbers| numbers.give(a, b) && numbers.give(b, a));
    }
}

/// The numbers of a sentence about a change; for a sentence about an error also those of its neighbours.
fn explanation(claim: &Claim) -> Option<Numbers> {
    if claim.words.corrects() {
        return Some(Numbers::of(&[claim.before.as_str(), &claim.text, &claim.after].join(" ")));
    }
    // Without neighbours: a sentence beside a change may be about something else, one beside a correction is
    // mostly what it corrects.
    claim.words.changes().then(|| claim.numbers.clone())
}

#[cfg(test)]
mod tests {
    use super::explanation;
    use crate::contradictions::claims::Claim;
    use crate::contradictions::quantities::Numbers;

    #[test]
    fn a_sentence_with_both_values_explains_a_difference() {
        let explains = |text: &str, before: &str| {
            let claim = Claim { before: before.to_owned(), ..Claim::of_text(text) };
            let (a, b) = (Numbers::of("A ticket costs £9."), Numbers::of("A ticket costs £12."));
            explanation(&claim).is_some_and(|numbers| numbers.give(&a, &b) && numbers.give(&b, &a))
        };
        assert!(explains("The fare was raised from £9 to £12.", ""));
        assert!(explains("That was an error: it costs £12.", "A ticket costs £9."));
        assert!(!explains("A ticket costs £9, and £12 on board.", ""), "nothing changed");
        assert!(
            !explains("The fare was raised to £12.", "A ticket costs £9."),
            "the sentence before may be about another"
        );
    }
}

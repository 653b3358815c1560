//! The logistic model over the named quantities of a pair.

use super::judged::Judged;
use super::signals::Signals;
use moot_models::kernels::math::exp;

/// The intercept. It and the weights were fitted by `benches/contradictions/fit.py` to the first two folders and rounded.
/// Weights with too few examples there were set by hand: corrections, reports, plans, explanations and scopes.
const INTERCEPT: f64 = -6.5;

/// The weight of each quantity of [`Signals::named`].
const WEIGHTS: &[(&str, f64)] = &[
    ("cosine", 3.3),
    ("overlap", 2.0),
    ("number_differs", 0.3),
    ("date_differs", 0.3),
    ("both_differ", -3.0),
    ("names_differ", 0.4),
    ("denied", 2.2),
    ("no_difference", -1.4),
    ("corrected", -3.0),
    ("reported", -1.5),
    ("planned", -1.5),
    ("explained", -6.0),
    ("years_differ", -1.0),
    ("scopes_differ", -2.0),
    ("then", -2.2),
    ("head_least", 0.4),
    ("head_most", 1.8),
    ("subjects_differ", -1.0),
    ("answers_differ", 1.3),
    ("answers_both", 0.7),
    ("answers_agree", -0.5),
    ("conflict", 0.9),
    ("conflict_of_words", 0.4),
];

/// The probability that two claims contradict each other.
pub(super) fn probability(signals: &Signals, judged: &Judged) -> f64 {
    // 0 is never taken: the test below compares the lists of quantities and weights.
    let weight = |name: &str| WEIGHTS.iter().find(|(known, _)| *known == name).map_or(0.0, |(_, weight)| *weight);
    let sum: f64 = signals.named(judged).iter().map(|(name, x)| x * weight(name)).sum();
    // The kernels' `exp`: C libraries round differently, and a probability would depend on the system.
    1.0 / (1.0 + exp(-(INTERCEPT + sum)))
}

#[cfg(test)]
mod tests {
    use super::{Judged, Signals, WEIGHTS};

    #[test]
    fn every_quantity_has_one_weight_and_every_weight_a_quantity() {
        let quantities = Signals::default().named(&Judged::default());
        let mut names: [Vec<&str>; 2] =
            [quantities.iter().map(|(name, _)| *name).collect(), WEIGHTS.iter().map(|(name, _)| *name).collect()];
        names.iter_mut().for_each(|names| names.sort_unstable());
        assert_eq!(names[0], names[1]);
        assert!(names[1].windows(2).all(|two| two[0] != two[1]), "{names:?}");
    }
}

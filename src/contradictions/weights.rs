//! The logistic model over the named quantities of a pair.

use super::judged::Judged;
use super::signals::Signals;
use moot_models::kernels::math::exp;

/// The intercept. It and the weights were set by hand: those that `benches/contradictions/fit.py` fitted to the 11 positive pairs of
/// the choosing folder were worse in cross-validation.
const INTERCEPT: f64 = -6.0;

/// The weight of each quantity of [`Signals::named`]; one that is not listed has none.
const WEIGHTS: &[(&str, f64)] = &[
    ("cosine", 2.0),
    ("overlap", 2.0),
    ("number_differs", 1.5),
    ("date_differs", 1.5),
    ("names_differ", 0.5),
    ("polarity", 1.0),
    ("no_difference", -1.5),
    ("corrected", -1.0),
    ("years_differ", -1.0),
    ("subjects_differ", -1.0),
    ("subject", 0.5),
    ("answers_differ", 1.5),
    ("answers_agree", -1.0),
    ("answers_unknown", -0.5),
    ("truth", -0.5),
];

/// The probability that two claims contradict each other.
pub(super) fn probability(signals: &Signals, judged: &Judged) -> f64 {
    let weight = |name: &str| WEIGHTS.iter().find(|(known, _)| *known == name).map_or(0.0, |(_, weight)| *weight);
    let sum: f64 = signals.named(judged).iter().map(|(name, x)| x * weight(name)).sum();
    1.0 / (1.0 + exp(-(INTERCEPT + sum)))
}

#[cfg(test)]
mod tests {
    use super::WEIGHTS;

    #[test]
    fn a_weight_is_named_once() {
        let mut names: Vec<&str> = WEIGHTS.iter().map(|(name, _)| *name).collect();
        names.sort_unstable();
        let all = names.len();
        names.dedup();
        assert_eq!(names.len(), all);
    }
}

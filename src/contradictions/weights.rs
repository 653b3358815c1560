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
    use super::{Judged, Signals, WEIGHTS};
    use crate::contradictions::quantities::Relation;

    #[test]
    fn every_weight_is_that_of_one_quantity() {
        let signals = Signals {
            cosine: 0.0,
            overlap: 0.0,
            contained: 0.0,
            quantities: Relation::Absent,
            shared_value: false,
            dates: Relation::Absent,
            names_differ: false,
            negated: false,
            opposed: false,
            corrected: false,
            changed: false,
            years_differ: false,
            scopes_differ: false,
            subject: 0.0,
            subjects_differ: false,
        };
        let known: Vec<&str> = signals.named(&Judged::default()).into_iter().map(|(name, _)| name).collect();
        for (index, (name, _)) in WEIGHTS.iter().enumerate() {
            assert_eq!(known.iter().filter(|quantity| *quantity == name).count(), 1, "{name}");
            assert!(WEIGHTS[..index].iter().all(|(before, _)| before != name), "{name} twice");
        }
    }
}

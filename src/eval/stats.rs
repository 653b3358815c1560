//! Confidence intervals over questions: the percentile bootstrap, seeded.
//!
//! Efron and Tibshirani, "An Introduction to the Bootstrap" (1993), chapter 13: questions are drawn with replacement, the
//! statistic is computed, and the interval lies between the 2.5th and the 97.5th percentile over many resamples. Two runs
//! are compared on the questions that both have, drawn in pairs: how hard a question is cancels in the difference, so the
//! interval is narrower than the two runs' own intervals suggest.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::Serialize;

/// Number of resamples; the interval's ends then move by less than a hundredth of its width between seeds.
pub(crate) const RESAMPLES: usize = 10_000;

/// A statistic and its 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Estimate {
    /// The mean of the values, or the statistic over all questions.
    pub mean: f64,
    /// 2.5th percentile over the resamples.
    pub low: f64,
    /// 97.5th percentile.
    pub high: f64,
    /// Number of questions.
    pub n: usize,
}

/// The mean of `values` and its percentile interval from `resamples` draws; `None` where there is no value.
///
/// The same values in the same order with the same seed give the same interval: callers sort by question first.
#[must_use]
pub fn bootstrap(values: &[f64], resamples: usize, seed: u64) -> Option<Estimate> {
    let n = values.len();
    if n == 0 {
        return None;
    }
    let mean = values.iter().sum::<f64>() / n as f64;
    // All equal: every resample has this mean, up to rounding that must not look like an interval.
    if resamples == 0 || values.iter().all(|&value| value == values[0]) {
        return Some(Estimate { mean, low: mean, high: mean, n });
    }
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut means: Vec<f64> =
        (0..resamples).map(|_| (0..n).map(|_| values[rng.random_range(0..n)]).sum::<f64>() / n as f64).collect();
    means.sort_by(f64::total_cmp);
    Some(Estimate { mean, low: percentile(&means, 0.025), high: percentile(&means, 0.975), n })
}

/// The mean of `b - a`, pair by pair, and its interval.
#[must_use]
pub fn paired_bootstrap(pairs: &[(f64, f64)], resamples: usize, seed: u64) -> Option<Estimate> {
    let differences: Vec<f64> = pairs.iter().map(|(a, b)| b - a).collect();
    bootstrap(&differences, resamples, seed)
}

/// A statistic of sums over questions, and its percentile interval from `resamples` draws of questions.
///
/// `tallies` has one entry a question; `value` computes the statistic from their sums. A resample that leaves it undefined
/// is skipped. `None` where it is undefined for all questions together.
#[must_use]
pub fn bootstrap_sums<const K: usize>(
    tallies: &[[f64; K]],
    resamples: usize,
    seed: u64,
    value: impl Fn(&[f64; K]) -> Option<f64>,
) -> Option<Estimate> {
    let n = tallies.len();
    let total = |drawn: &mut dyn Iterator<Item = usize>| {
        let mut sums = [0.0; K];
        for question in drawn {
            for (sum, count) in sums.iter_mut().zip(&tallies[question]) {
                *sum += count;
            }
        }
        sums
    };
    let mean = value(&total(&mut (0..n)))?;
    // Every draw of equal entries gives the same.
    if tallies.iter().all(|tally| *tally == tallies[0]) {
        return Some(Estimate { mean, low: mean, high: mean, n });
    }
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut draw = |_| value(&total(&mut (0..n).map(|_| rng.random_range(0..n))));
    let mut values: Vec<f64> = (0..resamples).filter_map(&mut draw).collect();
    if values.is_empty() {
        return Some(Estimate { mean, low: mean, high: mean, n });
    }
    values.sort_by(f64::total_cmp);
    Some(Estimate { mean, low: percentile(&values, 0.025), high: percentile(&values, 0.975), n })
}

/// The value below which a share `p` of `sorted` lies, interpolated linearly (Hyndman and Fan's type 7).
pub(crate) fn percentile(sorted: &[f64], p: f64) -> f64 {
    let rank = p * (sorted.len() - 1) as f64;
    let (below, above) = (rank.floor() as usize, rank.ceil() as usize);
    sorted[below] + (sorted[above] - sorted[below]) * (rank - rank.floor())
}

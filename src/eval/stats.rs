//! How sure a mean over questions is: the percentile bootstrap, seeded.
//!
//! Efron and Tibshirani, "An Introduction to the Bootstrap" (1993), chapter 13: questions are drawn with replacement,
//! the mean is taken, and the interval is what lies between the 2.5th and the 97.5th percentile of many such means.
//! Two runs are compared on the questions that both have, each question's difference being one value: what makes a
//! question hard falls out of the difference, so that the interval is narrower than the two runs' own would suggest.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::Serialize;

/// Resamples drawn: the ends of the interval then move by less than a hundredth of its width between seeds.
pub const RESAMPLES: usize = 10_000;

/// A mean and its 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Estimate {
    /// Of the values themselves.
    pub mean: f64,
    /// 2.5th percentile of the resampled means.
    pub low: f64,
    /// 97.5th percentile.
    pub high: f64,
    /// How many values.
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

/// The value below which a share `p` of `sorted` lies, interpolated linearly (Hyndman and Fan's type 7).
fn percentile(sorted: &[f64], p: f64) -> f64 {
    let place = p * (sorted.len() - 1) as f64;
    let (below, above) = (place.floor() as usize, place.ceil() as usize);
    sorted[below] + (sorted[above] - sorted[below]) * (place - place.floor())
}

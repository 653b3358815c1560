use moot::eval::stats::{bootstrap, bootstrap_sums, paired_bootstrap};
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

#[test]
fn no_values_have_no_mean() {
    assert_eq!(bootstrap(&[], 100, 0), None);
}

#[test]
fn equal_values_are_certain() {
    let e = bootstrap(&[0.1; 7], 1000, 0).unwrap();
    assert_eq!((e.low, e.high, e.n), (e.mean, e.mean, 7));
}

#[test]
fn seeded_and_repeatable() {
    let values: Vec<f64> = (0..50).map(|i| f64::from(i % 7)).collect();
    assert_eq!(bootstrap(&values, 1000, 3), bootstrap(&values, 1000, 3));
    assert_ne!(bootstrap(&values, 1000, 3), bootstrap(&values, 1000, 4));
}

#[test]
fn width_is_that_of_the_normal_approximation() {
    // 500 questions, 30 % right: the standard error is sqrt(0.3 * 0.7 / 500) = 0.020494.
    let values: Vec<f64> = (0..500).map(|i| f64::from(u8::from(i % 10 < 3))).collect();
    let e = bootstrap(&values, 10_000, 0).unwrap();
    assert!((e.mean - 0.3).abs() < 1e-12);
    assert!((e.low - (0.3 - 1.96 * 0.020494)).abs() < 0.003, "{e:?}");
    assert!((e.high - (0.3 + 1.96 * 0.020494)).abs() < 0.003, "{e:?}");
}

#[test]
fn intervals_cover_the_truth_at_their_level() {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let trials = 400;
    let covered = (0..trials).filter(|&trial| {
        let values: Vec<f64> = (0..100).map(|_| f64::from(u8::from(rng.random_range(0..10) < 4))).collect();
        let e = bootstrap(&values, 500, trial).unwrap();
        e.low <= 0.4 && 0.4 <= e.high
    });
    let share = covered.count() as f64 / f64::from(trials as u32);
    assert!((0.90..=0.98).contains(&share), "{share}");
}

#[test]
fn pairs_cancel_what_they_share() {
    // Hard and easy questions, and a second run that is better by 0.1 everywhere.
    let pairs: Vec<(f64, f64)> = (0..100).map(|i| (f64::from(i), f64::from(i) + 0.5)).collect();
    let e = paired_bootstrap(&pairs, 1000, 0).unwrap();
    assert_eq!((e.mean, e.low, e.high), (0.5, 0.5, 0.5));
    let back: Vec<(f64, f64)> = pairs.iter().map(|&(a, b)| (b, a)).collect();
    assert_eq!(paired_bootstrap(&back, 1000, 0).unwrap().mean, -0.5);
}

fn ratio(sums: &[f64; 2]) -> Option<f64> {
    (sums[1] > 0.0).then(|| sums[0] / sums[1])
}

#[test]
fn a_statistic_of_sums_is_resampled_by_question() {
    // Right and all documents of a question: 30 of 120, in questions of one to three documents.
    let tallies: Vec<[f64; 2]> = (0..60).map(|i| [f64::from(u8::from(i % 2 == 0)), f64::from(1 + i % 3)]).collect();
    let e = bootstrap_sums(&tallies, 10_000, 0, ratio).unwrap();
    assert_eq!((e.mean, e.n), (0.25, 60));
    // The ratio's standard error by the delta method: sqrt(sum (right - mean all)^2) / 120.
    let error = tallies.iter().map(|t| (t[0] - 0.25 * t[1]).powi(2)).sum::<f64>().sqrt() / 120.0;
    assert!((e.low - (0.25 - 1.96 * error)).abs() < 0.01, "{e:?}, error {error}");
    assert!((e.high - (0.25 + 1.96 * error)).abs() < 0.01, "{e:?}, error {error}");
    // Of shares of one document each, the same as the mean.
    let values: Vec<f64> = (0..50).map(|i| f64::from(u8::from(i % 3 == 0))).collect();
    let ones: Vec<[f64; 2]> = values.iter().map(|&v| [v, 1.0]).collect();
    assert_eq!(bootstrap_sums(&ones, 1000, 5, ratio), bootstrap(&values, 1000, 5));
}

#[test]
fn undefined_statistics() {
    assert_eq!(bootstrap_sums(&[], 100, 0, ratio), None);
    assert_eq!(bootstrap_sums(&[[0.0, 0.0]], 100, 0, ratio), None);
    // Defined over all, undefined in many resamples of two.
    let e = bootstrap_sums(&[[1.0, 1.0], [0.0, 0.0]], 100, 0, ratio).unwrap();
    assert_eq!((e.mean, e.low, e.high, e.n), (1.0, 1.0, 1.0, 2));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_interval_lies_within_the_values(values in prop::collection::vec(-1e3..1e3f64, 1..40), seed in any::<u64>()) {
        let e = bootstrap(&values, 200, seed).unwrap();
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        prop_assert!(e.low <= e.high);
        prop_assert!(least - 1e-9 <= e.low && e.high <= most + 1e-9);
    }
}

//! Bootstrap intervals of weights.

use super::iteration::{Evidence, fit};
use crate::eval::stats::percentile;
use crate::sources::EstimatorSettings;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// The 95 % percentile interval of each source's weight: questions are drawn with replacement and the iteration is run on
/// each draw. `None` without resamples, and for a source that answers in no draw.
pub(super) fn bootstrap(evidence: &Evidence<'_>, n: f64, settings: &EstimatorSettings) -> Vec<Option<(f64, f64)>> {
    let mut random = ChaCha8Rng::seed_from_u64(settings.seed);
    let rows = evidence.rows;
    let sources = rows.first().map_or(0, Vec::len);
    let mut drawn: Vec<Vec<f64>> = vec![Vec::new(); sources];
    for _ in 0..if rows.is_empty() { 0 } else { settings.resamples } {
        let mut times = vec![0_u32; rows.len()];
        (0..rows.len()).for_each(|_| times[random.random_range(0..rows.len())] += 1);
        let fit = fit(&Evidence { times: Some(&times), ..*evidence }, sources, n, settings);
        for (source, values) in drawn.iter_mut().enumerate() {
            values.extend(fit.agreement[source].map(|_| fit.votes[source]));
        }
    }
    let interval = |mut values: Vec<f64>| {
        values.sort_by(f64::total_cmp);
        (!values.is_empty()).then(|| (percentile(&values, 0.025), percentile(&values, 0.975)))
    };
    drawn.into_iter().map(interval).collect()
}

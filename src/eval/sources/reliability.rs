//! Reliabilities of simulated and built sources (section 4).

use rand::RngExt;
use rand_chacha::ChaCha8Rng;

/// Reliabilities of sources (section 4).
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Prior {
    /// Beta(2 w / (1 - w), 2), whose mean is w.
    Beta(f64),
    /// This many spammers (0.1); the others are hammers (0.9).
    SpammerHammer(usize),
}

impl Prior {
    /// The reliabilities of `sources` sources. Spammers are anywhere among them.
    pub fn draw(self, sources: usize, random: &mut ChaCha8Rng) -> Vec<f64> {
        match self {
            Self::Beta(mean) => (0..sources).map(|_| beta(mean, random.random())).collect(),
            Self::SpammerHammer(spammers) => {
                let chosen = rand::seq::index::sample(random, sources, spammers.min(sources)).into_vec();
                (0..sources).map(|source| if chosen.contains(&source) { SPAMMER } else { HAMMER }).collect()
            }
        }
    }
}

/// The reliability of a spammer.
pub(crate) const SPAMMER: f64 = 0.1;

/// The reliability of a hammer.
const HAMMER: f64 = 0.9;

/// The `share` quantile of Beta(2 w / (1 - w), 2), w its mean: with a = 2 w / (1 - w) the distribution function is
/// `x^a (a + 1 - a x)`.
#[must_use]
pub fn beta(mean: f64, share: f64) -> f64 {
    let a = 2.0 * mean / (1.0 - mean);
    let (mut low, mut high) = (0.0_f64, 1.0_f64);
    // 60 halvings: a range of 1 becomes narrower than the rounding of an f64.
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        if middle.powf(a) * (a + 1.0 - a * middle) < share { low = middle } else { high = middle }
    }
    (low + high) / 2.0
}

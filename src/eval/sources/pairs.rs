//! Pairs of sources that agree beyond what their weights explain. Not in the paper.

use super::iteration::Row;

/// Fewest questions that both sources of a pair must have answered for a finding.
const LEAST_SHARED: usize = 5;
/// The tail probability below which a pair's agreement is not a coincidence.
const COINCIDENCE: f64 = 0.001;

/// Two sources that answered the same questions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pair {
    /// The sources, by their indices.
    pub sources: (usize, usize),
    /// Questions that both answered.
    pub both: usize,
    /// Of these, with the same answer.
    pub agreed: usize,
    /// The share of `both` on which two independent sources with these agreements w would agree:
    /// `w_a w_b + (1 - w_a) (1 - w_b) / K`, K wrong answers to a question.
    pub expected: f64,
    /// The probability that independent sources agree on `agreed` questions or more (binomial).
    pub coincidence: f64,
}

impl Pair {
    /// Whether the two agree beyond what their weights explain.
    #[must_use]
    pub(crate) fn moves_together(&self) -> bool {
        self.both >= LEAST_SHARED && self.coincidence < COINCIDENCE
    }

    /// Whether the two never agree: on five questions and more, or where `alone`, on any number, because then no other source
    /// answers and nothing else is known of the two.
    #[must_use]
    pub(crate) fn is_opposed(&self, alone: bool) -> bool {
        self.agreed == 0 && self.both >= if alone { 1 } else { LEAST_SHARED }
    }
}

/// Every pair of sources that both answered a question; `agreement` has the estimated w of each source.
#[must_use]
pub fn pairs(rows: &[Row], agreement: &[Option<f64>]) -> Vec<Pair> {
    let wrong = wrong_answers(rows) as f64;
    let mut pairs = Vec::new();
    for a in 0..agreement.len() {
        for b in a + 1..agreement.len() {
            let (both, agreed) = shared(rows, a, b);
            let (Some(x), Some(y)) = (agreement[a], agreement[b]) else { continue };
            if both > 0 {
                let expected = x * y + (1.0 - x) * (1.0 - y) / wrong;
                let coincidence = tail(both, agreed, expected);
                pairs.push(Pair { sources: (a, b), both, agreed, expected, coincidence });
            }
        }
    }
    pairs
}

/// The probability of `least` or more successes of `n` at `p` each.
#[must_use]
pub fn tail(n: usize, least: usize, p: f64) -> f64 {
    if least == 0 || p >= 1.0 {
        return 1.0;
    }
    if p <= 0.0 {
        return 0.0;
    }
    // In logarithms: the binomial coefficients of many questions exceed an f64.
    let mut log = n as f64 * (1.0 - p).ln();
    let mut sum = 0.0;
    for k in 0..=n {
        if k >= least {
            sum += log.exp();
        }
        // At k = n this becomes minus infinity, which is not read any more.
        log += ((n - k) as f64 / (k + 1) as f64).ln() + p.ln() - (1.0 - p).ln();
    }
    sum.min(1.0)
}

/// Questions that both answered, and those of them with the same answer.
fn shared(rows: &[Row], a: usize, b: usize) -> (usize, usize) {
    let both = rows.iter().filter_map(|row| Some((row[a]?, row[b]?)));
    both.fold((0, 0), |(both, agreed), (x, y)| (both + 1, agreed + usize::from(x == y)))
}

/// K, the number of wrong answers that a question may have: one fewer than the most distinct answers to a question, at
/// least 2.
fn wrong_answers(rows: &[Row]) -> usize {
    let distinct = |row: &Row| row.iter().flatten().collect::<std::collections::BTreeSet<_>>().len();
    rows.iter().map(distinct).max().unwrap_or(0).saturating_sub(1).max(2)
}

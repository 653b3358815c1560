//! Which sources copy each other: pairs that agree beyond what their weights explain, and the partition of sources into
//! voices that explains the answers best.
//!
//! Not in the paper. The idea that copies are recognised by what they share is Dong, Berti-Equille and Srivastava's
//! ("Integrating Conflicting Data: The Role of Source Dependence", 2009, section 3); the model below is our own.

use super::iteration::{Row, Voices};

mod model;

/// Questions that two sources must both have answered before anything is said of the pair.
const LEAST_SHARED: usize = 5;
/// The tail probability below which a pair's agreement is no coincidence.
const COINCIDENCE: f64 = 0.001;
/// Nats of log-likelihood that joining two voices must gain: copies are rarer than independent sources.
const PRIOR: f64 = 3.0;
/// The least agreement of copies.
const LEAST_AGREEMENT: f64 = 0.6;

/// Two sources that answered the same questions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pair {
    /// The sources, by their places.
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
    pub fn moves_together(&self) -> bool {
        self.both >= LEAST_SHARED && self.coincidence < COINCIDENCE
    }

    /// Whether the two never agree: on five questions and more, or where `alone`, on any number, because then no other source
    /// answers and nothing else is known of the two.
    #[must_use]
    pub fn is_opposed(&self, alone: bool) -> bool {
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
    let mut log = n as f64 * (1.0 - p).ln();
    let mut sum = 0.0;
    for k in 0..=n {
        if k >= least {
            sum += log.exp();
        }
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

/// The voices of the sources: those that copy each other have one.
///
/// Sources are joined in the order of the least agreement within the joined voice (complete linkage), which gives at most as
/// many partitions as there are sources; the partition is taken under which the answers are most probable, less [`PRIOR`] for
/// each join. No estimate of the right answers goes into the order, so a majority of copies cannot vote itself independent.
#[must_use]
pub fn voices(rows: &[Row], sources: usize) -> Voices {
    let wrong = wrong_answers(rows) as f64;
    let score = |of: &[usize], joins: f64| model::log_likelihood(rows, of, wrong) - PRIOR * joins;
    let link = |a: usize, b: usize| {
        let (both, agreed) = shared(rows, a.min(b), a.max(b));
        if both < LEAST_SHARED { 0.0 } else { (agreed as f64 + 0.5) / (both as f64 + 1.0) }
    };
    let links: Vec<Vec<f64>> = (0..sources).map(|a| (0..sources).map(|b| link(a, b)).collect()).collect();
    let mut groups: Vec<Vec<usize>> = (0..sources).map(|source| vec![source]).collect();
    let mut of: Vec<usize> = (0..sources).collect();
    let mut best = (of.clone(), f64::NEG_INFINITY);
    let mut joins = 0.0;
    while let Some((a, b)) = nearest(&groups, &links) {
        if joins == 0.0 {
            best.1 = score(&of, joins);
        }
        let gone = groups.remove(b);
        groups[a].extend(gone);
        groups[a].iter().for_each(|&source| of[source] = groups[a][0]);
        joins += 1.0;
        let found = score(&of, joins);
        if found > best.1 {
            best = (of.clone(), found);
        }
    }
    Voices::of(best.0)
}

/// The two groups, by their places, whose members agree most, all with all; `None` where none agree enough.
fn nearest(groups: &[Vec<usize>], links: &[Vec<f64>]) -> Option<(usize, usize)> {
    let mut best: Option<(usize, usize, f64)> = None;
    for a in 0..groups.len() {
        for b in a + 1..groups.len() {
            let pairs = groups[a].iter().flat_map(|&x| groups[b].iter().map(move |&y| links[x][y]));
            let least = pairs.fold(f64::INFINITY, f64::min);
            if least >= LEAST_AGREEMENT && best.is_none_or(|(_, _, most)| least > most) {
                best = Some((a, b, least));
            }
        }
    }
    best.map(|(a, b, _)| (a, b))
}

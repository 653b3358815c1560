//! Fits label weights to records of scored labels, and measures them on claims that they were not fitted to.
//!
//! Multinomial logistic regression with a ridge penalty, by Newton's method (Hastie, Tibshirani and Friedman, "The Elements of
//! Statistical Learning", section 4.4). Half of the claims are fitted to: no claim is in both halves.

use crate::error::{MootError, Result};
use crate::eval::metrics::calibration::{self, Weighed};
use crate::eval::record::Header;
use crate::eval::record::reader::Record;
use crate::eval::stats::{Estimate, RESAMPLES, bootstrap_sums};
use crate::protocol::labelling::weights::{LabelWeights, LogOdds, Quantities, RELATIONS, VERSION};
use crate::protocol::labelling::{SCORED, quantities, settings};
use crate::question::ClaimRelation;
use moot_models::kernels::math::exp;
use sha2::{Digest, Sha256};
use std::array;
use std::collections::BTreeMap;

/// The penalty on the square of a weight, of quantities with a standard deviation of 1.
const RIDGE: f64 = 1.0;

/// Steps of Newton's method at most; it needs about six.
const STEPS: usize = 50;

/// Pairs of each half at least.
pub(crate) const LEAST: usize = 30;

/// The number of quantities, with the intercept's 1.
const N: usize = 4;
/// The number of weights of both labels.
const ALL: usize = 2 * N;

/// A labelled pair of a claim and a document.
#[derive(Debug, Clone, PartialEq)]
pub struct Pair {
    /// The claim's text.
    pub claim: String,
    /// The quantities that the weights multiply.
    pub found: Quantities,
    /// The index of the dataset's label in [`RELATIONS`].
    pub gold: usize,
}

/// The weights of one half, and how good they are on the other.
#[derive(Debug, Clone, PartialEq)]
pub struct Fitted {
    /// Fitted to one half.
    pub weights: LabelWeights,
    /// Measured on the other.
    pub held_out: HeldOut,
}

/// Scores of labels on held-out pairs.
#[derive(Debug, Clone, PartialEq)]
pub struct HeldOut {
    /// Pairs.
    pub pairs: usize,
    /// Claims.
    pub claims: usize,
    /// Of each label of the dataset (rows, in the order of [`RELATIONS`]) the number of each label found.
    pub confusion: [[usize; 3]; 3],
    /// The share of right labels, with an interval over claims.
    pub accuracy: Estimate,
    /// The same for the most probable of the three words, without weights.
    pub unweighed: Estimate,
    /// The share of the label that is most frequent in the half that was fitted to.
    pub constant: Estimate,
    /// The mean F1 of the three labels.
    pub macro_f1: f64,
    /// Expected calibration error over ten bins.
    pub ece: f64,
}

/// The labelled pairs of `records`.
#[must_use]
pub fn pairs(records: &[Record]) -> Vec<Pair> {
    let mut pairs = Vec::new();
    for question in records.iter().flat_map(|record| &record.questions) {
        let judged =
            question.conclusion.as_ref().and_then(|conclusion| conclusion.claims.as_deref()).unwrap_or_default();
        for (claim, judged) in question.question.claims.iter().zip(judged) {
            for label in judged.labels.iter().filter(|label| label.by == settings::ROLE) {
                let gold =
                    claim.relations.get(label.document).and_then(|gold| RELATIONS.iter().position(|r| r == gold));
                let call = label.calls.first().and_then(|&number| question.calls.get(number));
                let document = question.document(label.document);
                let (Some(gold), Some(call), Some(document)) = (gold, call, document) else { continue };
                if call.logprobs.is_empty() {
                    continue;
                }
                let Some(found) = quantities(call, &claim.text, &document.text) else { continue };
                pairs.push(Pair { claim: claim.text.clone(), found, gold });
            }
        }
    }
    pairs
}

/// Fits weights to half of the labelled claims of `records`, drawn by `seed`, and measures them on the other half.
///
/// # Errors
/// [`MootError::Input`] for records of several models or prompts, and where a half has less than [`LEAST`] labelled pairs.
pub fn fit(records: &[Record], seed: u64) -> Result<Fitted> {
    let [fitting, holding] = halves(pairs(records), seed);
    let wrong = |record: &Record, expected: String, found: String| {
        Err(MootError::Input { path: record.path.clone(), line: Some(1), expected, found })
    };
    let Some(first) = records.first() else {
        return Err(MootError::Usage("expected a record of scored labels, found none".into()));
    };
    let whole = identity(&first.header, fitting.len());
    for record in records {
        let other = identity(&record.header, fitting.len());
        if other != whole {
            return wrong(record, format!("the model and the prompt of {}", first.path.display()), other.model);
        }
    }
    if fitting.len().min(holding.len()) < LEAST {
        let scored = "scored by conflict-score with --set labels=scored";
        let expected = format!("at least {} labelled pairs of several claims, {scored}", 2 * LEAST);
        return wrong(first, expected, format!("{} in one half, {} in the other", fitting.len(), holding.len()));
    }
    let [supports, contradicts] = newton(&fitting);
    let weights = LabelWeights { supports, contradicts, ..whole };
    let held_out = held_out(&weights, &fitting, &holding, seed);
    Ok(Fitted { weights, held_out })
}

/// Weights without numbers, of the model and the prompt of a record.
fn identity(header: &Header, pairs: usize) -> LabelWeights {
    let model = header.model_of(settings::ROLE);
    let zero = LogOdds::from([0.0; N]);
    LabelWeights {
        moot_label_weights: VERSION,
        model: model.name.clone(),
        sha256: model.sha256.clone(),
        prompt: header.prompts.get(SCORED.name).cloned().unwrap_or_default(),
        pairs,
        supports: zero,
        contradicts: zero,
    }
}

/// `pairs` in two halves without a common claim: claims in an order drawn by `seed`, each to the half with fewer pairs.
fn halves(pairs: Vec<Pair>, seed: u64) -> [Vec<Pair>; 2] {
    let mut claims: BTreeMap<[u8; 32], Vec<Pair>> = BTreeMap::new();
    for pair in pairs {
        let rank = Sha256::new().chain_update(seed.to_le_bytes()).chain_update(pair.claim.as_bytes()).finalize();
        claims.entry(rank.into()).or_default().push(pair);
    }
    let mut halves = [Vec::new(), Vec::new()];
    for claim in claims.into_values() {
        let fewer = usize::from(halves[1].len() < halves[0].len());
        halves[fewer].extend(claim);
    }
    halves
}

/// The most probable weights of SUPPORTS and CONTRADICTS under the penalty.
fn newton(pairs: &[Pair]) -> [LogOdds; 2] {
    let scale = Scale::of(pairs);
    let rows: Vec<([f64; N], usize)> =
        pairs.iter().map(|pair| (scale.apply(pair.found.with_intercept()), pair.gold)).collect();
    let mut weights = [0.0; ALL];
    for _ in 0..STEPS {
        // The intercepts are free.
        // Almost: that of a label which no pair has would otherwise go to minus infinity.
        let ridge = |index: usize| if index.is_multiple_of(N) { 1e-6 } else { RIDGE };
        let mut gradient: [f64; ALL] = array::from_fn(|index| ridge(index) * weights[index]);
        let mut hessian: [[f64; ALL]; ALL] =
            array::from_fn(|a| array::from_fn(|b| if a == b { ridge(a) } else { 0.0 }));
        for (x, gold) in &rows {
            let shares = shares(&weights, x);
            for (a, (slope, curvatures)) in gradient.iter_mut().zip(&mut hessian).enumerate() {
                let (label, weight) = (a / N, x[a % N]);
                *slope += weight * (shares[label] - f64::from(u8::from(label == *gold)));
                for (b, curvature) in curvatures.iter_mut().enumerate() {
                    let same = f64::from(u8::from(label == b / N));
                    *curvature += weight * x[b % N] * shares[label] * (same - shares[b / N]);
                }
            }
        }
        let step = solved(hessian, gradient);
        weights.iter_mut().zip(step).for_each(|(weight, step)| *weight -= step);
        if step.iter().all(|step| step.abs() < 1e-9) {
            break;
        }
    }
    [0, 1].map(|label| scale.undo(array::from_fn(|index| weights[label * N + index])))
}

/// The probabilities of SUPPORTS and CONTRADICTS.
fn shares(weights: &[f64; ALL], x: &[f64; N]) -> [f64; 2] {
    let odds = [0, 1].map(|label| (0..N).map(|index| weights[label * N + index] * x[index]).sum::<f64>());
    // IRRELEVANT has log-odds of 0. Less the highest, no power overflows.
    let highest = odds[0].max(odds[1]).max(0.0);
    let powers = odds.map(|odds| exp(odds - highest));
    let sum = powers[0] + powers[1] + exp(-highest);
    powers.map(|power| power / sum)
}

/// Mean and standard deviation of each quantity; those of the intercept leave its 1 alone.
struct Scale {
    means: [f64; N],
    deviations: [f64; N],
}

impl Scale {
    fn of(pairs: &[Pair]) -> Self {
        let rows = || pairs.iter().map(|pair| pair.found.with_intercept());
        let count = pairs.len() as f64;
        let mut means: [f64; N] = array::from_fn(|index| rows().map(|row| row[index]).sum::<f64>() / count);
        let variance = |index: usize| rows().map(|row| (row[index] - means[index]).powi(2)).sum::<f64>() / count;
        let deviations = array::from_fn(|index| match variance(index).sqrt() {
            deviation if deviation > 1e-9 => deviation,
            _ => 1.0,
        });
        means[0] = 0.0;
        Self { means, deviations }
    }

    fn apply(&self, row: [f64; N]) -> [f64; N] {
        array::from_fn(|index| (row[index] - self.means[index]) / self.deviations[index])
    }

    /// Weights of scaled quantities as weights of the quantities themselves.
    fn undo(&self, scaled: [f64; N]) -> LogOdds {
        let mut weights: [f64; N] = array::from_fn(|index| scaled[index] / self.deviations[index]);
        weights[0] -= (1..N).map(|index| weights[index] * self.means[index]).sum::<f64>();
        LogOdds::from(weights)
    }
}

/// The solution of a system whose matrix is positive definite, by Gaussian elimination.
fn solved(mut matrix: [[f64; ALL]; ALL], mut right: [f64; ALL]) -> [f64; ALL] {
    // No rows are exchanged: the pivots of a positive definite matrix are positive.
    for pivot in 0..ALL {
        let (above, below) = matrix.split_at_mut(pivot + 1);
        let (known, open) = right.split_at_mut(pivot + 1);
        let (row, value) = (&above[pivot], known[pivot]);
        for (other, right) in below.iter_mut().zip(open) {
            let factor = other[pivot] / row[pivot];
            other.iter_mut().zip(row).for_each(|(entry, own)| *entry -= factor * own);
            *right -= factor * value;
        }
    }
    for row in (0..ALL).rev() {
        let known: f64 = (row + 1..ALL).map(|column| matrix[row][column] * right[column]).sum();
        right[row] = (right[row] - known) / matrix[row][row];
    }
    right
}

/// The measures of `weights` on `holding`.
fn held_out(weights: &LabelWeights, fitting: &[Pair], holding: &[Pair], seed: u64) -> HeldOut {
    let count = |label: usize| fitting.iter().filter(|pair| pair.gold == label).count();
    let constant = (0..RELATIONS.len()).max_by_key(|&label| count(label)).unwrap_or(0);
    let mut confusion = [[0; 3]; 3];
    let mut claims: BTreeMap<&str, [f64; 4]> = BTreeMap::new();
    let mut weighed = Vec::new();
    for pair in holding {
        let probabilities = weights.probabilities(&pair.found);
        let found = highest(probabilities);
        confusion[pair.gold][found] += 1;
        weighed.push(Weighed {
            probability: probabilities[found],
            found: RELATIONS[found],
            gold: RELATIONS[pair.gold],
        });
        let unweighed = highest([pair.found.supports, pair.found.contradicts, 0.0]);
        let right = [found, unweighed, constant].map(|label| f64::from(u8::from(label == pair.gold)));
        let sums = claims.entry(&pair.claim).or_default();
        sums.iter_mut().zip(right.into_iter().chain([1.0])).for_each(|(sum, one)| *sum += one);
    }
    // Claims are drawn, not pairs: the labels of one claim depend on each other.
    let tallies: Vec<[f64; 4]> = claims.values().copied().collect();
    let share = |index: usize| {
        let none = Estimate { mean: 0.0, low: 0.0, high: 0.0, n: 0 };
        bootstrap_sums(&tallies, RESAMPLES, seed, |sums| (sums[3] > 0.0).then(|| sums[index] / sums[3])).unwrap_or(none)
    };
    HeldOut {
        pairs: holding.len(),
        claims: tallies.len(),
        confusion,
        accuracy: share(0),
        unweighed: share(1),
        constant: share(2),
        macro_f1: macro_f1(&confusion),
        ece: calibration::error(&calibration::bins(&weighed)).unwrap_or(0.0),
    }
}

/// The index of the highest; of equals the last, IRRELEVANT before the others.
fn highest(values: [f64; 3]) -> usize {
    (0..3).max_by(|&a, &b| values[a].total_cmp(&values[b])).unwrap_or(2)
}

fn macro_f1(confusion: &[[usize; 3]; 3]) -> f64 {
    let f1 = |label: usize| {
        let (gold, found): (usize, usize) =
            (confusion[label].iter().sum(), confusion.iter().map(|row| row[label]).sum());
        if gold + found == 0 { 0.0 } else { 2.0 * confusion[label][label] as f64 / (gold + found) as f64 }
    };
    (0..3).map(f1).sum::<f64>() / 3.0
}

/// The word of a relation in tables.
#[must_use]
pub fn name(relation: ClaimRelation) -> &'static str {
    crate::protocol::claims::word(relation)
}

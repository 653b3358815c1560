//! Calibration of labels: how often labels of a probability are right (Guo et al., 2017, "On Calibration of Modern Neural
//! Networks", section 2: reliability by bins, expected calibration error), and precision by least probability.
//!
//! Labels take part that have a probability ([`crate::question::DocumentLabel::probability`]) and that the dataset labels too:
//! as they were given, also those that were not sure enough to count.

use super::metric::{BINS, Bins};
use crate::eval::text_table::aligned;
use crate::question::{ClaimRelation, LabelFault};
use crate::transcript::QuestionRecord;

/// A label with its probability, and the dataset's.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Weighed {
    /// Of the label.
    pub probability: f64,
    /// The label.
    pub found: ClaimRelation,
    /// The dataset's.
    pub gold: ClaimRelation,
}

/// The labels of a question that have a probability and a label of the dataset; empty without.
#[must_use]
pub fn weighed(record: &QuestionRecord) -> Vec<Weighed> {
    let judged = record.conclusion.as_ref().and_then(|conclusion| conclusion.claims.as_deref()).unwrap_or_default();
    let pairs = record.question.claims.iter().zip(judged).flat_map(|(claim, judged)| {
        judged.labels.iter().filter_map(|label| Some((label, *claim.relations.get(label.document)?)))
    });
    let given = pairs.filter(|(label, _)| matches!(label.fault, None | Some(LabelFault::Unsure)));
    let weighed = given.filter_map(|(label, gold)| {
        let probability = f64::from(label.probability?);
        Some(Weighed { probability, found: label.relation, gold })
    });
    weighed.collect()
}

/// The bins of a question's labels; `None` without any.
#[must_use]
pub fn tally(record: &QuestionRecord) -> Option<Bins> {
    let labels = weighed(record);
    (!labels.is_empty()).then(|| bins(&labels))
}

/// For each bin its labels, the sum of their probabilities, and those that are right.
#[must_use]
pub fn bins(labels: &[Weighed]) -> Bins {
    let mut bins = [0.0; 3 * BINS];
    for label in labels {
        let bin = ((label.probability * BINS as f64) as usize).min(BINS - 1);
        bins[3 * bin] += 1.0;
        bins[3 * bin + 1] += label.probability;
        bins[3 * bin + 2] += f64::from(u8::from(label.found == label.gold));
    }
    bins
}

/// Expected calibration error: sum over bins of |right - sum of probabilities| / labels.
#[must_use]
pub fn error(bins: &Bins) -> Option<f64> {
    let labels: f64 = bins.chunks_exact(3).map(|bin| bin[0]).sum();
    let gaps: f64 = bins.chunks_exact(3).map(|bin| (bin[2] - bin[1]).abs()).sum();
    (labels > 0.0).then(|| gaps / labels)
}

/// The mean probability of the labels.
#[must_use]
pub fn confidence(bins: &Bins) -> Option<f64> {
    let sum = |column: usize| bins.chunks_exact(3).map(|bin| bin[column]).sum::<f64>();
    (sum(0) > 0.0).then(|| sum(1) / sum(0))
}

/// Right labels `relation` of at least `least`, those labels, and the dataset's labels `relation`.
#[must_use]
pub fn at_least(labels: &[Weighed], relation: ClaimRelation, least: f64) -> (usize, usize, usize) {
    let found = labels.iter().filter(|label| label.found == relation && label.probability >= least);
    let (right, all) = found.fold((0, 0), |(right, all), label| (right + usize::from(label.gold == relation), all + 1));
    (right, all, labels.iter().filter(|label| label.gold == relation).count())
}

/// Both as text: accuracy by bin of probability, and precision and recall of labels against a claim by their least probability.
/// `None` where no label has a probability.
#[must_use]
pub fn report(records: &[&QuestionRecord]) -> Option<String> {
    let labels: Vec<Weighed> = records.iter().flat_map(|record| weighed(record)).collect();
    if labels.is_empty() {
        return None;
    }
    let mut rows = vec![["probability", "labels", "mean", "right"].map(str::to_owned).to_vec()];
    let sums = records.iter().filter_map(|record| tally(record)).reduce(|a, b| std::array::from_fn(|i| a[i] + b[i]))?;
    for (number, bin) in sums.chunks_exact(3).enumerate().filter(|(_, bin)| bin[0] > 0.0) {
        let (from, to) = (number as f64 / BINS as f64, (number + 1) as f64 / BINS as f64);
        let shares = [bin[1] / bin[0], bin[2] / bin[0]].map(|share| format!("{share:.3}"));
        rows.push([vec![format!("{from:.1} to {to:.1}"), bin[0].to_string()], shares.to_vec()].concat());
    }
    let mut text = aligned(&rows);
    let mut rows = vec![["CONTRADICTS from", "labels", "precision", "recall"].map(str::to_owned).to_vec()];
    for least in [0.0, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95] {
        let (right, found, gold) = at_least(&labels, ClaimRelation::Contradicts, least);
        let share = |of: usize| if of == 0 { "-".to_owned() } else { format!("{:.3}", right as f64 / of as f64) };
        rows.push(vec![format!("{least:.2}"), found.to_string(), share(found), share(gold)]);
    }
    text.push('\n');
    text.push_str(&aligned(&rows));
    text.push_str("recall: of the dataset's labels CONTRADICTS whose pair has a label with a probability\n");
    Some(text)
}

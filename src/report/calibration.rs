//! The reliability diagram: how often answers of about one probability are right, and the expected calibration error.

use super::figures::row;
use super::part::Part;
use crate::error::Result;
use crate::eval::chart::{Chart, Point, Scale, Series};
use crate::eval::judgement;
use crate::eval::record::reader::Record;
use crate::eval::stats::{RESAMPLES, bootstrap};
use serde_json::{Value, json};

const BINS: usize = 10;
/// As `eval::scores` draws: the same records give the same intervals.
const SEED: u64 = 0;

/// The figure, where a record has probabilities of answers and the dataset has gold answers.
pub(super) fn figure(part: &Part) -> Result<Option<Value>> {
    let bins: Vec<[Vec<(f64, f64)>; BINS]> = part.records.iter().map(binned).collect();
    if bins.iter().flatten().all(Vec::is_empty) {
        return Ok(None);
    }
    let series: Vec<Series> = bins.iter().enumerate().map(|(index, bins)| line(index, bins)).collect();
    let errors = bins.iter().enumerate().filter_map(|(index, bins)| {
        let name = crate::escape::line(&part.compared.records[index].name);
        Some(format!("{name}: {:.3} ({:.3})", error(bins)?, chance(bins)))
    });
    let about = format!(
        "Answers and rejected answers by their estimated probability, and the share of them that is right: on the diagonal, \
         probabilities are what they say. Expected calibration error, ten bins (in brackets what chance alone gives \
         probabilities that are what they say): {}.",
        errors.collect::<Vec<_>>().join("; ")
    );
    let x = "estimated probability, %";
    let rows: Vec<Value> =
        series.iter().flat_map(|line| line.points.iter().map(|point| row(part, line, point))).collect();
    let chart = Chart { x: x.into(), y: "share right".into(), scale: Scale::Linear, top: None, diagonal: true, series };
    let charts = [json!({ "metric": "", "name": "share right", "svg": chart.svg()?, "rows": rows })];
    Ok(Some(json!({ "title": "Calibration", "x": x, "about": about, "charts": charts })))
}

/// Probability and 1 if the answer is right, else 0, of each answer with an estimate.
fn binned(record: &Record) -> [Vec<(f64, f64)>; BINS] {
    let mut bins: [Vec<(f64, f64)>; BINS] = Default::default();
    for question in &record.questions {
        let Some(conclusion) = &question.conclusion else { continue };
        for answer in conclusion.answers.iter().chain(&conclusion.rejected) {
            let Some(estimate) = &answer.estimate else { continue };
            let Some(right) = judgement::is_right(&question.question, &answer.text) else { continue };
            let bin = ((estimate.probability * BINS as f64) as usize).min(BINS - 1);
            bins[bin].push((estimate.probability, f64::from(u8::from(right))));
        }
    }
    bins
}

fn line(index: usize, bins: &[Vec<(f64, f64)>; BINS]) -> Series {
    let point = |(bin, values): (usize, &Vec<(f64, f64)>)| {
        let right: Vec<f64> = values.iter().map(|(_, right)| *right).collect();
        Some(Point { x: (bin as f64 + 0.5) * 100.0 / BINS as f64, y: bootstrap(&right, RESAMPLES, SEED)? })
    };
    Series { index, points: bins.iter().enumerate().filter_map(point).collect() }
}

/// The mean distance of probability and share of right answers, bins weighted by their answers.
fn error(bins: &[Vec<(f64, f64)>; BINS]) -> Option<f64> {
    let count = bins.iter().map(Vec::len).sum::<usize>();
    let distance =
        |values: &Vec<(f64, f64)>| values.iter().map(|(probability, right)| probability - right).sum::<f64>().abs();
    (count > 0).then(|| bins.iter().map(distance).sum::<f64>() / count as f64)
}

/// The expected value of [`error`] if each answer is right with its probability. The sum of a bin is then near normal with
/// the variance `sum p (1 - p)`, and the mean of its absolute value is `sqrt(2 / pi)` standard deviations.
fn chance(bins: &[Vec<(f64, f64)>; BINS]) -> f64 {
    let count = bins.iter().map(Vec::len).sum::<usize>();
    let deviation = |values: &Vec<(f64, f64)>| values.iter().map(|(p, _)| p * (1.0 - p)).sum::<f64>().sqrt();
    std::f64::consts::FRAC_2_PI.sqrt() * bins.iter().map(deviation).sum::<f64>() / count as f64
}

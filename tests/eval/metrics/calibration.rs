//! Calibration of labels, by hand.

use moot::eval::metrics::METRICS;
use moot::eval::metrics::calibration::{at_least, confidence, error, report, tally, weighed};
use moot::question::{Claim, ClaimRelation, Conclusion, DocumentLabel, JudgedClaim, LabelFault, Question};
use moot::transcript::QuestionRecord;

use ClaimRelation::{Contradicts, Irrelevant, Supports};

/// One claim, a document for each (dataset's label, label, probability, fault).
fn record(labels: &[(ClaimRelation, ClaimRelation, Option<f32>, Option<LabelFault>)]) -> QuestionRecord {
    let claim = Claim { text: "a".into(), relations: labels.iter().map(|label| label.0).collect(), conflict: None };
    let label =
        |(document, label): (usize, &(ClaimRelation, ClaimRelation, Option<f32>, Option<LabelFault>))| DocumentLabel {
            document,
            relation: label.1,
            fault: label.3,
            quote: None,
            misquote: String::new(),
            reason: String::new(),
            by: "labeller".into(),
            probability: label.2,
            calls: Vec::new(),
        };
    let judged = JudgedClaim { text: "a".into(), from: None, labels: labels.iter().enumerate().map(label).collect() };
    let conclusion = Conclusion { claims: Some(vec![judged]), ..Conclusion::default() };
    let question = Question { claims: vec![claim], ..Question::default() };
    QuestionRecord { question, conclusion: Some(conclusion), ..QuestionRecord::default() }
}

#[test]
fn bins_hold_probabilities_and_right_labels() {
    let record = record(&[
        (Contradicts, Contradicts, Some(0.95), None),
        (Supports, Contradicts, Some(0.91), None),
        (Contradicts, Contradicts, Some(0.55), Some(LabelFault::Unsure)),
        (Contradicts, Supports, Some(0.52), None),
        (Irrelevant, Irrelevant, Some(1.0), None),
        (Irrelevant, Supports, None, None),
        (Irrelevant, Irrelevant, Some(0.9), Some(LabelFault::Malformed)),
    ]);
    let labels = weighed(&record);
    assert_eq!(labels.len(), 5, "those with a probability and a readable label");
    let bins = tally(&record).unwrap();
    let bin = |number: usize| [bins[3 * number], bins[3 * number + 1], bins[3 * number + 2]];
    let near = |a: [f64; 3], b: [f64; 3]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-6);
    assert!(near(bin(5), [2.0, 1.07, 1.0]) && near(bin(9), [3.0, 2.86, 2.0]), "{bins:?}");
    // (|1 - 1.07| + |2 - 2.86|) / 5
    assert!((error(&bins).unwrap() - 0.93 / 5.0).abs() < 1e-6, "{:?}", error(&bins));
    assert!((confidence(&bins).unwrap() - 3.93 / 5.0).abs() < 1e-6);
    assert_eq!(at_least(&labels, Contradicts, 0.0), (2, 3, 3));
    assert_eq!(at_least(&labels, Contradicts, 0.6), (1, 2, 3));
    assert_eq!(at_least(&labels, Contradicts, 0.94), (1, 1, 3));
    let metric = METRICS.iter().find(|metric| metric.name == "label-ece").unwrap();
    assert!((metric.over(&[&record, &record]).unwrap() - 0.93 / 5.0).abs() < 1e-6, "equal questions change nothing");
    let text = report(&[&record]).unwrap();
    assert!(text.contains("0.5 to 0.6") && text.contains("0.9 to 1.0") && !text.contains("0.1 to 0.2"), "{text}");
    assert!(text.lines().any(|line| line.split_whitespace().eq(["0.60", "2", "0.500", "0.333"])), "{text}");
    let bare = self::record(&[(Supports, Supports, None, None)]);
    assert_eq!((tally(&bare), report(&[&bare])), (None, None));
}

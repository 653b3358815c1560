//! Every number here was worked out by hand.

mod calibration;
mod run;
mod single;

use super::{answered, call};
use moot::eval::metrics::METRICS;
use moot::question::Gold;
use moot::transcript::{Parsed, QuestionRecord};
use proptest::prelude::*;
use std::collections::HashSet;

fn of(name: &str, record: &QuestionRecord) -> Option<f64> {
    over(name, &[record])
}

fn over(name: &str, records: &[&QuestionRecord]) -> Option<f64> {
    METRICS.iter().find(|metric| metric.name == name).unwrap_or_else(|| panic!("no metric {name}")).over(records)
}

/// The metric is this, to nine digits.
fn is(name: &str, records: &[&QuestionRecord], expected: f64) {
    let found = over(name, records).unwrap_or_else(|| panic!("{name} has no value"));
    assert!((found - expected).abs() < 1e-9, "{name} is {found}, not {expected}");
}

/// em, precision, recall, f1 under the rule with this suffix.
fn four(record: &QuestionRecord, suffix: &str) -> [f64; 4] {
    ["em", "precision", "recall", "f1"].map(|name| of(&format!("{name}{suffix}"), record).unwrap())
}

fn close(found: [f64; 4], expected: [f64; 4]) {
    for (a, b) in found.iter().zip(expected) {
        assert!((a - b).abs() < 1e-9, "{found:?} is not {expected:?}");
    }
}

const F: f64 = 2.0 / 3.0;

/// Gold, wrong and given answers; em, precision, recall, f1.
type Row = (&'static [&'static str], &'static [&'static str], &'static [&'static str], [f64; 4]);

#[test]
fn by_containment_of_the_gold_words_in_the_answer() {
    #[rustfmt::skip]
    let rows: &[Row] = &[
        (&["1856"], &["1900"], &["1856"], [1.0, 1.0, 1.0, 1.0]),
        (&["1856"], &["1900"], &["It was founded in 1856."], [1.0, 1.0, 1.0, 1.0]),
        // Not the other way round: too little was said.
        (&["12 May 1856"], &[], &["1856"], [0.0, 0.0, 0.0, 0.0]),
        // Words, not letters.
        (&["1856"], &[], &["18560"], [0.0, 0.0, 0.0, 0.0]),
        (&["1856", "1868"], &["1900"], &["1856"], [0.0, 1.0, 0.5, F]),
        (&["1856", "1868"], &["1900"], &["1868", "1856"], [1.0, 1.0, 1.0, 1.0]),
        (&["1856", "1868"], &["1900"], &["1868", "1856", "1900"], [0.0, F, 1.0, 0.8]),
        // An answer that is neither harms precision alone.
        (&["1856", "1868"], &["1900"], &["1868", "1856", "1777"], [1.0, F, 1.0, 0.8]),
        // Both in one answer: given, but no longer right.
        (&["1856"], &["1900"], &["1856 or 1900"], [0.0, 0.0, 1.0, 0.0]),
        (&["1856", "1868"], &[], &["1856 and 1868"], [1.0, 1.0, 1.0, 1.0]),
        // A gold answer that holds a wrong one cannot be given by this rule.
        (&["New York City"], &["New York"], &["New York City"], [0.0, 0.0, 1.0, 0.0]),
        (&["The United States"], &[], &["united states!"], [1.0, 1.0, 1.0, 1.0]),
        // Unknown.
        (&["1856"], &["1900"], &[], [0.0, 0.0, 0.0, 0.0]),
        // No answer is right: an invented one scores nothing.
        (&[], &["1900"], &[], [1.0, 1.0, 1.0, 1.0]),
        (&[], &["1900"], &["1856"], [0.0, 0.0, 0.0, 0.0]),
        (&[], &["1900"], &["1900"], [0.0, 0.0, 0.0, 0.0]),
        // An answer without words holds nothing and is held by nothing.
        (&["1856"], &["..."], &["1856", "!"], [1.0, 0.5, 1.0, F]),
    ];
    for (gold, wrong, answers, expected) in rows {
        close(four(&answered("x", gold, wrong, answers), ""), *expected);
    }
}

#[test]
fn an_invented_answer_is_wrong_where_none_is_right() {
    for gold in [Gold::none(), Gold::default()] {
        let mut invented = answered("x", &[], &[], &["1856"]);
        invented.question.gold = Some(gold);
        let mut silent = invented.clone();
        silent.conclusion.as_mut().unwrap().answers.clear();
        for suffix in ["", "-equal", "-text"] {
            close(four(&invented, suffix), [0.0; 4]);
            close(four(&silent, suffix), [1.0; 4]);
        }
        for name in ["squad-em", "squad-f1"] {
            assert_eq!((of(name, &invented), of(name, &silent)), (Some(0.0), Some(1.0)));
        }
    }
}

/// Gold answers with aliases; whether all are required; answers given; em, precision, recall, f1.
type Aliased = (&'static [&'static [&'static str]], bool, &'static [&'static str], [f64; 4]);

#[test]
fn aliases_and_required_answers() {
    #[rustfmt::skip]
    let rows: &[Aliased] = &[
        // Any alias gives the answer, and two of them are still one answer.
        (&[&["NYC", "New York City"]], false, &["new york city"], [1.0, 1.0, 1.0, 1.0]),
        (&[&["NYC", "New York City"]], true, &["NYC", "New York City"], [1.0, 1.0, 1.0, 1.0]),
        (&[&["NYC", "New York City"], &["Lenn"]], true, &["NYC"], [0.0, 1.0, 0.5, F]),
        (&[&["NYC", "New York City"], &["Lenn"]], true, &["Lenn", "NYC"], [1.0, 1.0, 1.0, 1.0]),
        // One of several is enough.
        (&[&["NYC"], &["Lenn"]], false, &["Lenn"], [1.0, 1.0, 1.0, 1.0]),
        (&[&["NYC"], &["Lenn"]], false, &["Lenn", "NYC", "Ost"], [1.0, F, 1.0, 0.8]),
        (&[&["NYC"], &["Lenn"]], false, &["Ost"], [0.0, 0.0, 0.0, 0.0]),
    ];
    for (answers, all_required, given, expected) in rows {
        let mut record = answered("x", &[], &[], given);
        let answers = answers.iter().map(|aliases| aliases.iter().map(|a| (*a).to_owned()).collect()).collect();
        record.question.gold = Some(Gold { answers, all_required: *all_required, ..Gold::default() });
        close(four(&record, ""), *expected);
    }
}

#[test]
fn by_equality() {
    let record = answered("x", &["1856"], &[], &["founded in 1856"]);
    close(four(&record, "-equal"), [0.0; 4]);
    let record = answered("x", &["New York City", "Paris"], &["New York"], &["new york city", "the Paris", "Rome"]);
    close(four(&record, "-equal"), [1.0, F, 1.0, 0.8]);
}

#[test]
fn by_the_whole_text() {
    let mut record = answered("x", &["1856", "1868"], &["1900", "1901"], &[]);
    record.calls = vec![
        call(0, "1900 and 1868", Parsed::Malformed),
        call(1, "Founded in 1856; some say 1900.", Parsed::Malformed),
    ];
    close(four(&record, "-text"), [0.0, 0.5, 0.5, 0.5]);
    // Two calls in the last stage: both conclude.
    record.calls[0].stage = 1;
    close(four(&record, "-text"), [0.0, F, 1.0, 0.8]);
    record.calls = vec![call(0, "Both 1868 and 1856.", Parsed::Malformed)];
    close(four(&record, "-text"), [1.0, 1.0, 1.0, 1.0]);
    record.calls.clear();
    close(four(&record, "-text"), [0.0; 4]);
}

/// By the mark in the record, whatever comes after those calls.
#[test]
fn the_whole_text_is_that_of_the_marked_calls() {
    let mut record = answered("x", &["1856", "1868"], &["1900"], &[]);
    record.calls = vec![
        call(0, "Both 1868 and 1856.", Parsed::Malformed),
        call(1, "1900", Parsed::Malformed),
        call(1, "1868, or 1900?", Parsed::Malformed),
    ];
    for (marked, expected) in [
        (&[0][..], [1.0, 1.0, 1.0, 1.0]),
        (&[1], [0.0, 0.0, 0.0, 0.0]),
        (&[0, 2], [0.0, F, 1.0, 0.8]),
        // Without a mark, as in records of version 1: the calls of the last stage.
        (&[], [0.0, 0.5, 0.5, 0.5]),
    ] {
        record.conclusion.as_mut().unwrap().calls = marked.to_vec();
        close(four(&record, "-text"), expected);
    }
}

#[test]
fn malformed_and_failed_score_wrong_under_every_rule() {
    let mut malformed = answered("x", &["1856"], &[], &["1856"]);
    malformed.conclusion.as_mut().unwrap().malformed = true;
    let mut failed = answered("x", &["1856"], &[], &["1856"]);
    failed.conclusion = None;
    failed.error = Some("too long".into());
    let mut nothing_to_find = failed.clone();
    nothing_to_find.question.gold.as_mut().unwrap().answers.clear();
    for record in [&malformed, &failed, &nothing_to_find] {
        for suffix in ["", "-equal", "-text"] {
            close(four(record, suffix), [0.0; 4]);
        }
    }
    let flags = |record: &QuestionRecord| ["unknown", "malformed", "error"].map(|name| of(name, record).unwrap());
    assert_eq!(flags(&malformed), [0.0, 1.0, 0.0]);
    malformed.conclusion.as_mut().unwrap().answers.clear();
    assert_eq!(flags(&malformed), [0.0, 1.0, 0.0], "a malformed reply does not say unknown");
    assert_eq!(flags(&failed), [0.0, 0.0, 1.0]);
    assert_eq!(flags(&answered("x", &["1856"], &[], &[])), [1.0, 0.0, 0.0]);
}

#[test]
fn without_gold_answers_only_costs_are_scored() {
    let mut record = answered("x", &[], &[], &["1856"]);
    record.question.gold = None;
    assert_eq!(of("em", &record), None);
    assert_eq!(of("em-text", &record), None);
    assert_eq!(of("calls", &record), Some(1.0));
}

#[test]
fn costs_are_sums_over_calls() {
    let mut record = answered("x", &["1856"], &[], &["1856"]);
    record.calls =
        vec![call(0, "?", Parsed::Malformed), call(0, "?", Parsed::Malformed), call(1, "!", Parsed::Malformed)];
    record.conclusion.as_mut().unwrap().rounds = 2;
    let names =
        ["calls", "rounds", "prompt-tokens", "reused-tokens", "generated-tokens", "malformed-replies", "seconds"];
    let found = names.map(|name| of(name, &record).unwrap());
    assert_eq!(found, [3.0, 2.0, 30.0, 12.0, 6.0, 3.0, 1.25]);
    record.conclusion = None;
    record.calls.pop();
    assert_eq!(of("rounds", &record), Some(1.0));
}

#[test]
fn the_table_is_whole() {
    let names: HashSet<_> = METRICS.iter().map(|metric| metric.name).collect();
    assert_eq!(names.len(), METRICS.len());
    assert!(METRICS.iter().all(|metric| !metric.formula.is_empty() && !metric.source.is_empty()));
    let mut ranks: Vec<u8> = METRICS.iter().filter_map(|metric| metric.rank).collect();
    ranks.sort_unstable();
    assert!(ranks.iter().copied().eq(1..=ranks.len() as u8), "{ranks:?}");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn shares_stay_shares_and_agree(
        gold in prop::collection::vec("[a-c]( [a-c])?", 0..4),
        wrong in prop::collection::vec("[a-d]( [a-d])?", 0..3),
        answers in prop::collection::vec("[a-e ,.]{0,6}", 0..4),
    ) {
        let texts = |list: &[String]| list.iter().map(String::as_str).map(str::to_owned).collect::<Vec<_>>();
        let (gold, wrong, answers) = (texts(&gold), texts(&wrong), texts(&answers));
        let slices = |list: &'_ [String]| list.iter().map(|s| -> &'static str { s.clone().leak() }).collect::<Vec<_>>();
        let record = answered("x", &slices(&gold), &slices(&wrong), &slices(&answers));
        for suffix in ["", "-equal", "-text"] {
            let [em, precision, recall, f1] = four(&record, suffix);
            for share in [em, precision, recall, f1] {
                prop_assert!((0.0..=1.0).contains(&share));
            }
            prop_assert!(f1 <= precision.max(recall) + 1e-12 && f1 >= precision.min(recall) - 1e-12);
            prop_assert!(em == 0.0 || recall == 1.0);
        }
        // Equal answers also contain each other.
        prop_assert!(four(&record, "-equal")[2] <= four(&record, "")[2]);
        // An answer where none is right scores nothing.
        if gold.is_empty() && !answers.is_empty() {
            prop_assert_eq!(four(&record, ""), [0.0; 4]);
        }
        // The order of answers does not matter.
        let mut reversed = record.clone();
        reversed.conclusion.as_mut().unwrap().answers.reverse();
        prop_assert_eq!(four(&record, ""), four(&reversed, ""));
    }
}

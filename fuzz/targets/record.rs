//! Records, read as `moot score`, `moot record show` and `moot record verify` read them.

use super::{Bound, folder, sealed, tokens, words};
use crate::json;
use crate::random::Random;
use moot::assess::{Assessment, Neither, Verdict, html, markdown};
use moot::cli::debate::{View, show_with};
use moot::cli::show;
use moot::eval::computed_slices::SLICES;
use moot::eval::metrics::{METRICS, calibration};
use moot::eval::record::reader::Record;
use moot::eval::replay::Replay;
use moot::eval::verify::Sample;
use moot::eval::{answers, scores};
use moot::transcript::QuestionRecord;
use moot::{MootError, Result};
use std::fs;

/// The line and what it becomes are there together, and a record's calls twice, as lines and in their questions. A byte
/// becomes 250 bytes at most: an item of a list of values (`0,`) takes 72 in a vector that doubles. Pages show a text
/// some times.
pub(super) const BOUND: Bound = Bound { fixed: 4 << 20, factor: 400 };

/// Reads a record and does what the commands do with it, without their intervals.
pub(super) fn record(bytes: &[u8]) -> Result<()> {
    let path = folder().join("a.jsonl");
    fs::write(&path, bytes).unwrap();
    let (record, ledger) = Record::read_whole(&path)?;
    let questions: Vec<&QuestionRecord> = record.questions.iter().collect();
    // score
    let mut measured = Vec::new();
    for metric in METRICS {
        if let Some(value) = metric.over(&questions) {
            let _ = scores::figure(metric.unit, value, true);
            measured.push(metric.name);
        }
    }
    let _ = calibration::report(&questions);
    for slice in SLICES {
        let _ = scores::slice(&record, slice.name);
    }
    let asked: Vec<_> = record.questions.iter().map(|question| question.question.clone()).collect();
    let answered = answers::answers(&asked, &record.questions);
    answers::csv(&answered)?;
    answers::jsonl(&answered)?;
    // show
    assert!(show::list(&record.questions).lines().count() >= record.questions.len());
    for question in &record.questions {
        let _ = Verdict::of(question);
        if let Some(assessment) = Assessment::of(question, Neither::LeftOut) {
            let _ = (markdown::page(&assessment), html::page(&assessment));
        }
        for full in [false, true] {
            show_with(std::io::sink(), question, View { columns: 80, full, quotes: true, turns: true }).unwrap();
        }
    }
    // verify
    let drawn = Sample::draw(&record, Some(3), 7).map(|sample| sample.roles().for_each(drop));
    // replay: errors of a method name the record's documents as they are.
    let built = Replay::new(&record, None).map(|replay| drop(replay.run()));
    drawn.and(built)?;
    // An altered record is known by what could be measured: else nearly all outcomes would be one.
    ledger.check(&path).map_err(|_| MootError::Usage(format!("altered, has {}", measured.join(" "))))
}

/// Changes a value, a line's JSON, which lines there are, or words anywhere. Mostly the hashes fit what was changed.
pub(super) fn change(bytes: &mut Vec<u8>, random: &mut Random) {
    change_lines(bytes, random);
    if random.below(8) != 0 {
        *bytes = sealed(bytes);
    }
}

fn change_lines(bytes: &mut Vec<u8>, random: &mut Random) {
    let mut lines: Vec<Vec<u8>> = bytes.split_inclusive(|&byte| byte == b'\n').map(<[u8]>::to_vec).collect();
    if lines.is_empty() || random.below(6) == 0 {
        tokens(bytes, random, words::RECORD);
        return;
    }
    let at = random.below(lines.len());
    match random.below(12) {
        0 => drop(lines.remove(at)),
        1 => lines.insert(random.below(at + 1), lines[at].clone()),
        2 => lines.swap(at, 0),
        3 | 4 => {
            json::document(&mut lines[at], random);
            lines[at].push(b'\n');
        }
        _ => sealed::typed(&mut lines[at], random, words::REPLY),
    }
    *bytes = lines.concat();
}

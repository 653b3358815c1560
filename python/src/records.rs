//! Records of runs.

use crate::{call, errors};
use moot::assess::Answered;
use moot::eval::record::reader::Record;
use moot::transcript::QuestionRecord;
use pyo3::prelude::*;
use serde_json::{Value, json};
use std::path::PathBuf;

/// Reads the record at `path`: its header, and each question, as JSON. A line that was changed is an error.
#[pyfunction]
pub(crate) fn records(py: Python<'_>, path: PathBuf) -> PyResult<(String, Vec<String>)> {
    let read = py.detach(|| {
        let (record, ledger) = Record::read_whole(&path)?;
        ledger.check(&path)?;
        let method = record.header.method.clone();
        let questions = record.questions.iter().map(|question| json(&method, question).to_string()).collect();
        Ok((json!(record.header).to_string(), questions))
    });
    read.map_err(|error| errors::exception(py, &error))
}

/// A recorded question; what is answered is as `Engine.ask` returns it.
fn json(method: &str, record: &QuestionRecord) -> Value {
    let question = &record.question;
    json!({
        "id": question.id,
        "question": question.text,
        "answer": Answered::of(method, record),
        "error": record.error,
        "gold": question.gold.as_ref().map(|gold| &gold.answers),
        "wrong": question.gold.as_ref().map(|gold| &gold.wrong),
        "slices": question.slices,
        "calls": record.calls.iter().map(call::json).collect::<Vec<_>>(),
        "seconds": record.seconds,
    })
}

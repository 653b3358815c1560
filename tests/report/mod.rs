//! Reports: the content of the page, and that texts of a record are shown as text only. `browser.py` opens the pages.

mod charts;
mod command;
mod data;
mod hostile;

use crate::eval::{answered, header};
use moot::eval::record::Header;
use moot::eval::record::reader::{Ledger, Record};
use moot::report::{Input, Options, page};
use moot::transcript::QuestionRecord;
use serde_json::Value;
use std::path::PathBuf;

fn input(name: &str, header: Header, questions: Vec<QuestionRecord>) -> Input {
    let ledger = Ledger { chain: "0f".repeat(32), lines: 9, ..Ledger::default() };
    Input { record: Record { path: PathBuf::from(name), header, questions, torn: false }, ledger }
}

/// A record whose questions "q1", "q2", ... have these answers; gold is "yes", wrong is "no".
fn simple(method: &str, answers: &[&str]) -> Input {
    let one = |(number, answer): (usize, &&str)| answered(&format!("q{}", number + 1), &["yes"], &["no"], &[*answer]);
    let questions = answers.iter().enumerate().map(one).collect();
    input(&format!("{method}.jsonl"), Header { method: method.into(), ..header() }, questions)
}

fn written(inputs: Vec<Input>) -> String {
    page(inputs, &Options::default()).unwrap()
}

/// The JSON of the element with this id.
fn data(page: &str, id: &str) -> Value {
    let start = format!("<script type=\"application/json\" id=\"{id}\">");
    let (_, rest) = page.split_once(&start).unwrap_or_else(|| panic!("no element {id}"));
    serde_json::from_str(rest.split_once("</script>").unwrap().0).unwrap()
}

/// The text with this number.
fn text(page: &str, number: &Value) -> String {
    data(page, "data-texts")[number.as_u64().unwrap() as usize].as_str().unwrap().to_owned()
}

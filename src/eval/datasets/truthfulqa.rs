//! TruthfulQA: questions that tempt into common misconceptions; no documents. The authors' CSV, of 2021 or of January 2025.

use super::{Item, Row, fields};
use crate::error::Result;
use crate::question::{Gold, Question};

pub(super) const ROW: Row = Row {
    name: "truthfulqa",
    about: "questions that invite misconceptions, with correct and incorrect answers; no documents",
    paper: "Lin et al., 2022 (arXiv 2109.07958); github.com/sylinrl/TruthfulQA",
    licence: "Apache-2.0",
    detect: |object| object.has("Best Answer") || object.has("Incorrect Answers"),
    read,
    bare_nan: false,
    merge: false,
    titled: false,
};

/// The field that names the wrong answer of the two options. The file of 2021 does not have it.
pub const BEST_INCORRECT: &str = "Best Incorrect Answer";

/// The best answer is the first alias. The first wrong answer is the one that binary choice takes: the file of January 2025 names
/// it ([`BEST_INCORRECT`]).
fn read(item: &Item) -> Result<Question> {
    let object = &item.object;
    let text = object.full_string("Question")?.trim().to_owned();
    let mut aliases = vec![object.full_string("Best Answer")?.trim().to_owned()];
    for answer in listed(&object.full_string("Correct Answers")?) {
        if !aliases.contains(&answer) {
            aliases.push(answer);
        }
    }
    let mut wrong: Vec<String> =
        object.optional_string(BEST_INCORRECT)?.iter().flat_map(|cell| trimmed(cell)).collect();
    for answer in listed(&object.full_string("Incorrect Answers")?) {
        if !wrong.contains(&answer) {
            wrong.push(answer);
        }
    }
    let mut slices = Vec::new();
    for field in ["Type", "Category"] {
        slices.extend(object.optional_string(field)?.map(|name| fields::slice(&name)));
    }
    Ok(Question {
        id: super::question_id(item.number, &text),
        text,
        gold: Some(Gold { wrong, ..Gold::any_of(aliases) }),
        slices,
        ..Question::default()
    })
}

fn trimmed(cell: &str) -> Option<String> {
    Some(cell.trim()).filter(|answer| !answer.is_empty()).map(str::to_owned)
}

fn listed(cell: &str) -> Vec<String> {
    cell.split(';').filter_map(trimmed).collect()
}

//! StrategyQA: yes/no questions that need implicit steps; no documents. FlashRAG's rows of it are read too.

use super::{Item, Row, fields};
use crate::error::Result;
use crate::question::{Gold, Question};
use serde_json::Value;

pub(super) const ROW: Row = Row {
    name: "strategyqa",
    about: "yes/no questions that need implicit reasoning steps; no documents",
    paper: "Geva et al., 2021 (arXiv 2101.02235); allenai.org/data/strategyqa",
    licence: "MIT",
    detect: |object| object.has("question") && object.has("decomposition") && object.has("facts"),
    read,
    bare_nan: false,
    merge: false,
    titled: false,
};

fn read(item: &Item) -> Result<Question> {
    let object = &item.object;
    let text = object.full_string("question")?;
    let (id, yes) = match object.value("golden_answers") {
        Some(golden) => ("id", golden_yes(golden).ok_or_else(|| object.wrong(GOLDEN, "golden_answers", Some(golden)))?),
        None => ("qid", fields::flag(object, "answer")?.ok_or_else(|| object.wrong("true or false", "answer", None))?),
    };
    let (right, wrong) = if yes { ("yes", "no") } else { ("no", "yes") };
    let gold = Gold { wrong: vec![wrong.to_owned()], ..Gold::any_of([right.to_owned()]) };
    let options = vec!["yes".to_owned(), "no".to_owned()];
    Ok(Question { id: fields::id(item, id, &text), text, gold: Some(gold), options, ..Question::default() })
}

const GOLDEN: &str = "yes, no, true or false, alone in its list,";

/// Whether FlashRAG's `golden_answers` say yes.
fn golden_yes(golden: &Value) -> Option<bool> {
    match golden {
        Value::Array(list) => list.first().filter(|_| list.len() == 1).and_then(golden_yes),
        Value::Bool(yes) => Some(*yes),
        Value::String(word) => match word.trim().to_lowercase().as_str() {
            "yes" | "true" => Some(true),
            "no" | "false" => Some(false),
            _ => None,
        },
        _ => None,
    }
}

//! NQ-open: questions of Natural Questions with short answers; no documents. JSON lines.

use super::{Item, Row, fields};
use crate::error::Result;
use crate::question::{Gold, Question};
use serde_json::Value;

pub(super) const ROW: Row = Row {
    name: "nq-open",
    about: "questions asked of a search engine, with aliases of the short answer; no documents",
    paper: "Lee et al., 2019 (arXiv 1906.00300); github.com/google-research-datasets/natural-questions",
    licence: "CC BY-SA 3.0",
    // Narrow: many forms have a question and an answer.
    detect: |object| {
        let answers = matches!(object.value("answer"), Some(Value::Array(_)));
        object.has("question") && answers && object.fields().all(|f| ["question", "answer", "id", "idx"].contains(&f))
    },
    read,
    bare_nan: false,
    merge: false,
    titled: false,
};

fn read(item: &Item) -> Result<Question> {
    let object = &item.object;
    let text = object.full_string("question")?;
    let gold = Gold::any_of(object.strings("answer")?);
    Ok(Question { id: fields::id(item, "id", &text), text, gold: Some(gold), ..Question::default() })
}

//! StrategyQA: yes/no questions that need implicit steps; no documents.

use super::{Item, Row, fields};
use crate::error::Result;
use crate::question::{Gold, Question};

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
    let yes = fields::flag(object, "answer")?.ok_or_else(|| object.wrong("true or false", "answer", None))?;
    let (right, wrong) = if yes { ("yes", "no") } else { ("no", "yes") };
    let gold = Gold { wrong: vec![wrong.to_owned()], ..Gold::any_of([right.to_owned()]) };
    let options = vec!["yes".to_owned(), "no".to_owned()];
    Ok(Question { id: fields::id(item, "qid", &text), text, gold: Some(gold), options, ..Question::default() })
}

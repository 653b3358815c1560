//! PopQA: questions about the long tail of Wikidata, with every alias of the object; no documents. TSV or JSON.

use super::{Item, Row, fields};
use crate::error::Result;
use crate::question::{Gold, Question};

pub(super) const ROW: Row = Row {
    name: "popqa",
    about: "questions about entities of all popularities, with aliases of the answer; no documents",
    paper: "Mallen et al., 2023 (arXiv 2212.10511); huggingface.co/datasets/akariasai/PopQA",
    licence: "MIT",
    detect: |object| object.has("possible_answers"),
    read,
    bare_nan: false,
    merge: false,
    titled: false,
};

fn read(item: &Item) -> Result<Question> {
    let object = &item.object;
    let text = object.full_string("question")?;
    let aliases = fields::texts(object, "possible_answers")?;
    let relation = object.optional_string("prop")?.map(|name| fields::slice(&name));
    Ok(Question {
        id: fields::id(item, "id", &text),
        text,
        gold: Some(Gold::any_of(aliases)),
        slices: relation.into_iter().collect(),
        ..Question::default()
    })
}

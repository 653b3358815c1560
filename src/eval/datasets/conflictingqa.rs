//! ConflictingQA: contentious yes/no questions with web pages that argue either way, a row a page.
//!
//! The authors publish a pickled data frame; it is read as `DataFrame.to_json(orient="records")` or `to_csv` write it.

use super::{Item, Row, fields};
use crate::error::Result;
use crate::question::{Document, Label, Question};

pub(super) const ROW: Row = Row {
    name: "conflictingqa",
    about: "contentious questions with web pages that answer yes or no; no answer is gold",
    paper: "Wan et al., 2024 (arXiv 2402.11782); github.com/AlexWan0/rag-convincingness",
    licence: "none stated",
    detect: |object| object.has("search_query"),
    read,
    bare_nan: true,
    merge: true,
    titled: false,
};

/// One page; those of one query become one question.
fn read(item: &Item) -> Result<Question> {
    let object = &item.object;
    let text = object.full_string("search_query")?;
    let page = if object.has("text_window") { "text_window" } else { "text_raw" };
    let stance = fields::one_of(object, "stance", &[("yes", "yes"), ("no", "no")])?;
    let url = object.optional_string("url")?;
    let document = Document {
        name: object.optional_string("title")?.unwrap_or_default(),
        text: object.full_string(page)?,
        source: url.as_deref().and_then(fields::host),
        url,
        label: Some(Label { kind: stance.to_owned(), answer: stance.to_owned() }),
        ..Document::default()
    };
    Ok(Question {
        // The same for every page of the query.
        id: super::question_id(0, &text),
        text,
        documents: vec![document],
        slices: object.optional_string("category")?.map(|name| fields::slice(&name)).into_iter().collect(),
        ..Question::default()
    })
}

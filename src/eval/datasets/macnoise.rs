//! MacNoise: retrieved passages of Natural Questions and TriviaQA, with machine-written counterfactual versions.

use super::{Item, Row, fields};
use crate::error::Result;
use crate::question::{Document, Gold, Label, Question};
use serde_json::Value;

pub(super) const ROW: Row = Row {
    name: "macnoise",
    about: "retrieved passages, and for those that hold the answer a counterfactual version beside the original",
    paper: "Hong et al., 2024 (arXiv 2305.01579); github.com/wjdghks950/Discern-and-Answer",
    licence: "none stated",
    detect: |object| object.has("ctxs") && object.has("pert_lbls"),
    read,
    bare_nan: false,
    merge: false,
    titled: false,
};

/// A passage marked in `pert_lbls` gives two documents, the original and its counterfactual version; the others one.
fn read(item: &Item) -> Result<Question> {
    let object = &item.object;
    let text = object.full_string("question")?;
    let answers = object.strings("answers")?;
    let passages = object.objects("ctxs")?;
    let Some(Value::Array(marks)) = object.value("pert_lbls") else {
        return Err(object.wrong("a list of 0 and 1", "pert_lbls", object.value("pert_lbls")));
    };
    if marks.len() < passages.len() {
        let expected = format!("{} marks in `pert_lbls`, one for each of `ctxs`", passages.len());
        return Err(object.complaint(&expected, format!("{}", marks.len())));
    }
    let label = |kind: &str, answer: &str| Label { kind: kind.to_owned(), answer: answer.to_owned() };
    let mut documents = Vec::new();
    for (passage, mark) in passages.iter().zip(marks) {
        let name = passage.optional_string("title")?.unwrap_or_default();
        let document = |field: &str, name: &str, label| -> Result<Document> {
            let text = body(&passage.string(field)?).to_owned();
            Ok(Document { name: name.to_owned(), text, label, ..Document::default() })
        };
        if mark.as_i64() == Some(1) {
            let right = answers.first().map(String::as_str).unwrap_or_default();
            documents.push(document("text", &name, Some(label("correct", right)))?);
            documents.push(document("text_pert", &name, Some(label("misinfo", "")))?);
        } else {
            documents.push(document("text", &name, Some(label("other", "")))?);
        }
    }
    Ok(Question {
        id: fields::id(item, "id", &text),
        text,
        documents: fields::named(documents),
        gold: Some(Gold::any_of(answers)),
        ..Question::default()
    })
}

/// The passage without the "title: ... context: " that the authors put before it.
fn body(text: &str) -> &str {
    let rest = text.strip_prefix("title: ").and_then(|rest| {
        let at = rest.to_ascii_lowercase().find(" context: ")?;
        Some(&rest[at + " context: ".len()..])
    });
    rest.unwrap_or(text)
}

//! AmbigDocs: questions about a name that several entities share, with a document and an answer for each.

use super::{Item, Row, fields};
use crate::error::Result;
use crate::jsonl::Object;
use crate::question::{Document, Gold, Label, Question};

pub(super) const ROW: Row = Row {
    name: "ambigdocs",
    about: "questions about an ambiguous name; every document is about another entity and has an answer of its own",
    paper: "Lee et al., 2024 (arXiv 2404.12447); huggingface.co/datasets/yoonsanglee/AmbigDocs",
    licence: "Apache-2.0",
    detect: |object| object.has("ambiguous_entity"),
    read,
    bare_nan: false,
    merge: false,
    titled: true,
};

/// Every document's answer is required; documents of one answer count once. Titles stand before texts, which often do not name
/// their entity.
fn read(item: &Item) -> Result<Question> {
    let object = &item.object;
    let text = object.full_string("question")?;
    let documents = documents(object)?;
    let mut answers: Vec<String> = Vec::new();
    for answer in documents.iter().filter_map(|document| Some(document.label.as_ref()?.answer.clone())) {
        if !answers.contains(&answer) {
            answers.push(answer);
        }
    }
    Ok(Question {
        id: fields::id(item, "qid", &text),
        text,
        documents: fields::named(documents),
        gold: Some(Gold::all_of(answers, Vec::new())),
        ..Question::default()
    })
}

/// A list of objects, or the columns that Hugging Face makes of it.
fn documents(object: &Object) -> Result<Vec<Document>> {
    let document = |title: String, text, answer| Document {
        name: title.clone(),
        title: Some(title),
        text,
        label: Some(Label { kind: "correct".to_owned(), answer }),
        ..Document::default()
    };
    if let Some(columns) = object.object("documents") {
        let (titles, texts) = (columns.strings("title")?, columns.strings("text")?);
        let answers = columns.strings("answer")?;
        if titles.len() != texts.len() || answers.len() != texts.len() {
            let found = format!("{}, {} and {}", titles.len(), texts.len(), answers.len());
            return Err(columns.complaint("as many titles as texts and answers in `documents`", found));
        }
        return Ok(titles.into_iter().zip(texts).zip(answers).map(|((t, x), a)| document(t, x, a)).collect());
    }
    let one = |o: &Object| Ok(document(o.string("title")?, o.string("text")?, o.string("answer")?));
    object.objects("documents")?.iter().map(one).collect()
}

//! RAMDocs: questions whose documents disagree through ambiguity, misinformation and noise, one JSON object a line.

use super::Row;
use crate::error::Result;
use crate::jsonl::{Lines, Object, shortened};
use crate::question::{Document, Gold, Label, Question};
use std::path::Path;

/// This format's row.
pub const ROW: Row = Row {
    name: "ramdocs",
    paper: "MADAM-RAG (Wang et al., 2025), section 4",
    licence: "MIT",
    about: "ambiguous questions; each document is correct, misinformation or noise",
    // Loose on purpose: a line with one field missing should be told which, not that it is unknown.
    detect: |object| object.has("documents") && (object.has("gold_answers") || object.has("wrong_answers")),
    load,
};

/// What a document of the set may be.
const TYPES: [&str; 3] = ["correct", "misinfo", "noise"];

/// Reads the file as its authors publish it.
///
/// # Errors
/// [`crate::MootError::Input`] with file, line and field for the first line that is not RAMDocs.
pub fn load(path: &Path) -> Result<Vec<Question>> {
    Lines::open(path)?.map(|line| line.and_then(|(number, text)| question(path, number, &text))).collect()
}

fn question(path: &Path, number: usize, line: &str) -> Result<Question> {
    let object = Object::parse(path, number, line)?;
    let text = object.full_string("question")?;
    let gold = Gold { answers: object.strings("gold_answers")?, wrong: object.strings("wrong_answers")? };
    // Part of the format, though nothing here asks for it yet.
    object.strings("disambig_entity")?;
    let documents = object.objects("documents")?;
    let documents = documents.iter().enumerate().map(|(i, d)| document(i, d)).collect::<Result<Vec<_>>>()?;
    Ok(Question { id: super::question_id(number, &text), text, documents, gold: Some(gold) })
}

fn document(place: usize, object: &Object) -> Result<Document> {
    let kind = object.string("type")?;
    if !TYPES.contains(&kind.as_str()) {
        let expected = format!("one of {} in `documents[{place}].type`", TYPES.join(", "));
        return Err(object.complaint(&expected, format!("{:?}", shortened(&kind))));
    }
    Ok(Document {
        name: format!("document {}", place + 1),
        // As published: what an empty snippet is worth is the method's business.
        text: object.string("text")?,
        label: Some(Label { kind, answer: object.string("answer")? }),
        ..Document::default()
    })
}

//! ConflictBank: multiple-choice questions with correct evidence and three kinds of conflicting evidence.

use super::{Item, Row, fields};
use crate::error::Result;
use crate::jsonl::Object;
use crate::question::{Document, Gold, Label, Question};

pub(super) const ROW: Row = Row {
    name: "conflictbank",
    about: "multiple choice; correct evidence against misinformation, a later time, and another meaning of the name",
    paper: "Su et al., 2024 (arXiv 2408.12076); huggingface.co/datasets/Warrieryes/CB_qa",
    licence: "CC BY-SA 4.0",
    detect: |object| object.has("correct_option") && object.has("options"),
    read,
    bare_nan: false,
    merge: false,
    titled: false,
};

/// The kind of each evidence, and its field on Hugging Face and in the authors' scripts.
const EVIDENCE: [(&str, [&str; 3]); 4] = [
    ("correct", ["default_evidence", "correct_evidence", ""]),
    (
        "misinfo",
        ["misinformation_conflict_evidence_evidence", "misinformation_conflict_evidence", "fact_conflict_evidence"],
    ),
    ("temporal", ["temporal_conflict_evidence", "", ""]),
    ("semantic", ["semantic_conflict_evidence", "", ""]),
];

/// The wrong answer is the option by which the misinformation replaces the right one.
fn read(item: &Item) -> Result<Question> {
    let object = &item.object;
    let text = object.full_string("question")?;
    let options = fields::texts(object, "options")?;
    let right = option(object, "correct_option", &options)?;
    let replaced = ["replace_option", "replaced_option"].into_iter().find(|field| object.has(field));
    let wrong = replaced.map(|field| option(object, field, &options)).transpose()?;
    let mut documents = Vec::new();
    for (kind, names) in EVIDENCE {
        let Some(field) = names.into_iter().find(|field| object.has(field)) else { continue };
        let answer = match kind {
            "correct" => right.clone(),
            _ => wrong.clone().unwrap_or_default(),
        };
        let label = Some(Label { kind: kind.to_owned(), answer });
        documents.push(Document { text: object.string(field)?, label, ..Document::default() });
    }
    if documents.is_empty() {
        return Err(object.wrong("evidence", EVIDENCE[0].1[0], None));
    }
    Ok(Question {
        id: super::question_id(item.number, &text),
        text,
        documents: fields::named(documents),
        gold: Some(Gold { wrong: wrong.into_iter().collect(), ..Gold::any_of([right]) }),
        options,
        slices: object.optional_string("relation")?.map(|name| fields::slice(&name)).into_iter().collect(),
        ..Question::default()
    })
}

/// The option that the letter in `field` names.
fn option(object: &Object, field: &str, options: &[String]) -> Result<String> {
    let letter = object.full_string(field)?;
    let index = letter.trim().bytes().next().map(|b| usize::from(b.to_ascii_uppercase().wrapping_sub(b'A')));
    let found = index.filter(|_| letter.trim().len() == 1).and_then(|index| options.get(index).cloned());
    found.ok_or_else(|| {
        let expected = format!("the letter of one of {} options in `{field}`", options.len());
        object.complaint(&expected, format!("{letter:?}"))
    })
}

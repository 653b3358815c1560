//! RAMDocs: questions whose documents disagree through ambiguity, misinformation and noise, one JSON object a line.

use super::{Item, Row, fields};
use crate::error::Result;
use crate::jsonl::Object;
use crate::question::{Document, Gold, Label, Question};

pub(super) const ROW: Row = Row {
    name: "ramdocs",
    about: "ambiguous questions; each document is correct, misinformation or noise",
    paper: "MADAM-RAG (Wang et al., 2025), section 3; github.com/HanNight/RAMDocs",
    licence: "MIT",
    detect: |object| {
        // The form of `docs/data.md` has `wrong_answers` too, beside `answers`.
        let own = object.has("answers");
        object.has("documents") && (object.has("gold_answers") || (object.has("wrong_answers") && !own))
    },
    read,
    bare_nan: false,
    merge: false,
    titled: false,
};

/// The kinds of documents.
const TYPES: [(&str, &str); 3] = [("correct", "correct"), ("misinfo", "misinfo"), ("noise", "noise")];

fn read(item: &Item) -> Result<Question> {
    let object = &item.object;
    let text = object.full_string("question")?;
    let gold = Gold::all_of(object.strings("gold_answers")?, object.strings("wrong_answers")?);
    // Part of the format, though no method reads it.
    object.strings("disambig_entity")?;
    let documents = object.objects("documents")?;
    let documents = documents.iter().enumerate().map(|(i, d)| document(i, d)).collect::<Result<Vec<_>>>()?;
    Ok(Question {
        id: super::question_id(item.number, &text),
        text,
        documents,
        gold: Some(gold),
        ..Question::default()
    })
}

fn document(index: usize, object: &Object) -> Result<Document> {
    let kind = fields::one_of(object, "type", &TYPES)?;
    Ok(Document {
        name: format!("document {}", index + 1),
        // As published: how an empty snippet is treated is the method's decision.
        text: object.string("text")?,
        label: Some(Label { kind: kind.to_owned(), answer: object.string("answer")? }),
        ..Document::default()
    })
}

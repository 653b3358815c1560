//! HealthVer: pairs of a health claim and a piece of evidence, each with their relation. CSV.

use super::{Item, Row, fields};
use crate::error::Result;
use crate::question::{Claim, ClaimRelation, Document, Question};

pub(super) const ROW: Row = Row {
    name: "healthver",
    about: "a claim and one piece of evidence that supports it, refutes it or does neither",
    paper: "Sarrouti et al., 2021 (Findings of EMNLP); github.com/sarrouti/HealthVer",
    licence: "none stated",
    detect: |object| object.has("claim") && object.has("evidence"),
    read,
    bare_nan: false,
    merge: false,
    titled: false,
};

const LABELS: [(&str, ClaimRelation); 3] = [
    ("supports", ClaimRelation::Supports),
    ("refutes", ClaimRelation::Contradicts),
    ("neutral", ClaimRelation::Irrelevant),
];

/// The question is the row's, for which the claim was found; the claim itself where the row has none.
fn read(item: &Item) -> Result<Question> {
    let object = &item.object;
    let claim = object.full_string("claim")?;
    let relation = fields::one_of(object, "label", &LABELS)?;
    let text = object.optional_string("question")?.filter(|question| !question.trim().is_empty());
    let label = object.string("label")?.trim().to_lowercase();
    let document =
        Document { name: "document 1".to_owned(), text: object.full_string("evidence")?, ..Document::default() };
    Ok(Question {
        id: fields::id(item, "id", &claim),
        text: text.unwrap_or_else(|| claim.clone()),
        documents: vec![document],
        claims: vec![Claim { text: claim, relations: vec![relation], conflict: None }],
        slices: vec![label],
        ..Question::default()
    })
}

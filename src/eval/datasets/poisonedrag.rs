//! PoisonedRAG: questions of Natural Questions, HotpotQA and MS MARCO with five passages that argue for a wrong answer.

use super::{Item, Row, fields};
use crate::error::Result;
use crate::question::{Document, Gold, Label, Question};

pub(super) const ROW: Row = Row {
    name: "poisonedrag",
    about: "a correct answer, an incorrect one, and five adversarial passages for it",
    paper: "Zou et al., 2025 (arXiv 2402.07867); github.com/sleeepeer/PoisonedRAG",
    licence: "MIT",
    detect: |object| object.has("adv_texts") || object.has("incorrect answer"),
    read,
    bare_nan: false,
    merge: false,
    titled: false,
};

fn read(item: &Item) -> Result<Question> {
    let object = &item.object;
    let text = object.full_string("question")?;
    let wrong = object.full_string("incorrect answer")?;
    let label = Label { kind: "misinfo".to_owned(), answer: wrong.clone() };
    let document = |text| Document { text, label: Some(label.clone()), ..Document::default() };
    let documents = object.strings("adv_texts")?.into_iter().map(document).collect();
    let gold = Gold { wrong: vec![wrong], ..Gold::any_of([object.full_string("correct answer")?]) };
    Ok(Question {
        id: fields::id(item, "id", &text),
        text,
        documents: fields::named(documents),
        gold: Some(gold),
        ..Question::default()
    })
}

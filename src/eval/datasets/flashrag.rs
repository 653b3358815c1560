//! FlashRAG's form of many sets: a question with its `golden_answers`, and no documents.

use super::{Item, Row, fields};
use crate::error::Result;
use crate::jsonl::Object;
use crate::question::{Gold, Question};
use serde_json::Value;

pub(super) const ROW: Row = Row {
    name: "flashrag",
    about: "questions of NQ, TriviaQA, PopQA, HotpotQA and others as FlashRAG prepares them; no documents",
    paper: "Jin et al., 2024 (arXiv 2405.13576); huggingface.co/datasets/RUC-NLPIR/FlashRAG_datasets",
    licence: "of each set",
    // With documents of its own an item would lose them: the form of `docs/data.md` has a name for each field.
    detect: |object| object.has("golden_answers") && !object.has("documents"),
    read,
    bare_nan: false,
    merge: false,
    titled: false,
};

/// Any golden answer is right. `metadata` has the set's own fields, its paragraphs among them; they are not read.
fn read(item: &Item) -> Result<Question> {
    let object = &item.object;
    let text = object.full_string("question")?;
    let options = fields::optional_texts(object, "choices")?;
    let gold = if options.is_empty() {
        Gold::any_of(fields::texts(object, "golden_answers")?)
    } else {
        Gold::any_of([right_option(object, &options)?])
    };
    Ok(Question { id: fields::id(item, "id", &text), text, gold: Some(gold), options, ..Question::default() })
}

/// The option that the first golden answer names: by its number from 0, its letter, or its text.
fn right_option(object: &Object, options: &[String]) -> Result<String> {
    let golden = match object.value("golden_answers") {
        Some(Value::Array(golden)) => golden.first(),
        other => other,
    };
    let index = match golden {
        Some(Value::Number(number)) => number.as_u64().and_then(|number| usize::try_from(number).ok()),
        Some(Value::String(text)) => {
            let letter = |text: &str| match text.as_bytes() {
                [letter @ b'A'..=b'Z'] => Some(usize::from(letter - b'A')),
                _ => text.parse().ok(),
            };
            // The text first: options may themselves be letters or numbers.
            options.iter().position(|option| option == text).or_else(|| letter(text.trim()))
        }
        _ => None,
    };
    let right = index.and_then(|index| options.get(index)).cloned();
    right.ok_or_else(|| {
        let expected = format!("one of {} `choices`, by number, letter or text,", options.len());
        object.wrong(&expected, "golden_answers", object.value("golden_answers"))
    })
}

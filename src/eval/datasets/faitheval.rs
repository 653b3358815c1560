//! FaithEval: one context that lacks the answer, contradicts itself, or contradicts the world (multiple choice).

use super::{Item, Row, fields};
use crate::answers::words::Level;
use crate::error::Result;
use crate::jsonl::Object;
use crate::question::{Document, Gold, Question};

pub(super) const ROW: Row = Row {
    name: "faitheval",
    about: "unanswerable, inconsistent or counterfactual contexts (slices of these names)",
    paper: "Ming et al., 2025 (arXiv 2410.03727); huggingface.co/collections/Salesforce/faitheval-benchmark",
    licence: "none stated",
    detect: |object| object.has("context") && ((object.has("qid") && object.has("answers")) || object.has("answerKey")),
    read,
    bare_nan: false,
    merge: false,
};

/// How the answers of an unanswerable question are written.
const ABSTENTIONS: [&str; 8] =
    ["unknown", "unanswerable", "no answer", "no information", "not", "unclear", "none", "not answerable"];

fn read(item: &Item) -> Result<Question> {
    let object = &item.object;
    let text = object.full_string("question")?;
    let documents = documents(&object.full_string("context")?);
    let id = fields::id(item, if object.has("qid") { "qid" } else { "id" }, &text);
    let (gold, options, slice) = if object.has("answerKey") {
        let (options, right) = choices(object)?;
        (Gold::any_of([right]), options, "counterfactual")
    } else {
        let answers = fields::texts(object, "answers")?;
        let abstains = |answer: &String| ABSTENTIONS.contains(&Level::Scored.normalised(answer).as_str());
        if answers.iter().all(abstains) {
            (Gold::none(), Vec::new(), "unanswerable")
        } else {
            (Gold::any_of(answers), Vec::new(), "inconsistent")
        }
    };
    let slices = vec![slice.to_owned()];
    Ok(Question { id, text, documents, gold: Some(gold), options, slices, ..Question::default() })
}

/// The inconsistent contexts are several documents, each under the line "Document:".
fn documents(context: &str) -> Vec<Document> {
    let parts: Vec<&str> = context.split("Document:").map(str::trim).filter(|part| !part.is_empty()).collect();
    let document = |text: &&str| Document { text: (*text).to_owned(), ..Document::default() };
    fields::named(parts.iter().map(document).collect())
}

/// The options, and the text of the one that `answerKey` names.
fn choices(object: &Object) -> Result<(Vec<String>, String)> {
    let wrong = || object.wrong("an object with `label` and `text`", "choices", object.value("choices"));
    let choices = object.object("choices").ok_or_else(wrong)?;
    let (labels, texts) = (choices.strings("label")?, choices.strings("text")?);
    let key = object.string("answerKey")?;
    let right = labels.iter().position(|label| *label == key).and_then(|i| texts.get(i).cloned());
    let right = right
        .ok_or_else(|| object.complaint(&format!("one of {} in `answerKey`", labels.join(", ")), format!("{key:?}")))?;
    Ok((texts, right))
}

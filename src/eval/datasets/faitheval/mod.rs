//! FaithEval: one context that lacks the answer, contradicts itself, or contradicts the world (multiple choice).
//!
//! The inconsistent set names the right answer and not the one that its false documents give. It is taken from a field
//! `wrong_answers` that the user adds, or else from the documents ([`replaced`]).

use super::{Item, Row, fields};
use crate::answers::words::Level;
use crate::error::Result;
use crate::jsonl::Object;
use crate::question::{Document, Gold, Label, Question};

mod replaced;

pub(super) const ROW: Row = Row {
    name: "faitheval",
    about: "unanswerable, inconsistent or counterfactual contexts (slices of these names)",
    paper: "Ming et al., 2025 (arXiv 2410.03727); huggingface.co/collections/Salesforce/faitheval-benchmark",
    licence: "none stated",
    detect: |object| object.has("context") && ((object.has("qid") && object.has("answers")) || object.has("answerKey")),
    read,
    bare_nan: false,
    merge: false,
    titled: false,
};

/// How the answers of an unanswerable question are written.
const ABSTENTIONS: [&str; 8] =
    ["unknown", "unanswerable", "no answer", "no information", "not", "unclear", "none", "not answerable"];

fn read(item: &Item) -> Result<Question> {
    let object = &item.object;
    let text = object.full_string("question")?;
    let documents = documents(&object.full_string("context")?);
    let id = fields::id(item, if object.has("qid") { "qid" } else { "id" }, &text);
    let question = Question { id, text, documents, ..Question::default() };
    if object.has("answerKey") {
        let (options, right) = choices(object)?;
        return Ok(Question { options, ..of_slice(question, "counterfactual", Gold::any_of([right])) });
    }
    let answers = fields::texts(object, "answers")?;
    let abstains = |answer: &String| ABSTENTIONS.contains(&Level::Scored.normalised(answer).as_str());
    if answers.iter().all(abstains) {
        return Ok(of_slice(question, "unanswerable", Gold::none()));
    }
    let mut wrong = fields::optional_texts(object, "wrong_answers")?;
    if wrong.is_empty() {
        wrong = replaced::answers(&question.documents, &answers);
    }
    let mut question = of_slice(question, "inconsistent", Gold { wrong, ..Gold::any_of(answers) });
    label(&mut question);
    Ok(question)
}

fn of_slice(question: Question, slice: &str, gold: Gold) -> Question {
    Question { gold: Some(gold), slices: vec![slice.to_owned()], ..question }
}

/// Labels the documents that hold the right answer, or a wrong one; those that hold both, or neither, stay without a label.
fn label(question: &mut Question) {
    let Some(gold) = &question.gold else { return };
    for document in &mut question.documents {
        let held = |answer: &&str| Level::Scored.contains(&document.text, answer);
        let right = gold.aliases().find(held).map(str::to_owned);
        let wrong = gold.wrong.iter().map(String::as_str).find(held).map(str::to_owned);
        document.label = match (right, wrong) {
            (Some(answer), None) => Some(Label { kind: "correct".to_owned(), answer }),
            (None, Some(answer)) => Some(Label { kind: "misinfo".to_owned(), answer }),
            _ => None,
        };
    }
}

/// The inconsistent contexts are several documents, each begun by "Document:" at the beginning of a line.
fn documents(context: &str) -> Vec<Document> {
    let mut parts: Vec<String> = vec![String::new()];
    for line in context.lines() {
        let begun = line.trim_start().strip_prefix("Document:");
        if begun.is_some() {
            parts.push(String::new());
        }
        if let Some(part) = parts.last_mut() {
            part.push_str(begun.unwrap_or(line));
            part.push('\n');
        }
    }
    let texts = parts.iter().map(|part| part.trim()).filter(|part| !part.is_empty());
    fields::named(texts.map(|text| Document { text: text.to_owned(), ..Document::default() }).collect())
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

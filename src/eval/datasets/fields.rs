//! Readers shared by several loaders: ids, lists written as text, flags, document names.

use super::Item;
use crate::error::Result;
use crate::jsonl::{self, Object};
use crate::question::{Document, Label, Question};
use crate::retrieval::corpus;
use crate::units::hex;
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::collections::HashMap;

/// The dataset's own id in `field`, a string or a number; else one made of the item's number and its question.
pub(super) fn id(item: &Item, field: &str, question: &str) -> String {
    match item.object.value(field) {
        Some(Value::String(id)) if !id.trim().is_empty() => id.clone(),
        Some(Value::Number(id)) => id.to_string(),
        _ => question_id(item.number, question),
    }
}

/// The id of a question whose dataset gives none: the item's number, and a hash of the question, so that the ids of two
/// files differ and a question asked twice in one file has two.
#[must_use]
pub fn question_id(number: usize, question: &str) -> String {
    format!("{number}-{}", &hex(&Sha256::digest(question.as_bytes()))[..8])
}

/// Strings: a list of them, the same list written as JSON into one string (a table's cell), or one string alone.
///
/// # Errors
/// [`crate::MootError::Input`] where the field is missing or something else.
pub(super) fn texts(object: &Object, field: &str) -> Result<Vec<String>> {
    match object.value(field) {
        Some(Value::String(text)) if text.trim_start().starts_with('[') => {
            // A text may begin with a bracket without being a list.
            Ok(jsonl::parse(text.as_bytes()).unwrap_or_else(|_| vec![text.clone()]))
        }
        Some(Value::String(text)) => Ok(vec![text.clone()]),
        _ => object.strings(field),
    }
}

/// As [`texts`], but the field may be missing.
///
/// # Errors
/// [`crate::MootError::Input`] where the field is something else.
pub(super) fn optional_texts(object: &Object, field: &str) -> Result<Vec<String>> {
    if object.has(field) { texts(object, field) } else { Ok(Vec::new()) }
}

/// A flag: `true` or `false`, also as a word (a table's cell); `None` where it is missing.
///
/// # Errors
/// [`crate::MootError::Input`] where the field is something else.
pub(super) fn flag(object: &Object, field: &str) -> Result<Option<bool>> {
    match object.value(field) {
        None => Ok(None),
        Some(Value::Bool(flag)) => Ok(Some(*flag)),
        Some(Value::String(word)) if word.eq_ignore_ascii_case("true") => Ok(Some(true)),
        Some(Value::String(word)) if word.eq_ignore_ascii_case("false") => Ok(Some(false)),
        other => Err(object.wrong("true or false", field, other)),
    }
}

/// `text` as one of `known`, whose names are written in lower case.
///
/// # Errors
/// [`crate::MootError::Input`] for another word, with those that are known.
pub(super) fn one_of<T: Copy>(object: &Object, field: &str, known: &[(&str, T)]) -> Result<T> {
    let text = object.string(field)?;
    let found = known.iter().find(|(name, _)| name.eq_ignore_ascii_case(text.trim()));
    found.map(|(_, value)| *value).ok_or_else(|| {
        let names: Vec<_> = known.iter().map(|(name, _)| *name).collect();
        object.wrong(&format!("one of {}", names.join(", ")), field, object.value(field))
    })
}

/// A slice's name: lower case, words joined by hyphens.
pub(super) fn slice(text: &str) -> String {
    text.to_lowercase().split_whitespace().collect::<Vec<_>>().join("-")
}

/// The host of a URL, without "www."; `None` where there is none.
pub(super) fn host(url: &str) -> Option<String> {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let host = rest.split(['/', '?', '#', ':']).next()?.trim();
    let host = host.strip_prefix("www.").unwrap_or(host);
    (host.contains('.') && !host.contains(char::is_whitespace)).then(|| host.to_owned())
}

/// A label without an answer.
pub(super) fn kind(kind: &str) -> Option<Label> {
    Some(Label { kind: kind.to_owned(), answer: String::new() })
}

/// `question` with the names and the metadata of its documents bounded: prompts, records and terminals repeat them.
pub(super) fn bounded(question: Question) -> Question {
    let names = |documents: &[Document]| documents.iter().map(|document| document.name.len()).sum::<usize>();
    let before = names(&question.documents);
    let documents: Vec<Document> = question.documents.into_iter().map(corpus::bounded).collect();
    // Names that were cut may be alike.
    let documents = if names(&documents) < before { named(documents) } else { documents };
    Question { documents, ..question }
}

/// `question` with the title of each document before its text, unless the text begins with it.
pub(super) fn titled(mut question: Question) -> Question {
    question.documents = question.documents.into_iter().map(|document| document.titled(' ')).collect();
    question
}

/// Names documents by number where they have no name, and tells those of one name apart by their number.
pub(super) fn named(mut documents: Vec<Document>) -> Vec<Document> {
    let mut uses: HashMap<String, usize> = HashMap::new();
    for document in &documents {
        *uses.entry(document.name.clone()).or_default() += 1;
    }
    for (i, document) in documents.iter_mut().enumerate() {
        if document.name.trim().is_empty() {
            document.name = format!("document {}", i + 1);
        } else if uses[&document.name] > 1 {
            document.name = format!("{} (document {})", document.name, i + 1);
        }
    }
    documents
}

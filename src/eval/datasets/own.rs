//! The form for users' own data: `docs/data.md` and `docs/question.schema.json` describe it.

use super::{Item, Row, fields};
use crate::error::Result;
use crate::jsonl::{self, Object};
use crate::question::{Claim, ClaimRelation, Document, Gold, Label, Question};
use serde_json::{Map, Value};

pub(super) const ROW: Row = Row {
    name: "questions",
    about: "your own questions: documents, answers with aliases, options, claims, responses, slices (docs/data.md)",
    paper: "docs/question.schema.json",
    licence: "yours",
    detect: |object| object.fields().any(|field| field == "question"),
    read,
    bare_nan: false,
    merge: false,
    titled: false,
};

/// The fields of a question.
const FIELDS: [&str; 11] = [
    "id",
    "question",
    "documents",
    "answers",
    "all_required",
    "wrong_answers",
    "unanswerable",
    "options",
    "claims",
    "responses",
    "slices",
];

/// Names of this format's fields in other formats, separated by spaces.
const OTHER_NAMES: [(&str, &str); 7] = [
    ("question", "query question_text prompt input problem"),
    (
        "documents",
        "document docs doc context contexts ctxs ctx passages passage paragraphs evidence evidences sources snippets \
         references",
    ),
    (
        "answers",
        "answer gold gold_answer gold_answers golden_answers label labels target targets correct_answer \
         correct_answers reference ground_truth ground_truths output solution",
    ),
    ("wrong_answers", "wrong wrong_answer incorrect incorrect_answer incorrect_answers distractors"),
    ("options", "choices choice option candidates"),
    ("claims", "claim statements hypothesis"),
    ("responses", "response generation generations prediction predictions completion"),
];

/// The first field that is one of ours under another name, as an error's "found"; ours must be missing.
pub(super) fn misnamed(object: &Object) -> Option<String> {
    // A question without answers may have `unanswerable` instead.
    let missing = |ours: &str| !object.has(ours) && (ours != "answers" || !object.has("unanswerable"));
    object.fields().filter(|field| !FIELDS.contains(field) && object.has(field)).find_map(|field| {
        let lower = field.to_lowercase().replace([' ', '-'], "_");
        let listed = OTHER_NAMES.iter().find(|(_, others)| others.split(' ').any(|other| other == lower));
        let ours = listed.map(|(ours, _)| *ours).or_else(|| FIELDS.into_iter().find(|ours| misspelt(&lower, ours)))?;
        let shown = jsonl::shortened(field);
        missing(ours).then(|| format!("the field `{shown}`, which is called `{ours}` here"))
    })
}

/// Whether two names differ in one letter: wrong, missing, added or exchanged with its neighbour.
fn misspelt(typed: &str, name: &str) -> bool {
    let (a, b): (Vec<char>, Vec<char>) = (typed.chars().collect(), name.chars().collect());
    if a.len() < 4 || a.len().abs_diff(b.len()) > 1 {
        return false;
    }
    let same = a.iter().zip(&b).take_while(|(x, y)| x == y).count();
    let (a, b) = (&a[same..], &b[same..]);
    let swapped = a.len() >= 2 && b.len() >= 2 && a[0] == b[1] && a[1] == b[0] && a[2..] == b[2..];
    swapped
        || a.get(1..).unwrap_or_default() == b.get(1..).unwrap_or_default()
        || a.get(1..).unwrap_or_default() == b
        || a == b.get(1..).unwrap_or_default()
}

fn read(item: &Item) -> Result<Question> {
    let object = &item.object;
    if let Some(found) = misnamed(object) {
        return Err(object.complaint("the fields of docs/data.md", found));
    }
    let text = object.full_string("question")?;
    let documents = documents(object)?;
    let claims = values(object, "claims")?.into_iter().map(|value| claim(object, value, documents.len()));
    let question = Question {
        id: fields::id(item, "id", &text),
        gold: gold(object)?,
        options: fields::optional_texts(object, "options")?,
        claims: claims.collect::<Result<Vec<_>>>()?,
        responses: fields::optional_texts(object, "responses")?,
        slices: fields::optional_texts(object, "slices")?,
        text,
        documents,
    };
    check_options(object, &question)?;
    Ok(question)
}

/// A list; a table's cell holds it as JSON text. Empty where the field is missing.
fn values(object: &Object, field: &str) -> Result<Vec<Value>> {
    match object.value(field) {
        None => Ok(Vec::new()),
        Some(Value::Array(values)) => Ok(values.clone()),
        Some(Value::String(text)) => Ok(jsonl::parse(text.as_bytes()).unwrap_or_else(|_| vec![text.clone().into()])),
        other => Err(object.wrong("a list", field, other)),
    }
}

fn documents(object: &Object) -> Result<Vec<Document>> {
    let mut documents = Vec::new();
    for (i, value) in values(object, "documents")?.into_iter().enumerate() {
        documents.push(match value {
            Value::String(text) => Document { text, ..Document::default() },
            Value::Object(fields) => document(&object.within(&format!("documents[{i}]."), fields))?,
            other => return Err(object.wrong("text or an object", &format!("documents[{i}]"), Some(&other))),
        });
    }
    Ok(fields::named(documents))
}

/// Names of a document's `text` in other formats.
const TEXT_NAMES: [&str; 9] =
    ["content", "contents", "body", "passage", "paragraph", "paragraph_text", "page_content", "snippet", "context"];

fn document(object: &Object) -> Result<Document> {
    let misnamed = object.fields().find(|field| TEXT_NAMES.contains(&field.to_lowercase().as_str()));
    if let Some(field) = misnamed.filter(|_| !object.has("text")) {
        return Err(
            object.complaint("a document's `text`", format!("the field `{field}`, which is called `text` here"))
        );
    }
    let label = match object.object("label") {
        Some(label) => Some(Label {
            kind: label.full_string("kind")?,
            answer: label.optional_string("answer")?.unwrap_or_default(),
        }),
        None => None,
    };
    let title = object.optional_string("title")?;
    Ok(Document {
        name: title.clone().unwrap_or_default(),
        text: object.full_string("text")?,
        title,
        source: object.optional_string("source")?,
        date: object.optional_date("date")?,
        url: object.optional_string("url")?,
        label,
        ..Document::default()
    })
}

/// `None` where the question has no field of answers.
fn gold(object: &Object) -> Result<Option<Gold>> {
    let unanswerable = fields::flag(object, "unanswerable")?.unwrap_or(false);
    let mut answers = Vec::new();
    for (i, value) in values(object, "answers")?.into_iter().enumerate() {
        let field = format!("answers[{i}]");
        answers.push(match value {
            Value::String(answer) => vec![answer],
            Value::Array(ref aliases) if !aliases.is_empty() => aliases
                .iter()
                .map(|alias| alias.as_str().map(str::to_owned))
                .collect::<Option<Vec<_>>>()
                .ok_or_else(|| object.wrong("an answer's aliases, all strings,", &field, Some(&value)))?,
            other => return Err(object.wrong("an answer or a list of its aliases", &field, Some(&other))),
        });
    }
    if unanswerable && !answers.is_empty() {
        let found = format!("{} answers", answers.len());
        return Err(object.complaint("no `answers` where `unanswerable` is true", found));
    }
    if !unanswerable && !object.has("answers") {
        return Ok(None);
    }
    let all_required = fields::flag(object, "all_required")?.unwrap_or(false);
    let wrong = fields::optional_texts(object, "wrong_answers")?;
    Ok(Some(Gold { answers, all_required, wrong, unanswerable }))
}

fn claim(object: &Object, value: Value, documents: usize) -> Result<Claim> {
    let (text, fields): (_, Map<String, Value>) = match value {
        Value::String(text) => return Ok(Claim { text, ..Claim::default() }),
        Value::Object(fields) => (fields.get("text").cloned(), fields),
        other => return Err(object.wrong("text or an object", "claims", Some(&other))),
    };
    let Some(Value::String(text)) = text else { return Err(object.wrong("a string", "claims.text", text.as_ref())) };
    let read = |field: &str| fields.get(field).cloned().unwrap_or(Value::Null);
    let expected = "a list of supports, contradicts or irrelevant";
    let relations: Option<Vec<ClaimRelation>> = serde_json::from_value(read("relations"))
        .map_err(|_| object.wrong(expected, "claims.relations", fields.get("relations")))?;
    let relations = relations.unwrap_or_default();
    if !relations.is_empty() && relations.len() != documents {
        let expected = format!("{documents} entries in `claims.relations`, one for each document");
        return Err(object.complaint(&expected, format!("{}", relations.len())));
    }
    let conflict: Option<bool> = serde_json::from_value(read("conflict"))
        .map_err(|_| object.wrong("true or false", "claims.conflict", fields.get("conflict")))?;
    Ok(Claim { text, relations, conflict })
}

/// A multiple-choice question's answers are among its options.
fn check_options(object: &Object, question: &Question) -> Result<()> {
    if question.options.is_empty() {
        return Ok(());
    }
    let stray = question.gold.iter().flat_map(Gold::aliases).find(|alias| !question.options.iter().any(|o| o == alias));
    match stray {
        Some(alias) => Err(object.complaint("each of `answers` among the `options`", format!("{alias:?}"))),
        None => Ok(()),
    }
}

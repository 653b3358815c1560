//! Multi-hop questions with titled paragraphs: HotpotQA and 2WikiMultihopQA as published, and the common form that the
//! authors of IRCoT give them.

use super::{Item, Row, fields};
use crate::error::Result;
use crate::jsonl::{self, Object};
use crate::question::{Document, Gold, Question};
use serde_json::Value;
use std::collections::HashSet;

pub(super) const IRCOT: Row = Row {
    name: "ircot",
    about: "HotpotQA, 2WikiMultihopQA or MuSiQue as IRCoT prepares them: titled paragraphs, the supporting ones marked",
    paper: "IRCoT (Trivedi et al., 2023); github.com/StonyBrookNLP/ircot",
    licence: "Apache-2.0",
    detect: |object| object.has("question_text") || object.has("answers_objects"),
    read: ircot,
    bare_nan: false,
    merge: false,
    titled: false,
};

pub(super) const HOTPOTQA: Row = Row {
    name: "hotpotqa",
    about: "two-hop questions over ten titled paragraphs, the supporting ones marked",
    paper: "Yang et al., 2018 (arXiv 1809.09600); hotpotqa.github.io",
    licence: "CC BY-SA 4.0",
    detect: |object| object.has("context") && (object.has("supporting_facts") || object.has("level")),
    read: published,
    bare_nan: false,
    merge: false,
    titled: false,
};

pub(super) const TWO_WIKI: Row = Row {
    name: "2wikimultihopqa",
    about: "questions over ten titled paragraphs by four patterns of reasoning, the supporting ones marked",
    paper: "Ho et al., 2020 (arXiv 2011.01060); github.com/Alab-NII/2wikimultihop",
    licence: "Apache-2.0",
    detect: |object| object.has("context") && object.has("evidences"),
    read: published,
    bare_nan: false,
    merge: false,
    titled: false,
};

/// The label of a paragraph.
pub(super) fn support(supporting: bool) -> Option<crate::question::Label> {
    fields::kind(if supporting { "supporting" } else { "distractor" })
}

/// The spans of an answers object are aliases, and so are the objects.
fn ircot(item: &Item) -> Result<Question> {
    let object = &item.object;
    let text = object.full_string("question_text")?;
    let mut aliases = Vec::new();
    for answer in object.objects("answers_objects")? {
        aliases.extend(answer.strings("spans")?);
    }
    let paragraph = |paragraph: &Object| {
        Ok(Document {
            name: paragraph.optional_string("title")?.unwrap_or_default(),
            text: paragraph.string("paragraph_text")?,
            label: fields::flag(paragraph, "is_supporting")?.and_then(support),
            ..Document::default()
        })
    };
    let documents = object.objects("contexts")?.iter().map(paragraph).collect::<Result<Vec<_>>>()?;
    Ok(Question {
        id: fields::id(item, "question_id", &text),
        text,
        documents: fields::named(documents),
        gold: Some(Gold::any_of(aliases)),
        ..Question::default()
    })
}

fn published(item: &Item) -> Result<Question> {
    let object = &item.object;
    let text = object.full_string("question")?;
    let supporting = supporting_titles(object)?;
    let document = |(title, text): (String, String)| Document {
        label: supporting.as_ref().and_then(|titles| support(titles.contains(&title))),
        name: title,
        text,
        ..Document::default()
    };
    let documents = paragraphs(object)?.into_iter().map(document).collect();
    let id = if object.has("_id") { "_id" } else { "id" };
    let mut slices: Vec<String> = Vec::new();
    for field in ["type", "level"] {
        slices.extend(object.optional_string(field)?.map(|name| fields::slice(&name)));
    }
    Ok(Question {
        id: fields::id(item, id, &text),
        text,
        documents: fields::named(documents),
        // The test parts are published without answers.
        gold: object.optional_string("answer")?.map(|answer| Gold::any_of([answer])),
        slices,
        ..Question::default()
    })
}

/// `context`: pairs of a title and its sentences, or the two columns `title` and `sentences` (`content`) that Hugging
/// Face makes of them.
fn paragraphs(object: &Object) -> Result<Vec<(String, String)>> {
    if let Some(columns) = object.object("context") {
        let sentences = if columns.has("content") { "content" } else { "sentences" };
        let titles = columns.strings("title")?;
        let Some(Value::Array(texts)) = columns.value(sentences) else {
            return Err(columns.wrong("a list of lists of sentences", sentences, columns.value(sentences)));
        };
        let joined = texts.iter().map(|text| sentence_list(text).map(|s| s.join(" "))).collect::<Option<Vec<_>>>();
        let joined = joined.filter(|texts| texts.len() == titles.len());
        let joined = joined.ok_or_else(|| {
            let expected = format!("{} lists of sentences, one for each title", titles.len());
            columns.wrong(&expected, sentences, columns.value(sentences))
        })?;
        return Ok(titles.into_iter().zip(joined).collect());
    }
    let expected = "pairs of a title and a list of sentences";
    // 2WikiMultihopQA's tables hold the same list as text.
    let parsed: Option<Value> = match object.value("context") {
        Some(Value::String(text)) => jsonl::parse(text.as_bytes()).ok(),
        other => other.cloned(),
    };
    let pairs = parsed.as_ref().and_then(Value::as_array).and_then(|pairs| {
        let pair = |pair: &Value| Some((pair.get(0)?.as_str()?.to_owned(), sentence_list(pair.get(1)?)?.join(" ")));
        pairs.iter().map(pair).collect::<Option<Vec<_>>>()
    });
    pairs.ok_or_else(|| object.wrong(expected, "context", object.value("context")))
}

fn sentence_list(value: &Value) -> Option<Vec<&str>> {
    value.as_array()?.iter().map(|sentence| sentence.as_str().map(str::trim)).collect()
}

/// The titles in `supporting_facts`; `None` where the dataset gives none.
fn supporting_titles(object: &Object) -> Result<Option<HashSet<String>>> {
    if let Some(columns) = object.object("supporting_facts") {
        return Ok(Some(columns.strings("title")?.into_iter().collect()));
    }
    let parsed: Option<Value> = match object.value("supporting_facts") {
        None => return Ok(None),
        Some(Value::String(text)) => jsonl::parse(text.as_bytes()).ok(),
        Some(other) => Some(other.clone()),
    };
    let titles = parsed.as_ref().and_then(Value::as_array).and_then(|facts| {
        facts.iter().map(|fact| fact.get(0)?.as_str().map(str::to_owned)).collect::<Option<HashSet<_>>>()
    });
    let wrong = || object.wrong("pairs of a title and a number", "supporting_facts", object.value("supporting_facts"));
    titles.map(|titles| (!titles.is_empty()).then_some(titles)).ok_or_else(wrong)
}

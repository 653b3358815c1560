//! WikiContradict: questions with two passages of Wikipedia that contradict each other. CSV or JSON.

use super::{Item, Row, fields};
use crate::error::Result;
use crate::question::{Document, Gold, Label, Question};

pub(super) const ROW: Row = Row {
    name: "wikicontradict",
    about: "two passages of Wikipedia that contradict each other; both answers are required",
    paper: "Hou et al., 2024 (arXiv 2406.13805); huggingface.co/datasets/ibm-research/Wikipedia_contradict_benchmark",
    licence: "MIT",
    detect: |object| object.has("context1") && object.has("context2"),
    read,
    bare_nan: false,
    merge: false,
    titled: false,
};

fn read(item: &Item) -> Result<Question> {
    let object = &item.object;
    let text = object.full_string("question")?;
    let title = object.optional_string("WikipediaArticleTitle")?.unwrap_or_default();
    let url = object.optional_string("url")?;
    let mut documents = Vec::new();
    let mut answers = Vec::new();
    for (context, answer) in [("context1", "answer1"), ("context2", "answer2")] {
        let answer = object.full_string(answer)?.trim().to_owned();
        documents.push(Document {
            name: title.clone(),
            text: object.full_string(context)?,
            source: Some("wikipedia.org".to_owned()),
            url: url.clone(),
            label: Some(Label { kind: "correct".to_owned(), answer: answer.clone() }),
            ..Document::default()
        });
        answers.push(answer);
    }
    // "Explicit", or "Implicit (reasoning required)".
    let kind = object.optional_string("contradictType")?;
    let kind = kind.and_then(|kind| kind.split_whitespace().next().map(str::to_lowercase));
    let same = object.optional_string("samepassage")?.map(|passage| format!("{}-passage", fields::slice(&passage)));
    Ok(Question {
        id: fields::id(item, "question_ID", &text),
        text,
        documents: fields::named(documents),
        gold: Some(Gold::all_of(answers, Vec::new())),
        slices: kind.into_iter().chain(same).collect(),
        ..Question::default()
    })
}

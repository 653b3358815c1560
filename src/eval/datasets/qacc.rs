//! QACC: questions with web snippets from named hosts, which conflict in a quarter of them; one JSON array.

use super::{Item, Row, fields};
use crate::answers::words::Level;
use crate::error::Result;
use crate::jsonl::Object;
use crate::question::{Document, Gold, Label, Question};

pub(super) const ROW: Row = Row {
    name: "qacc",
    about: "questions over web snippets with host names; slices conflicting and non-conflicting",
    paper: "Liu et al., 2024 (arXiv 2410.12311); github.com/amazon-science/qa-with-conflicting-context",
    licence: "CC BY-SA 3.0",
    detect: |object| {
        object.has("contexts") && ["firstAnswer", "secondAnswerExist", "correctAnswer"].iter().any(|f| object.has(f))
    },
    read,
    bare_nan: true,
    merge: false,
    titled: false,
};

/// The annotated answers, with the letters of the contexts that support each (A is the first).
const ANSWERS: [(&str, &str); 3] =
    [("firstAnswer", "firstContext"), ("secondAnswer", "secondContext"), ("thirdAnswer", "thirdContext")];

/// Gold is `correctAnswer` alone; one question of the train and dev parts has none and is not scored.
fn read(item: &Item) -> Result<Question> {
    let object = &item.object;
    let text = object.full_string("question")?;
    let correct = object.optional_string("correctAnswer")?.map(|answer| answer.trim().to_owned());
    // The letter A says that a second answer exists, B that none does.
    let conflicting = fields::one_of(object, "secondAnswerExist", &[("a", true), ("b", false)])?;
    let mut slices = vec![if conflicting { "conflicting" } else { "non-conflicting" }.to_owned()];
    slices.extend(object.optional_string("split")?);
    Ok(Question {
        id: super::question_id(item.number, &text),
        text,
        documents: documents(object, correct.as_deref())?,
        gold: correct.map(|answer| Gold::any_of([answer])),
        slices,
        ..Question::default()
    })
}

fn documents(object: &Object, correct: Option<&str>) -> Result<Vec<Document>> {
    let (contexts, sources) = (object.strings("contexts")?, object.strings("sources")?);
    if contexts.len() != sources.len() {
        let expected = format!("{} entries in `sources`, one for each of `contexts`", contexts.len());
        return Err(object.complaint(&expected, format!("{}", sources.len())));
    }
    let mut labels: Vec<Option<Label>> = vec![None; contexts.len()];
    for (answer, letters) in ANSWERS {
        let (Some(answer), Some(letters)) = (object.optional_string(answer)?, object.optional_string(letters)?) else {
            continue;
        };
        let right = correct.is_some_and(|correct| Level::Scored.equal(&answer, correct));
        let kind = if right { "correct" } else { "other" };
        for index in indices(&letters) {
            // The letters of a few annotations lie beyond the contexts.
            if let Some(label @ None) = labels.get_mut(index) {
                *label = Some(Label { kind: kind.to_owned(), answer: answer.trim().to_owned() });
            }
        }
    }
    let document = |(i, ((text, source), label)): (usize, ((String, String), Option<Label>))| Document {
        name: format!("document {}", i + 1),
        text,
        source: Some(source),
        label,
        ..Document::default()
    };
    Ok(contexts.into_iter().zip(sources).zip(labels).enumerate().map(document).collect())
}

/// The letters of a Python list of strings ("['A', 'C']") as indices.
fn indices(letters: &str) -> impl Iterator<Item = usize> {
    letters.bytes().filter(u8::is_ascii_uppercase).map(|letter| usize::from(letter - b'A'))
}

//! ContraQA: questions of SQuAD with paragraphs retrieved from a corpus into which false ones were put.
//!
//! The file read is what the authors' `sparse_retriever.py` writes: each question with its `retrieval_results`.

use super::{Item, Row, fields};
use crate::answers::words::Level;
use crate::error::Result;
use crate::jsonl::Object;
use crate::question::{Document, Gold, Question};
use std::collections::HashSet;

pub(super) const ROW: Row = Row {
    name: "contraqa",
    about: "SQuAD questions with paragraphs retrieved from a polluted Wikipedia; false ones are marked by their id, and checked against the answer",
    paper: "Pan et al., 2023 (arXiv 2110.07803); github.com/teacherpeterpan/ContraQA",
    licence: "none stated",
    detect: |object| object.has("retrieval_results"),
    read,
    bare_nan: false,
    merge: false,
    titled: false,
};

fn read(item: &Item) -> Result<Question> {
    let object = &item.object;
    let text = object.full_string("question")?;
    let wrong = || object.wrong("an object with `text`", "answers", object.value("answers"));
    let mut aliases: Vec<String> = Vec::new();
    for alias in object.object("answers").ok_or_else(wrong)?.strings("text")? {
        if !aliases.contains(&alias) {
            aliases.push(alias);
        }
    }
    let context = object.optional_string("context")?.unwrap_or_default();
    let found = object.objects("retrieval_results")?.iter().map(Paragraph::read).collect::<Result<Vec<_>>>()?;
    let documents = found.iter().map(|paragraph| paragraph.document(&aliases, &context, &found)).collect();
    Ok(Question {
        id: fields::id(item, "id", &text),
        text,
        documents: fields::named(documents),
        gold: Some(Gold::any_of(aliases)),
        ..Question::default()
    })
}

/// A retrieved paragraph. Ids are "1020959:::Super_Bowl_50", with "-FAKE" behind those of false paragraphs.
struct Paragraph {
    /// Without "-FAKE": a false paragraph has the id of the true one.
    id: String,
    fake: bool,
    text: String,
}

impl Paragraph {
    fn read(object: &Object) -> Result<Self> {
        let id = object.string("id")?;
        let (id, fake) = id.strip_suffix("-FAKE").map_or((id.as_str(), false), |id| (id, true));
        Ok(Self { id: id.to_owned(), fake, text: object.string("text")? })
    }

    /// The document with its kind: a false paragraph contradicts the answer ("misinfo") only where it replaces a true one that
    /// has the answer, and does not have the answer itself. The retriever also finds false paragraphs on other subjects, and
    /// some of the false ones keep the answer ("altered").
    fn document(&self, aliases: &[String], context: &str, all: &[Self]) -> Document {
        let answers = |text: &str| aliases.iter().any(|alias| Level::Scored.contains(text, alias));
        let true_one = all.iter().find(|other| !other.fake && other.id == self.id);
        let answered = match true_one {
            Some(other) => answers(&other.text),
            // Not retrieved: it may be the paragraph that the question is about.
            None => answers(context) && rewritten(&self.text, context),
        };
        let kind = match self.fake {
            false => "other",
            true if answered && !answers(&self.text) => "misinfo",
            true => "altered",
        };
        let name = self.id.split_once(":::").map_or("", |(_, title)| title).replace('_', " ");
        Document { name, text: self.text.clone(), label: fields::kind(kind), ..Document::default() }
    }
}

/// Whether most words of a text are those of the other.
fn rewritten(text: &str, other: &str) -> bool {
    let (words, other) = (Level::Scored.words(text), Level::Scored.words(other));
    let other: HashSet<&str> = other.iter().collect();
    let shared = words.iter().filter(|word| other.contains(word)).count();
    2 * shared > words.len()
}

//! Documents that a call brings: texts, or paths of the kinds that `moot ask --docs` reads.

use moot::question::Document;
use moot::retrieval::given::{self, WholeLimit};
use moot::workspace::Control;
use moot::{MootError, Result};
use serde::Deserialize;

/// A text with what is known of it, or a path.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Given {
    path: Option<String>,
    name: Option<String>,
    text: Option<String>,
    title: Option<String>,
    source: Option<String>,
    date: Option<String>,
    url: Option<String>,
}

/// The documents in the order given; the control receives notes on files. A path may hold several.
///
/// # Errors
/// A document without text; a file that cannot be read; unless all are read `whole`, more than a debate can hold.
pub(crate) fn documents(all: Vec<Given>, whole: bool, control: &Control) -> Result<Vec<Document>> {
    let mut documents = Vec::new();
    for (index, given) in all.into_iter().enumerate() {
        match (&given.text, &given.path) {
            (Some(text), None) if !text.trim().is_empty() => documents.push(given.document(index)),
            (None, Some(path)) => {
                let read = given::load(std::slice::from_ref(path))?;
                let notes = read.skipped.iter().map(|line| format!("skipped {line}")).chain(read.notes);
                notes.for_each(|line| control.watch.note(&line));
                documents.extend(read.documents);
            }
            _ => return Err(wrong(&format!("documents[{index}]: expected a text or a path, found neither or both"))),
        }
    }
    if let Err((expected, found)) =
        WholeLimit::DEFAULT.check(&documents).or_else(|e| if whole { Ok(()) } else { Err(e) })
    {
        let remedy = "search them with corpus=, or read them with whole=True";
        return Err(wrong(&format!("documents: expected {expected}, found {found}; {remedy}")));
    }
    Ok(documents)
}

fn wrong(text: &str) -> MootError {
    MootError::Usage(text.to_owned())
}

impl Given {
    fn document(self, index: usize) -> Document {
        let named = [&self.name, &self.title].into_iter().flatten().find(|name| !name.trim().is_empty());
        Document {
            name: named.cloned().unwrap_or_else(|| format!("document {}", index + 1)),
            text: self.text.unwrap_or_default(),
            title: self.title,
            source: self.source,
            date: self.date,
            url: self.url,
            ..Document::default()
        }
    }
}

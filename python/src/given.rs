//! Documents that a call brings: texts, or paths of the kinds that `moot ask --docs` reads.

use moot::Result;
use moot::question::Document;
use moot::workspace::{Control, InlineDocument, InlineRead};
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
    let all = all.into_iter().map(InlineDocument::from).collect();
    let searchable = (!whole).then_some("search them with corpus=, or read them with whole=True");
    let read = InlineRead::of(all, searchable, &control.cancel)?;
    read.notes.iter().for_each(|line| control.watch.note(line));
    Ok(read.documents)
}

impl Given {
    /// Its path, where nothing else is given.
    pub(crate) fn as_path(&self) -> Option<String> {
        let Self { path, name, text, title, source, date, url } = self;
        let more = [name, text, title, source, date, url];
        path.clone().filter(|_| more.iter().all(|field| field.is_none()))
    }
}

impl From<Given> for InlineDocument {
    fn from(given: Given) -> Self {
        let Given { path, name, text, title, source, date, url } = given;
        Self { path, name, text, title, source, date, url, ..Self::default() }
    }
}

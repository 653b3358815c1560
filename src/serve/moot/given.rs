//! Documents that a request brings: texts, or files of the kinds that `moot ask --docs` reads.

use crate::question::Document;
use crate::serve::refusal::Answer;
use crate::workspace::{InlineDocument, InlineRead};
use serde::Deserialize;

/// A document of a request: `text`, or a file as `base64` with its `name`.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default)]
pub(in crate::serve) struct GivenDocument {
    /// As clients of retrieval name a document.
    id: Option<String>,
    name: Option<String>,
    text: Option<String>,
    base64: Option<String>,
    title: Option<String>,
    source: Option<String>,
    date: Option<String>,
    url: Option<String>,
}

/// The documents, in the order given, and lines on what was not read. A file may hold several.
///
/// # Errors
/// A document without text, a file that cannot be read, more than a debate can hold.
pub(in crate::serve) fn documents(all: Vec<GivenDocument>) -> Answer<(Vec<Document>, Vec<String>)> {
    let all = all.into_iter().map(InlineDocument::from).collect();
    let read = InlineRead::of(all, Some("a server that was started with a corpus searches more"))?;
    Ok((read.documents, read.notes))
}

/// Without a path: files of this machine are not the client's.
impl From<GivenDocument> for InlineDocument {
    fn from(given: GivenDocument) -> Self {
        let GivenDocument { id, name, text, base64, title, source, date, url } = given;
        Self { id, name, text, base64, path: None, title, source, date, url }
    }
}

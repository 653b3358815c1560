//! Documents that a request brings: texts, or files of the kinds that `moot ask --docs` reads.

use crate::error::MootError;
use crate::question::Document;
use crate::retrieval::Filter;
use crate::retrieval::corpus::Corpus;
use crate::retrieval::given::{self, Reading, WholeLimit};
use crate::serve::refusal::{Answer, Refusal};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde::Deserialize;
use std::path::Path;

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
    let (mut documents, mut notes) = (Vec::new(), Vec::new());
    for (index, given) in all.into_iter().enumerate() {
        // Refused below.
        if documents.len() > WholeLimit::DEFAULT.documents {
            break;
        }
        match (&given.text, &given.base64) {
            (Some(text), None) if !text.trim().is_empty() => documents.push(given.document(index)),
            (None, Some(_)) => {
                let (read, noted) = given.file(index)?;
                documents.extend(read);
                notes.extend(noted);
            }
            (Some(_), Some(_)) => {
                return Err(Refusal::field(&format!("documents[{index}]"), "text or base64", "both"));
            }
            _ => return Err(Refusal::field(&format!("documents[{index}].text"), "a text", "none")),
        }
    }
    WholeLimit::DEFAULT.check(&documents).map_err(|(expected, found)| {
        Refusal::field("documents", &format!("{expected} (a server with --corpus searches more)"), found)
    })?;
    Ok((documents, notes))
}

impl GivenDocument {
    fn document(self, index: usize) -> Document {
        let named = [&self.name, &self.title, &self.id].into_iter().flatten().find(|name| !name.trim().is_empty());
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

    /// The documents of a file, read as a file of a folder is, from a folder that is gone afterwards.
    fn file(&self, index: usize) -> Answer<(Vec<Document>, Vec<String>)> {
        let field = |name: &str| format!("documents[{index}].{name}");
        let bytes = BASE64_STANDARD.decode(self.base64.as_deref().unwrap_or_default().trim());
        let bytes = bytes.map_err(|e| Refusal::field(&field("base64"), "a file in base64", e))?;
        let name = self.name.as_deref().map(Path::new).and_then(Path::file_name).and_then(|name| name.to_str());
        let name = name.ok_or_else(|| Refusal::field(&field("name"), "a file's name", "none"))?;
        let folder = tempfile::tempdir().map_err(|e| MootError::io(&std::env::temp_dir(), "write to", e))?;
        let path = folder.path().join(name);
        std::fs::write(&path, bytes)
            .map_err(|_| Refusal::field(&field("name"), "a file's name", "one that is none"))?;
        // The folder's name is not the client's.
        let hide =
            |text: String| text.replace(&format!("{}{}", folder.path().display(), std::path::MAIN_SEPARATOR), "");
        let read = Corpus::open(&[path.display().to_string()])
            .and_then(|corpus| given::read(&corpus, &Filter::NONE, None, true))
            .map_err(|e| Refusal::field(&field("name"), "a file that can be read", hide(e.to_string())))?;
        let Reading::Whole(read) = read else { return Ok((Vec::new(), Vec::new())) };
        let notes = read.skipped.into_iter().chain(read.notes).map(hide).collect();
        let documents = read.documents.into_iter().map(|document| Document {
            source: self.source.clone().or(document.source),
            date: self.date.clone().or(document.date),
            url: self.url.clone().or(document.url),
            ..document
        });
        Ok((documents.collect(), notes))
    }
}

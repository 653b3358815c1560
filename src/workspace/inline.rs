//! Documents that a caller brings in its request: texts, files as base64, or paths.

use crate::cancel::Cancel;
use crate::error::{MootError, Result};
use crate::question::Document;
use crate::retrieval::given::{self, Given, WholeLimit};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use std::path::{MAIN_SEPARATOR, Path};

/// A document of a request: `text`, a file as `base64` with its `name`, or the `path` of files. A face fills what it offers.
#[derive(Debug, Default, Clone)]
pub struct InlineDocument {
    /// The id that retrieval clients give a document. It is the document's name if `name` and `title` are missing.
    pub id: Option<String>,
    /// Its name, as it is displayed; of a file in base64 the file's name with its ending.
    pub name: Option<String>,
    /// The text.
    pub text: Option<String>,
    /// A file of a kind that moot reads.
    pub base64: Option<String>,
    /// A file, a folder or a pattern on this machine.
    pub path: Option<String>,
    /// Its title.
    pub title: Option<String>,
    /// Its publisher or author.
    pub source: Option<String>,
    /// Its date, as given.
    pub date: Option<String>,
    /// Its address.
    pub url: Option<String>,
}

/// The documents of a request that were read.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct InlineRead {
    /// In the order given; a file may hold several.
    pub documents: Vec<Document>,
    /// Lines on files that were skipped, and on how files were read.
    pub notes: Vec<String>,
}

impl InlineRead {
    /// Reads `all`, the field `documents` of a request. `searchable` says how more documents than a debate can hold are searched
    /// instead; without it, all are read whole. Reading ends once `cancel` is cancelled.
    ///
    /// # Errors
    /// [`MootError::Usage`] that begins with the field: a document without text, a file in base64 that cannot be read, more than
    /// a debate can hold. Errors of files by their paths, and of the folder of temporary files. [`MootError::Interrupted`].
    pub fn of(all: Vec<InlineDocument>, searchable: Option<&str>, cancel: &Cancel) -> Result<Self> {
        let limit = searchable.map(|_| WholeLimit::DEFAULT);
        let mut read = Self::default();
        for (index, given) in all.into_iter().enumerate() {
            // Refused below.
            if limit.is_some_and(|limit| read.documents.len() > limit.documents) {
                break;
            }
            read.add(index, given, cancel)?;
        }
        let checked = limit.map_or(Ok(()), |limit| limit.check(&read.documents));
        checked.map_err(|(expected, found)| {
            let instead = searchable.map(|how| format!(" ({how})")).unwrap_or_default();
            wrong("documents", &format!("{expected}{instead}"), found)
        })?;
        Ok(read)
    }

    fn add(&mut self, index: usize, given: InlineDocument, cancel: &Cancel) -> Result<()> {
        let field = |name: &str| format!("documents[{index}]{name}");
        let InlineDocument { text, base64, path, .. } = &given;
        let forms = [("text", text.is_some()), ("base64", base64.is_some()), ("path", path.is_some())];
        let forms: Vec<&str> = forms.into_iter().filter_map(|(name, is_given)| is_given.then_some(name)).collect();
        match (text, base64, path) {
            (Some(text), None, None) if !text.trim().is_empty() => self.documents.push(given.document(index)),
            (None, Some(file), None) => {
                let (files, notes) = given.file(file, &field, cancel)?;
                self.documents.extend(files);
                self.notes.extend(notes);
            }
            (None, None, Some(path)) => {
                let files = given::load_until(std::slice::from_ref(path), cancel)?;
                self.notes.extend(notes(&files));
                self.documents.extend(files.documents);
            }
            _ if forms.len() > 1 => return Err(wrong(&field(""), &forms.join(" or "), "more than one")),
            _ => return Err(wrong(&field(".text"), "a text", "none")),
        }
        Ok(())
    }
}

fn wrong(field: &str, expected: &str, found: impl std::fmt::Display) -> MootError {
    MootError::Usage(format!("{field}: expected {expected}, found {found}"))
}

/// Lines on the files that were skipped, then on how the others were read.
fn notes(read: &Given) -> Vec<String> {
    let skipped = read.skipped.iter().map(|line| format!("skipped {line}"));
    skipped.chain(read.notes.iter().cloned()).collect()
}

impl InlineDocument {
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

    /// The documents of a file in base64 with its notes, read as a file of a folder is, from a folder that is gone afterwards.
    fn file(
        &self,
        base64: &str,
        field: &dyn Fn(&str) -> String,
        cancel: &Cancel,
    ) -> Result<(Vec<Document>, Vec<String>)> {
        let bytes = BASE64_STANDARD.decode(base64.trim());
        let bytes = bytes.map_err(|e| wrong(&field(".base64"), "a file in base64", e))?;
        // The last part alone: a path in the name must not lead out of the folder below.
        let name = self.name.as_deref().map(Path::new).and_then(Path::file_name).and_then(|name| name.to_str());
        let name = name.ok_or_else(|| wrong(&field(".name"), "a file's name", "none"))?;
        let folder = tempfile::tempdir().map_err(|e| MootError::io(&std::env::temp_dir(), "write to", e))?;
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).map_err(|_| wrong(&field(".name"), "a file's name", "one that is none"))?;
        // The folder's name is not the client's.
        let hide = |text: String| text.replace(&format!("{}{MAIN_SEPARATOR}", folder.path().display()), "");
        let read = given::load_until(&[path.display().to_string()], cancel).map_err(|error| match error {
            MootError::Interrupted => error,
            error => wrong(&field(".name"), "a file that can be read", hide(error.to_string())),
        })?;
        let notes = notes(&read).into_iter().map(hide).collect();
        let documents = read.documents.into_iter().map(|document| Document {
            source: self.source.clone().or(document.source),
            date: self.date.clone().or(document.date),
            url: self.url.clone().or(document.url),
            ..document
        });
        Ok((documents.collect(), notes))
    }
}

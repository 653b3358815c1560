//! Documents given by hand: the files of a [`Corpus`], each one document, or the documents of a dataset's line.

mod copies;
mod gathering;
mod reading;

pub use copies::folded;
pub use reading::{Given, LeftOut, Reading, WholeLimit};

use crate::cancel::Cancel;
use crate::error::{MootError, Result};
use crate::retrieval::Filter;
use crate::retrieval::corpus::{Corpus, Documents, Entry, Kind};
use crate::retrieval::text::input;
use crate::unicode;
use gathering::Gathering;
use std::path::Path;

/// Reads the documents that `paths` name, as [`Corpus::open`] takes them.
///
/// A file is one document; a record of a table or of JSON lines is one. A JSONL line may be a question with its
/// `documents`, as in RAMDocs. A document is named by its title, else by its file (and line). Documents that would have
/// the same name are named by their path.
///
/// # Errors
/// As [`read`].
pub fn load(paths: &[String]) -> Result<Given> {
    load_until(paths, &Cancel::default())
}

/// As [`load`], until `cancel` is cancelled ([`Corpus::until`]).
///
/// # Errors
/// As [`read`]; [`MootError::Interrupted`].
pub fn load_until(paths: &[String], cancel: &Cancel) -> Result<Given> {
    match read(&Corpus::open(paths)?.until(cancel), &Filter::NONE, None, true)? {
        Reading::Whole(given) => Ok(given),
        Reading::TooMuch(why) => Err(MootError::Usage(format!("{why} (bug)"))),
    }
}

/// Reads the documents of `corpus` that `filter` admits, up to the size of `limit`. With `fold`, an exact copy of a
/// document (white space and case aside) becomes one of its copies, with a note: copies do not count twice. A dataset's
/// line brings all of its documents whatever the limit.
///
/// # Errors
/// [`MootError::Input`] or [`MootError::Io`] for the first file that was named and is binary, in no known character set,
/// empty or malformed; [`MootError::UnknownName`] for a source that no document has; [`MootError::Usage`] where no text is found,
/// and where the filter leaves no document.
pub fn read(corpus: &Corpus, filter: &Filter, limit: Option<WholeLimit>, fold: bool) -> Result<Reading> {
    let mut gathering = Gathering::new(corpus, filter, limit, fold);
    for entry in corpus.entries() {
        gathering.add(entry)?;
        if let Some(why) = gathering.excess.take() {
            return Ok(Reading::TooMuch(why));
        }
    }
    gathering.finish().map(Reading::Whole)
}

/// The text of one file, without the front matter of a `.md` file. A file of an unknown kind is read as text.
///
/// # Errors
/// [`MootError::Io`] for a missing file, [`MootError::Input`] for one that cannot be read, is empty, or holds records.
pub fn text(path: &Path) -> Result<String> {
    let kind = Kind::of(path).unwrap_or(Kind::Text);
    if kind.holds_records() {
        let found = path.extension().map(|ending| format!("a .{} file", ending.to_string_lossy()));
        return Err(input(path, None, "a text", found.unwrap_or_default()));
    }
    // The length is for progress, which no one watches here.
    let mut documents = Documents::new(vec![Entry::new(path, kind, 0)], false, &Cancel::default());
    let mut texts = Vec::new();
    while let Some(document) = documents.advance()? {
        texts.push(document.text);
    }
    if texts.is_empty() {
        return Err(input(path, None, "text", "an empty document"));
    }
    Ok(unicode::nfc(&texts.join("\n\n")).into_owned())
}

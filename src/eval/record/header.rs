//! The first line of a record.

use super::shape::{self, Behind, Fault};
use crate::error::{MootError, Result};
use crate::escape;
use crate::files;
use crate::jsonl::{json_fault, shortened};
use crate::llm::ModelIdentity;
use crate::nli::ClassifierIdentity;
use crate::protocol::ctx::Settings;
use crate::retrieval::{RetrieverIdentity, Wanted};
use crate::sources::WeightsIdentity;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

/// Raised when a field changes its meaning; a reader refuses versions it does not know.
pub const VERSION: u32 = 3;

/// The last version whose questions have their calls inside their lines; `moot ask --json` prints it.
pub const INLINE: u32 = 2;

/// How every record's first line starts: serde writes a struct's fields in their order.
pub(super) const MARK: &str = "{\"moot_record\":";

/// A record's first line: everything that its questions have in common.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// [`VERSION`]; also marks the line as a header.
    pub moot_record: u32,
    /// The program's version.
    pub program: String,
    /// The dataset, or `None` for a question asked by hand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dataset: Option<DatasetIdentity>,
    /// The method's name.
    pub method: String,
    /// The name to show if the switches make a variant of the method that differs from its paper.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// The preset that the method was built from; `switches` has what was typed on top of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preset: Option<String>,
    /// Its switches as resolved.
    pub switches: serde_json::Value,
    /// Seed, token limit, sampling, grammar.
    pub settings: Settings,
    /// The model; of several, the one whose role is not among `roles`, or the first role's.
    pub model: ModelIdentity,
    /// The model of each role, if several models are in use; empty if one answers all calls.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub roles: BTreeMap<String, ModelIdentity>,
    /// Hex SHA-256 of each prompt, grammar and schema file that the method may use.
    pub prompts: BTreeMap<String, String>,
    /// The text of each prompt that replaced one of the program's, by the name of that.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub own_prompts: BTreeMap<String, String>,
    /// The index searched, if the method retrieves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retriever: Option<RetrieverIdentity>,
    /// Its settings: number of passages, and filters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wanted: Option<Wanted>,
    /// The file of source weights that votes carry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weights: Option<WeightsIdentity>,
    /// The classifier of pairs. Absent if a role classified them, or if no pair was classified.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub classifier: Option<ClassifierIdentity>,
    /// The embedder of the method's texts. Absent if no text was embedded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub embedder: Option<String>,
    /// Of a replay (`moot record replay`), the record that it was made from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replayed: Option<Replayed>,
    /// Of a forked debate (`moot record fork`), its origin and its change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forked: Option<Forked>,
    /// Of a record whose labels a person corrected (`moot conflict correct`), its origin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub corrected: Option<Corrected>,
    /// The last hash of each record whose replies were reused (`moot run --reuse`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reused: Vec<String>,
}

impl Header {
    /// The model that answered the calls of `role`.
    #[must_use]
    pub fn model_of(&self, role: &str) -> &ModelIdentity {
        self.roles.get(role).unwrap_or(&self.model)
    }
}

/// The record that a replay was made from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Replayed {
    /// The hash of its last line; empty for versions 1 and 2.
    pub chain: String,
    /// Hex SHA-256 of each prompt, grammar and schema file as its replies were given.
    pub prompts: BTreeMap<String, String>,
}

/// The debate that was forked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Forked {
    /// The record's file name without folders.
    pub record: String,
    /// The hash of its last line; empty for versions 1 and 2.
    pub chain: String,
    /// The question's id.
    pub question: String,
    /// The first round that was held again, from 1.
    pub round: usize,
    /// The change, in words: "without document 3, notes.txt".
    pub change: String,
}

/// The record whose labels were corrected.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Corrected {
    /// The hash of its last line; empty for versions 1 and 2.
    pub chain: String,
    /// Hex SHA-256 of the file of corrections.
    pub sha256: String,
    /// Labels that it gave.
    pub labels: usize,
}

/// The dataset whose questions were asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DatasetIdentity {
    /// File name without folders.
    pub name: String,
    /// Hex SHA-256 of the file.
    pub sha256: String,
    /// Questions in it.
    pub questions: usize,
    /// Titles were put before the texts of its documents.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub titled: bool,
}

/// Whether the file at `path` begins as a record does.
///
/// # Errors
/// [`MootError::Io`]; [`MootError::Input`] for anything but a regular file.
pub fn is_record(path: &Path) -> Result<bool> {
    let mut start = Vec::new();
    let read = files::open(path)?.take(MARK.len() as u64).read_to_end(&mut start);
    read.map_err(|e| MootError::io(path, "read", e))?;
    Ok(start == MARK.as_bytes())
}

/// The fields of a header that are read before its version is known.
#[derive(Deserialize)]
struct Mark {
    moot_record: u64,
    program: Option<String>,
}

/// The version is looked at before anything else: a newer header may have other fields.
pub(super) fn parse(bytes: &[u8], path: &Path) -> Result<Header> {
    let wrong =
        |expected: String, found: String| MootError::Input { path: path.into(), line: Some(1), expected, found };
    let expected = || "a record of moot (a header as its first line)".to_owned();
    if bytes.is_empty() {
        return Err(wrong(expected(), "an empty file".into()));
    }
    let text = bytes.trim_ascii_end();
    match shape::check(text, Behind::Nothing) {
        Ok(()) => {}
        Err(Fault::NoJson(found)) => return Err(wrong(expected(), found)),
        Err(Fault::Wrong(expected, found)) => return Err(wrong(expected, found)),
    }
    let Ok(mark) = serde_json::from_slice::<Mark>(text) else {
        let start = String::from_utf8_lossy(&text[..text.len().min(200)]);
        return Err(wrong(expected(), format!("{:?}", shortened(&start))));
    };
    if mark.moot_record > u64::from(VERSION) {
        let program = mark.program.as_deref().unwrap_or("a later moot");
        let found = format!("version {}, written by {}", mark.moot_record, escape::excerpt(program));
        return Err(wrong(format!("a record of version {VERSION} or older"), found));
    }
    serde_json::from_slice(text).map_err(|e| wrong("a record's header".into(), json_fault(&e)))
}

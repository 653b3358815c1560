//! The catalog's encoders: their sources, and settings that their files do not contain.

use super::address::HubAddress;
use crate::encoder::{Pooling, Prefixes};
use serde::Deserialize;

/// One encoder: its task, its sources, and how its vectors are computed.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EncoderEntry {
    /// The short name, as typed.
    pub alias: String,
    /// SPDX identifier.
    pub licence: String,
    /// Its output.
    pub task: Task,
    /// The classes of a classifier, in the order of its logits, where its own config.json only numbers them.
    #[serde(default)]
    pub labels: Vec<String>,
    /// How a classifier reads both texts of a pair as one, with `{premise}` and `{hypothesis}`, where its files leave it out.
    pub written: Option<String>,
    /// Where its tokenizer.json is, if another repository has it.
    pub tokenizer: Option<HubAddress>,
    /// Pooling of an embedding model.
    pub pooling: Option<Pooling>,
    /// Whether vectors are normalised to length 1.
    #[serde(default)]
    pub normalise: bool,
    /// Prefix of a query.
    #[serde(default)]
    pub query: String,
    /// Prefix of a passage.
    #[serde(default)]
    pub passage: String,
    /// The folder of safetensors in a repository on a hub.
    pub hub: HubAddress,
    /// A wheel with the same folder.
    pub wheel: Option<FolderWheel>,
}

/// The output of an encoder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Task {
    /// One vector per text.
    Embedding,
    /// Entailment, neutral or contradiction for a pair, or whether the first text supports the second.
    Nli,
    /// The relevance of a passage to a query.
    Reranker,
}

/// A Python wheel that contains a model's folder as plain data.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FolderWheel {
    /// Package name.
    pub package: String,
    /// Version.
    pub version: String,
    /// The folder in the wheel.
    pub folder: String,
    /// Name of the folder in the cache.
    pub name: String,
    /// SHA-256 of its model.safetensors: hex, lower case.
    pub sha256: String,
}

impl EncoderEntry {
    /// Name of its folder in this program's cache: the wheel's, else the repository's.
    pub(super) fn folder(&self) -> &str {
        let repository = self.hub.repo.rsplit('/').next().unwrap_or_default();
        self.wheel.as_ref().map_or(repository, |wheel| &wheel.name)
    }

    /// The prefixes of queries and passages.
    #[must_use]
    pub fn prefixes(&self) -> Prefixes {
        Prefixes { query: self.query.clone(), passage: self.passage.clone() }
    }

    /// On error the wrong field, what was expected, and what was found.
    pub(super) fn check(&self) -> Result<(), (&'static str, &'static str, String)> {
        if self.alias.is_empty() || self.alias.contains(['/', '\\', ':']) {
            return Err(("alias", "a name without / and :", self.alias.clone()));
        }
        if self.hub.repo.split('/').count() != 2 || self.hub.file.is_some() {
            return Err(("hub", "organisation/name, without a file", self.hub.to_string()));
        }
        if (self.task == Task::Embedding) != self.pooling.is_some() {
            return Err(("pooling", "one where task is embedding, and none where it is not", String::new()));
        }
        if self.tokenizer.as_ref().is_some_and(|tokenizer| tokenizer.file.as_deref() != Some("tokenizer.json")) {
            return Err(("tokenizer", "a repository's file tokenizer.json", String::new()));
        }
        if self.task != Task::Nli && self.written.is_some() {
            return Err(("written", "none where task is not nli", self.written.clone().unwrap_or_default()));
        }
        if self.task != Task::Nli && !self.labels.is_empty() {
            return Err(("labels", "none where task is not nli", self.labels.join(", ")));
        }
        Ok(())
    }
}

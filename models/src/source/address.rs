//! Where a model is on a hub.

use hf_hub::{Repo, RepoType};
use serde::Deserialize;
use std::fmt;

/// A file, or the model that is a folder of safetensors, in a repository on a hub.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HubAddress {
    /// "organisation/name".
    pub repo: String,
    /// Path in the repository; `None` for the repository's own model.
    pub file: Option<String>,
    /// Branch, tag or commit.
    #[serde(default = "main_branch")]
    pub revision: String,
}

fn main_branch() -> String {
    "main".to_owned()
}

impl fmt::Display for HubAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.repo)?;
        self.file.as_ref().map_or(Ok(()), |file| write!(f, ", {file}"))
    }
}

impl HubAddress {
    /// As hf-hub names it.
    pub(super) fn repository(&self) -> Repo {
        Repo::with_revision(self.repo.clone(), RepoType::Model, self.revision.clone())
    }
}

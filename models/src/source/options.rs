//! Options of a search for a model, and what the environment sets.

use crate::error::{ModelError, Result};
use std::path::PathBuf;

/// Options of a search for a model.
#[derive(Debug, Clone)]
pub struct Options {
    /// Folder of fetched models and their recorded hashes; by default [`default_cache`].
    pub cache: PathBuf,
    /// Never use the network.
    pub offline: bool,
}

/// The environment variable that forbids network use, if one does: `MOOT_OFFLINE`, or the hub tools' `HF_HUB_OFFLINE`.
#[must_use]
pub fn offline_by_environment() -> Option<&'static str> {
    let says_no = |value: String| matches!(value.to_lowercase().as_str(), "" | "0" | "false" | "no" | "off");
    ["MOOT_OFFLINE", "HF_HUB_OFFLINE"].into_iter().find(|name| std::env::var(name).is_ok_and(|value| !says_no(value)))
}

/// The cache's folder: `$MOOT_CACHE`, else `$XDG_CACHE_HOME/moot`, else `~/.cache/moot`.
///
/// # Errors
/// [`ModelError::Io`] if there is no home folder either.
pub fn default_cache() -> Result<PathBuf> {
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    if let Some(cache) = variable("MOOT_CACHE") {
        return Ok(cache);
    }
    // The XDG specification says to ignore a relative path.
    if let Some(caches) = variable("XDG_CACHE_HOME").filter(|path| path.is_absolute()) {
        return Ok(caches.join("moot"));
    }
    let home = std::env::home_dir().filter(|home| !home.as_os_str().is_empty());
    home.map(|home| home.join(".cache").join("moot")).ok_or_else(|| ModelError::Io {
        path: "~/.cache/moot".into(),
        action: "find",
        source: std::io::Error::new(
            std::io::ErrorKind::NotFound,
            "there is no home folder; MOOT_CACHE can name a folder",
        ),
    })
}

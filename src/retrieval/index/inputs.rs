//! Records of the files that an index was read from, with which an update compares the files.
//!
//! A file whose size and time of change are the recorded ones counts as unchanged and is not read. If the time alone
//! differs, its SHA-256 decides, so that a copied or touched file is not indexed again.

use super::files::{self, HashedFile, torn};
use super::layout::inputs_number;
use super::manifest::{InputsEntry, Manifest};
use crate::error::{MootError, Result};
use crate::retrieval::corpus::file_name;
use crate::units::hex;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::path::Path;
use std::time::UNIX_EPOCH;

/// A file as it was when it was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct InputFile {
    /// Its path, as the corpus was named: [`crate::question::Origin::file`] of its passages.
    pub path: String,
    /// Length in bytes.
    pub bytes: u64,
    /// Time of change in nanoseconds since 1970.
    pub modified: u64,
    /// SHA-256 of the content, in hex; absent if it could not be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
}

/// The state of a recorded file.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum State {
    Same,
    /// The content is the same, its time of change is this one.
    Touched(u64),
    Changed,
}

impl InputFile {
    /// The file at `path` as it is now. One that cannot be read has no hash.
    #[must_use]
    pub(crate) fn read(path: &Path) -> Self {
        let (bytes, modified) = fs::metadata(path).map_or((0, 0), |found| (found.len(), modified(&found)));
        // Size and time come first: a file that changes while it is read differs from them later.
        Self { path: file_name(path), bytes, modified, sha256: sha256(path).ok() }
    }

    /// Compares the file at `path` with this record. Content of at most `budget` bytes is read if the time alone differs,
    /// and taken from the budget; beyond it, the time decides.
    pub(super) fn compare(&self, path: &Path, budget: &mut u64) -> io::Result<State> {
        let found = fs::metadata(path)?;
        if found.len() != self.bytes {
            return Ok(State::Changed);
        }
        let modified = modified(&found);
        if modified == self.modified {
            return Ok(State::Same);
        }
        let Some(expected) = self.sha256.as_ref().filter(|_| self.bytes <= *budget) else { return Ok(State::Changed) };
        *budget -= self.bytes;
        Ok(if sha256(path)? == *expected { State::Touched(modified) } else { State::Changed })
    }
}

fn modified(found: &Metadata) -> u64 {
    let since = found.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok()).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

fn sha256(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 1 << 18];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hex(&hash.finalize())),
            n => hash.update(&buffer[..n]),
        }
    }
}

/// The recorded files of each build of `manifest`; `None` for a build whose files are not recorded.
///
/// # Errors
/// [`MootError::Index`] for a damaged record.
pub(super) fn read(dir: &Path, manifest: &Manifest) -> Result<Vec<Option<Vec<InputFile>>>> {
    let builds = manifest.builds.len();
    let Some(entry) = &manifest.inputs else { return Ok(vec![None; builds]) };
    let path = dir.join(&entry.name);
    entry.sum.verify(&path)?;
    let content = files::open(&path, entry.sum.bytes)?;
    let mut all: Vec<Option<Vec<InputFile>>> = serde_json::from_slice(&content).map_err(|e| {
        torn(&path, format!("expected the files of each build, found {}", crate::escape::line(&e.to_string())))
    })?;
    if all.len() > builds {
        return Err(torn(&path, format!("expected the files of {builds} builds, found those of {}", all.len())));
    }
    all.resize(builds, None);
    Ok(all)
}

/// Writes a new record beside that of `manifest`. It counts once a manifest names it.
pub(super) fn write(dir: &Path, manifest: &Manifest, all: &[Option<Vec<InputFile>>]) -> Result<InputsEntry> {
    let last = manifest.inputs.as_ref().and_then(|inputs| inputs_number(&inputs.name));
    let name = format!("inputs-{:06}.json", last.map_or(0, |last| last + 1));
    let path = dir.join(&name);
    let content = serde_json::to_vec(all).map_err(|e| MootError::io(&path, "write", e.into()))?;
    let mut file = HashedFile::create(path)?;
    file.write(&content)?;
    Ok(InputsEntry { name, sum: file.finish()? })
}

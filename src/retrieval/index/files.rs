//! Files that are complete or absent: hashed while written, synced before they are renamed, checked when opened.

use crate::error::{MootError, Result};
use crate::units::hex;
use moot_models::weights::{Mmap, map};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fs::{self, File};
use std::io::{BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// Length and hash of a finished file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileSum {
    /// Length in bytes.
    pub bytes: u64,
    /// SHA-256 of the content, in hex.
    pub sha256: String,
    /// SHA-256 of [`SAMPLES`] blocks of [`BLOCK`] bytes, in hex; absent in an index that was built before it was noted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sample: Option<String>,
}

/// Bytes of a sampled block.
const BLOCK: u64 = 4096;
/// Blocks sampled of a file: its first, its last, and others at equal distances.
const SAMPLES: u64 = 8;

impl FileSum {
    /// Reads all of `path` and compares it.
    ///
    /// # Errors
    /// [`MootError::Index`] if it differs, [`MootError::Io`] if it cannot be read.
    pub(super) fn verify(&self, path: &Path) -> Result<()> {
        let mut file = self.file(path)?;
        let mut hash = Sha256::new();
        let mut buffer = vec![0; 1 << 20];
        loop {
            match file.read(&mut buffer).map_err(|e| MootError::io(path, "read", e))? {
                0 => break,
                n => hash.update(&buffer[..n]),
            }
        }
        let found = hex(&hash.finalize());
        if found == self.sha256 {
            return Ok(());
        }
        Err(torn(path, format!("expected content with SHA-256 {}, found {}", brief(&self.sha256), brief(&found))))
    }

    /// Reads some blocks of `path` and compares.
    ///
    /// # Errors
    /// As [`Self::verify`]; without a noted sample, the length alone counts.
    pub(super) fn verify_sample(&self, path: &Path) -> Result<()> {
        let file = self.file(path)?;
        let Some(expected) = &self.sample else { return Ok(()) };
        let found = sample(file, self.bytes).map_err(|e| MootError::io(path, "read", e))?;
        if found == *expected {
            return Ok(());
        }
        let (expected, found) = (brief(expected), brief(&found));
        Err(torn(path, format!("expected blocks with SHA-256 {expected}, found {found}")))
    }

    /// The file, which is a regular one of the right length.
    fn file(&self, path: &Path) -> Result<File> {
        check_length(path, self.bytes)?;
        File::open(path).map_err(|e| MootError::io(path, "open", e))
    }
}

/// The SHA-256 of blocks of a file of `bytes` bytes. The choice of blocks depends on the length alone.
fn sample(mut file: impl Read + Seek, bytes: u64) -> std::io::Result<String> {
    let mut hash = Sha256::new();
    let last = bytes.saturating_sub(BLOCK);
    let mut buffer = Vec::new();
    for block in 0..SAMPLES {
        // Without an overflow for any length.
        let at = (u128::from(last) * u128::from(block) / u128::from(SAMPLES - 1)) as u64;
        file.seek(SeekFrom::Start(at))?;
        buffer.clear();
        (&mut file).take(BLOCK).read_to_end(&mut buffer)?;
        hash.update(&buffer);
    }
    Ok(hex(&hash.finalize()))
}

fn brief(hash: &str) -> &str {
    hash.get(..12).unwrap_or(hash)
}

/// The error for a file of an index that changed after it was finished.
pub(super) fn torn(path: &Path, wrong: String) -> MootError {
    let hint = "the file was changed or cut after it was finished: bring it back from a copy, or build the index again";
    MootError::Index { path: path.to_owned(), wrong, hint: hint.into() }
}

/// A file being written, hashed on the way.
pub(super) struct HashedFile {
    file: BufWriter<File>,
    path: PathBuf,
    bytes: u64,
    hash: Sha256,
}

impl HashedFile {
    pub(super) fn create(path: PathBuf) -> Result<Self> {
        // The path may hold a link: it is removed, so that the link is not followed.
        let _ = fs::remove_file(&path);
        let file = File::create_new(&path).map_err(|e| MootError::io(&path, "create", e))?;
        Ok(Self { file: BufWriter::with_capacity(1 << 18, file), path, bytes: 0, hash: Sha256::new() })
    }

    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.file.write_all(bytes).map_err(|e| MootError::io(&self.path, "write", e))?;
        self.hash.update(bytes);
        self.bytes += bytes.len() as u64;
        Ok(())
    }

    /// Bytes written so far.
    pub(super) fn written(&self) -> u64 {
        self.bytes
    }

    /// Syncs the file and returns its length and hash.
    pub(super) fn finish(mut self) -> Result<FileSum> {
        let synced = self.file.flush().and_then(|()| self.file.get_ref().sync_all());
        synced.map_err(|e| MootError::io(&self.path, "write", e))?;
        let file = File::open(&self.path).and_then(|file| sample(file, self.bytes));
        let sample = Some(file.map_err(|e| MootError::io(&self.path, "read", e))?);
        Ok(FileSum { bytes: self.bytes, sha256: hex(&self.hash.finalize()), sample })
    }
}

/// Replaces the content of `path` atomically.
pub(super) fn replace(path: &Path, content: &[u8]) -> Result<()> {
    let fresh = path.with_extension("new");
    let mut file = HashedFile::create(fresh.clone())?;
    file.write(content)?;
    // Synced before the rename: after a power failure `path` has the old or the new content, never a part.
    file.finish()?;
    rename(&fresh, path)
}

/// Renames a finished file or folder and syncs the parent folder.
pub(super) fn rename(from: &Path, to: &Path) -> Result<()> {
    fs::rename(from, to).map_err(|e| MootError::io(to, "name", e))?;
    // If folders cannot be synced, the rename may be lost in a power failure; nothing else is.
    if let Some(Ok(folder)) = to.parent().map(File::open) {
        let _ = folder.sync_all();
    }
    Ok(())
}

/// Memory-maps a finished file of `bytes` bytes.
///
/// # Errors
/// [`MootError::Index`] if it is missing or of another length.
pub(super) fn open(path: &Path, bytes: u64) -> Result<Mmap> {
    check_length(path, bytes)?;
    let file = File::open(path).map_err(|e| MootError::io(path, "open", e))?;
    let mapped = map(&file).map_err(|e| MootError::io(path, "map", e))?;
    // Another process may have truncated it between the check and the map.
    if mapped.len() as u64 == bytes { Ok(mapped) } else { check_length(path, bytes).map(|()| mapped) }
}

fn check_length(path: &Path, bytes: u64) -> Result<()> {
    match fs::metadata(path) {
        // A device or a pipe has no length, and may never end.
        Ok(found) if !found.is_file() => Err(torn(path, format!("expected {bytes} bytes, found no regular file"))),
        Ok(found) if found.len() == bytes => Ok(()),
        Ok(found) => Err(torn(path, format!("expected {bytes} bytes, found {}", found.len()))),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
            Err(torn(path, format!("expected {bytes} bytes, found no such file")))
        }
        Err(e) => Err(MootError::io(path, "open", e)),
    }
}

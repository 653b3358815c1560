//! A file on its way into the cache: written aside, hashed as it is written, renamed once it is right.

use super::hash::{hex, stamp};
use crate::error::{ModelError, Result};
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// Bytes copied at a time.
const BUFFER: usize = 1 << 20;

/// Folders of fetches that were killed are swept after this long: no fetch takes a day.
const STALE: Duration = Duration::from_secs(24 * 60 * 60);

const PREFIX: &str = ".fetch-";

/// A folder of this fetch alone, inside the target's folder so that a rename stays on one disk; removed when dropped.
pub(super) struct FetchFolder {
    path: PathBuf,
}

impl FetchFolder {
    /// Makes the folder, and `parent` where it is absent.
    pub(super) fn create(parent: &Path) -> Result<Self> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let io = |path: &Path| {
            let path = path.to_owned();
            move |source| ModelError::Io { path, action: "create", source }
        };
        std::fs::create_dir_all(parent).map_err(io(parent))?;
        sweep(parent);
        // The process and a counter make it unique on this machine; the time, on a disk shared by several.
        let time = std::time::UNIX_EPOCH.elapsed().map_or(0, |since| since.subsec_nanos());
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = parent.join(format!("{PREFIX}{}-{number}-{time}", std::process::id()));
        std::fs::create_dir(&path).map_err(io(&path))?;
        Ok(Self { path })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for FetchFolder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

/// Removes what fetches that were killed have left in `parent`.
fn sweep(parent: &Path) {
    for file in std::fs::read_dir(parent).into_iter().flatten().flatten() {
        let age = file.metadata().ok().and_then(|status| status.modified().ok()?.elapsed().ok());
        if file.file_name().to_string_lossy().starts_with(PREFIX) && age.is_some_and(|age| age > STALE) {
            let _ = std::fs::remove_dir_all(file.path());
        }
    }
}

/// The file being written.
pub(super) struct PartialFile {
    path: PathBuf,
    file: File,
    hasher: Sha256,
    written: u64,
    size: u64,
}

impl PartialFile {
    /// An empty file `path` that is to have `size` bytes.
    pub(super) fn create(path: PathBuf, size: u64) -> Result<Self> {
        match File::create(&path) {
            Ok(file) => Ok(Self { path, file, hasher: Sha256::new(), written: 0, size }),
            Err(source) => Err(ModelError::Io { path, action: "create", source }),
        }
    }

    /// Appends all of `from`, but never more than the file is to have; `report` is told the bytes written so far.
    ///
    /// # Errors
    /// [`ModelError::Io`] when the disk refuses; [`ModelError::Unreachable`] named `origin` when `from` does.
    pub(super) fn append(&mut self, from: &mut dyn Read, origin: &str, report: &mut dyn FnMut(u64)) -> Result<()> {
        let refused =
            |reason: String| ModelError::Unreachable { name: origin.to_owned(), reasons: vec![reason], access: None };
        let mut buffer = vec![0; BUFFER];
        loop {
            let read = match from.read(&mut buffer) {
                Ok(0) => return Ok(()),
                Ok(read) => &buffer[..read],
                Err(error) => return Err(refused(error.to_string())),
            };
            if self.written + read.len() as u64 > self.size {
                return Err(refused(format!("it has more than the {} bytes the catalog says", self.size)));
            }
            self.hasher.update(read);
            self.file.write_all(read).map_err(|source| self.io("write", source))?;
            self.written += read.len() as u64;
            report(self.written);
        }
    }

    /// Flushes to the disk, compares with `sha256`, renames to `target` and stamps it in `cache`.
    ///
    /// # Errors
    /// [`ModelError::Checksum`]; [`ModelError::Io`].
    pub(super) fn finish(mut self, sha256: &str, target: &Path, cache: &Path) -> Result<()> {
        let found = hex(&std::mem::take(&mut self.hasher).finalize());
        if found != sha256 {
            return Err(ModelError::Checksum { path: self.path, expected: sha256.to_owned(), found });
        }
        self.file.sync_all().map_err(|source| self.io("write", source))?;
        std::fs::rename(&self.path, target).map_err(|source| ModelError::Io {
            path: target.to_owned(),
            action: "rename the fetched file to",
            source,
        })?;
        stamp(target, cache, &found);
        Ok(())
    }

    fn io(&self, action: &'static str, source: std::io::Error) -> ModelError {
        ModelError::Io { path: self.path.clone(), action, source }
    }
}

//! A file as memory-mapped bytes, never copied, or bytes already in memory. The only `unsafe` of this package.

use crate::error::{ModelError, Result};
use memmap2::Mmap;
use std::fs::File;
use std::path::{Path, PathBuf};

/// A regular, non-empty file mapped read-only, or bytes in memory that are used like one.
#[derive(Debug)]
pub(super) struct MappedFile {
    path: PathBuf,
    contents: Contents,
}

#[derive(Debug)]
enum Contents {
    Mapped(Mmap),
    Memory(Vec<u8>),
}

impl MappedFile {
    /// Maps `path`, which should hold a `format` ("GGUF", "safetensors": for messages only).
    ///
    /// # Errors
    /// [`ModelError::Io`] when the system refuses; [`ModelError::Format`] when it is not a regular file or has no
    /// bytes.
    pub(super) fn open(path: &Path, format: &'static str) -> Result<Self> {
        let io = |action| move |source| ModelError::Io { path: path.to_owned(), action, source };
        let wrong = |found: &str| ModelError::Format {
            path: path.to_owned(),
            format,
            location: "the file itself".into(),
            expected: "a regular file with bytes in it".into(),
            found: found.into(),
        };
        // Checked before opening, because opening a named pipe would wait for a writer that never comes.
        let status = std::fs::metadata(path).map_err(io("open"))?;
        if !status.is_file() {
            return Err(wrong(if status.is_dir() { "a folder" } else { "a device, pipe or socket" }));
        }
        let file = File::open(path).map_err(io("open"))?;
        if file.metadata().map_err(io("open"))?.len() == 0 {
            return Err(wrong("an empty file"));
        }
        Ok(Self { path: path.to_owned(), contents: Contents::Mapped(map(&file).map_err(io("map"))?) })
    }

    /// Bytes in memory; messages name them `origin`.
    pub(super) fn in_memory(origin: &Path, bytes: Vec<u8>) -> Self {
        Self { path: origin.to_owned(), contents: Contents::Memory(bytes) }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn bytes(&self) -> &[u8] {
        match &self.contents {
            Contents::Mapped(map) => map,
            Contents::Memory(bytes) => bytes,
        }
    }
}

/// Maps `file`, which has bytes in it, read-only. The one map of the workspace: an index uses it too.
///
/// # Errors
/// The system's.
#[allow(unsafe_code)]
pub fn map(file: &File) -> std::io::Result<Mmap> {
    // SAFETY: the map is private to this process and read-only here, so Rust code cannot write through it. What no
    // process can rule out is another one changing the file meanwhile. Changed bytes give wrong numbers, never an
    // access outside the map: every offset and length is checked against the map's own length when the header is
    // parsed and is kept in our memory from then on. A file cut short while mapped makes reads past its new end fault
    // (SIGBUS on Unix), which ends the process: every reader of mapped weights accepts that, because the alternative
    // is a second copy of the whole model. Files that this program fetches or builds are renamed into place once whole
    // and are never written again.
    unsafe { Mmap::map(file) }
}

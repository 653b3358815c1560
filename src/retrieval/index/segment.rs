//! A finished segment, memory-mapped: passages, their offsets, sources and dates, vectors.

use super::files::{self, torn};
use super::layout::{BM25, COLUMNS_FILE, NAMES, OFFSETS, PASSAGES, VECTORS, segment_folder};
use super::manifest::SegmentEntry;
use super::names::{COLUMNS, Names};
use crate::error::Result;
use crate::question::Passage;
use moot_models::weights::Mmap;
use std::path::{Path, PathBuf};
use tantivy::directory::OwnedBytes;

pub(super) struct Segment {
    folder: PathBuf,
    /// Id of its first passage.
    pub(super) first: u64,
    pub(super) count: usize,
    passages: Mmap,
    offsets: Mmap,
    columns: Mmap,
    pub(super) vectors: Option<Mmap>,
    /// Mapped at once, as everything is: an update removes files that an open index still reads.
    names: Mmap,
    pub(super) words: Option<OwnedBytes>,
}

impl Segment {
    /// Maps the segment and checks that the files' lengths equal the manifest's and fit each other.
    pub(super) fn open(dir: &Path, entry: &SegmentEntry, first: u64) -> Result<Self> {
        let folder = segment_folder(dir, &entry.name);
        let file = |name: &str| match entry.files.get(name) {
            Some(sum) => files::open(&folder.join(name), sum.bytes),
            None => Err(torn(&folder, format!("expected {name} in the manifest, found none"))),
        };
        let vectors = entry.files.contains_key(VECTORS).then(|| file(VECTORS)).transpose()?;
        let words = entry.files.contains_key(BM25).then(|| file(BM25).map(OwnedBytes::new)).transpose()?;
        let count = usize::try_from(entry.passages).unwrap_or(usize::MAX);
        let segment = Self {
            first,
            count,
            passages: file(PASSAGES)?,
            offsets: file(OFFSETS)?,
            columns: file(COLUMNS_FILE)?,
            vectors,
            names: file(NAMES)?,
            words,
            folder: folder.clone(),
        };
        let fits = |name: &str, length: usize, each: usize, extra: usize| {
            if count.checked_add(extra).and_then(|n| n.checked_mul(each)) == Some(length) {
                return Ok(());
            }
            Err(torn(&folder.join(name), format!("{length} bytes do not fit {count} passages")))
        };
        fits(OFFSETS, segment.offsets.len(), 8, 1)?;
        fits(COLUMNS_FILE, segment.columns.len(), COLUMNS, 0)?;
        Ok(segment)
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// The bytes of `columns.bin`.
    pub(super) fn columns(&self) -> &[u8] {
        &self.columns
    }

    pub(super) fn names(&self) -> Result<Names> {
        serde_json::from_slice(&self.names)
            .map_err(|e| torn(&self.path(NAMES), format!("expected names of sources and dates, found {e}")))
    }

    /// Passage number `at` of the segment, from 0.
    pub(super) fn passage(&self, at: usize) -> Result<Passage> {
        let offset = |i: usize| {
            let bytes = self.offsets.as_chunks::<8>().0.get(i)?;
            usize::try_from(u64::from_le_bytes(*bytes)).ok()
        };
        let line = offset(at).zip(offset(at + 1)).and_then(|(from, to)| self.passages.get(from..to));
        let line = line.ok_or_else(|| torn(&self.path(OFFSETS), format!("passage {at} lies outside of {PASSAGES}")))?;
        serde_json::from_slice(line)
            .map_err(|e| torn(&self.path(PASSAGES), format!("line {}: expected a passage, found {e}", at + 1)))
    }
}

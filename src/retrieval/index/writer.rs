//! Writing a segment: a folder that is renamed into the index once all of its files are synced.

use super::files::{self, FileSum, HashedFile};
use super::layout::{BM25, COLUMNS_FILE, NAMES, OFFSETS, PASSAGES, VECTORS, segment_folder};
use super::lexical;
use super::manifest::{Dense, SegmentEntry};
use super::names::{Names, Numbered};
use super::words::full_text;
use crate::error::{MootError, Result};
use crate::question::Passage;
use moot_models::kernels::Storage;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

/// The line of `passages.jsonl` that `passage` becomes.
pub(super) fn line(passage: &Passage) -> Result<Vec<u8>> {
    let path = Path::new(&passage.origin.file);
    let mut line = serde_json::to_vec(passage).map_err(|e| MootError::io(path, "index", e.into()))?;
    line.push(b'\n');
    Ok(line)
}

pub(super) struct SegmentWriter {
    dir: PathBuf,
    /// Where it is written; removed on drop if the segment is not finished.
    folder: Unfinished,
    name: String,
    count: u64,
    passages: HashedFile,
    offsets: HashedFile,
    columns: HashedFile,
    sources: Numbered,
    dates: Numbered,
    vectors: Option<(HashedFile, Storage, usize)>,
    lexical: Option<lexical::Writer>,
    row: Vec<u8>,
}

/// Removes the folder on drop, so that a failed segment leaves no files and frees its disk space.
struct Unfinished(PathBuf);

impl Drop for Unfinished {
    fn drop(&mut self) {
        // After the rename no folder of this name exists.
        let _ = fs::remove_dir_all(&self.0);
    }
}

impl SegmentWriter {
    pub(super) fn create(dir: &Path, number: usize, dense: Option<&Dense>, bm25: bool) -> Result<Self> {
        let name = format!("{number:06}");
        let folder = dir.join(format!("building-{name}"));
        // Left by a killed process.
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).map_err(|e| MootError::io(&folder, "create", e))?;
        let folder = Unfinished(folder);
        let file = |name: &str| HashedFile::create(folder.0.join(name));
        let vectors = match dense {
            Some(dense) => Some((file(VECTORS)?, dense.storage()?, dense.dimension)),
            None => None,
        };
        let mut writer = Self {
            dir: dir.to_owned(),
            name,
            count: 0,
            passages: file(PASSAGES)?,
            offsets: file(OFFSETS)?,
            columns: file(COLUMNS_FILE)?,
            sources: Numbered::default(),
            dates: Numbered::default(),
            vectors,
            lexical: if bm25 { Some(lexical::Writer::new(&folder.0.join(BM25))?) } else { None },
            row: Vec::new(),
            folder,
        };
        writer.offsets.write(&0_u64.to_le_bytes())?;
        Ok(writer)
    }

    /// Passages so far.
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// Bytes of passages so far.
    pub(super) fn text_bytes(&self) -> u64 {
        self.passages.written()
    }

    /// Appends a passage; `vector` is empty if the index has no vectors.
    pub(super) fn push(&mut self, passage: &Passage, vector: &[f32]) -> Result<()> {
        let mut row = std::mem::take(&mut self.row);
        row.clear();
        if let Some((_, storage, dimension)) = &self.vectors {
            debug_assert_eq!(vector.len(), *dimension);
            storage.encode(vector, &mut row);
        }
        let pushed = self.push_row(passage, &row);
        self.row = row;
        pushed
    }

    /// As [`Self::push`], with the vector as it is stored.
    pub(super) fn push_row(&mut self, passage: &Passage, row: &[u8]) -> Result<()> {
        self.passages.write(&line(passage)?)?;
        self.offsets.write(&self.passages.written().to_le_bytes())?;
        self.columns.write(&self.sources.number(passage.source.as_deref()).to_le_bytes())?;
        self.columns.write(&self.dates.number(passage.date.as_deref()).to_le_bytes())?;
        if let Some((file, storage, dimension)) = &mut self.vectors {
            debug_assert_eq!(row.len(), storage.stride(*dimension));
            file.write(row)?;
        }
        if let Some(lexical) = &mut self.lexical {
            lexical.push(&full_text(passage))?;
        }
        self.count += 1;
        Ok(())
    }

    /// Finishes the segment; everything is synced when this returns.
    pub(super) fn finish(self) -> Result<SegmentEntry> {
        let mut sums: BTreeMap<String, FileSum> = BTreeMap::new();
        sums.insert(PASSAGES.into(), self.passages.finish()?);
        sums.insert(OFFSETS.into(), self.offsets.finish()?);
        sums.insert(COLUMNS_FILE.into(), self.columns.finish()?);
        if let Some((file, ..)) = self.vectors {
            sums.insert(VECTORS.into(), file.finish()?);
        }
        if let Some(lexical) = self.lexical {
            sums.insert(BM25.into(), lexical.finish()?);
        }
        let path = self.folder.0.join(NAMES);
        let names = serde_json::to_vec(&Names { sources: self.sources.names, dates: self.dates.names });
        let mut file = HashedFile::create(path.clone())?;
        file.write(&names.map_err(|e| MootError::io(&path, "write", e.into()))?)?;
        sums.insert(NAMES.into(), file.finish()?);
        if let Ok(folder) = File::open(&self.folder.0) {
            let _ = folder.sync_all();
        }
        let target = segment_folder(&self.dir, &self.name);
        // Left by a process that was killed before it wrote the manifest.
        let _ = fs::remove_dir_all(&target);
        files::rename(&self.folder.0, &target)?;
        Ok(SegmentEntry { name: self.name, passages: self.count, files: sums })
    }
}

//! An index open for reading.

use super::clusters::Clusters;
use super::columns::Columns;
use super::files;
use super::layout::{BM25, VECTORS};
use super::lexical::Lexical;
use super::manifest::{Dense, Manifest, SegmentEntry};
use super::rows::{Ids, RowGroup, RowsOf, StoredVectors, kernel};
use super::segment::Segment;
use crate::error::{MootError, Result};
use crate::question::Passage;
use crate::retrieval::Embedder;
use crate::units::hex;
use moot_models::kernels::Vectors;
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// An index open for reading. It stays as it was when opened, even if passages are added or removed meanwhile.
pub struct Index {
    dir: PathBuf,
    pub(super) manifest: Manifest,
    pub(super) segments: Vec<Segment>,
    pub(super) clusters: Option<Clusters>,
    /// Loaded by the first search that needs it.
    columns: OnceLock<Columns>,
    /// Loaded by the first search that needs it.
    lexical: OnceLock<Vec<Lexical>>,
}

impl Index {
    /// Opens the index in `dir`. An index of up to 32 MiB is read and compared with its manifest's hashes; of a larger one,
    /// the lengths and eight blocks of each file are ([`Manifest::verify`] reads all).
    ///
    /// # Errors
    /// [`MootError::Index`] where there is no index, or one of another format, or a file is missing or torn: it is named.
    pub fn open(dir: &Path) -> Result<Self> {
        loop {
            let manifest = Manifest::read(dir)?;
            let opened = Self::map(dir, manifest.clone());
            // Clustering deletes files once the manifest names others: then read the manifest again.
            if opened.is_ok() || Manifest::read(dir)? == manifest {
                return opened;
            }
        }
    }

    fn map(dir: &Path, manifest: Manifest) -> Result<Self> {
        manifest.check_files(dir)?;
        let mut segments = Vec::with_capacity(manifest.segments.len());
        let mut first = 0;
        for entry in &manifest.segments {
            segments.push(Segment::open(dir, entry, first)?);
            first += entry.passages;
        }
        let clusters = match (&manifest.clusters, &manifest.dense) {
            (Some(entry), Some(dense)) => Some(Clusters::open(dir, entry, dense)?),
            _ => None,
        };
        let (columns, lexical) = (OnceLock::new(), OnceLock::new());
        Ok(Self { dir: dir.to_owned(), manifest, segments, clusters, columns, lexical })
    }

    /// Its folder.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Its manifest.
    #[must_use]
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Hex SHA-256 of the manifest, which names every file by its own hash: it identifies all that is searched. The record
    /// of the files that were read is left out, for it changes with their times.
    #[must_use]
    pub fn sha256(&self) -> String {
        let searched = Manifest { inputs: None, ..self.manifest.clone() };
        let manifest = serde_json::to_vec(&searched).expect("a manifest is JSON (bug)");
        hex(&Sha256::digest(&manifest))
    }

    /// The passage of this number, from 0 in the order in which they were indexed.
    ///
    /// # Errors
    /// [`MootError::Index`] for a damaged file or a number out of range.
    pub fn passage(&self, id: u64) -> Result<Passage> {
        let after = self.segments.partition_point(|segment| segment.first <= id);
        let segment = after.checked_sub(1).map(|at| &self.segments[at]);
        let at = segment.map(|segment| (segment, (id - segment.first) as usize));
        match at.filter(|(segment, at)| *at < segment.count) {
            Some((segment, at)) => segment.passage(at),
            None => Err(files::torn(
                &self.dir,
                format!("expected a passage below {}, found {id}", self.manifest.passages()),
            )),
        }
    }

    /// Checks that `embedder` made the vectors.
    ///
    /// # Errors
    /// [`MootError::Index`] if it did not, or if the index has no vectors.
    pub fn check(&self, embedder: &dyn Embedder) -> Result<()> {
        check(&self.dir, self.manifest.dense.as_ref(), embedder)
    }

    /// All vectors: the clustered ones first, then those of newer segments.
    pub(super) fn groups(&self) -> Result<Vec<RowGroup<'_>>> {
        let Some(dense) = &self.manifest.dense else { return Ok(Vec::new()) };
        let vectors = |bytes| Vectors::new(bytes, dense.storage()?, dense.dimension).map_err(kernel);
        let mut groups = Vec::new();
        if let Some(clusters) = &self.clusters {
            groups.push(RowGroup { vectors: vectors(clusters.bytes())?, ids: Ids::Listed(clusters.ids()) });
        }
        for segment in &self.segments {
            if let Some(bytes) = &segment.vectors {
                let vectors = vectors(bytes)?;
                if vectors.count() != segment.count {
                    let wrong = format!("expected {} vectors, found {}", segment.count, vectors.count());
                    return Err(files::torn(&segment.path(VECTORS), wrong));
                }
                groups.push(RowGroup { vectors, ids: Ids::From(segment.first) });
            }
        }
        let found: usize = groups.iter().map(|group| group.vectors.count()).sum();
        if found as u64 != self.manifest.passages() {
            let wrong = format!("expected {} vectors, found {found}", self.manifest.passages());
            return Err(files::torn(&self.dir, wrong));
        }
        Ok(groups)
    }

    /// The vectors by passage; `None` for an index of words alone.
    ///
    /// # Errors
    /// As [`Index::groups`].
    pub(in crate::retrieval) fn vectors(&self) -> Result<Option<StoredVectors<'_>>> {
        let Some(dense) = &self.manifest.dense else { return Ok(None) };
        Ok(Some(StoredVectors {
            rows: RowsOf::new(self.groups()?),
            storage: dense.storage()?,
            dimension: dense.dimension,
        }))
    }

    pub(super) fn columns(&self) -> Result<&Columns> {
        if let Some(columns) = self.columns.get() {
            return Ok(columns);
        }
        // Not inside `get_or_init`, because reading can fail; two threads may both read.
        let columns = Columns::read(&self.segments)?;
        Ok(self.columns.get_or_init(|| columns))
    }

    pub(super) fn lexical(&self) -> Result<&[Lexical]> {
        if let Some(lexical) = self.lexical.get() {
            return Ok(lexical);
        }
        let open = |(entry, segment): (&SegmentEntry, &Segment)| {
            let path = segment.path(BM25);
            let missing = || files::torn(&path, "expected it in the manifest, found none".into());
            let words = segment.words.clone().ok_or_else(missing)?;
            Lexical::open(path, &words, segment.first, entry.passages)
        };
        let lexical: Result<Vec<Lexical>> = self.manifest.segments.iter().zip(&self.segments).map(open).collect();
        let lexical = lexical?;
        Ok(self.lexical.get_or_init(|| lexical))
    }
}

/// Checks that `embedder` makes the vectors that `dense` describes.
pub(super) fn check(dir: &Path, dense: Option<&Dense>, embedder: &dyn Embedder) -> Result<()> {
    let refuse = |wrong: String, hint: &str| Err(MootError::Index { path: dir.to_owned(), wrong, hint: hint.into() });
    match dense {
        None => refuse(
            "expected vectors, found BM25 alone".into(),
            "search it with --retriever bm25, or build it with --embedder",
        ),
        Some(dense) if dense.embedder != embedder.identity() => refuse(
            format!("expected the embedder {}, found {}", dense.embedder, embedder.identity()),
            "name the embedder that made the index, or build it again with this one",
        ),
        Some(dense) if dense.dimension != embedder.dimension() => refuse(
            format!("expected vectors of {} numbers, found {}", dense.dimension, embedder.dimension()),
            "name the embedder that made the index, or build it again with this one",
        ),
        Some(_) => Ok(()),
    }
}

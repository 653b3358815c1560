//! Indexes built, extended and brought up to date.

use crate::error::{MootError, Result};
use crate::question::Passage;
use crate::retrieval::chunk::{Chunking, Overlap};
use crate::retrieval::corpus::Corpus;
use crate::retrieval::index::{Builder, Changes, Limits, Manifest, Updated, storage_named};
use crate::retrieval::{Embedder, GivenVectors};
use crate::workspace::control::{Control, Phase};
use crate::workspace::embedder::{EmbedderOptions, note_truncated};
use crate::workspace::indexing::{ListedCorpus, note_pdf_workers};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// An index and what it is built of.
#[derive(Debug, Clone)]
pub struct IndexOptions {
    /// The index's folder. For a new index it is empty, missing, or of a stopped build.
    pub dir: PathBuf,
    /// Files, folders and globs, `-` for standard input. For an update: only these of its files; empty: all.
    pub corpus: Vec<String>,
    /// Words a passage; 0 does not split documents.
    pub words: usize,
    /// Words that a passage repeats from the one before it.
    pub overlap: usize,
    /// Storage of a new index's vectors: `f32`, `f16` or `int8` (4, 2 or 1 bytes a number).
    pub storage: String,
    /// Bytes for buffers and clustering; the embedder's memory is not included.
    pub memory: usize,
    /// Vectors of a new index that the embedder made elsewhere, one a passage in the order of the corpus: flat indexes of
    /// FAISS, or `.npy`. Empty: the embedder makes them.
    pub vectors: Vec<PathBuf>,
    /// The embedder.
    pub embedder: EmbedderOptions,
}

impl Default for IndexOptions {
    fn default() -> Self {
        Self {
            dir: PathBuf::new(),
            corpus: Vec::new(),
            words: 100,
            overlap: 0,
            storage: "f16".into(),
            memory: 1 << 30,
            vectors: Vec::new(),
            embedder: EmbedderOptions::default(),
        }
    }
}

/// An index that was built or extended.
#[derive(Debug)]
pub struct Indexed {
    /// Passages that this build added; those of an earlier build that it resumed are not counted.
    pub added: u64,
    /// How long it took.
    pub elapsed: Duration,
    /// The index as it is now.
    pub manifest: Manifest,
}

/// An index that was brought up to date.
#[derive(Debug)]
pub struct IndexUpdate {
    /// Its files that are new, changed or deleted.
    pub changes: Changes,
    /// The passages that were added and removed.
    pub passages: Updated,
}

impl IndexOptions {
    /// Builds the index; the same options resume a stopped build.
    ///
    /// # Errors
    /// A corpus, an embedder or a folder that cannot be used; a full disk; [`MootError::Interrupted`], after which finished
    /// work is kept.
    pub fn build(&self, control: &Control) -> Result<Indexed> {
        let storage = storage_named(&self.storage)?;
        let given = if self.vectors.is_empty() { None } else { Some(GivenVectors::open(&self.vectors)?) };
        let corpus = self.listed()?;
        // The corpus is read once before a model is loaded, so that its errors come first.
        let total = corpus.count(control)?.passages;
        let embedder = self.embedder.named(control)?;
        if given.is_some() && embedder.is_none() {
            return Err(MootError::Usage(
                "--vectors: expected the embedder that made them, found --embedder none".into(),
            ));
        }
        let mut builder = Builder::create(&self.dir, embedder.as_deref(), storage, self.limits())?;
        if embedder.is_some() {
            builder.called(self.embedder.for_new())?;
        }
        if let Some(given) = given {
            builder.takes(given, total)?;
        }
        fill(builder, &corpus, total, embedder.as_ref(), control)
    }

    /// Adds the corpus to the index; existing passages do not change.
    ///
    /// # Errors
    /// As [`IndexOptions::build`].
    pub fn add(&self, control: &Control) -> Result<Indexed> {
        let manifest = Manifest::read(&self.dir)?;
        let corpus = self.listed()?;
        let total = corpus.count(control)?.passages;
        let embedder = self.embedder.of_index(&self.dir, manifest.dense.as_ref(), control)?;
        let builder = Builder::open(&self.dir, embedder.as_deref(), self.limits())?;
        fill(builder, &corpus, total, embedder.as_ref(), control)
    }

    /// Brings the index up to date with its files. Only changed and new files are read. The vectors of texts that a
    /// changed or deleted file already had are kept.
    ///
    /// # Errors
    /// An index without recorded files, or of a stopped build; files, an embedder or a folder that cannot be used; a full
    /// disk; [`MootError::Interrupted`]. The index is then as it was.
    pub fn update(&self, control: &Control) -> Result<IndexUpdate> {
        let manifest = Manifest::read(&self.dir)?;
        manifest.check_finished(&self.dir)?;
        // Errors in paths and files are reported before a model is loaded.
        let mut changes = self.changes(&manifest)?;
        if changes.is_empty() && changes.touched() == 0 {
            return Ok(IndexUpdate { changes, passages: Updated::default() });
        }
        let embedder = self.embedder.of_index(&self.dir, manifest.dense.as_ref(), control)?;
        let mut builder = Builder::open(&self.dir, embedder.as_deref(), self.limits())?;
        // Another process may have changed the index while the embedder was opened.
        if *builder.manifest() != manifest {
            changes = self.changes(builder.manifest())?;
        }
        let passages = replaced(&mut builder, &changes, embedder.as_deref(), control)?;
        Ok(IndexUpdate { changes, passages })
    }

    fn listed(&self) -> Result<ListedCorpus> {
        let chunking = Chunking::new(self.words, Overlap::Words(self.overlap))?;
        Ok(ListedCorpus::new(Corpus::open(&self.corpus)?, &self.corpus, chunking))
    }

    fn limits(&self) -> Limits {
        Limits { memory: self.memory, ..Limits::default() }
    }

    fn changes(&self, manifest: &Manifest) -> Result<Changes> {
        Changes::find(&self.dir, manifest, &self.corpus, u64::MAX)?.ok_or_else(|| MootError::Index {
            path: self.dir.clone(),
            wrong: "expected a record of its files, found none: it was built before files were recorded".into(),
            hint: "build it again with `moot index build`; new files can be added with `moot index add`".into(),
        })
    }
}

/// Adds the `total` passages of `corpus`.
fn fill(
    mut builder: Builder,
    corpus: &ListedCorpus,
    total: u64,
    embedder: Option<&Arc<dyn Embedder>>,
    control: &Control,
) -> Result<Indexed> {
    builder.reads(corpus.corpus());
    let start = Instant::now();
    let before = builder.manifest().passages();
    corpus.fill(&mut builder, total, embedder, control)?;
    note_pdf_workers(control);
    if let Some(least) = builder.least_cosine() {
        control.note(&format!("given vectors were compared with the embedder's: least cosine {least:.4}"));
    }
    let manifest = builder.manifest().clone();
    Ok(Indexed { added: manifest.passages() - before, elapsed: start.elapsed(), manifest })
}

/// Replaces the passages of files that changed.
fn replaced(
    builder: &mut Builder,
    changes: &Changes,
    embedder: Option<&dyn Embedder>,
    control: &Control,
) -> Result<Updated> {
    let listed = |(corpus, chunking)| ListedCorpus::new(corpus, &[], chunking);
    let corpora: Vec<ListedCorpus> = changes.to_read().into_iter().map(listed).collect();
    let total = corpora.iter().map(|corpus| Ok(corpus.count(control)?.passages)).sum::<Result<u64>>()?;
    let mut passages = corpora.iter().flat_map(ListedCorpus::passages);
    let passages: &mut dyn Iterator<Item = Result<Passage>> = &mut passages;
    control.watch.phase(Phase::Working);
    let updated = builder.update(changes, passages, embedder, &mut |progress| {
        control.watch.indexing(total, Some(progress));
        if control.is_stopped() { Err(MootError::Interrupted) } else { Ok(()) }
    });
    control.watch.indexing(total, None);
    note_truncated(embedder, control);
    if let Err(MootError::Interrupted) = updated {
        control.note("the index is unchanged; run the same command to resume with the vectors computed so far");
    }
    let updated = updated?;
    note_pdf_workers(control);
    Ok(updated)
}

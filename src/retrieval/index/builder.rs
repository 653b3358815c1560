//! Building an index: a kill loses at most the unfinished segment, and of its vectors the last batch.

use super::clustering::{self, MIN_PASSAGES};
use super::folder::{going_on, lock, refuse_foreign_files, sweep};
use super::inputs::{self, InputFile};
use super::journal::Journal;
use super::layout::{MANIFEST, PASSAGES, VECTORS};
use super::manifest::{BuildEntry, Dense, Manifest, SegmentEntry};
use super::progress::{BuildObserver, BuildProgress};
use super::reader::{Index, check};
use super::writer::{self, SegmentWriter};
use crate::error::{MootError, Result};
use crate::question::Passage;
use crate::retrieval::Embedder;
use crate::retrieval::corpus::Corpus;
use crate::retrieval::vectors::{Comparison, GivenVectors};
use crate::units::hex;
use moot_models::kernels::Storage;
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

/// Passages embedded in one call: enough for the embedder to sort by length.
pub(super) const BATCH: usize = 512;

/// Limits of a build.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of memory for buffers, sorting and clustering; the embedder's memory is not included.
    pub memory: usize,
    /// Passages of a segment.
    pub segment: u64,
    /// Number of passages from which vectors are clustered for approximate search.
    pub group_from: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { memory: 1 << 30, segment: 65_536, group_from: MIN_PASSAGES }
    }
}

/// Upper estimate of the memory per byte of text while its words are indexed.
const MEMORY_PER_TEXT_BYTE: u64 = 8;

/// An index open for building, locked against other builders.
pub struct Builder {
    pub(super) dir: PathBuf,
    pub(super) manifest: Manifest,
    pub(super) limits: Limits,
    /// The files of the corpus that is indexed next.
    reading: Option<Vec<InputFile>>,
    /// Vectors of the passages that are indexed next.
    pub(super) given: Option<(GivenVectors, Comparison)>,
    _lock: File,
}

impl Builder {
    /// Begins an index in `dir`, an empty or missing folder, or resumes a build that was stopped. Without an embedder the
    /// index has BM25 only.
    ///
    /// # Errors
    /// [`MootError::Index`] for a folder that holds something else, a finished index, or one begun with other settings;
    /// [`MootError::Usage`] where another process builds it; [`MootError::Io`].
    pub fn create(dir: &Path, embedder: Option<&dyn Embedder>, storage: Storage, limits: Limits) -> Result<Self> {
        let dense = embedder.map(|embedder| Dense {
            name: None,
            embedder: embedder.identity().to_owned(),
            dimension: embedder.dimension(),
            storage: storage.name().to_owned(),
        });
        if !dir.join(MANIFEST).exists() {
            refuse_foreign_files(dir)?;
        }
        fs::create_dir_all(dir.join("segments")).map_err(|e| MootError::io(dir, "create", e))?;
        let lock = lock(dir)?;
        let manifest = if dir.join(MANIFEST).exists() {
            let manifest = Manifest::read(dir)?;
            going_on(dir, &manifest, dense.as_ref())?;
            manifest
        } else {
            let manifest = Manifest::new(dense, true);
            manifest.write(dir)?;
            manifest
        };
        Self::ready(dir, manifest, limits, lock)
    }

    /// Opens the index in `dir` to add to it.
    ///
    /// # Errors
    /// [`MootError::Index`] if there is none or another embedder made it; [`MootError::Usage`] if another process builds
    /// it.
    pub fn open(dir: &Path, embedder: Option<&dyn Embedder>, limits: Limits) -> Result<Self> {
        // Before the lock, which would create a file in a folder that is not an index.
        Manifest::read(dir)?;
        let lock = lock(dir)?;
        // Again under the lock: another process may have changed it meanwhile.
        let manifest = Manifest::read(dir)?;
        match (embedder, &manifest.dense) {
            (Some(embedder), dense) => check(dir, dense.as_ref(), embedder)?,
            (None, None) => {}
            (None, Some(dense)) => {
                return Err(MootError::Index {
                    path: dir.to_owned(),
                    wrong: format!("expected the embedder {}, found none", dense.embedder),
                    hint: "name it with --embedder".into(),
                });
            }
        }
        Self::ready(dir, manifest, limits, lock)
    }

    fn ready(dir: &Path, manifest: Manifest, limits: Limits, lock: File) -> Result<Self> {
        let builder = Self { dir: dir.to_owned(), manifest, limits, reading: None, given: None, _lock: lock };
        builder.sweep();
        Ok(builder)
    }

    /// Stores the embedder's name, so that a search can open it by default.
    ///
    /// # Errors
    /// [`MootError::Io`].
    pub(crate) fn called(&mut self, name: &str) -> Result<()> {
        if let Some(dense) = self.manifest.dense.as_mut().filter(|dense| dense.name.is_none()) {
            dense.name = Some(name.to_owned());
            self.manifest.write(&self.dir)?;
        }
        Ok(())
    }

    /// Takes `vectors` for the `total` passages that [`Builder::run`] indexes next, instead of embedding them. Some passages are
    /// embedded all the same, and compared.
    ///
    /// # Errors
    /// [`MootError::Usage`] where there are more or fewer vectors than passages, or they are of another length than the index's.
    pub fn takes(&mut self, vectors: GivenVectors, total: u64) -> Result<()> {
        let dimension = self.manifest.dense.as_ref().map_or(0, |dense| dense.dimension);
        let name = vectors.names();
        if vectors.dimension() != dimension {
            let found = vectors.dimension();
            return Err(MootError::Usage(format!(
                "--vectors {name}: expected vectors of {dimension} numbers, as the embedder makes, found {found}"
            )));
        }
        if vectors.count() != total {
            let count = vectors.count();
            return Err(MootError::Usage(format!(
                "--vectors {name}: expected a vector for each of the {total} passages of the corpus, found {count}; a line of the corpus must be one passage"
            )));
        }
        self.given = Some((vectors, Comparison::over(total)));
        Ok(())
    }

    /// The least cosine of given vectors to the embedder's own, among those that were compared.
    #[must_use]
    pub fn least_cosine(&self) -> Option<f32> {
        self.given.as_ref().map(|(_, comparison)| comparison.least())
    }

    /// Records the files of the corpus that [`Builder::run`] indexes next, as they are now, so that [`Changes::find`] can
    /// compare them later.
    ///
    /// [`Changes::find`]: super::Changes::find
    pub fn reads(&mut self, corpus: &Corpus) {
        let paths: BTreeSet<&Path> = corpus.paths().collect();
        self.reading = Some(paths.into_iter().map(InputFile::read).collect());
    }

    /// The current manifest.
    #[must_use]
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// The corpus of a build that was stopped, if any: it must be given again.
    #[must_use]
    pub fn unfinished(&self) -> Option<&[String]> {
        self.manifest.builds.last().filter(|build| !build.finished).map(|build| build.corpus.as_slice())
    }

    /// Indexes `passages`, which come from `corpus` (as typed) in a fixed order. If a build of this corpus was stopped, the
    /// passages already indexed are compared and skipped. Then clusters the vectors if there are enough.
    ///
    /// # Errors
    /// [`MootError::Index`] for another corpus than that of the stopped build, a changed corpus, or one without passages;
    /// errors of `passages`, the embedder and `observe`; [`MootError::Io`], for example a full disk. Finished segments are
    /// kept, and the same call resumes after them.
    pub fn run(
        &mut self,
        corpus: &[String],
        passages: &mut dyn Iterator<Item = Result<Passage>>,
        embedder: Option<&dyn Embedder>,
        observe: BuildObserver<'_>,
    ) -> Result<()> {
        let mut done = self.begin(corpus, passages, observe)?;
        let filled = self.fill(passages, embedder, &mut done, observe);
        // If the journal has vectors, keep the build: the same command resumes it.
        if done == 0 && !Journal::is_in(&self.dir) {
            let forgotten = self.forget();
            filled.and(forgotten)?;
            return Err(self.wrong("expected passages, found none in the corpus".into(), "give files that hold text"));
        }
        filled?;
        self.group(observe)?;
        if let Some(build) = self.manifest.builds.last_mut() {
            build.finished = true;
        }
        if let Some(files) = self.reading.take() {
            let mut all = inputs::read(&self.dir, &self.manifest)?;
            if let Some(last) = all.last_mut() {
                *last = Some(files);
            }
            self.manifest.inputs = Some(inputs::write(&self.dir, &self.manifest, &all)?);
        }
        // The one write that ends the build: until then it counts as stopped.
        self.manifest.write(&self.dir)?;
        self.sweep();
        Ok(())
    }

    /// Builds segments until there are no more passages.
    fn fill(
        &mut self,
        passages: &mut dyn Iterator<Item = Result<Passage>>,
        embedder: Option<&dyn Embedder>,
        done: &mut u64,
        observe: BuildObserver<'_>,
    ) -> Result<()> {
        while self.segment(passages, embedder, done, observe)? {}
        Ok(())
    }

    /// Number of passages of this corpus already indexed.
    fn begin(
        &mut self,
        corpus: &[String],
        passages: &mut dyn Iterator<Item = Result<Passage>>,
        observe: BuildObserver<'_>,
    ) -> Result<u64> {
        let Some(build) = self.manifest.builds.last().filter(|build| !build.finished) else {
            if self.manifest.builds.iter().any(|build| build.corpus == corpus) {
                let wrong = format!("{} is in it already", corpus.join(" "));
                return Err(self.wrong(wrong, "`moot index update` adds its new and changed files"));
            }
            let first = self.manifest.segments.len();
            self.manifest.builds.push(BuildEntry { corpus: corpus.to_vec(), first, finished: false });
            // A kill before the first segment leaves an index that says so.
            self.manifest.write(&self.dir)?;
            return Ok(0);
        };
        if build.corpus != corpus {
            let wrong =
                format!("expected the corpus that was stopped, {}, found {}", build.corpus.join(" "), corpus.join(" "));
            return Err(self.wrong(wrong, "finish that build first: run its command again to resume it"));
        }
        let mut done = 0;
        for entry in &self.manifest.segments[build.first..] {
            self.compare(entry, passages)?;
            done += entry.passages;
            observe(&BuildProgress::Resumed(done))?;
        }
        Ok(done)
    }

    /// Checks that the next passages are those of `entry`.
    fn compare(&self, entry: &SegmentEntry, passages: &mut dyn Iterator<Item = Result<Passage>>) -> Result<()> {
        let mut hash = Sha256::new();
        for passage in passages.take(usize::try_from(entry.passages).unwrap_or(usize::MAX)) {
            hash.update(writer::line(&passage?)?);
        }
        if entry.files.get(PASSAGES).is_some_and(|sum| sum.sha256 == hex(&hash.finalize())) {
            return Ok(());
        }
        let wrong = format!("the corpus is not what it was when segment {} was made from it", entry.name);
        Err(self.wrong(wrong, "bring the corpus back as it was, with the same options, or build the index again"))
    }

    /// Builds one segment. Returns whether there may be more.
    fn segment(
        &mut self,
        passages: &mut dyn Iterator<Item = Result<Passage>>,
        embedder: Option<&dyn Embedder>,
        done: &mut u64,
        observe: BuildObserver<'_>,
    ) -> Result<bool> {
        let number = self.next_number();
        let mut writer = SegmentWriter::create(&self.dir, number, self.manifest.dense.as_ref(), self.manifest.bm25)?;
        let mut journal = match (embedder, &self.manifest.dense) {
            (Some(_), Some(dense)) => Some(Journal::open(&self.dir, number, dense)?),
            _ => None,
        };
        let mut stopped = Ok(());
        let mut more = true;
        while more && stopped.is_ok() && !self.is_full(&writer) {
            let room = usize::try_from(self.limits.segment - writer.count()).unwrap_or(BATCH).min(BATCH);
            let batch: Result<Vec<Passage>> = passages.take(room).collect();
            // Batches embedded before an error are kept; only a segment that cannot be written is lost.
            let embedded = batch.and_then(|batch| {
                let vectors = self.vectors(&batch, *done + writer.count(), embedder, journal.as_mut())?;
                Ok((batch, vectors))
            });
            match embedded {
                Ok((batch, vectors)) => {
                    // Only the last batch is shorter.
                    more = batch.len() == room;
                    self.push(&mut writer, &batch, &vectors)?;
                    stopped = observe(&BuildProgress::Indexed(*done + writer.count()));
                }
                Err(e) => stopped = Err(e),
            }
        }
        let written = writer.count() > 0;
        if written {
            *done += writer.count();
            let entry = writer.finish()?;
            self.manifest.segments.push(entry);
            self.manifest.write(&self.dir)?;
        }
        // Vectors of an earlier attempt outlive an error before the first batch.
        if let Some(journal) = journal.filter(|journal| written || stopped.is_ok() || journal.is_empty()) {
            journal.remove();
        }
        stopped.map(|()| more)
    }

    pub(super) fn is_full(&self, writer: &SegmentWriter) -> bool {
        let memory = writer.text_bytes().saturating_mul(MEMORY_PER_TEXT_BYTE);
        writer.count() >= self.limits.segment || (writer.count() > 0 && memory > self.limits.memory as u64)
    }

    pub(super) fn next_number(&self) -> usize {
        let last = self.manifest.segments.last().and_then(|entry| entry.name.parse::<usize>().ok());
        last.map_or(0, |last| last + 1)
    }

    fn push(&self, writer: &mut SegmentWriter, batch: &[Passage], vectors: &[f32]) -> Result<()> {
        let dimension = self.manifest.dense.as_ref().map_or(0, |dense| dense.dimension);
        let vector = |at: usize| &vectors[at * dimension..][..dimension];
        batch.iter().enumerate().try_for_each(|(at, passage)| writer.push(passage, vector(at)))
    }

    /// Clusters all vectors if enough of them are not clustered yet, and removes the segments' vector files.
    pub(super) fn group(&mut self, observe: BuildObserver<'_>) -> Result<()> {
        let passages = self.manifest.passages();
        let grouped = self.manifest.clusters.as_ref().map_or(0, |clusters| clusters.passages);
        // Cluster again when exact search over the new vectors begins to cost more than the lists.
        let fresh = passages - grouped;
        let worth = passages >= self.limits.group_from && fresh > (grouped / 8).max(self.limits.group_from / 4);
        // The lists hold passage numbers as u32.
        if self.manifest.dense.is_none() || !worth || u32::try_from(passages).is_err() {
            return Ok(());
        }
        let index = Index::open(&self.dir)?;
        let entry = clustering::build(&index, self.limits.memory, observe)?;
        self.manifest.clusters = Some(entry);
        for segment in &mut self.manifest.segments {
            segment.files.remove(VECTORS);
        }
        self.manifest.write(&self.dir)?;
        // Its mapped files are among those that are swept.
        drop(index);
        self.sweep();
        Ok(())
    }

    /// Removes files that the manifest does not name: left by a kill, or replaced.
    pub(super) fn sweep(&self) {
        sweep(&self.dir, &self.manifest);
    }

    /// Undoes a build without passages: removes the folder that it began.
    fn forget(&mut self) -> Result<()> {
        self.manifest.builds.pop();
        if !self.manifest.builds.is_empty() {
            return self.manifest.write(&self.dir);
        }
        if self.manifest.segments.is_empty() {
            let _ = fs::remove_file(self.dir.join(MANIFEST));
            let _ = fs::remove_dir_all(self.dir.join("segments"));
            let _ = fs::remove_file(self.dir.join("lock"));
            // Fails, as intended, if the folder holds anything else.
            let _ = fs::remove_dir(&self.dir);
        }
        Ok(())
    }

    pub(super) fn wrong(&self, wrong: String, hint: &str) -> MootError {
        MootError::Index { path: self.dir.clone(), wrong, hint: hint.into() }
    }
}

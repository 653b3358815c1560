//! Opens the corpus: an index, a server's collection, or plain files, which are indexed in the cache.

use crate::error::{MootError, Result};
use crate::files::{self, outputs};
use crate::llm::remote::Patience;
use crate::protocol::Row;
use crate::retrieval::chunk::Chunking;
use crate::retrieval::collection::{self, Collection};
use crate::retrieval::corpus::{Corpus, is_index};
use crate::retrieval::index::{Builder, Cutoff, Index, IndexRetriever, Limits, Manifest, Mode, Search, Storage};
use crate::retrieval::{Embedder, Filter, Remembering, Retriever, Wanted};
use crate::units::{hex, plural};
use crate::workspace::control::Control;
use crate::workspace::embedder::EmbedderOptions;
use crate::workspace::index_state;
use crate::workspace::indexing::ListedCorpus;
use crate::workspace::options::CorpusOptions;
use crate::workspace::ranges::count;
use crate::workspace::reranker::RerankerOptions;
use moot_models::source::default_cache;
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Version of the readers' output. Raised when the same files and settings give other passages, so that cached
/// indexes are built again.
const READERS: u32 = 8;

/// Which stage an option of a corpus decides.
#[derive(Debug, Clone, Copy)]
enum Stage {
    /// Which corpus and models are opened.
    Naming,
    /// How every search is made: it is fixed when the corpus is opened.
    Opening,
    /// The size and filter of one search.
    Search,
}

/// Number of passages whose vectors take about ten seconds on two cores; from there on, a note names `--retriever bm25`.
const MANY_VECTORS: u64 = 1000;

impl CorpusOptions {
    /// Whether there is anything to search.
    #[must_use]
    pub fn is_given(&self) -> bool {
        !self.paths.is_empty()
    }

    /// Whether the corpus is an index or a collection of a server: its files were read before.
    pub(crate) fn is_built(&self, listed: bool) -> bool {
        let [only] = self.paths.as_slice() else { return false };
        !listed && (collection::is_address(only) || is_index(Path::new(only)))
    }

    /// Default settings of each search; a method may use others.
    #[must_use]
    pub fn wanted(&self) -> Wanted {
        let top = self.top.unwrap_or(if self.by_source { 1 } else { 5 });
        Wanted { top, by_source: self.by_source, filter: self.filter(), fold: self.fold }
    }

    /// The filter on sources and dates.
    #[must_use]
    pub fn filter(&self) -> Filter {
        Filter { sources: self.sources.clone(), from: self.from.clone(), until: self.until.clone() }
    }

    /// Checks the dates and the numbers of passages.
    ///
    /// # Errors
    /// An invalid date, a first date after the last one, no passages, fewer candidates than passages or none to read them.
    pub(crate) fn check(&self) -> Result<()> {
        self.top.map_or(Ok(()), |top| count("--top", top))?;
        self.reranker(false).check(self.wanted().top)?;
        self.filter().check().map_err(MootError::Usage)
    }

    /// The options that are set and say what is searched for and how.
    pub(super) fn search_options(&self) -> impl Iterator<Item = &'static str> {
        self.set().into_iter().filter(|(_, _, set)| *set).filter_map(|(option, stage, _)| match stage {
            Stage::Naming => None,
            Stage::Opening | Stage::Search => Some(option),
        })
    }

    /// The options that are set and decide what is opened, and how.
    pub(super) fn opening_options(&self) -> impl Iterator<Item = &'static str> {
        self.set().into_iter().filter(|(_, _, set)| *set).filter_map(|(option, stage, _)| match stage {
            Stage::Naming | Stage::Opening => Some(option),
            Stage::Search => None,
        })
    }

    /// Each option, what it decides, and whether it is set. Every field is named, so that a new one is not forgotten here.
    fn set(&self) -> [(&'static str, Stage, bool); 13] {
        let Self {
            paths,
            cutoff,
            top,
            by_source,
            sources,
            from,
            until,
            fold,
            exact_search,
            retriever,
            embedder,
            embedder_device: _,
            reranker,
            reranker_device: _,
            reranker_candidates,
        } = self;
        [
            ("--corpus", Stage::Naming, !paths.is_empty()),
            ("--embedder", Stage::Naming, embedder.is_some()),
            ("--reranker", Stage::Naming, reranker.is_some()),
            ("--reranker-candidates", Stage::Opening, reranker_candidates.is_some()),
            ("--cutoff", Stage::Opening, cutoff.is_some()),
            ("--top", Stage::Search, top.is_some()),
            ("--by-source", Stage::Search, *by_source),
            ("--source", Stage::Search, !sources.is_empty()),
            ("--from", Stage::Search, from.is_some()),
            ("--until", Stage::Search, until.is_some()),
            ("--no-fold", Stage::Search, !fold),
            ("--exact-search", Stage::Opening, *exact_search),
            ("--retriever", Stage::Opening, retriever.is_some()),
        ]
    }

    pub(super) fn embedder(&self, offline: bool) -> EmbedderOptions {
        EmbedderOptions { name: self.embedder.clone(), device: self.embedder_device.clone(), offline }
    }

    pub(super) fn reranker(&self, offline: bool) -> RerankerOptions {
        let (name, device) = (self.reranker.clone(), self.reranker_device.clone());
        RerankerOptions { name, device, candidates: self.reranker_candidates, offline }
    }

    /// Opens the embedder that was named, for a method that embeds documents itself.
    ///
    /// # Errors
    /// An embedder that cannot be opened; one that neither a corpus nor the method uses.
    pub(crate) fn open_embedder(
        &self,
        row: &Row,
        offline: bool,
        control: &Control,
    ) -> Result<Option<Arc<dyn Embedder>>> {
        match &self.embedder {
            Some(_) if row.needs.embedder => self.embedder(offline).named(control),
            Some(_) if !self.is_given() => {
                let name = row.name;
                Err(MootError::Usage(format!("--embedder: {name} embeds nothing: expected --corpus PATH, found none")))
            }
            _ => Ok(None),
        }
    }

    /// Opens the corpus. `listed`: its files, where they were listed already. `dense`: the methods' papers rank by vectors
    /// alone, Contriever's where its file is on this machine.
    ///
    /// # Errors
    /// A corpus, an index, an embedder or a server that cannot be used.
    pub(crate) fn open(
        &self,
        listed: Option<Corpus>,
        dense: bool,
        offline: bool,
        control: &Control,
    ) -> Result<Box<dyn Retriever>> {
        let mut embedder = self.embedder(offline);
        match self.paths.as_slice() {
            [address] if listed.is_none() && collection::is_address(address) => {
                self.open_server(address, &embedder, control)
            }
            [dir] if listed.is_none() && is_index(Path::new(dir)) => {
                let index = Index::open(Path::new(dir))?;
                index_state::note(Path::new(dir), index.manifest(), control);
                let embedder = match &index.manifest().dense {
                    Some(dense) if !self.by_words() => embedder.of_index(Path::new(dir), Some(dense), control)?,
                    _ => None,
                };
                self.search(index, embedder, dense, control)
            }
            paths => {
                // Errors in paths are reported before a model is loaded.
                let corpus = listed.map_or_else(|| Corpus::open(paths), Ok)?;
                if dense && !self.by_words() && !embedder.take_if_present("contriever") {
                    let name = embedder.for_new();
                    control
                        .note(&format!("contriever, which the paper ranks by, is not on this machine: {name} ranks"));
                }
                let made_by = if self.by_words() { None } else { embedder.named(control)? };
                let name = made_by.is_some().then(|| embedder.for_new().to_owned());
                let dir = indexed(corpus, paths, made_by.as_ref(), name.as_deref(), control)?;
                self.search(Index::open(&dir)?, made_by, dense, control)
            }
        }
    }

    /// Whether BM25 was asked for, which needs no embedder.
    fn by_words(&self) -> bool {
        matches!(self.retriever, Some(Mode::Bm25))
    }

    fn search(
        &self,
        index: Index,
        embedder: Option<Arc<dyn Embedder>>,
        dense: bool,
        control: &Control,
    ) -> Result<Box<dyn Retriever>> {
        let best = if dense { Mode::Dense } else { Mode::Hybrid };
        let mode = self.retriever.unwrap_or(if embedder.is_some() { best } else { Mode::Bm25 });
        let cutoff = (self.cutoff == Some(true)).then_some(Cutoff::DEFAULT);
        let retriever = IndexRetriever::new(
            index,
            embedder,
            Search { mode, cutoff, exact: self.exact_search, ..Search::default() },
        )?;
        note_undated(&retriever, &self.filter(), control)?;
        Ok(Box::new(retriever))
    }

    fn open_server(&self, address: &str, embedder: &EmbedderOptions, control: &Control) -> Result<Box<dyn Retriever>> {
        let store = collection::store(address, Patience::default())?;
        if self.retriever.is_some_and(|mode| mode != Mode::Dense) {
            return Err(MootError::Usage("a server is searched by meaning alone: expected --retriever dense".into()));
        }
        let embedder = embedder.named(control)?.ok_or_else(|| {
            MootError::Usage("a server is searched by meaning: expected an embedder, found none".into())
        })?;
        let collection = Collection::open(store, embedder, self.exact_search)?;
        collection.note().iter().for_each(|line| control.note(line));
        Ok(Box::new(collection))
    }
}

/// Notes how many passages a filter leaves out because they have no date.
///
/// # Errors
/// An index that cannot be read.
pub(super) fn note_undated(retriever: &IndexRetriever, filter: &Filter, control: &Control) -> Result<()> {
    let undated = retriever.undated(filter)?;
    if undated > 0 {
        let all = retriever.index().manifest().passages();
        control.note(&format!("{undated} of {all} passages are left out: without a date as 2018-05-31"));
    }
    Ok(())
}

/// The folder of an index of plain files in the cache; built if it does not exist or a file has changed. What is left out,
/// and how files were read, is noted each time: the lines are kept in a file beside the folder.
fn indexed(
    corpus: Corpus,
    paths: &[String],
    embedder: Option<&Arc<dyn Embedder>>,
    name: Option<&str>,
    control: &Control,
) -> Result<PathBuf> {
    let chunking = Chunking::default();
    let made_by = embedder.map_or("none", |embedder| embedder.identity());
    let whole = |path: &String| std::fs::canonicalize(path).map_or_else(|_| path.clone(), |p| p.display().to_string());
    let full_paths = paths.iter().map(whole).collect::<Vec<_>>().join("\n");
    let cut = format!("{}; {READERS}", chunking.describe());
    let settings = hash([full_paths, cut, made_by.to_owned()]);
    let cache = default_cache()?;
    let folder = cache.join("corpora").join(settings);
    // The index has copies of documents that others may not be allowed to read.
    for dir in [cache.join("corpora"), folder.clone()] {
        files::private_folder(&dir).map_err(|e| MootError::io(&dir, "create", e))?;
    }
    let dir = folder.join(corpus.fingerprint());
    let lines = dir.with_extension("notes");
    if is_finished(&dir) {
        std::fs::read_to_string(lines).unwrap_or_default().lines().for_each(|line| control.note(line));
        return Ok(dir);
    }
    forget_others(&folder, &dir);
    let listed = ListedCorpus::new(corpus, paths, chunking);
    let counted = listed.count(control)?;
    let (total, files) = (counted.passages, counted.files);
    let mut builder = Builder::create(&dir, embedder.map(AsRef::as_ref), Storage::F16, Limits::default())?;
    if let Some(name) = name {
        builder.called(name)?;
    }
    let (passages, files) = (plural(total, "passage", "passages"), plural(files, "file", "files"));
    let is_long = embedder.is_some() && total >= MANY_VECTORS;
    let hint = if is_long { " (--retriever bm25 searches by words alone, without vectors)" } else { "" };
    control.note(&format!("indexing {passages} of {files}, once{hint}"));
    // Before the build: an index that is finished always has its list.
    if !counted.lines.is_empty() {
        outputs::write(&lines, counted.lines.join("\n").as_bytes())?;
    }
    // A passage that any corpus held before keeps its vector.
    let remembering = embedder.map(|embedder| Remembering::over(embedder.clone(), &cache.join("vectors")));
    let embedder = remembering.clone().map(|remembering| remembering as Arc<dyn Embedder>);
    let filled = listed.fill(&mut builder, total, embedder.as_ref(), control);
    // After a failed build too: what it wrote has copies of documents.
    files::make_private(&folder);
    filled?;
    if let Some((kept, computed)) = remembering.map(|remembering| remembering.counts()) {
        control.note(&format!("{kept} vectors were reused from equal texts, {computed} were computed"));
    }
    Ok(dir)
}

/// Whether the build of the index in `dir` is finished.
fn is_finished(dir: &Path) -> bool {
    Manifest::read(dir).is_ok_and(|manifest| manifest.builds.last().is_some_and(|build| build.finished))
}

/// Removes indexes of earlier states of the same corpus. A process that still reads one keeps its mapped files.
fn forget_others(folder: &Path, keep: &Path) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.with_extension("") != keep {
            // An index that cannot be removed only costs disk space.
            let _ = std::fs::remove_dir_all(&path).or_else(|_| std::fs::remove_file(&path));
        }
    }
}

fn hash(parts: [String; 3]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        // The length first, so that no two lists of parts give the same bytes.
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    hex(&hash.finalize()[..16])
}

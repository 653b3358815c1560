//! Retrieves documents for a question from a corpus: an index, a server, or plain files that are indexed first.

use crate::cli::fetching::tell;
use crate::cli::index::build;
use crate::cli::index::inputs::{EmbedderArgs, Opened, tell_lines};
use crate::cli::index::search::{Retrieved, date};
use crate::cli::index::state;
use crate::cli::interrupt::Interrupt;
use crate::cli::values;
use crate::error::{MootError, Result};
use crate::llm::remote::Patience;
use crate::protocol::Row;
use crate::retrieval::chunk::Chunking;
use crate::retrieval::corpus::{Corpus, is_index};
use crate::retrieval::index::{Builder, Cutoff, Index, IndexRetriever, Limits, Manifest, Mode, Search, Storage};
use crate::retrieval::qdrant::{self, Qdrant};
use crate::retrieval::{Embedder, Filter, Retriever, Wanted};
use moot_models::source::default_cache;
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Retrieval arguments.
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    /// Retrieve the documents from a corpus: files, folders, an index, or http://host:6333#collection
    ///
    /// Files, folders and globs, an index (moot index build), or a collection of a server. Methods that debate given documents search it for questions that bring none; methods that
    /// retrieve for their own queries read it alone (moot methods NAME)
    #[arg(long, value_name = "PATH", num_args = 1.., group = "searched")]
    pub corpus: Vec<String>,
    /// The files of `corpus`, where they were listed already.
    #[arg(skip)]
    pub read: Option<Corpus>,
    /// Leave out passages that have nothing to do with the query [default: on for ask and index search, off elsewhere]
    #[arg(long, value_name = "ON", requires = "searched", hide_short_help = true)]
    pub cutoff: Option<Toggle>,
    /// Number of passages, in all or of each source [default: 5, or 1 of each source]; with ask --docs, documents read whole [default: 40]
    ///
    /// Each gets an agent. Where there are more documents, they are searched for as many passages.
    #[arg(long, value_name = "N", value_parser = values::count, requires = "searched", allow_negative_numbers = true)]
    pub top: Option<usize>,
    /// The best passages of each source instead of all
    #[arg(long, requires = "searched")]
    pub by_source: bool,
    /// Only passages or documents of this source; repeatable
    ///
    /// Documents are those of `moot ask --docs`; those that a dataset brings are not filtered.
    #[arg(long, value_name = "NAME", requires = "searched")]
    pub source: Vec<String>,
    /// Only passages or documents of this date or later, as 2018 or 2018-05-31
    #[arg(long, value_name = "DATE", value_parser = date, requires = "searched")]
    pub from: Option<String>,
    /// Only passages or documents of this date or earlier; 2018 is the whole year
    #[arg(long, value_name = "DATE", value_parser = date, requires = "searched")]
    pub until: Option<String>,
    /// Do not fold near-duplicates
    #[arg(long, requires = "searched", hide_short_help = true)]
    pub no_fold: bool,
    /// Search mode; hybrid if the index has vectors and BM25, dense for ra-rag and ra-rag-long
    #[arg(long, value_name = "HOW", requires = "searched", hide_short_help = true)]
    pub retriever: Option<Retrieved>,
    /// Embedder: a name of the catalog, a folder, hf:org/repo, or "none" for BM25 only; by default all-minilm-l6-v2 for
    /// plain files, otherwise the index's own. Without a corpus, for methods that embed documents themselves
    #[arg(long, value_name = "NAME", hide_short_help = true)]
    pub embedder: Option<String>,
    /// Device of the embedder: cpu, cuda, cuda:N or metal; the one that built the index
    #[arg(long, value_name = "DEVICE", default_value = "cpu", requires = "searched", hide_short_help = true)]
    pub embedder_device: String,
}

/// A setting that is on or off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Toggle {
    /// It applies
    On,
    /// It does not
    Off,
}

impl Args {
    /// Whether a corpus was given.
    pub(super) fn is_typed(&self) -> bool {
        !self.corpus.is_empty()
    }

    /// Whether the corpus is an index or a collection of a server: its files were read before.
    pub(super) fn is_built(&self) -> bool {
        let [only] = self.corpus.as_slice() else { return false };
        self.read.is_none() && (qdrant::Address::is_one(only) || is_index(Path::new(only)))
    }

    /// Default retrieval settings of each query; a method may use others.
    pub(super) fn wanted(&self) -> Wanted {
        let top = self.top.unwrap_or(if self.by_source { 1 } else { 5 });
        Wanted { top, by_source: self.by_source, filter: self.filter(), fold: !self.no_fold }
    }

    /// What is admitted.
    pub(super) fn filter(&self) -> Filter {
        Filter { sources: self.source.clone(), from: self.from.clone(), until: self.until.clone() }
    }

    /// Checks the dates.
    ///
    /// # Errors
    /// A first date after the last one.
    pub(super) fn check(&self) -> Result<()> {
        self.filter().check().map_err(MootError::Usage)
    }

    /// Opens the embedder that was named, for a method that embeds documents itself.
    ///
    /// # Errors
    /// An embedder that cannot be opened; one that neither a corpus nor the method uses.
    pub(super) fn open_embedder(&self, row: &Row, offline: bool) -> Result<Option<Arc<dyn Embedder>>> {
        match &self.embedder {
            Some(_) if row.needs.embedder => {
                let device = self.embedder_device.clone();
                EmbedderArgs { embedder: self.embedder.clone(), device, offline }.named()
            }
            Some(_) if !self.is_typed() => {
                let name = row.name;
                Err(MootError::Usage(format!("--embedder: {name} embeds nothing: expected --corpus PATH, found none")))
            }
            _ => Ok(None),
        }
    }

    /// Opens the corpus: an index, a server, or plain files, which are indexed first if needed.
    ///
    /// # Errors
    /// A corpus, an index, an embedder or a server that cannot be used.
    ///
    /// `dense`: the methods' papers rank by vectors alone, Contriever's where its file is on this machine.
    pub(super) fn open(&self, dense: bool, offline: bool, interrupt: &Interrupt) -> Result<Box<dyn Retriever>> {
        self.check()?;
        let device = self.embedder_device.clone();
        let mut embedder = EmbedderArgs { embedder: self.embedder.clone(), device, offline };
        match self.corpus.as_slice() {
            [address] if self.read.is_none() && qdrant::Address::is_one(address) => self.server(address, &embedder),
            [dir] if self.read.is_none() && is_index(Path::new(dir)) => {
                let index = Index::open(Path::new(dir))?;
                state::tell(Path::new(dir), index.manifest());
                let embedder = match &index.manifest().dense {
                    Some(dense) if !self.by_words() => embedder.of_index(Path::new(dir), Some(dense))?,
                    _ => None,
                };
                self.index(index, embedder, dense)
            }
            paths => {
                // Errors in paths are reported before a model is loaded.
                let corpus = self.read.clone().map_or_else(|| Corpus::open(paths), Ok)?;
                if dense && !self.by_words() && !embedder.take_if_present("contriever") {
                    tell(&format!(
                        "contriever, which the paper ranks by, is not on this machine: {} ranks",
                        embedder.name()
                    ));
                }
                let made_by = if self.by_words() { None } else { embedder.named()? };
                let name = made_by.is_some().then(|| embedder.name().to_owned());
                let dir = indexed(corpus, paths, made_by.as_ref(), name.as_deref(), interrupt)?;
                self.index(Index::open(&dir)?, made_by, dense)
            }
        }
    }

    /// Whether BM25 was asked for, which needs no embedder.
    fn by_words(&self) -> bool {
        matches!(self.retriever, Some(Retrieved::Bm25))
    }

    fn index(&self, index: Index, embedder: Option<Arc<dyn Embedder>>, dense: bool) -> Result<Box<dyn Retriever>> {
        let best = if dense { Mode::Dense } else { Mode::Hybrid };
        let mode = self.retriever.map_or(if embedder.is_some() { best } else { Mode::Bm25 }, Mode::from);
        let cutoff = (self.cutoff == Some(Toggle::On)).then_some(Cutoff::DEFAULT);
        let retriever = IndexRetriever::new(index, embedder, Search { mode, cutoff, ..Search::default() })?;
        tell_undated(&retriever, &self.filter())?;
        Ok(Box::new(retriever))
    }

    fn server(&self, address: &str, embedder: &EmbedderArgs) -> Result<Box<dyn Retriever>> {
        let address = qdrant::Address::parse(address)?;
        if self.retriever.is_some_and(|how| !matches!(how, Retrieved::Dense)) {
            return Err(MootError::Usage(
                "a Qdrant server is searched by meaning alone: expected --retriever dense".into(),
            ));
        }
        let embedder = embedder.named()?.ok_or_else(|| {
            MootError::Usage("a Qdrant server is searched by meaning: expected an embedder, found none".into())
        })?;
        Ok(Box::new(Qdrant::open(address, qdrant::key_from_environment(), Patience::default(), embedder)?))
    }
}

/// Says how many passages a filter leaves out because they have no date.
///
/// # Errors
/// An index that cannot be read.
pub(super) fn tell_undated(retriever: &IndexRetriever, filter: &Filter) -> Result<()> {
    let undated = retriever.undated(filter)?;
    if undated > 0 {
        let all = retriever.index().manifest().passages();
        tell(&format!("{undated} of {all} passages are left out: without a date as 2018-05-31"));
    }
    Ok(())
}

/// The folder of an index of plain files in the cache; built if it does not exist or a file has changed. What is left out,
/// and the notes on files, are printed each time: the lines stand in a file beside the folder.
fn indexed(
    corpus: Corpus,
    paths: &[String],
    embedder: Option<&Arc<dyn Embedder>>,
    name: Option<&str>,
    interrupt: &Interrupt,
) -> Result<PathBuf> {
    let chunking = Chunking::default();
    let made_by = embedder.map_or("none", |embedder| embedder.identity());
    let whole = |path: &String| std::fs::canonicalize(path).map_or_else(|_| path.clone(), |p| p.display().to_string());
    let full_paths = paths.iter().map(whole).collect::<Vec<_>>().join("\n");
    // Counts up where the same settings give other passages.
    let cut = format!("{}; 3", chunking.describe());
    let settings = hash([full_paths, cut, made_by.to_owned()]);
    let folder = default_cache()?.join("corpora").join(settings);
    let dir = folder.join(corpus.fingerprint());
    let lines = dir.with_extension("notes");
    if is_finished(&dir) {
        tell_lines(std::fs::read_to_string(lines).unwrap_or_default().lines());
        return Ok(dir);
    }
    forget_others(&folder, &dir);
    let opened = Opened::new(corpus, paths, chunking);
    let counted = opened.count()?;
    let (total, files) = (counted.passages, counted.files);
    let mut builder = Builder::create(&dir, embedder.map(AsRef::as_ref), Storage::F16, Limits::default())?;
    if let Some(name) = name {
        builder.called(name)?;
    }
    tell(&format!("indexing {total} passages of {files} {}, once", if files == 1 { "file" } else { "files" }));
    // Before the build: an index that is finished always has its list.
    if !counted.lines.is_empty() {
        std::fs::write(&lines, counted.lines.join("\n")).map_err(|e| MootError::io(&lines, "write", e))?;
    }
    build::fill(&mut builder, &opened, total, embedder, interrupt)?;
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
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    hash.finalize()[..16].iter().map(|byte| format!("{byte:02x}")).collect()
}

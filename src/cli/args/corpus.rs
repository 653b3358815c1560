//! Retrieval arguments: the corpus, and how it is searched.

use crate::cli::args::values;
use crate::retrieval::check_date;
use crate::retrieval::index::Mode;
use crate::workspace::{ClassifierOptions, CorpusOptions};

/// Retrieval arguments.
#[derive(Debug, Clone, clap::Args)]
pub struct CorpusArgs {
    /// Retrieve the documents from a corpus: files, folders, an index, or http://host:6333#collection
    ///
    /// Files, folders and globs, an index (`moot index build`), or a collection of a server. Methods that debate given documents
    /// search it for questions that bring none; methods that retrieve for their own queries read it alone (`moot methods NAME`)
    #[arg(long, value_name = "PATH", num_args = 1.., group = "searched")]
    pub corpus: Vec<String>,
    /// Leave out passages that are not about the query [default: on for ask and index search, off elsewhere]
    #[arg(long, value_name = "ON", requires = "searched", hide_short_help = true)]
    pub cutoff: Option<Toggle>,
    /// Number of passages, in all or of each source [default: 5, or 1 of each source]; with ask --docs, documents read whole
    /// [default: 40]
    ///
    /// Each gets an agent. If there are more documents, they are searched, and this many passages are read.
    #[arg(long, value_name = "N", value_parser = values::count, requires = "searched", allow_negative_numbers = true)]
    pub top: Option<usize>,
    /// Sources and dates.
    #[command(flatten)]
    pub filter: FilterArgs,
    /// Do not fold near-duplicates
    #[arg(long, requires = "searched", hide_short_help = true)]
    pub no_fold: bool,
    /// Exact search: read every vector, even if the index groups them (from 100,000 passages on)
    #[arg(long, requires = "searched", hide_short_help = true)]
    pub exact_search: bool,
    /// Search mode; hybrid if the index has vectors and BM25, dense for ra-rag and ra-rag-long
    #[arg(long, value_name = "HOW", requires = "searched", hide_short_help = true)]
    pub retriever: Option<Retrieved>,
    /// Embedder: a name of the catalog, a folder, a GGUF file, hf:org/repo, or "none" for BM25 only; by default all-minilm-l6-v2 for
    /// plain files, otherwise the index's own. Without a corpus, for methods that embed documents themselves
    #[arg(long, value_name = "NAME", hide_short_help = true)]
    pub embedder: Option<String>,
    /// Device of the embedder: cpu, cuda, cuda:N or metal; the one that built the index
    #[arg(long, value_name = "DEVICE", default_value = "cpu", requires = "searched", hide_short_help = true)]
    pub embedder_device: String,
    /// Read the candidates of each search with this reranker (a name of the catalog, a folder, hf:org/repo), and keep the
    /// most relevant
    #[arg(long, value_name = "NAME", hide_short_help = true)]
    pub reranker: Option<String>,
    /// Device of the reranker: cpu, cuda, cuda:N or metal
    #[arg(long, value_name = "DEVICE", default_value = "cpu", requires = "reranker", hide_short_help = true)]
    pub reranker_device: String,
    /// Passages that the reranker reads, in all or of each source [default: 50, or 5 of each source]
    #[arg(long, value_name = "N", value_parser = values::count, requires = "reranker", hide_short_help = true)]
    #[arg(allow_negative_numbers = true)]
    pub reranker_candidates: Option<usize>,
}

/// Sources and dates of what a search may return. They require the group `searched`, to which a command adds the
/// argument that names what is searched.
#[derive(Debug, Clone, clap::Args)]
pub struct FilterArgs {
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
}

/// A setting that is on or off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Toggle {
    /// It applies
    On,
    /// It does not
    Off,
}

/// [`Mode`] as it is typed.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
pub enum Retrieved {
    /// Nearest vectors
    Dense,
    /// BM25 over the query's words
    Bm25,
    /// Both, fused by rank
    Hybrid,
}

impl From<Retrieved> for Mode {
    fn from(typed: Retrieved) -> Self {
        match typed {
            Retrieved::Dense => Self::Dense,
            Retrieved::Bm25 => Self::Bm25,
            Retrieved::Hybrid => Self::Hybrid,
        }
    }
}

/// Parses a date for filters.
pub(in crate::cli) fn date(typed: &str) -> Result<String, String> {
    check_date(typed).map(|()| typed.to_owned())
}

/// The classifier of pairs, for methods that need one.
#[derive(Debug, Clone, clap::Args)]
pub struct ClassifierArgs {
    /// Classify pairs with this NLI model (a name of the catalog, a folder, hf:org/repo) instead of the role `entailment`
    #[arg(long, value_name = "NAME", help_heading = "Retrieval and entailment", hide_short_help = true)]
    pub classifier: Option<String>,
    /// Device of the classifier: cpu, cuda, cuda:N or metal
    #[arg(long, value_name = "DEVICE", default_value = "cpu", requires = "classifier")]
    #[arg(help_heading = "Retrieval and entailment", hide_short_help = true)]
    pub classifier_device: String,
}

impl ClassifierArgs {
    /// As the plan takes it.
    #[must_use]
    pub(crate) fn options(&self) -> ClassifierOptions {
        ClassifierOptions { name: self.classifier.clone(), device: self.classifier_device.clone() }
    }
}

impl CorpusArgs {
    /// As the plan takes them.
    #[must_use]
    pub(crate) fn options(&self) -> CorpusOptions {
        CorpusOptions {
            paths: self.corpus.clone(),
            cutoff: self.cutoff.map(|typed| typed == Toggle::On),
            top: self.top,
            by_source: self.filter.by_source,
            sources: self.filter.source.clone(),
            from: self.filter.from.clone(),
            until: self.filter.until.clone(),
            fold: !self.no_fold,
            exact_search: self.exact_search,
            retriever: self.retriever.map(Mode::from),
            embedder: self.embedder.clone(),
            embedder_device: self.embedder_device.clone(),
            reranker: self.reranker.clone(),
            reranker_device: self.reranker_device.clone(),
            reranker_candidates: self.reranker_candidates,
        }
    }
}

//! An index searched without a question.

use crate::error::{MootError, Result};
use crate::retrieval::index::{Cutoff, Index, IndexRetriever, Mode, Search};
use crate::retrieval::{Hit, Reranker, Retriever, Wanted};
use crate::workspace::control::Control;
use crate::workspace::corpus::note_undated;
use crate::workspace::embedder::EmbedderOptions;
use crate::workspace::index_state;
use crate::workspace::reranker::{RerankerOptions, note_reranked};
use std::path::PathBuf;
use std::sync::Arc;

/// How an index is searched, as given.
#[derive(Debug, Clone)]
pub struct IndexSearchOptions {
    /// The folder of the index.
    pub dir: PathBuf,
    /// How passages are ranked; `None` for the best that the index has: hybrid with vectors, else BM25.
    pub mode: Option<Mode>,
    /// Which passages, and how many.
    pub wanted: Wanted,
    /// Leave out passages that are not about the query.
    pub cutoff: bool,
    /// Read every vector, even if the index groups them.
    pub exact: bool,
    /// The constant k of reciprocal rank fusion.
    pub constant: f32,
    /// The embedder of queries.
    pub embedder: EmbedderOptions,
    /// The reranker.
    pub reranker: RerankerOptions,
}

/// An index that is open for queries.
pub struct IndexSearch {
    retriever: Box<dyn Retriever>,
    reranker: Option<Arc<dyn Reranker>>,
    wanted: Wanted,
}

impl IndexSearchOptions {
    /// Opens the index and its models. Notes what is out of date, and what a filter leaves out.
    ///
    /// # Errors
    /// An invalid filter; fewer candidates for the reranker than passages that are wanted; an index that cannot be read or was
    /// made by another embedder; a source that no passage has.
    pub fn open(self, control: &Control) -> Result<IndexSearch> {
        let Self { dir, wanted, embedder, reranker: reranking, .. } = &self;
        wanted.filter.check().map_err(MootError::Usage)?;
        reranking.check(wanted.top)?;
        let index = Index::open(dir)?;
        index_state::note(dir, index.manifest(), control);
        let dense = index.manifest().dense.clone();
        let mode = self.mode.unwrap_or(if dense.is_some() { Mode::Hybrid } else { Mode::Bm25 });
        let embedder = match dense {
            Some(_) if mode == Mode::Bm25 => None,
            dense => embedder.of_index(dir, dense.as_ref(), control)?,
        };
        let cutoff = self.cutoff.then_some(Cutoff::DEFAULT);
        let search = Search { mode, exact: self.exact, constant: self.constant, cutoff, ..Search::default() };
        let retriever = IndexRetriever::new(index, embedder, search)?;
        note_undated(&retriever, &wanted.filter, control)?;
        let reranker = reranking.open(control)?;
        let retriever = reranking.over(Box::new(retriever), reranker.clone());
        Ok(IndexSearch { retriever, reranker, wanted: self.wanted })
    }
}

impl IndexSearch {
    /// The best passages for each query, in the order of the queries.
    ///
    /// # Errors
    /// An index that cannot be read; a source that no passage has.
    pub fn search(&self, queries: &[&str]) -> Result<Vec<Vec<Hit>>> {
        self.retriever.retrieve_all(queries, &self.wanted)
    }

    /// Notes how much the reranker has read.
    pub fn note_counts(&self, control: &Control) {
        note_reranked(self.reranker.as_deref(), control);
    }
}

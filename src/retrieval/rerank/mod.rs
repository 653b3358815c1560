//! Reranking: a model that reads query and passage together orders the passages that a search found.
//!
//! [`Reranker`] is the seam, [`LocalReranker`] a cross-encoder of this process. [`Reranked`] is a retriever that takes more
//! candidates from another one than are wanted, and keeps the most relevant.

mod local;

pub use local::{LocalReranker, RerankerOptions};

use crate::error::Result;
use crate::question::Hit;
use crate::retrieval::fold;
use crate::retrieval::index::full_text;
use crate::retrieval::{Retriever, RetrieverIdentity, SourceCount, Wanted};
use moot_models::kernels::math::exp_f32;
use std::borrow::Cow;
use std::sync::Arc;

/// Candidates of a search that are read, where the user names no number.
const CANDIDATES: usize = 50;
/// The same of each source.
const CANDIDATES_OF_A_SOURCE: usize = 5;

/// Statistics of a reranker.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct RerankCounts {
    /// Passages that were read, each with its query.
    pub passages: u64,
    /// Texts that were computed for them: one a passage, more for a passage beyond the model's limit.
    pub windows: u64,
    /// Passages whose query was cut because it left too little room.
    pub truncated: u64,
    /// Computations. Fewer than calls of [`Reranker::logits`] where those of several threads were computed together.
    pub batches: u64,
    /// Time spent computing.
    pub seconds: f64,
}

/// Queries and passages to relevance.
pub trait Reranker: Send + Sync {
    /// The logit of each pair of a query and a passage, in their order: how relevant the passage is. It does not depend on the
    /// other pairs.
    ///
    /// # Errors
    /// Failures of the model.
    fn logits(&self, pairs: &[(&str, &str)]) -> Result<Vec<f32>>;

    /// Identity of the reranker: name, hash of the weights, and what else a score depends on.
    fn identity(&self) -> &str;

    /// Tokens of `pairs`, special ones included; `None` where they are not known.
    fn tokens(&self, pairs: &[(&str, &str)]) -> Option<usize> {
        let _ = pairs;
        None
    }

    /// Its statistics since it was opened.
    fn counts(&self) -> RerankCounts;
}

/// Relevance from 0 to 1 of a logit.
#[must_use]
pub fn relevance(logit: f32) -> f32 {
    1.0 / (1.0 + exp_f32(-logit))
}

/// A retriever whose passages are ordered by a reranker: the `candidates` best of another retriever are read, and the most
/// relevant of them returned, with their relevance as score.
pub struct Reranked {
    inner: Box<dyn Retriever>,
    reranker: Arc<dyn Reranker>,
    candidates: Option<usize>,
}

impl Reranked {
    /// Reads `candidates` passages of each list of `inner`: of all, or of each source. By default 50, or 5 of each source.
    #[must_use]
    pub fn new(inner: Box<dyn Retriever>, reranker: Arc<dyn Reranker>, candidates: Option<usize>) -> Self {
        Self { inner, reranker, candidates }
    }

    /// The request to the inner retriever: never fewer passages than are wanted.
    fn asked(&self, wanted: &Wanted) -> Wanted {
        let usual = if wanted.by_source { CANDIDATES_OF_A_SOURCE } else { CANDIDATES };
        Wanted { top: self.candidates.unwrap_or(usual).max(wanted.top), ..wanted.clone() }
    }

    /// The logits of each query's hits, one list after the other.
    fn logits(&self, queries: &[&str], found: &[Vec<Hit>]) -> Result<Vec<f32>> {
        let texts: Vec<Cow<'_, str>> = found.iter().flatten().map(|hit| full_text(&hit.passage)).collect();
        let queries = queries.iter().zip(found).flat_map(|(query, hits)| std::iter::repeat_n(*query, hits.len()));
        let pairs: Vec<(&str, &str)> = queries.zip(texts.iter().map(|text| &**text)).collect();
        self.reranker.logits(&pairs)
    }
}

impl Retriever for Reranked {
    fn retrieve(&self, query: &str, wanted: &Wanted) -> Result<Vec<Hit>> {
        Ok(self.retrieve_all(&[query], wanted)?.into_iter().next().unwrap_or_default())
    }

    /// The candidates of all queries are computed together.
    fn retrieve_all(&self, queries: &[&str], wanted: &Wanted) -> Result<Vec<Vec<Hit>>> {
        let found = self.inner.retrieve_all(queries, &self.asked(wanted))?;
        let mut logits = self.logits(queries, &found)?.into_iter();
        // The candidates were folded already.
        let kept = Wanted { fold: false, ..wanted.clone() };
        let ordered = |hits: Vec<Hit>| {
            let mut scored: Vec<(f32, Hit)> = logits.by_ref().take(hits.len()).zip(hits).collect();
            // A stable sort: of equal logits, the passage that the search ranked higher.
            scored.sort_by(|(a, _), (b, _)| b.total_cmp(a));
            let hits = scored.into_iter().map(|(logit, hit)| Hit { score: relevance(logit), ..hit }).collect();
            fold::select(hits, &kept)
        };
        Ok(found.into_iter().map(ordered).collect())
    }

    fn sources(&self) -> Result<Option<Vec<SourceCount>>> {
        self.inner.sources()
    }

    fn identity(&self) -> RetrieverIdentity {
        let candidates = match self.candidates {
            Some(count) => format!("{count} candidates"),
            None => format!("{CANDIDATES} candidates, or {CANDIDATES_OF_A_SOURCE} of each source"),
        };
        let reranker = Some(format!("{}, {candidates}", self.reranker.identity()));
        RetrieverIdentity { reranker, ..self.inner.identity() }
    }
}

//! One retriever for many questions in flight: queries that wait while another search runs are searched together.

use crate::error::Result;
use crate::gather::Gather;
use crate::question::Hit;
use crate::retrieval::{Retriever, RetrieverIdentity, SourceCount, Wanted};
use std::sync::{Arc, Mutex, PoisonError};

/// Kinds of search that are gathered apart: a run has one or two.
const KINDS: usize = 8;

type Searches = Gather<String, Vec<Hit>>;

/// A retriever that searches the queries of several threads together, by what they want.
pub(crate) struct Batched {
    inner: Box<dyn Retriever>,
    kinds: Mutex<Vec<(Wanted, Arc<Searches>)>>,
}

/// Statistics of a retriever.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct SearchCounts {
    /// Queries that were searched.
    pub queries: u64,
    /// Searches: fewer than calls of [`Retriever::retrieve_all`] where those of several threads were searched together.
    pub batches: u64,
    /// Time spent searching.
    pub seconds: f64,
}

impl Batched {
    /// Gathers the queries of `inner`.
    #[must_use]
    pub(crate) fn new(inner: Box<dyn Retriever>) -> Self {
        Self { inner, kinds: Mutex::default() }
    }

    /// Its statistics so far.
    #[must_use]
    pub(crate) fn counts(&self) -> SearchCounts {
        let kinds = self.kinds.lock().unwrap_or_else(PoisonError::into_inner);
        kinds.iter().map(|(_, searches)| searches.computed()).fold(SearchCounts::default(), |sum, of| SearchCounts {
            queries: sum.queries + of.items,
            batches: sum.batches + of.batches,
            seconds: sum.seconds + of.seconds,
        })
    }

    fn searches(&self, wanted: &Wanted) -> Option<Arc<Searches>> {
        let mut kinds = self.kinds.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, searches)) = kinds.iter().find(|(kind, _)| kind == wanted) {
            return Some(searches.clone());
        }
        if kinds.len() == KINDS {
            return None;
        }
        let searches = Arc::new(Searches::default());
        kinds.push((wanted.clone(), searches.clone()));
        Some(searches)
    }
}

impl Retriever for Batched {
    fn retrieve(&self, query: &str, wanted: &Wanted) -> Result<Vec<Hit>> {
        Ok(self.retrieve_all(&[query], wanted)?.pop().unwrap_or_default())
    }

    fn retrieve_all(&self, queries: &[&str], wanted: &Wanted) -> Result<Vec<Vec<Hit>>> {
        let Some(searches) = self.searches(wanted) else { return self.inner.retrieve_all(queries, wanted) };
        let search = |queries: &[String]| {
            let queries: Vec<&str> = queries.iter().map(String::as_str).collect();
            self.inner.retrieve_all(&queries, wanted)
        };
        searches.run(queries.iter().map(|&query| query.to_owned()).collect(), &search)
    }

    fn sources(&self) -> Result<Option<Vec<SourceCount>>> {
        self.inner.sources()
    }

    fn identity(&self) -> RetrieverIdentity {
        self.inner.identity()
    }
}

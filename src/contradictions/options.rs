//! How documents are compared.

use std::path::PathBuf;

/// Calls of a pair, at most: a blank and a relation in each direction.
pub(super) const CALLS: usize = 4;

/// How documents are compared.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// Pairs of each claim that are labelled, at most.
    pub pairs: usize,
    /// About how many pairs of each document are labelled: a further one only where the pair's other document has fewer.
    pub of_document: usize,
    /// The least probability of a contradiction that is reported.
    pub least: f64,
    /// The folder in which finished work is kept; `None` keeps none.
    pub cache: Option<PathBuf>,
}

impl Default for Options {
    fn default() -> Self {
        Self { pairs: 4, of_document: 20, least: 0.5, cache: None }
    }
}

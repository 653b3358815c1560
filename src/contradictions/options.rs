//! How documents are compared.

use std::path::PathBuf;

/// Most calls of a pair: a blank and a relation in each direction.
pub(super) const CALLS: usize = 4;

/// How documents are compared.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// Most pairs that are labelled of each claim.
    pub pairs: usize,
    /// Target number of labelled pairs of each document. A document that has as many gets a further pair only with a document that
    /// has fewer, or if one claim is the nearest of the other.
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

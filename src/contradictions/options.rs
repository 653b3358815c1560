//! How documents are compared.

use crate::error::{MootError, Result};
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

impl Options {
    /// The default options with another `least`, if one is given.
    ///
    /// # Errors
    /// [`MootError::Usage`] for a number that is not a probability.
    pub fn of_least(least: Option<f64>) -> Result<Self> {
        let options = Self::default();
        let least = least.unwrap_or(options.least);
        if is_probability(least) {
            return Ok(Self { least, ..options });
        }
        Err(MootError::Usage(format!("least: expected {PROBABILITY}, found {least}")))
    }
}

/// What messages say that a probability has to be.
pub const PROBABILITY: &str = "a probability from 0 to 1";

/// Whether `number` is a probability.
#[must_use]
pub fn is_probability(number: f64) -> bool {
    (0.0..=1.0).contains(&number)
}

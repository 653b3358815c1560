//! What happens during a comparison, and who receives it.

use serde::Serialize;

/// What happens, in this order.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "event")]
pub enum Event {
    /// The documents were read.
    Documents {
        /// Their number, copies left out.
        documents: usize,
        /// Sentences.
        sentences: usize,
        /// Passages: calls of the reader.
        passages: usize,
    },
    /// Passages that the reader has read.
    Reading {
        /// So many,
        done: usize,
        /// of so many.
        of: usize,
    },
    /// Texts of claims whose vectors are computed, two a claim.
    Embedding {
        /// So many,
        done: usize,
        /// of so many.
        of: usize,
    },
    /// The pairs were found.
    Pairs {
        /// Claims, equal ones counted once.
        claims: usize,
        /// Pairs.
        pairs: usize,
        /// Calls of the judge for all of them.
        calls: usize,
    },
    /// Pairs that the judge has labelled.
    Labelling {
        /// So many,
        done: usize,
        /// of so many.
        of: usize,
    },
}

/// Receives what happens, and may end the work.
pub trait Follow: Sync {
    /// Something happened.
    fn event(&self, event: &Event) {
        let _ = event;
    }

    /// A line for the user.
    fn note(&self, line: &str) {
        let _ = line;
    }

    /// Whether the work is to end.
    fn is_stopped(&self) -> bool {
        false
    }
}

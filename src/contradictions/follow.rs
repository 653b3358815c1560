//! Events of a comparison, and their receiver.

use crate::generation::Usage;
use serde::Serialize;

/// The events, in the order of their first occurrence.
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
        /// Number done.
        done: usize,
        /// Number in all.
        of: usize,
    },
    /// Texts of claims whose vectors are computed, two a claim.
    Embedding {
        /// Number done.
        done: usize,
        /// Number in all.
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
        /// Number done.
        done: usize,
        /// Number in all.
        of: usize,
    },
}

/// Receives events and notes, and can stop the comparison.
pub trait Follow: Sync {
    /// Receives an event.
    fn event(&self, event: &Event) {
        let _ = event;
    }

    /// Receives a line for the user.
    fn note(&self, line: &str) {
        let _ = line;
    }

    /// Receives the tokens of calls that were answered.
    fn used(&self, usage: Usage) {
        let _ = usage;
    }

    /// Whether the comparison shall stop.
    fn is_stopped(&self) -> bool {
        false
    }
}

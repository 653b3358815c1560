//! Progress of a build.

use crate::error::Result;

/// Progress of a build.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BuildProgress {
    /// Passages already in the index, from a build that was stopped.
    Resumed(u64),
    /// Passages of this corpus indexed so far, the unfinished segment included.
    Indexed(u64),
    /// Vectors are being clustered for approximate search.
    Grouping {
        /// Finished steps.
        done: u32,
        /// Number of steps.
        total: u32,
    },
}

/// Receives progress. An error from it ([`MootError::Interrupted`](crate::MootError::Interrupted)) stops the build; finished work is kept.
pub type BuildObserver<'a> = &'a mut dyn FnMut(&BuildProgress) -> Result<()>;

//! Progress of a search for a model.

/// Progress of [`locate`](super::locate).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FetchEvent {
    /// A source is asked.
    Trying {
        /// Its name.
        source: String,
    },
    /// Bytes of the current file.
    Bytes {
        /// Received so far.
        done: u64,
        /// In all.
        total: u64,
    },
    /// The next of several files is being fetched.
    NextFile {
        /// From 1.
        index: usize,
        /// In all.
        count: usize,
    },
    /// The source that had it; sent once, last.
    Using {
        /// Its name.
        source: String,
    },
    /// A source did not have it.
    Failed {
        /// Its name.
        source: String,
        /// One line.
        reason: String,
    },
}

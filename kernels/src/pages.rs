//! Pages of the KV cache, and the rows of a batch that use them.

/// Tokens of a KV page: one per lane of the widest vectors.
pub const PAGE: usize = 16;

/// The new tokens of one sequence in a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SequenceRows {
    /// Position of the first new token; the others follow it.
    pub start: usize,
    /// New tokens.
    pub len: usize,
    /// The sequence's pages in the order of positions, the new tokens' included.
    pub pages: Vec<u32>,
}

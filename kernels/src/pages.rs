//! Pages of the KV cache, and the rows of a batch that use them.

/// Tokens of a KV page: one per lane of the widest vectors.
pub const PAGE: usize = 16;

/// Stands in a sequence's pages for one that was given back, since no window reaches it any more. No row reads it.
pub const NO_PAGE: u32 = u32::MAX;

/// The new tokens of one sequence in a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SequenceRows {
    /// Position of the first new token; the others follow it.
    pub start: usize,
    /// New tokens.
    pub len: usize,
    /// The sequence's pages in the order of positions, the new tokens' included; [`NO_PAGE`] where none is left.
    pub pages: Vec<u32>,
}

/// The recurrent state of a sequence in a batch, by slots of memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateRows {
    /// The slot that holds the state before the new tokens; `None` before the first token.
    pub from: Option<u32>,
    /// The slot that gets the state after the new tokens.
    pub to: u32,
    /// Copies of the state after some of the new tokens: how many of them, ascending, and the slot.
    pub saves: Vec<(usize, u32)>,
}

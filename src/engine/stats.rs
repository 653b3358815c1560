//! What the engine has done so far, counted.

/// Counts since the engine started.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Stats {
    /// Forward passes.
    pub steps: usize,
    /// Prompt tokens computed.
    pub prefilled: usize,
    /// Generated tokens computed.
    pub decoded: usize,
    /// Tokens that a padded batch would have computed beside these: rows times the longest row, less the tokens.
    /// Packing computes none of them.
    pub padding_avoided: usize,
    /// Pages attention read, per layer and KV head; a page that rows share counts once.
    pub page_reads: usize,
    /// Pages it would have read with every sequence alone.
    pub page_reads_unshared: usize,
    /// Pages of prefixes that were forgotten to make room.
    pub evicted: usize,
    /// Pages that requests hold now; the others are free, or keep a prefix until its room is needed.
    pub pages_held: usize,
    /// Most pages that requests held at once.
    pub peak_pages: usize,
    /// Most sequences in one step.
    pub peak_rows: usize,
    /// Seconds in forward passes.
    pub forward_seconds: f64,
}

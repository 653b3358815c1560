//! What the engine has done so far, counted.

/// Counts since the engine started.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Stats {
    /// Forward passes.
    pub steps: usize,
    /// Prompt tokens computed.
    pub prefilled: usize,
    /// Generated tokens computed, rightly guessed ones included.
    pub decoded: usize,
    /// Guessed tokens computed.
    pub guessed: usize,
    /// Guessed tokens that were right: each saved a row of a step.
    pub guessed_right: usize,
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

impl Stats {
    /// The counts of two engines together: what they did added up, what was the most at once the greater of the two.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            steps: self.steps + other.steps,
            prefilled: self.prefilled + other.prefilled,
            decoded: self.decoded + other.decoded,
            guessed: self.guessed + other.guessed,
            guessed_right: self.guessed_right + other.guessed_right,
            padding_avoided: self.padding_avoided + other.padding_avoided,
            page_reads: self.page_reads + other.page_reads,
            page_reads_unshared: self.page_reads_unshared + other.page_reads_unshared,
            evicted: self.evicted + other.evicted,
            pages_held: self.pages_held + other.pages_held,
            peak_pages: self.peak_pages.max(other.peak_pages),
            peak_rows: self.peak_rows.max(other.peak_rows),
            forward_seconds: self.forward_seconds + other.forward_seconds,
        }
    }
}

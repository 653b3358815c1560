//! The engine's counters.

use moot_models::ReplayCounts;

/// Counts since the engine started.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Stats {
    /// Forward passes.
    pub steps: usize,
    /// Tokens of prompts and prefills computed.
    pub prefilled: usize,
    /// Tokens of `prefilled` that were computed in bf16.
    pub prefilled_in_bf16: usize,
    /// Generated tokens computed, right draft tokens included.
    pub decoded: usize,
    /// Draft tokens computed.
    pub drafted: usize,
    /// Draft tokens that were right: each saved a row of a step.
    pub accepted: usize,
    /// Those of `drafted` that a grammar forced.
    pub drafted_by_grammar: usize,
    /// Those of `accepted` that a grammar forced.
    pub accepted_by_grammar: usize,
    /// Tokens of prefills scored.
    pub scored: usize,
    /// Grammars compiled; a request whose grammar is in the cache compiles none.
    pub grammars_compiled: usize,
    /// Tokens that a padded batch would have computed in addition: rows times the longest row, less the tokens.
    /// Packing computes none of them.
    pub padding_avoided: usize,
    /// Pages attention read, per layer and KV head; a page that rows share counts once.
    pub page_reads: usize,
    /// Pages it would have read with every sequence alone.
    pub page_reads_unshared: usize,
    /// Prompt tokens of finished requests that were reused from requests of another group ([`super::Request::group`]).
    pub reused_across_groups: usize,
    /// Pages of cached prefixes evicted.
    pub evicted: usize,
    /// Pages of layers with a window that were given back because no later token of their request reaches them.
    pub freed_by_windows: usize,
    /// Copies of recurrent states kept in the prefix tree, for other requests to begin from.
    pub states_kept: usize,
    /// Times that a request began, or went on, from a kept state.
    pub states_reused: usize,
    /// Those copies evicted, for another state or with their page.
    pub states_evicted: usize,
    /// Pages that requests hold now, each of one group of layers; the others are free, or cache a prefix until they are
    /// evicted.
    pub pages_held: usize,
    /// Most pages that requests held at once.
    pub peak_pages: usize,
    /// Most sequences in one step.
    pub peak_rows: usize,
    /// Steps that a GPU repeated from a capture.
    pub replays: ReplayCounts,
    /// Seconds in forward passes.
    pub forward_seconds: f64,
    /// Seconds of them until all launches were enqueued. On the CPU these are nearly all of them.
    pub enqueue_seconds: f64,
}

impl Stats {
    /// The counts of two engines together: sums, and the greater of two peaks.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            steps: self.steps + other.steps,
            prefilled: self.prefilled + other.prefilled,
            prefilled_in_bf16: self.prefilled_in_bf16 + other.prefilled_in_bf16,
            decoded: self.decoded + other.decoded,
            drafted: self.drafted + other.drafted,
            accepted: self.accepted + other.accepted,
            drafted_by_grammar: self.drafted_by_grammar + other.drafted_by_grammar,
            accepted_by_grammar: self.accepted_by_grammar + other.accepted_by_grammar,
            scored: self.scored + other.scored,
            grammars_compiled: self.grammars_compiled + other.grammars_compiled,
            padding_avoided: self.padding_avoided + other.padding_avoided,
            page_reads: self.page_reads + other.page_reads,
            page_reads_unshared: self.page_reads_unshared + other.page_reads_unshared,
            reused_across_groups: self.reused_across_groups + other.reused_across_groups,
            evicted: self.evicted + other.evicted,
            freed_by_windows: self.freed_by_windows + other.freed_by_windows,
            states_kept: self.states_kept + other.states_kept,
            states_reused: self.states_reused + other.states_reused,
            states_evicted: self.states_evicted + other.states_evicted,
            pages_held: self.pages_held + other.pages_held,
            peak_pages: self.peak_pages.max(other.peak_pages),
            peak_rows: self.peak_rows.max(other.peak_rows),
            replays: ReplayCounts {
                captured: self.replays.captured + other.replays.captured,
                replayed: self.replays.replayed + other.replays.replayed,
                refused: self.replays.refused + other.replays.refused,
                released: self.replays.released + other.replays.released,
            },
            forward_seconds: self.forward_seconds + other.forward_seconds,
            enqueue_seconds: self.enqueue_seconds + other.enqueue_seconds,
        }
    }
}

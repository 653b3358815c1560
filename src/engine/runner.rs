//! Makes a step's chunks flat and runs the decoder over them.

use super::scheduler::{Chunk, Scheduler};
use super::stats::Stats;
use crate::error::Result;
use candle_core::Tensor;
use moot_models::{Batch, Decoder, KvCache, SequenceRows};
use std::time::Instant;

/// What a forward pass gave; a GPU may still be at it.
pub(super) struct Step {
    /// `[rows, vocab]`
    pub logits: Tensor,
    /// Running sequences in the order of their rows, and how many each has: after its last known token, then after each
    /// guessed one.
    pub places: Vec<(usize, usize)>,
    /// When it began.
    pub started: Instant,
}

/// One forward pass over `chunks`.
///
/// # Errors
/// The forward failed.
pub(super) fn run(
    decoder: &Decoder,
    kv: &KvCache,
    scheduler: &Scheduler,
    chunks: &[Chunk],
    stats: &mut Stats,
) -> Result<Step> {
    let started = Instant::now();
    let mut tokens = Vec::with_capacity(chunks.iter().map(|chunk| chunk.len).sum());
    let mut rows = Vec::with_capacity(chunks.len());
    let mut wanted = Vec::new();
    for chunk in chunks {
        let sequence = &scheduler.running[chunk.sequence];
        let known = chunk.len - chunk.guessed;
        tokens.extend_from_slice(&sequence.tokens[chunk.start..chunk.start + known]);
        let last = tokens.len() as u32 - 1;
        tokens.extend_from_slice(sequence.draft.computed());
        rows.push(SequenceRows { start: chunk.start, len: chunk.len, pages: chunk.pages.clone() });
        let prompt = sequence.request.prompt.len().saturating_sub(chunk.start).min(known);
        stats.prefilled += prompt;
        stats.decoded += known - prompt;
        stats.guessed += chunk.guessed;
        if chunk.samples {
            wanted.push((chunk.sequence, last..=last + chunk.guessed as u32));
        }
    }
    let longest = chunks.iter().map(|chunk| chunk.len).max().unwrap_or(0);
    stats.padding_avoided += longest * chunks.len() - tokens.len();
    stats.peak_rows = stats.peak_rows.max(chunks.len());
    let batch = Batch::new(tokens, rows, wanted.iter().flat_map(|(_, rows)| rows.clone()).collect());
    stats.page_reads += batch.plan().page_reads();
    stats.page_reads_unshared += batch.plan().page_reads_unshared();
    let logits = decoder.forward(&batch, kv)?;
    stats.steps += 1;
    Ok(Step { logits, places: wanted.into_iter().map(|(sequence, rows)| (sequence, rows.count())).collect(), started })
}

//! Packs a step's chunks into one batch and runs the decoder over it.

use super::draft::Source;
use super::next_token::failed;
use super::request::TokenLogprobs;
use super::scheduler::{Chunk, Scheduler};
use super::scoring::{self, Target};
use super::stats::Stats;
use crate::error::{MootError, Result};
use crate::generation::Logprobs;
use candle_core::Tensor;
use moot_models::kernels::StateRows;
use moot_models::{Batch, KvCache, Model, Replays, SequenceRows};
use std::ops::Range;
use std::time::Instant;

/// Results of a forward pass; a GPU may still be computing the logits.
pub(super) struct Step {
    /// `[rows, vocab]`, of the rows to sample from.
    pub logits: Tensor,
    /// Running sequences in the order of their rows, and how many each has: after its last known token, then after each
    /// draft token.
    pub sampling: Vec<(usize, usize)>,
    /// Scored tokens of prefills, each with its running sequence; those of a sequence are in the order of positions.
    pub scores: Vec<(usize, TokenLogprobs)>,
    /// When it began.
    pub started: Instant,
}

/// A step's tokens, packed, and the rows of them whose logits are needed.
#[derive(Default)]
struct Packed {
    tokens: Vec<u32>,
    /// The sequences, with their pages of each group of layers.
    rows: Vec<Vec<SequenceRows>>,
    /// The recurrent state of each sequence, where the model has such.
    states: Vec<StateRows>,
    /// Running sequences that sample, with their rows.
    sampled: Vec<(usize, Range<u32>)>,
    /// Rows that score the token after them.
    scored: Vec<u32>,
}

/// One step over `chunks`: a forward pass, or two where given tokens are computed apart from generated ones.
///
/// # Errors
/// The forward failed.
pub(super) fn run(
    model: &Model,
    (kv, replays): (&KvCache, &mut Replays),
    scheduler: &Scheduler,
    chunks: &[Chunk],
    stats: &mut Stats,
) -> Result<Step> {
    let started = Instant::now();
    let (given, generated): (Vec<&Chunk>, Vec<&Chunk>) = chunks.iter().partition(|chunk| chunk.given);
    let mut step: Option<Step> = None;
    for (chunks, of_prompts) in [(generated, false), (given, true)].into_iter().filter(|(chunks, _)| !chunks.is_empty())
    {
        let next = pass(model, (kv, &mut *replays), (scheduler, &chunks), (of_prompts, started), stats)?;
        step = Some(match step {
            Some(first) => first.and(next)?,
            None => next,
        });
    }
    stats.steps += 1;
    stats.enqueue_seconds += started.elapsed().as_secs_f64();
    step.ok_or_else(|| MootError::Engine("a step without tokens (bug)".into()))
}

impl Step {
    /// Both passes of a step.
    fn and(self, next: Self) -> Result<Self> {
        let logits = match (self.sampling.is_empty(), next.sampling.is_empty()) {
            (_, true) => self.logits,
            (true, _) => next.logits,
            _ => Tensor::cat(&[self.logits, next.logits], 0).map_err(failed)?,
        };
        let (sampling, scores) = ([self.sampling, next.sampling].concat(), [self.scores, next.scores].concat());
        Ok(Self { logits, sampling, scores, started: self.started })
    }
}

/// One forward pass over `chunks`.
fn pass(
    model: &Model,
    (kv, replays): (&KvCache, &mut Replays),
    (scheduler, chunks): (&Scheduler, &[&Chunk]),
    (of_prompts, started): (bool, Instant),
    stats: &mut Stats,
) -> Result<Step> {
    let (packed, targets) = pack(scheduler, chunks, stats);
    let Packed { tokens, rows, states, sampled, scored } = packed;
    // Rows to sample from first: their logits are those of the whole tensor where nothing is scored.
    let needed = sampled.iter().flat_map(|(_, rows)| rows.clone()).chain(scored).collect();
    let batch = Batch::in_groups(tokens, rows, needed, scheduler.groups()).with_states(states);
    let batch = if of_prompts { batch.of_prompts() } else { batch };
    let sampling: Vec<(usize, usize)> = sampled.into_iter().map(|(sequence, rows)| (sequence, rows.count())).collect();
    let mut scores = Vec::new();
    // A replayed step returns logits only; scoring needs hidden states.
    let replayed = if targets.is_empty() { replays.forward(&model.decoder, &batch, kv)? } else { None };
    let logits = match replayed {
        Some(logits) => logits,
        None => {
            let mut hidden = model.decoder.hidden(&batch, kv)?;
            if !targets.is_empty() {
                let count = sampling.iter().map(|(_, count)| count).sum();
                let narrow = |start, len| hidden.narrow(0, start, len).map_err(failed);
                scores = scoring::score(model, &narrow(count, targets.len())?, &targets)?;
                hidden = narrow(0, count)?;
            }
            model.decoder.logits(&hidden)?
        }
    };
    stats.page_reads += batch.plan().page_reads();
    stats.page_reads_unshared += batch.plan().page_reads_unshared();
    stats.scored += scores.len();
    if of_prompts {
        stats.prefilled_in_bf16 += batch.tokens();
    }
    Ok(Step { logits, sampling, scores, started })
}

/// Packs the tokens of `chunks`; with the tokens to score, one a row of [`Packed::scored`].
fn pack<'a>(scheduler: &'a Scheduler, chunks: &[&Chunk], stats: &mut Stats) -> (Packed, Vec<Target<'a>>) {
    static ITS_OWN: Logprobs = Logprobs { top: 0, watch: Vec::new() };
    let (mut packed, mut targets) = (Packed::default(), Vec::new());
    for chunk in chunks {
        let sequence = &scheduler.running[chunk.sequence];
        let (first, known) = (packed.tokens.len(), chunk.len - chunk.drafted);
        packed.tokens.extend_from_slice(&sequence.tokens[chunk.start..chunk.start + known]);
        packed.tokens.extend_from_slice(sequence.draft.computed());
        packed.rows.resize_with(chunk.pages.len(), Vec::new);
        for (rows, pages) in packed.rows.iter_mut().zip(&chunk.pages) {
            rows.push(SequenceRows { start: chunk.start, len: chunk.len, pages: pages.clone() });
        }
        packed.states.extend(chunk.state.clone());
        for position in chunk.scored.clone() {
            packed.scored.push((first + position - chunk.start) as u32);
            let logprobs = sequence.request.logprobs.as_ref().unwrap_or(&ITS_OWN);
            targets.push(Target { sequence: chunk.sequence, token: sequence.tokens[position + 1], logprobs });
        }
        if chunk.samples {
            // The row of the last known token, and those of the draft tokens, which it and they verify.
            let last = (first + known - 1) as u32;
            packed.sampled.push((chunk.sequence, last..last + 1 + chunk.drafted as u32));
        }
        let given = sequence.given(chunk.start..chunk.start + known);
        stats.prefilled += given;
        stats.decoded += known - given;
        stats.drafted += chunk.drafted;
        if sequence.draft.source() == Source::Grammar {
            stats.drafted_by_grammar += chunk.drafted;
        }
    }
    // A padded batch would have a row as long as its longest chunk for each sequence.
    let longest = chunks.iter().map(|chunk| chunk.len).max().unwrap_or(0);
    stats.padding_avoided += longest * chunks.len() - packed.tokens.len();
    stats.peak_rows = stats.peak_rows.max(chunks.len());
    (packed, targets)
}

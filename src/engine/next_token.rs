//! From a step's logits to the next token of each sequence. On the CPU each sequence gets its rows of logits and samples
//! itself; on a CUDA device a kernel masks and samples, so that a step brings back one word a row. Where a self-test found
//! that kernel wrong, and on Metal, the logits come to the CPU.

use super::sequence::Sequence;
use crate::error::{MootError, Result};
use candle_core::Tensor;
use moot_models::Model;
use moot_models::kernels::launch::{Choice, NO_MASK};
use moot_models::kernels::ops::sample::sample;
use moot_models::kernels::{KernelGroup, has_kernels, read_back};
use rayon::prelude::*;

/// The result of a step for one running sequence.
pub(super) enum Next {
    /// Logits to sample from, `[rows, vocab]` in the CPU's memory: after the last known token, then after each draft token.
    Logits(Tensor),
    /// The sampled token; `None` where no allowed logit is a number.
    Token(Option<u32>),
    /// Its grammar failed.
    Failed(MootError),
}

/// The next token of each running sequence; `None` if it does not sample in this step. Rows of `logits` are those of
/// the `sampling` sequences, each an index and its number of rows; on a GPU, where nothing is drafted, one each.
///
/// # Errors
/// The device failed.
pub(super) fn next(
    logits: &Tensor,
    sampling: &[(usize, usize)],
    running: &mut [Sequence],
    model: &Model,
) -> Result<Vec<Option<Next>>> {
    let mut next: Vec<Option<Next>> = running.iter().map(|_| None).collect();
    if sampling.is_empty() {
        return Ok(next);
    }
    let device = logits.device();
    if device.is_cuda() && has_kernels(device, KernelGroup::Sampling) {
        let indices: Vec<usize> = sampling.iter().map(|(index, _)| *index).collect();
        on_gpu(logits, &indices, running, model, &mut next)?;
    } else {
        let logits = read_back(logits).map_err(failed)?;
        let mut row = 0;
        for &(index, count) in sampling {
            next[index] = Some(Next::Logits(logits.narrow(0, row, count).map_err(failed)?));
            row += count;
        }
    }
    Ok(next)
}

pub(super) fn failed(error: candle_core::Error) -> MootError {
    MootError::Engine(moot_models::kernels::without_backtrace(error).to_string())
}

/// How a GPU samples a row: with the mask's words, where it has one.
type RowChoice = Result<(Choice, Option<Vec<u32>>)>;

/// Takes the first of equal logits, without a mask.
const LIKELIEST: Choice = Choice { temperature: 0.0, top_p: 1.0, draw: 0.0, top_k: 0, mask: NO_MASK };

fn on_gpu(
    logits: &Tensor,
    indices: &[usize],
    running: &mut [Sequence],
    model: &Model,
    next: &mut [Option<Next>],
) -> Result<()> {
    let mut samples = vec![false; running.len()];
    indices.iter().for_each(|&index| samples[index] = true);
    // Grammars are asked while the GPU still computes the logits.
    let choice = |(sequence, samples): (&mut Sequence, bool)| samples.then(|| row_choice(sequence, model));
    let mut row_choices: Vec<Option<RowChoice>> = running.par_iter_mut().zip(samples).map(choice).collect();
    let (mut choices, mut masks) = (Vec::with_capacity(indices.len()), Vec::new());
    let words = model.tokenizer.vocab_size().div_ceil(32);
    for &index in indices {
        let mut choice = LIKELIEST;
        match row_choices[index].take() {
            Some(Ok((own, mask))) => {
                choice = own;
                if let Some(mask) = mask {
                    choice.mask = (masks.len() / words) as u32;
                    masks.extend(mask);
                }
            }
            Some(Err(error)) => next[index] = Some(Next::Failed(error)),
            None => {}
        }
        // Also for a row whose grammar failed, so that choices match the rows of logits.
        choices.push(choice);
    }
    let tokens = sample(logits, model.tokenizer.vocab_size(), &choices, &masks).map_err(failed)?;
    for (row, (&index, token)) in indices.iter().zip(tokens).enumerate() {
        if next[index].is_some() {
            continue;
        }
        next[index] = Some(if reports_logprobs(&running[index]) {
            // Copied first, because reading back a view reads all rows.
            let row = logits.narrow(0, row, 1).and_then(|row| read_back(&row.force_contiguous()?));
            Next::Logits(row.map_err(failed)?)
        } else {
            Next::Token(token)
        });
    }
    Ok(())
}

/// Whether log-probabilities of the next token are reported. They need the logits of all tokens, so such a row comes back
/// from a GPU whole.
pub(super) fn reports_logprobs(sequence: &Sequence) -> bool {
    sequence.request.logprobs.is_some() && sequence.thinking.is_none()
}

/// How the GPU samples for `sequence`.
fn row_choice(sequence: &mut Sequence, model: &Model) -> RowChoice {
    if reports_logprobs(sequence) {
        // Its grammar and its generator are asked where its logits are.
        return Ok((LIKELIEST, None));
    }
    let mask = mask(sequence, model)?;
    Ok((sequence.sampler.choice(), mask))
}

/// The tokens that may come next, a bit each: without those that the grammar forbids, and without end-of-turn tokens where
/// they are ignored. `None` allows all.
pub(super) fn mask(sequence: &mut Sequence, model: &Model) -> Result<Option<Vec<u32>>> {
    let vocab = model.tokenizer.vocab_size();
    let mut mask = match &mut sequence.constraint {
        Some(constraint) if sequence.thinking.is_none() => Some(constraint.mask(vocab)?),
        // Thoughts are free: the grammar applies to the reply.
        _ => None,
    };
    if sequence.request.ignore_eos {
        let words = mask.get_or_insert_with(|| vec![u32::MAX; vocab.div_ceil(32)]);
        model.tokenizer.eos_ids().iter().for_each(|&id| words[id as usize / 32] &= !(1 << (id % 32)));
    }
    Ok(mask)
}

//! From a step's logits to what each sequence goes on with: the logits themselves where they are on the CPU, a token where
//! they are on a GPU, whose kernel masks and samples there, so that a step brings back a word a row.

use super::sequence::Sequence;
use crate::error::{MootError, Result};
use candle_core::{Device, Tensor};
use moot_models::Model;
use moot_models::kernels::launch::{Choice, NO_MASK};
use moot_models::kernels::ops::sample::sample;
use rayon::prelude::*;

/// What one running sequence goes on with.
pub(super) enum Drawn {
    /// Logits to choose from, `[rows, vocab]` in the CPU's memory: after the last known token, then after each guessed one.
    Logits(Tensor),
    /// What was chosen; `None` where no allowed logit is a number.
    Token(Option<u32>),
    /// Its grammar failed.
    Failed(MootError),
}

/// For every running sequence what it goes on with, `None` where this step was not its turn. Rows of `logits` are those of
/// the sequences at `places`, as many as each has there; on a GPU, where nothing is guessed, one each.
///
/// # Errors
/// The device failed.
pub(super) fn draw(
    logits: &Tensor,
    places: &[(usize, usize)],
    running: &mut [Sequence],
    model: &Model,
) -> Result<Vec<Option<Drawn>>> {
    let mut drawn: Vec<Option<Drawn>> = running.iter().map(|_| None).collect();
    if places.is_empty() {
        return Ok(drawn);
    }
    if logits.device().is_cuda() {
        let places: Vec<usize> = places.iter().map(|(place, _)| *place).collect();
        on_gpu(logits, &places, running, model, &mut drawn)?;
    } else {
        let logits = logits.to_device(&Device::Cpu).map_err(failed)?;
        let mut row = 0;
        for &(place, count) in places {
            drawn[place] = Some(Drawn::Logits(logits.narrow(0, row, count).map_err(failed)?));
            row += count;
        }
    }
    Ok(drawn)
}

pub(super) fn failed(error: candle_core::Error) -> MootError {
    MootError::Engine(moot_models::kernels::without_backtrace(error).to_string())
}

/// How a row is to be sampled: with the mask's words, where it has one.
type Wish = Result<(Choice, Option<Vec<u32>>)>;

fn on_gpu(
    logits: &Tensor,
    places: &[usize],
    running: &mut [Sequence],
    model: &Model,
    drawn: &mut [Option<Drawn>],
) -> Result<()> {
    let mut wanted = vec![false; running.len()];
    places.iter().for_each(|&place| wanted[place] = true);
    // Grammars are asked while the GPU still computes the logits.
    let wish = |(sequence, wanted): (&mut Sequence, bool)| wanted.then(|| wish(sequence, model));
    let mut wishes: Vec<Option<Wish>> = running.par_iter_mut().zip(wanted).map(wish).collect();
    let (mut choices, mut masks) = (Vec::with_capacity(places.len()), Vec::new());
    let words = model.tokenizer.vocab_size().div_ceil(32);
    for &place in places {
        let mut choice = Choice { temperature: 0.0, top_p: 1.0, draw: 0.0, top_k: 0, mask: NO_MASK };
        match wishes[place].take() {
            Some(Ok((wished, mask))) => {
                choice = wished;
                if let Some(mask) = mask {
                    choice.mask = (masks.len() / words) as u32;
                    masks.extend(mask);
                }
            }
            Some(Err(error)) => drawn[place] = Some(Drawn::Failed(error)),
            None => {}
        }
        choices.push(choice);
    }
    let tokens = sample(logits, model.tokenizer.vocab_size(), &choices, &masks).map_err(failed)?;
    for (row, (&place, token)) in places.iter().zip(tokens).enumerate() {
        let sequence = &running[place];
        if drawn[place].is_some() {
            continue;
        }
        // Log-probabilities are of all tokens: such a row comes back whole.
        drawn[place] = Some(if sequence.request.logprobs.is_some() && sequence.thinking.is_none() {
            // A copy of its own first: a view would bring back all rows with it.
            let row = logits.narrow(0, row, 1).and_then(|row| row.force_contiguous()?.to_device(&Device::Cpu));
            Drawn::Logits(row.map_err(failed)?)
        } else {
            Drawn::Token(token)
        });
    }
    Ok(())
}

/// How the GPU is to sample for `sequence`.
fn wish(sequence: &mut Sequence, model: &Model) -> Wish {
    let whole = sequence.request.logprobs.is_some() && sequence.thinking.is_none();
    if whole {
        // Its grammar and its generator are asked where its logits are.
        return Ok((Choice { temperature: 0.0, top_p: 1.0, draw: 0.0, top_k: 0, mask: NO_MASK }, None));
    }
    let mask = mask(sequence, model)?;
    Ok((sequence.sampler.choice(), mask))
}

/// The tokens that may come next, a bit each: without what the grammar forbids, and without ends of turn that are to be
/// ignored. `None` for all.
pub(super) fn mask(sequence: &mut Sequence, model: &Model) -> Result<Option<Vec<u32>>> {
    let vocab = model.tokenizer.vocab_size();
    let mut mask = match &mut sequence.constraint {
        Some(constraint) if sequence.thinking.is_none() => Some(constraint.mask(vocab)?),
        _ => None,
    };
    if sequence.request.ignore_eos {
        let words = mask.get_or_insert_with(|| vec![u32::MAX; vocab.div_ceil(32)]);
        model.tokenizer.eos_ids().iter().for_each(|&id| words[id as usize / 32] &= !(1 << (id % 32)));
    }
    Ok(mask)
}

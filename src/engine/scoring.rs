//! Log-probabilities of given tokens from the hidden states before them. Logits are computed a block of rows at a time and
//! reduced at once, so that a long span never has all its logits in memory.

use super::next_token::failed;
use super::request::TokenLogprobs;
use super::sampler;
use crate::error::Result;
use crate::generation::Logprobs;
use candle_core::Tensor;
use moot_models::Model;
use moot_models::kernels::ops::read_floats;
use moot_models::kernels::read_back;
use rayon::prelude::*;

/// Rows whose logits are in memory at once: those of the default batch, for which working memory is planned.
const BLOCK: usize = 64;

/// A token to score by the row of logits before it.
pub(super) struct Target<'a> {
    /// Its sequence's index among the running ones.
    pub sequence: usize,
    pub token: u32,
    pub logprobs: &'a Logprobs,
}

/// Scores each of `targets` by its row of `hidden`, `[targets, hidden]`; each with its sequence, in their order.
///
/// # Errors
/// The device failed.
pub(super) fn score(model: &Model, hidden: &Tensor, targets: &[Target]) -> Result<Vec<(usize, TokenLogprobs)>> {
    let vocab = model.tokenizer.vocab_size();
    let mut scores = Vec::with_capacity(targets.len());
    for (block, targets) in targets.chunks(BLOCK).enumerate() {
        let hidden = hidden.narrow(0, block * BLOCK, targets.len()).map_err(failed)?;
        let logits = read_back(&model.decoder.logits(&hidden)?).map_err(failed)?;
        let width = logits.dim(1).map_err(failed)?;
        let reduce = |logits: &[f32]| -> Vec<(usize, TokenLogprobs)> {
            let rows = logits.par_chunks_exact(width).zip(targets);
            rows.map(|(row, target)| (target.sequence, sampler::logprobs(&row[..vocab], target.token, target.logprobs)))
                .collect()
        };
        scores.extend(read_floats(&logits, reduce).map_err(failed)?);
    }
    Ok(scores)
}

//! From logits on a GPU to tokens, so that a step reads back one word a row and not all logits. Logits on the CPU are
//! sampled by the engine.

use super::upload;
use crate::gpu::read_back;
use crate::launch::Choice;
use candle_core::{CpuStorage, CudaStorage, CustomOp1, Layout, Result, Shape, Tensor, bail};

/// A token for each row of `logits`, f32 `[rows, stride]`, among the first `vocab`: as its choice says, of those whose
/// bit is set in its mask. `masks` has `vocab.div_ceil(32)` words a mask. `None` where no allowed logit is a number.
///
/// # Errors
/// Logits that are not on a CUDA device, or counts that do not fit.
pub fn sample(logits: &Tensor, vocab: usize, choices: &[Choice], masks: &[u32]) -> Result<Vec<Option<u32>>> {
    let (rows, stride) = logits.dims2()?;
    let (words, device) = (vocab.div_ceil(32), logits.device());
    let known = masks.len() / words.max(1);
    let unknown = choices.iter().any(|c| c.mask != crate::launch::NO_MASK && c.mask as usize >= known);
    if rows != choices.len() || vocab > stride || masks.len() != known * words || unknown {
        bail!("sample: {rows} rows of {stride}, {} choices of {vocab}, {} words of masks", choices.len(), masks.len());
    }
    if rows == 0 {
        return Ok(Vec::new());
    }
    let choices: Vec<u32> = choices.iter().flat_map(Choice::words).collect();
    let (choices, masks) = (upload(&choices, device)?, upload(masks, device)?);
    let op = Sample { masks: &masks, choices: &choices, vocab };
    let tokens: Vec<u32> = read_back(&logits.contiguous()?.apply_op1_no_bwd(&op)?)?.to_vec1()?;
    Ok(tokens.into_iter().map(|token| (token != u32::MAX).then_some(token)).collect())
}

struct Sample<'a> {
    masks: &'a Tensor,
    choices: &'a Tensor,
    vocab: usize,
}

impl CustomOp1 for Sample<'_> {
    fn name(&self) -> &'static str {
        "sample"
    }

    fn cpu_fwd(&self, _: &CpuStorage, _: &Layout) -> Result<(CpuStorage, Shape)> {
        bail!("sample: expected logits on a CUDA device, found them on the CPU")
    }

    fn cuda_fwd(&self, logits: &CudaStorage, layout: &Layout) -> Result<(CudaStorage, Shape)> {
        let tokens = crate::cuda::sample((logits, layout), self.masks, self.choices, self.vocab)?;
        Ok((tokens, Shape::from(layout.dims()[0])))
    }
}

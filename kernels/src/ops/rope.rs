//! Rotary position embedding.

use super::{cpu_table, f32_slice, filled};
use crate::gpu::{KernelGroup, has_kernels};
use crate::math::sin_cos;
use candle_core::{CpuStorage, CudaStorage, CustomOp3, Layout, Result, Shape, Tensor, bail};
use rayon::prelude::*;
use std::mem::MaybeUninit;

/// Numbers from which several threads share the tokens: a few microseconds' work.
const PARALLEL_FROM: usize = 8192;

/// Rotary embedding in halves (GPT-NeoX order): `x` is `[tokens, heads, head_dim]`, `cos` and `sin` are
/// `[tokens, head_dim / 2]`, the row of each token's own position; on a CUDA device they are f32.
///
/// # Errors
/// Shapes or types that do not fit.
pub fn rope(x: &Tensor, cos: &Tensor, sin: &Tensor) -> Result<Tensor> {
    if has_kernels(x.device(), KernelGroup::Attention) {
        return x.contiguous()?.apply_op3_no_bwd(&cos.contiguous()?, &sin.contiguous()?, &Rotate);
    }
    reference(x, cos, sin)
}

/// The reference by Candle's own kernel, in the type of the angles; devices without one of ours use it.
///
/// # Errors
/// Shapes that do not fit.
pub fn reference(x: &Tensor, cos: &Tensor, sin: &Tensor) -> Result<Tensor> {
    let wide = x.to_dtype(cos.dtype())?;
    candle_nn::rotary_emb::rope_thd(&wide.unsqueeze(0)?.contiguous()?, cos, sin)?.squeeze(0)?.to_dtype(x.dtype())
}

/// Cosines and then sines of every position's angles, `[2, positions, pairs]`: pair `i` turns by `speeds[i]` radians a
/// position, and its cosine and sine are multiplied by `magnitudes[i]`.
///
/// An angle is the f32 product of position and speed, as in the reference implementations; [`crate::math::sin_cos`]
/// states the error of the rest. The bits are the same on every system.
///
/// # Errors
/// As many magnitudes as speeds are needed.
pub fn tables(positions: &[u32], speeds: &[f32], magnitudes: &[f32]) -> Result<Vec<f32>> {
    /// Positions of a task at least: the few of a decoding step are not worth several threads.
    const POSITIONS: usize = 64;
    let pairs = speeds.len();
    if magnitudes.len() != pairs {
        bail!("rope: {pairs} speeds, {} magnitudes", magnitudes.len());
    }
    let mut both = vec![0.0; 2 * positions.len() * pairs];
    let (cos, sin) = both.split_at_mut(positions.len() * pairs);
    let rows = cos.par_chunks_mut(pairs.max(1)).zip(sin.par_chunks_mut(pairs.max(1))).zip(positions);
    rows.with_min_len(POSITIONS).for_each(|((cos, sin), &position)| {
        for ((cos, sin), (speed, magnitude)) in cos.iter_mut().zip(sin).zip(speeds.iter().zip(magnitudes)) {
            let (s, c) = sin_cos(position as f32 * speed);
            (*cos, *sin) = (c * magnitude, s * magnitude);
        }
    });
    Ok(both)
}

struct Rotate;

impl CustomOp3 for Rotate {
    fn name(&self) -> &'static str {
        "rope"
    }

    fn cpu_fwd(
        &self,
        x: &CpuStorage,
        x_layout: &Layout,
        cos: &CpuStorage,
        cos_layout: &Layout,
        sin: &CpuStorage,
        sin_layout: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        let (_, heads, dim) = x_layout.shape().dims3()?;
        check(x_layout, cos_layout, sin_layout)?;
        let x = f32_slice("rope", x, x_layout)?;
        let (cos, sin) = (f32_slice("rope", cos, cos_layout)?, f32_slice("rope", sin, sin_layout)?);
        let table = cpu_table()?;
        let width = (heads * dim).max(1);
        let token = |(i, (x, out)): (usize, (&[f32], &mut [MaybeUninit<f32>]))| {
            let (cos, sin) = (&cos[i * dim / 2..][..dim / 2], &sin[i * dim / 2..][..dim / 2]);
            // SAFETY: the table was chosen by what this machine can run; lengths as checked above.
            #[allow(unsafe_code)]
            unsafe {
                (table.rope)(x, cos, sin, out.as_mut_ptr().cast());
            }
        };
        // SAFETY: every token writes all of its heads.
        #[allow(unsafe_code)]
        let out = unsafe {
            filled(x.len(), |out| {
                if x.len() < PARALLEL_FROM {
                    return x.chunks(width).zip(out.chunks_mut(width)).enumerate().for_each(token);
                }
                let tokens = x.par_chunks(width).zip(out.par_chunks_mut(width)).enumerate();
                tokens.with_min_len((PARALLEL_FROM / width / 2).max(1)).for_each(token);
            })
        };
        Ok((CpuStorage::F32(out), x_layout.shape().clone()))
    }

    fn cuda_fwd(
        &self,
        x: &CudaStorage,
        x_layout: &Layout,
        cos: &CudaStorage,
        cos_layout: &Layout,
        sin: &CudaStorage,
        sin_layout: &Layout,
    ) -> Result<(CudaStorage, Shape)> {
        check(x_layout, cos_layout, sin_layout)?;
        let out = crate::cuda::rope((x, x_layout), (cos, cos_layout), (sin, sin_layout))?;
        Ok((out, x_layout.shape().clone()))
    }
}

/// Whether there is a row of cosines and sines for every token.
fn check(x: &Layout, cos: &Layout, sin: &Layout) -> Result<()> {
    let (tokens, heads, dim) = x.shape().dims3()?;
    let angles = [cos, sin].map(|layout| layout.shape().dims().to_vec());
    if dim % 2 != 0 || angles.iter().any(|shape| *shape != [tokens, dim / 2]) {
        bail!("rope: x is [{tokens}, {heads}, {dim}], cos and sin are {angles:?}");
    }
    Ok(())
}

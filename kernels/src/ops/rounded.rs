//! Activations rounded to bf16, in which form [`Weight`](crate::Weight) multiplies them by tiles.

use super::{cpu_table, f32_slice};
use candle_core::{CpuStorage, CustomOp1, DType, Layout, Result, Shape, Tensor};
use half::bf16;
use half::slice::HalfFloatSliceExt;
use rayon::prelude::*;
use std::mem::MaybeUninit;

/// `x` as bf16: the nearest numbers, of two as near the one away from zero.
///
/// # Errors
/// On the CPU another type than f32.
pub fn rounded(x: &Tensor) -> Result<Tensor> {
    if x.device().is_cpu() { x.contiguous()?.apply_op1_no_bwd(&Rounded) } else { x.to_dtype(DType::BF16) }
}

struct Rounded;

impl CustomOp1 for Rounded {
    fn name(&self) -> &'static str {
        "rounded"
    }

    fn cpu_fwd(&self, storage: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        /// Values of a task: a few microseconds' work.
        const CHUNK: usize = 16384;
        let x = f32_slice("rounded", storage, layout)?;
        let kernel = cpu_table()?.round_bf16;
        let mut out: Vec<bf16> = Vec::with_capacity(x.len());
        // SAFETY: the table was chosen by what this machine can run, and writes as many values as it is given, all of them.
        #[allow(unsafe_code)]
        unsafe {
            let room = &mut out.spare_capacity_mut()[..x.len()];
            let parts = x.par_chunks(CHUNK).zip(room.par_chunks_mut(CHUNK));
            parts.for_each(|(x, out): (_, &mut [MaybeUninit<bf16>])| kernel(x, out.as_mut_ptr().cast()));
            out.set_len(x.len());
        }
        Ok((CpuStorage::BF16(out), layout.shape().clone()))
    }
}

/// The bits of contiguous bf16 on the CPU.
pub(super) fn bf16_bits<'a>(op: &'static str, storage: &'a CpuStorage, layout: &Layout) -> Result<&'a [u16]> {
    Ok(super::slice::<bf16>(op, storage, layout)?.reinterpret_cast())
}

//! `cap * tanh(x / cap)`: numbers are kept within a cap (logits of Gemma 2 and 4).

use super::f32_slice;
use crate::math::exp_f32;
use candle_core::{CpuStorage, CustomOp1, Layout, Result, Shape, Tensor};
use rayon::prelude::*;

/// `cap * tanh(x / cap)` of each number; f32 on the CPU, with the same bits on every system.
///
/// # Errors
/// A failed operation.
pub fn capped(x: &Tensor, cap: f32) -> Result<Tensor> {
    match x.device().is_cpu() {
        true => x.contiguous()?.apply_op1_no_bwd(&Capped(cap)),
        false => (x / f64::from(cap))?.tanh()? * f64::from(cap),
    }
}

struct Capped(f32);

impl CustomOp1 for Capped {
    fn name(&self) -> &'static str {
        "capped"
    }

    fn cpu_fwd(&self, storage: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        let x = f32_slice("capped", storage, layout)?;
        let out = x.par_iter().with_min_len(4096).map(|x| self.0 * tanh(x / self.0)).collect();
        Ok((CpuStorage::F32(out), layout.shape().clone()))
    }
}

/// Within 2 ulp of 1 of the hyperbolic tangent.
fn tanh(x: f32) -> f32 {
    let power = exp_f32(-2.0 * x.abs());
    ((1.0 - power) / (1.0 + power)).copysign(x)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use candle_core::Device;

    #[test]
    fn numbers_stay_within_the_cap_in_their_order() {
        let x = [-1e30_f32, -60.0, -30.0, -1.0, -1e-4, 0.0, 0.25, 15.0, 90.0, f32::INFINITY];
        let capped = capped(&Tensor::new(&x, &Device::Cpu).unwrap(), 30.0).unwrap().to_vec1::<f32>().unwrap();
        for (x, found) in x.iter().zip(&capped) {
            let expected = 30.0 * (f64::from(*x) / 30.0).tanh();
            assert!((f64::from(*found) - expected).abs() < 1e-5, "{x}: {found}, not {expected}");
        }
        assert!(capped.is_sorted() && tanh(f32::NAN).is_nan());
    }
}

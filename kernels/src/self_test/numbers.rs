//! Numbers that the checks compute with, and comparisons of results.

use crate::gpu::read_back;
use candle_core::{DType, Device, Error, Result, Tensor};
use std::cell::RefCell;

/// The type of activations.
pub(super) fn working(device: &Device) -> DType {
    if device.is_cpu() { DType::F32 } else { DType::BF16 }
}

/// Largest `‖found - expected‖ / ‖expected‖`: bf16 leaves 0.004, a wrong row leaves more.
pub(super) const CLOSE: f32 = 0.02;

/// Numbers about 0 of deviation 1, the same for a seed, rounded to `dtype`: as f32 on the CPU, and on `device`.
pub(super) fn numbers(seed: u64, shape: &[usize], dtype: DType, device: &Device) -> Result<[Tensor; 2]> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut uniform = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / (1 << 24) as f32 - 0.5
    };
    // The sum of twelve has variance one.
    let values: Vec<f32> = (0..shape.iter().product()).map(|_| (0..12).map(|_| uniform()).sum()).collect();
    let cpu = Tensor::from_vec(values, shape, &Device::Cpu)?.to_dtype(dtype)?;
    Ok([cpu.to_dtype(DType::F32)?, cpu.to_device(device)?])
}

/// A check of one device. It keeps what it has compared, so that no output lands in memory that holds an earlier one: a
/// kernel that writes nothing would leave that, and it may be right.
pub(super) struct Test<'a> {
    pub(super) device: &'a Device,
    outputs: RefCell<Vec<Tensor>>,
}

impl<'a> Test<'a> {
    pub(super) fn of(device: &'a Device) -> Self {
        Self { device, outputs: RefCell::default() }
    }

    /// As [`close`].
    pub(super) fn close(&self, what: &str, found: &Tensor, expected: &Tensor, most: f32) -> Result<()> {
        self.outputs.borrow_mut().push(found.clone());
        close(what, found, expected, most)
    }

    /// An error where the bits of `alone` and `found` differ.
    pub(super) fn same_bits(&self, what: &str, alone: &Tensor, found: &Tensor) -> Result<()> {
        self.outputs.borrow_mut().extend([alone.clone(), found.clone()]);
        same_bits(what, alone, found)
    }
}

fn close(what: &str, found: &Tensor, expected: &Tensor, most: f32) -> Result<()> {
    let found = read_back(found)?.to_dtype(DType::F32)?;
    let length = |x: &Tensor| x.sqr()?.sum_all()?.to_scalar::<f32>();
    let off = (length(&(&found - expected)?)? / length(expected)?).sqrt();
    // False for NaN.
    if off <= most { Ok(()) } else { Err(Error::Msg(format!("{what} is off by {off:.1e}, expected {most} at most"))) }
}

fn same_bits(what: &str, alone: &Tensor, found: &Tensor) -> Result<()> {
    // A sum, since a maximum may pass over what is not a number.
    let apart = (alone.to_dtype(DType::F32)? - found.to_dtype(DType::F32)?)?.abs()?.sum_all()?;
    let apart = read_back(&apart)?.to_scalar::<f32>()?;
    if apart == 0.0 {
        return Ok(());
    }
    Err(Error::Msg(format!("{what}: rows alone are off by {apart:.1e} in all from the same in a batch")))
}

/// Numbers of rows for which libraries choose different kernels.
pub(super) const ROWS: [usize; 7] = [1, 2, 5, 8, 9, 65, MOST_ROWS];
pub(super) const MOST_ROWS: usize = 130;

/// The first `rows` rows of both, each in memory of its own.
pub(super) fn first([cpu, on_device]: &[Tensor; 2], rows: usize) -> Result<[Tensor; 2]> {
    Ok([cpu.narrow(0, 0, rows)?.force_contiguous()?, on_device.narrow(0, 0, rows)?.force_contiguous()?])
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn other_numbers_and_unwritten_memory_are_not_close() {
        let x = Tensor::new(&[1_f32, 2.0], &Device::Cpu).unwrap();
        let other = Tensor::new(&[1_f32, 2.2], &Device::Cpu).unwrap();
        let unwritten = Tensor::new(&[1_f32, f32::NAN], &Device::Cpu).unwrap();
        assert!(close("x", &x, &x, 0.0).is_ok());
        assert!(close("x", &other, &x, 0.02).is_err() && close("x", &unwritten, &x, 1e9).is_err());
    }

    #[test]
    fn what_was_compared_is_kept() {
        let (test, x) = (Test::of(&Device::Cpu), Tensor::new(&[1_f32, 2.0], &Device::Cpu).unwrap());
        test.close("x", &x, &x, 0.0).unwrap();
        test.same_bits("x", &x, &x).unwrap();
        assert!(test.outputs.borrow().iter().map(Tensor::id).eq([x.id(); 3]));
    }
}

//! Whether a GPU computes what the CPU computes: the ops of a step at small sizes, ours and Candle's.
//!
//! A kernel that was compiled for another GPU, or a driver that does not fit, may do nothing and report nothing. So the
//! device's free memory is filled with NaN first, and what a kernel leaves unwritten is not a number.

mod attention;
mod blocks;
mod numbers;

pub use blocks::BLOCKS;

use crate::cpu::Gate;
use crate::gpu::{KernelGroup, has_kernels, release_unused};
use crate::launch::{Choice, NO_MASK};
use crate::ops::{add_norm, bidirectional, gated, norm, sample};
use crate::{Texts, Weight};
use attention::attention;
use blocks::blocks;
use candle_core::{DType, Device, Error, Result, Tensor};
use numbers::{CLOSE, MOST_ROWS, ROWS, Test, first, numbers, working};

/// A check that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// What was checked.
    pub check: &'static str,
    /// The kernels that were checked and can be [done without](crate::distrust); `None` of Candle's operations, which
    /// nothing replaces.
    pub group: Option<KernelGroup>,
    /// What was found, in a line.
    pub reason: String,
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.check, self.reason)
    }
}

type Check = fn(&Test<'_>) -> Result<()>;

/// Compares the ops on `device` with their references on the CPU. Empty where all agree. What replaces kernels that are
/// [distrusted](crate::distrust) is tested in their place.
#[must_use]
pub fn self_test(device: &Device) -> Vec<Failure> {
    let of_candle: [(&'static str, Check); 2] =
        [("products of floats", products), ("lookup, casts and joins", lookups)];
    let ours = KernelGroup::ALL.map(|group| (group.name(), Some(group), check_of(group)));
    let run = |(check, group, of): (&'static str, Option<KernelGroup>, Check)| {
        // What was left before is not this check's; what a launch leaves without returning it is.
        let _ = last_error(device);
        let checked = poison(device).and_then(|()| of(&Test::of(device))).and_then(|()| device.synchronize());
        let failed = checked.and_then(|()| last_error(device)).err()?;
        Some(Failure { check, group, reason: crate::without_backtrace(failed).to_string() })
    };
    of_candle.map(|(check, of)| (check, None, of)).into_iter().chain(ours).filter_map(run).collect()
}

fn check_of(group: KernelGroup) -> Check {
    match group {
        KernelGroup::Rows => rows,
        KernelGroup::Attention => attention,
        KernelGroup::FixedOrder => exact,
        KernelGroup::Sampling => sampling,
        KernelGroup::Encoders => encoders,
        KernelGroup::Blocks => blocks,
    }
}

/// An error that calls left behind instead of returning it.
fn last_error(device: &Device) -> Result<()> {
    match device {
        Device::Cuda(device) => crate::cuda::last_error(device),
        _ => Ok(()),
    }
}

/// Fills memory that the next tensors will be given with NaN.
fn poison(device: &Device) -> Result<()> {
    /// More than a check uses.
    const NUMBERS: usize = 1 << 22;
    // Without gaps between other tensors, which would be filled before the memory that is poisoned.
    release_unused(device)?;
    let poisoned = Tensor::full(f32::NAN, NUMBERS, device)?;
    device.synchronize()?;
    drop(poisoned);
    Ok(())
}

fn rows(test: &Test<'_>) -> Result<()> {
    let device = test.device;
    let shape = [3, 896];
    let [(x, gx), (y, gy)] =
        [numbers(1, &shape, working(device), device)?, numbers(2, &shape, working(device), device)?]
            .map(|[a, b]| (a, b));
    let [w, gw] = numbers(3, &[896], working(device), device)?;
    test.close("rms_norm", &norm::rms_norm(&gx, &gw, 1e-5)?, &norm::reference(&x, &w, 1e-5)?, CLOSE)?;
    let (sum, normed) = norm::add_rms_norm(&gx, &gy, &gw, 1e-5)?;
    test.close("the sum of add_rms_norm", &sum, &(&x + &y)?, CLOSE)?;
    test.close("the norm of add_rms_norm", &normed, &norm::reference(&(&x + &y)?, &w, 1e-5)?, CLOSE)?;
    test.close("swiglu", &gated::gated(&gx, &gy, Gate::Silu)?, &gated::reference(&x, &y, Gate::Silu)?, CLOSE)
}

fn products(test: &Test<'_>) -> Result<()> {
    let device = test.device;
    let [w, gw] = numbers(11, &[320, 896], working(device), device)?;
    let all = numbers(10, &[MOST_ROWS, 896], working(device), device)?;
    ROWS.into_iter().try_for_each(|rows| {
        let [x, gx] = first(&all, rows)?;
        test.close(&format!("a product of {rows} rows"), &gx.matmul(&gw.t()?)?, &x.matmul(&w.t()?)?, CLOSE)
    })
}

fn exact(test: &Test<'_>) -> Result<()> {
    let device = test.device;
    if !has_kernels(device, KernelGroup::FixedOrder) {
        return Ok(());
    }
    let [w, gw] = numbers(12, &[321, 896], working(device), device)?;
    let weight = Weight::new(&gw)?.exact();
    let [x, gx] = numbers(13, &[70, 896], working(device), device)?;
    let found = weight.apply(&gx)?;
    test.close("a product of 70 rows", &found, &x.matmul(&w.t()?)?, CLOSE)?;
    test.same_bits("a product", &weight.apply(&gx.narrow(0, 33, 1)?)?, &found.narrow(0, 33, 1)?)
}

fn lookups(test: &Test<'_>) -> Result<()> {
    let device = test.device;
    let [table, on_device] = numbers(14, &[1000, 896], working(device), device)?;
    let ids = [999_u32, 0, 7, 7];
    let found = on_device.index_select(&Tensor::new(&ids, device)?, 0)?;
    let expected = table.index_select(&Tensor::new(&ids, &Device::Cpu)?, 0)?;
    test.close("index_select", &found, &expected, 0.0)?;
    test.close("a cast", &found.to_dtype(DType::F32)?, &expected, 0.0)?;
    test.close("cat", &Tensor::cat(&[&found, &found], 0)?, &Tensor::cat(&[&expected, &expected], 0)?, 0.0)
}

fn sampling(test: &Test<'_>) -> Result<()> {
    let device = test.device;
    const VOCAB: usize = 5000;
    if device.is_cpu() || !has_kernels(device, KernelGroup::Sampling) {
        // Logits on the CPU are sampled by the engine.
        return Ok(());
    }
    let [logits, on_device] = numbers(15, &[2, VOCAB], DType::F32, device)?;
    let best = logits.argmax(1)?.to_vec1::<u32>()?;
    let greedy = Choice { temperature: 0.0, top_p: 1.0, draw: 0.0, top_k: 0, mask: NO_MASK };
    let mut mask = vec![0_u32; VOCAB.div_ceil(32)];
    mask[3] = 1 << 5;
    let found = sample::sample(&on_device, VOCAB, &[greedy, Choice { mask: 0, ..greedy }], &mask)?;
    let expected = |found: &[Option<u32>], expected: [u32; 2]| {
        let same = found == expected.map(Some);
        if same { Ok(()) } else { Err(Error::Msg(format!("expected tokens {expected:?}, found {found:?}"))) }
    };
    expected(&found, [best[0], 3 * 32 + 5])?;
    // Tokens 100 to 103 have probabilities of 1 to 4 tenths, so the last two of them are more than half.
    let mut tenths = vec![-80_f32; VOCAB];
    (1..5).for_each(|n| tenths[99 + n] = (n as f32).ln());
    let tenths = Tensor::from_vec(tenths.repeat(2), (2, VOCAB), device)?;
    let drawn = |draw: f32| Choice { temperature: 1.0, top_p: 0.5, draw, ..greedy };
    expected(&sample::sample(&tenths, VOCAB, &[drawn(0.2), drawn(0.6)], &[])?, [102, 103])
}

fn encoders(test: &Test<'_>) -> Result<()> {
    let device = test.device;
    let texts = Texts::new([70, 1, 9]);
    for dim in [32, 64] {
        let shape = [texts.tokens(), 4 * dim];
        let [q, gq] = numbers(16, &shape, DType::F32, device)?;
        let [k, gk] = numbers(17, &shape, DType::F32, device)?;
        let found = bidirectional::bidirectional([&gq, &gk, &gk], &texts, 4, 0.2, None)?;
        let expected = bidirectional::reference([&q, &k, &k], &texts, 4, 0.2, None)?;
        test.close(&format!("attention with heads of {dim}"), &found, &expected, 1e-3)?;
        let [w, gw] = numbers(18, &[shape[1]], DType::F32, device)?;
        let found = add_norm::add_norm(&gq, &gk, &gw, &gw, 1e-5)?;
        test.close("add_norm", &found, &add_norm::reference(&q, &k, &w, &w, 1e-5)?, 1e-4)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The references agree with the kernels of the CPU too, so the checks themselves are right.
    #[test]
    fn it_passes_on_the_cpu() {
        assert_eq!(self_test(&Device::Cpu), []);
    }
}

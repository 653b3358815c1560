//! Whether a GPU computes what the CPU computes: the ops of a step at small sizes, ours and Candle's.
//!
//! A kernel that was compiled for another GPU, or a driver that does not fit, may do nothing and report nothing. So the
//! device's free memory is filled with NaN first, and what a kernel leaves unwritten is not a number.

use crate::cpu::Gate;
use crate::gpu::multiplies_blocks;
use crate::launch::{Choice, NO_MASK};
use crate::ops::attention::Attention;
use crate::ops::kv_store::Slots;
use crate::ops::rotate_store::RotateStore;
use crate::ops::{add_norm, bidirectional, gated, norm, rope, sample};
use crate::{AttentionPlan, PAGE, PackedBlocks, Packing, Part, SequenceRows, Texts, Weight};
use candle_core::quantized::{GgmlDType, QMatMul, QTensor};
use candle_core::{DType, Device, Error, Module, Result, Tensor};
use std::sync::Arc;

/// The type of activations.
fn working(device: &Device) -> DType {
    if device.is_cpu() { DType::F32 } else { DType::BF16 }
}

/// Largest `‖found - expected‖ / ‖expected‖`: bf16 leaves 0.004, blocks times int8 activations 0.02; a wrong row leaves more.
const CLOSE: f32 = 0.02;
const CLOSE_BLOCKS: f32 = 0.06;

/// A check that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// What was checked.
    pub check: &'static str,
    /// What was found, in a line.
    pub reason: String,
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.check, self.reason)
    }
}

impl Failure {
    /// The check of products of blocks, ours and Candle's, without which quantised weights can still be widened.
    pub const BLOCKS: &str = "products of blocks";
}

type Check = fn(&Device) -> Result<()>;

/// Compares the ops on `device` with their references on the CPU. Empty where all agree.
#[must_use]
pub fn self_test(device: &Device) -> Vec<Failure> {
    let checks: [(&'static str, Check); 8] = [
        ("norms and activations", rows),
        ("rotation and attention", attention),
        ("products of floats", products),
        ("products in a fixed order", exact),
        ("lookup, casts and joins", lookups),
        ("sampling", sampling),
        ("encoders", encoders),
        (Failure::BLOCKS, blocks),
    ];
    let run = |(check, of): (&'static str, Check)| {
        // What was left before is not this check's; what a launch leaves without returning it is.
        let _ = last_error(device);
        let checked = poison(device).and_then(|()| of(device)).and_then(|()| device.synchronize());
        let failed = checked.and_then(|()| last_error(device)).err()?;
        Some(Failure { check, reason: crate::without_backtrace(failed).to_string() })
    };
    checks.into_iter().filter_map(run).collect()
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
    let poisoned = Tensor::full(f32::NAN, NUMBERS, device)?;
    device.synchronize()?;
    drop(poisoned);
    Ok(())
}

/// Numbers about 0 of deviation 1, the same for a seed, rounded to `dtype`: as f32 on the CPU, and on `device`.
fn numbers(seed: u64, shape: &[usize], dtype: DType, device: &Device) -> Result<[Tensor; 2]> {
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

fn close(what: &str, found: &Tensor, expected: &Tensor, most: f32) -> Result<()> {
    let found = found.to_device(&Device::Cpu)?.to_dtype(DType::F32)?;
    let length = |x: &Tensor| x.sqr()?.sum_all()?.to_scalar::<f32>();
    let off = (length(&(&found - expected)?)? / length(expected)?).sqrt();
    // False for NaN.
    if off <= most { Ok(()) } else { Err(Error::Msg(format!("{what} is off by {off:.1e}, expected {most} at most"))) }
}

fn same_bits(what: &str, alone: &Tensor, found: &Tensor) -> Result<()> {
    // A sum, since a maximum may pass over what is not a number.
    let apart = (alone.to_dtype(DType::F32)? - found.to_dtype(DType::F32)?)?.abs()?.sum_all()?.to_scalar::<f32>()?;
    if apart == 0.0 {
        return Ok(());
    }
    Err(Error::Msg(format!("{what}: rows alone are off by {apart:.1e} in all from the same in a batch")))
}

fn rows(device: &Device) -> Result<()> {
    let shape = [3, 896];
    let [(x, gx), (y, gy)] =
        [numbers(1, &shape, working(device), device)?, numbers(2, &shape, working(device), device)?]
            .map(|[a, b]| (a, b));
    let [w, gw] = numbers(3, &[896], working(device), device)?;
    close("rms_norm", &norm::rms_norm(&gx, &gw, 1e-5)?, &norm::reference(&x, &w, 1e-5)?, CLOSE)?;
    let (sum, normed) = norm::add_rms_norm(&gx, &gy, &gw, 1e-5)?;
    close("the sum of add_rms_norm", &sum, &(&x + &y)?, CLOSE)?;
    close("the norm of add_rms_norm", &normed, &norm::reference(&(&x + &y)?, &w, 1e-5)?, CLOSE)?;
    close("swiglu", &gated::gated(&gx, &gy, Gate::Silu)?, &gated::reference(&x, &y, Gate::Silu)?, CLOSE)
}

/// Pages of the caches.
const PAGES: usize = 24;

/// Sequences that share pages, a chunk of a prompt, and pages that are written in part or not at all.
fn attention(device: &Device) -> Result<()> {
    let decoding = |own: u32| SequenceRows { start: 150, len: 1, pages: (0..9).chain([9 + own]).collect() };
    let chunk = SequenceRows { start: 3, len: 80, pages: (12..18).collect() };
    let sequences = [decoding(0), decoding(1), chunk];
    // With what queries and keys go through in Qwen2, Llama and Qwen3 before they are rotated.
    let heads = [([6, 2, 64], true, false), ([4, 2, 96], false, false), ([8, 2, 128], false, true)];
    heads.into_iter().try_for_each(|(heads, biased, normed)| attention_of(&sequences, heads, [biased, normed], device))
}

/// Attention of `sequences` with `[heads, kv_heads, dim]`, and the step before it.
fn attention_of(
    sequences: &[SequenceRows],
    [heads, kv_heads, dim]: [usize; 3],
    [biased, normed]: [bool; 2],
    device: &Device,
) -> Result<()> {
    let tokens = sequences.iter().map(|s| s.len).sum::<usize>();
    let slots_of = |s: &SequenceRows| -> Vec<u32> {
        (s.start..s.start + s.len).map(|at| s.pages[at / PAGE] * PAGE as u32 + (at % PAGE) as u32).collect()
    };
    let slots = Slots::new(sequences.iter().flat_map(slots_of).collect());
    let widths = [heads * dim, kv_heads * dim, kv_heads * dim];
    let [x, gx] = numbers(dim as u64, &[tokens, widths.iter().sum()], working(device), device)?;
    let [bias, gbias] = numbers(8, &[widths.iter().sum()], working(device), device)?;
    let [norm, gnorm] = numbers(9, &[dim], working(device), device)?;
    let column = |x: &Tensor, i: usize| x.narrow(x.rank() - 1, widths[..i].iter().sum(), widths[i]);
    let angles = Tensor::arange(0_f32, (tokens * dim / 2) as f32, &Device::Cpu)?.reshape((tokens, dim / 2))?;
    let (cos, sin) = (angles.cos()?, angles.sin()?);
    let (gcos, gsin) = (cos.to_device(device)?, sin.to_device(device)?);
    let by_head = |x: &Tensor| column(x, 0)?.reshape((tokens, heads, dim));
    let rotated = rope::rope(&by_head(&gx)?, &gcos, &gsin)?;
    close(&format!("rope of heads of {dim}"), &rotated, &rope::reference(&by_head(&x)?, &cos, &sin)?, CLOSE)?;

    let [k, gk] = cache(sequences, [PAGES, kv_heads, dim, PAGE], device)?;
    let [v, gv] = cache(sequences, [PAGES, kv_heads, PAGE, dim], device)?;
    let run = |x: &Tensor, [cos, sin]: [&Tensor; 2], [k_cache, v_cache]: [&Tensor; 2], [bias, norm]: [&Tensor; 2]| {
        let columns = [column(bias, 0)?, column(bias, 1)?, column(bias, 2)?];
        let biases = if biased { columns.each_ref().map(Some) } else { [None; 3] };
        let norms = if normed { [Some(norm); 2] } else { [None; 2] };
        let store = RotateStore { cos, sin, slots: &slots, k_cache, v_cache, biases, norms, norm_eps: 1e-5 };
        store.apply(&column(x, 0)?, &column(x, 1)?, &column(x, 2)?)
    };
    let q = run(&x, [&cos, &sin], [&k, &v], [&bias, &norm])?;
    let gq = run(&gx, [&gcos, &gsin], [&gk, &gv], [&gbias, &gnorm])?;
    close(&format!("rotation of heads of {dim}"), &gq, &q, CLOSE)?;
    // A plan is for one number of heads.
    let plan = AttentionPlan::new(sequences.to_vec());
    let found = Attention::new(&plan, 0.1).apply([&gq, &gk, &gv])?;
    let q = gq.to_device(&Device::Cpu)?.to_dtype(DType::F32)?;
    let what = format!("attention with heads of {dim}");
    close(&what, &found, &Attention::new(&plan, 0.1).reference([&q, &k, &v])?, CLOSE)?;
    let mut row = 0;
    for sequence in sequences {
        let (plan, own) = (AttentionPlan::new(vec![sequence.clone()]), gq.narrow(0, row, sequence.len)?);
        let alone = Attention::new(&plan, 0.1).apply([&own, &gk, &gv])?;
        same_bits(&what, &alone, &found.narrow(0, row, sequence.len)?)?;
        row += sequence.len;
    }
    Ok(())
}

/// A cache of `shape` on the CPU and on `device`, there with NaN where `sequences` have not written before their new
/// tokens.
fn cache(sequences: &[SequenceRows], shape: [usize; 4], device: &Device) -> Result<[Tensor; 2]> {
    let [cpu, on_device] = numbers(7, &shape, working(device), device)?;
    if device.is_cpu() {
        // Its pages begin as zeros.
        return Ok([cpu, on_device]);
    }
    let mut written = vec![0_u8; PAGES * PAGE];
    for sequence in sequences {
        for position in 0..sequence.start {
            written[sequence.pages[position / PAGE] as usize * PAGE + position % PAGE] = 1;
        }
    }
    let positions = if shape[2] == PAGE { [PAGES, 1, PAGE, 1] } else { [PAGES, 1, 1, PAGE] };
    let written = Tensor::from_vec(written, &positions, &Device::Cpu)?.broadcast_as(&shape)?.contiguous()?;
    let held = written.where_cond(&cpu, &Tensor::full(f32::NAN, &shape, &Device::Cpu)?)?;
    Ok([cpu, held.to_dtype(working(device))?.to_device(device)?])
}

/// Numbers of rows for which libraries choose different kernels.
const ROWS: [usize; 7] = [1, 2, 5, 8, 9, 65, MOST_ROWS];
const MOST_ROWS: usize = 130;

/// The first `rows` rows of both, each in memory of its own.
fn first([cpu, on_device]: &[Tensor; 2], rows: usize) -> Result<[Tensor; 2]> {
    Ok([cpu.narrow(0, 0, rows)?.force_contiguous()?, on_device.narrow(0, 0, rows)?.force_contiguous()?])
}

fn products(device: &Device) -> Result<()> {
    let [w, gw] = numbers(11, &[320, 896], working(device), device)?;
    let all = numbers(10, &[MOST_ROWS, 896], working(device), device)?;
    ROWS.into_iter().try_for_each(|rows| {
        let [x, gx] = first(&all, rows)?;
        close(&format!("a product of {rows} rows"), &gx.matmul(&gw.t()?)?, &x.matmul(&w.t()?)?, CLOSE)
    })
}

fn exact(device: &Device) -> Result<()> {
    let [w, gw] = numbers(12, &[321, 896], working(device), device)?;
    let weight = Weight::new(&gw)?.exact();
    let [x, gx] = numbers(13, &[70, 896], working(device), device)?;
    let found = weight.apply(&gx)?;
    close("a product of 70 rows", &found, &x.matmul(&w.t()?)?, CLOSE)?;
    same_bits("a product", &weight.apply(&gx.narrow(0, 33, 1)?)?, &found.narrow(0, 33, 1)?)
}

fn lookups(device: &Device) -> Result<()> {
    let [table, on_device] = numbers(14, &[1000, 896], working(device), device)?;
    let ids = [999_u32, 0, 7, 7];
    let found = on_device.index_select(&Tensor::new(&ids, device)?, 0)?;
    let expected = table.index_select(&Tensor::new(&ids, &Device::Cpu)?, 0)?;
    close("index_select", &found, &expected, 0.0)?;
    close("a cast", &found.to_dtype(DType::F32)?, &expected, 0.0)?;
    close("cat", &Tensor::cat(&[&found, &found], 0)?, &Tensor::cat(&[&expected, &expected], 0)?, 0.0)
}

fn sampling(device: &Device) -> Result<()> {
    const VOCAB: usize = 5000;
    if device.is_cpu() {
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

fn encoders(device: &Device) -> Result<()> {
    let texts = Texts::new([70, 1, 9]);
    for dim in [32, 64] {
        let shape = [texts.tokens(), 4 * dim];
        let [q, gq] = numbers(16, &shape, DType::F32, device)?;
        let [k, gk] = numbers(17, &shape, DType::F32, device)?;
        let found = bidirectional::bidirectional([&gq, &gk, &gk], &texts, 4, 0.2, None)?;
        let expected = bidirectional::reference([&q, &k, &k], &texts, 4, 0.2, None)?;
        close(&format!("attention with heads of {dim}"), &found, &expected, 1e-3)?;
        let [w, gw] = numbers(18, &[shape[1]], DType::F32, device)?;
        let found = add_norm::add_norm(&gq, &gk, &gw, &gw, 1e-5)?;
        close("add_norm", &found, &add_norm::reference(&q, &k, &w, &w, 1e-5)?, 1e-4)?;
    }
    Ok(())
}

/// Types of blocks that are multiplied by on a GPU, by our kernels or by Candle's.
pub const BLOCKS: [GgmlDType; 10] = [
    GgmlDType::Q4_0,
    GgmlDType::Q4_1,
    GgmlDType::Q5_0,
    GgmlDType::Q5_1,
    GgmlDType::Q8_0,
    GgmlDType::Q2K,
    GgmlDType::Q3K,
    GgmlDType::Q4K,
    GgmlDType::Q5K,
    GgmlDType::Q6K,
];

/// Types that one launch of ours multiplies by together.
const OF_TWO: [[GgmlDType; 2]; 2] = [[GgmlDType::Q4K, GgmlDType::Q6K], [GgmlDType::Q5K, GgmlDType::Q6K]];

/// Outputs, inputs and types of the matrices: every type, then inputs that are no multiple of 256, and as many as large
/// models have.
const MATRICES: [(usize, usize, &[GgmlDType]); 3] =
    [(96, 768, &BLOCKS), (96, 896, &[GgmlDType::Q5_0, GgmlDType::Q8_0]), (32, 4096, &[GgmlDType::Q4K, GgmlDType::Q6K])];

/// Ours, where the device has them, and Candle's, where they were compiled for it.
fn blocks(device: &Device) -> Result<()> {
    for (outputs, inputs, types) in MATRICES {
        let [w, _] = numbers(19, &[outputs, inputs], DType::F32, &Device::Cpu)?;
        let x = numbers(20, &[MOST_ROWS, inputs], working(device), device)?;
        if device.is_cuda() {
            let ours = types.iter().filter(|storage| PackedBlocks::fit(**storage, inputs, working(device)));
            ours.map(std::slice::from_ref).try_for_each(|types| packed_blocks(types, &w, &x, device))?;
        }
        if device.is_cuda() && types.len() == BLOCKS.len() {
            OF_TWO.iter().try_for_each(|two| packed_blocks(two, &w, &x, device))?;
            gated_blocks(&w, &x, device)?;
        }
        if multiplies_blocks(device) {
            types.iter().try_for_each(|storage| candles_blocks(*storage, &w, &x, device))?;
        }
    }
    Ok(())
}

fn candles_blocks(storage: GgmlDType, w: &Tensor, all: &[Tensor; 2], device: &Device) -> Result<()> {
    let expected = QTensor::quantize(w, storage)?.dequantize(&Device::Cpu)?;
    let on_device = Arc::new(QTensor::quantize_onto(w, storage, device)?);
    let inputs = w.dim(1)?;
    close(&format!("{storage:?}, widened"), &on_device.dequantize_f16(device)?, &expected, CLOSE)?;
    let matrix = QMatMul::from_arc(on_device)?;
    ROWS.into_iter().try_for_each(|rows| {
        let [x, gx] = first(all, rows)?;
        let what = format!("{storage:?}, {rows} rows of {inputs}");
        close(&what, &matrix.forward(&gx)?, &x.matmul(&expected.t()?)?, CLOSE_BLOCKS)
    })
}

/// Products with `w` in each of `types`, one behind the other.
fn packed_blocks(types: &[GgmlDType], w: &Tensor, all: &[Tensor; 2], device: &Device) -> Result<()> {
    let (outputs, inputs) = w.dims2()?;
    let (mut parts, mut stored, mut expected) = (Vec::new(), Vec::new(), Vec::new());
    for &blocks in types {
        let cpu = QTensor::quantize(w, blocks)?;
        parts.push(Part { blocks, outputs });
        expected.push(cpu.dequantize(&Device::Cpu)?);
        stored.push(cpu.data()?.into_owned());
    }
    let row = |row: usize| {
        let (part, size) = (&stored[row / outputs], stored[row / outputs].len() / outputs);
        part[row % outputs * size..][..size].into()
    };
    let packed = PackedBlocks::pack(parts, Packing::InOrder, inputs, row, device)?;
    let expected = Tensor::cat(&expected, 0)?;
    close(&format!("{types:?}, widened"), &packed.widen(working(device))?, &expected, CLOSE)?;
    ROWS.into_iter().try_for_each(|rows| {
        let [x, gx] = first(all, rows)?;
        let what = format!("{types:?}, {rows} rows of {inputs}");
        let found = packed.multiply(&gx)?;
        close(&what, &found, &x.matmul(&expected.t()?)?, CLOSE)?;
        same_bits(&what, &packed.multiply(&gx.narrow(0, rows / 2, 1)?)?, &found.narrow(0, rows / 2, 1)?)
    })
}

/// A product whose first half is the gate of the other.
fn gated_blocks(w: &Tensor, all: &[Tensor; 2], device: &Device) -> Result<()> {
    let (outputs, inputs) = w.dims2()?;
    let cpu = QTensor::quantize(w, GgmlDType::Q4K)?;
    let (expected, bytes) = (cpu.dequantize(&Device::Cpu)?, cpu.data()?);
    let row = |row: usize| bytes[row * bytes.len() / outputs..][..bytes.len() / outputs].into();
    let parts = vec![Part { blocks: GgmlDType::Q4K, outputs }];
    let packed = PackedBlocks::pack(parts, Packing::Gated, inputs, row, device)?;
    close("gated blocks, widened", &packed.widen(working(device))?, &expected, CLOSE)?;
    ROWS.into_iter().try_for_each(|rows| {
        let [x, gx] = first(all, rows)?;
        let both = x.matmul(&expected.t()?)?.chunk(2, 1)?;
        let gated = gated::reference(&both[0], &both[1], Gate::Silu)?;
        let (what, found) = (format!("gated blocks, {rows} rows"), packed.multiply(&gx)?);
        close(&what, &found, &gated, CLOSE)?;
        same_bits(&what, &packed.multiply(&gx.narrow(0, rows / 2, 1)?)?, &found.narrow(0, rows / 2, 1)?)
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// The references agree with the kernels of the CPU too, so the checks themselves are right.
    #[test]
    fn it_passes_on_the_cpu() {
        assert_eq!(self_test(&Device::Cpu), []);
    }

    #[test]
    fn other_numbers_and_unwritten_memory_are_not_close() {
        let x = Tensor::new(&[1_f32, 2.0], &Device::Cpu).unwrap();
        let other = Tensor::new(&[1_f32, 2.2], &Device::Cpu).unwrap();
        let unwritten = Tensor::new(&[1_f32, f32::NAN], &Device::Cpu).unwrap();
        assert!(close("x", &x, &x, 0.0).is_ok());
        assert!(close("x", &other, &x, 0.02).is_err() && close("x", &unwritten, &x, 1e9).is_err());
    }
}

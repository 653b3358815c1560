//! Checks of rotation, which writes keys and values to pages, and of attention, which reads them.

use super::numbers::{CLOSE, Test, numbers, working};
use crate::gpu::{KernelGroup, has_kernels, read_back};
use crate::ops::attention::Attention;
use crate::ops::kv_store::Slots;
use crate::ops::rope;
use crate::ops::rotate_store::RotateStore;
use crate::{AttentionPlan, PAGE, SequenceRows};
use candle_core::{DType, Device, Result, Tensor};

/// Pages of the caches.
const PAGES: usize = 24;

/// What queries and keys go through before they are rotated, and how rows attend.
#[derive(Clone, Copy, Default)]
struct With {
    biases: bool,
    norms: bool,
    /// Positions that a row attends to, if not all.
    window: Option<usize>,
    sinks: bool,
}

impl With {
    fn attention<'a>(self, plan: &'a AttentionPlan, sinks: &'a Tensor) -> Attention<'a> {
        let sinks = self.sinks.then_some(sinks);
        Attention { window: self.window.unwrap_or(usize::MAX), sinks, ..Attention::new(plan, 0.1) }
    }
}

/// Sequences that share pages, a chunk of a prompt, and pages that are written in part or not at all.
pub(super) fn attention(test: &Test<'_>) -> Result<()> {
    let decoding = |own: u32| SequenceRows { start: 150, len: 1, pages: (0..9).chain([9 + own]).collect() };
    let chunk = SequenceRows { start: 3, len: 80, pages: (12..18).collect() };
    let sequences = [decoding(0), decoding(1), chunk];
    let none = With::default();
    // As in Qwen2, Phi-3, Qwen3, gpt-oss and Gemma 3.
    let kinds = [
        ([6, 2, 64], With { biases: true, ..none }),
        ([4, 2, 96], none),
        ([8, 2, 128], With { norms: true, ..none }),
        ([8, 1, 64], With { biases: true, window: Some(30), sinks: true, ..none }),
        ([4, 1, 256], With { norms: true, window: Some(50), ..none }),
    ];
    kinds.into_iter().try_for_each(|(heads, with)| attention_of(&sequences, heads, with, test))
}

/// Attention of `sequences` with `[heads, kv_heads, dim]`, and the step before it.
fn attention_of(
    sequences: &[SequenceRows],
    [heads, kv_heads, dim]: [usize; 3],
    with: With,
    test: &Test<'_>,
) -> Result<()> {
    let device = test.device;
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
    test.close(&format!("rope of heads of {dim}"), &rotated, &rope::reference(&by_head(&x)?, &cos, &sin)?, CLOSE)?;

    let [k, gk] = cache(sequences, [PAGES, kv_heads, dim, PAGE], device)?;
    let [v, gv] = cache(sequences, [PAGES, kv_heads, PAGE, dim], device)?;
    let run = |x: &Tensor, [cos, sin]: [&Tensor; 2], [k_cache, v_cache]: [&Tensor; 2], [bias, norm]: [&Tensor; 2]| {
        let columns = [column(bias, 0)?, column(bias, 1)?, column(bias, 2)?];
        let biases = if with.biases { columns.each_ref().map(Some) } else { [None; 3] };
        let norms = if with.norms { [Some(norm); 2] } else { [None; 2] };
        let store = RotateStore { cos, sin, slots: &slots, k_cache, v_cache, biases, norms, norm_eps: 1e-5 };
        store.apply(&column(x, 0)?, &column(x, 1)?, &column(x, 2)?)
    };
    let q = run(&x, [&cos, &sin], [&k, &v], [&bias, &norm])?;
    let gq = run(&gx, [&gcos, &gsin], [&gk, &gv], [&gbias, &gnorm])?;
    test.close(&format!("rotation of heads of {dim}"), &gq, &q, CLOSE)?;
    let [sinks, gsinks] = numbers(10, &[heads], DType::F32, device)?;
    let plan = AttentionPlan::new(sequences.to_vec());
    let found = with.attention(&plan, &gsinks).apply([&gq, &gk, &gv])?;
    let q = read_back(&gq)?.to_dtype(DType::F32)?;
    let what = format!("attention with heads of {dim}");
    test.close(&what, &found, &with.attention(&plan, &sinks).reference([&q, &k, &v])?, CLOSE)?;
    if !has_kernels(device, KernelGroup::Attention) {
        // Candle's products have other bits for other numbers of rows.
        return Ok(());
    }
    let mut row = 0;
    for sequence in sequences {
        let (plan, own) = (AttentionPlan::new(vec![sequence.clone()]), gq.narrow(0, row, sequence.len)?);
        let alone = with.attention(&plan, &gsinks).apply([&own, &gk, &gv])?;
        test.same_bits(&what, &alone, &found.narrow(0, row, sequence.len)?)?;
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

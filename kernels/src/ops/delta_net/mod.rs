//! A gated delta net between its projections: a causal convolution, and a recurrent state for each head. CPU alone.
//!
//! Gated Delta Networks, <https://arxiv.org/abs/2412.06464>, as Qwen3-Next and Qwen3.5 have them.

mod reference;
mod shape;
mod states;

pub use reference::reference;
pub use shape::{DeltaInputs, DeltaShape, DeltaWeights, HeadOrder};
pub use states::DeltaStates;

use super::states::Writers;
use super::{cpu_table, filled, read_floats};
use crate::cpu::{DeltaCall, Table};
use crate::math::{exp, ln};
use crate::pages::StateRows;
use candle_core::{Device, Result, Tensor, bail};
use rayon::prelude::*;
use std::mem::MaybeUninit;

/// Columns of a task's state: with 128 rows they are 16 KiB, which stay in L1.
const TASK_COLUMNS: usize = 32;

/// Multiply-adds of a task at least, if there are so many: some ten microseconds' work.
const TASK_WORK: usize = 1 << 17;

/// Carries the states of a batch's sequences over their tokens and returns the values read from them, `[tokens,
/// outputs]`. `lens` are the tokens of each sequence, one after the other; `rows` their states, all in different slots.
///
/// With `c` the convolved and SiLU-activated channels, `q` and `k` of length `1 / √key_dim` and 1, `v` the values,
/// `rate = σ(rate)` and `decay = exp(weights.decay * softplus(step + step_bias))`, for each head:
/// `S *= decay; S += k (rate * (v - Sᵀk))ᵀ; out = Sᵀq`.
///
/// A token's result depends on its sequence alone, bit for bit, however its tokens are divided among calls.
///
/// # Errors
/// Shapes that do not fit, a slot beyond `states` or in use twice, another device than the CPU.
pub fn delta_net(
    inputs: DeltaInputs<'_>,
    weights: &DeltaWeights,
    states: &DeltaStates,
    lens: &[usize],
    rows: &[StateRows],
) -> Result<Tensor> {
    let shape = states.shape();
    let tokens = check(inputs, weights, &shape, lens)?;
    let Device::Cpu = inputs.qkv.device() else { bail!("gated delta net: it has no kernel but the CPU's") };
    let [qkv, rate, step] = [inputs.qkv, inputs.rate, inputs.step].map(Tensor::contiguous);
    let (qkv, rate, step, table) = (qkv?, rate?, step?, cpu_table()?);
    let mut data = states.memory().lock();
    let writers = Writers::new(states.memory(), &mut data, lens, rows)?;
    let gates = read_floats(&rate, |rate| read_floats(&step, |step| gates(rate, step, weights)))??;
    let x = read_floats(&qkv, |qkv| convolved(table, qkv, weights, &shape, &writers))?;
    read_floats(&qkv, |qkv| writers.keep_inputs(qkv, shape.conv()))?;
    // SAFETY: every head of every token is written.
    #[allow(unsafe_code)]
    let out = unsafe { filled(tokens * shape.outputs(), |out| recur(table, &x, &gates, &shape, &writers, out)) };
    Tensor::from_vec(out, (tokens, shape.outputs()), &Device::Cpu)
}

/// The number of tokens.
fn check(inputs: DeltaInputs<'_>, weights: &DeltaWeights, shape: &DeltaShape, lens: &[usize]) -> Result<usize> {
    let (tokens, heads) = (lens.iter().sum(), shape.value_heads);
    let whole = |dim: usize| dim > 0 && dim.is_multiple_of(16);
    let sound = shape.key_heads > 0 && heads.is_multiple_of(shape.key_heads) && shape.taps > 0;
    let fits = sound
        && whole(shape.key_dim)
        && whole(shape.value_dim)
        && inputs.qkv.dims() == [tokens, shape.channels()]
        && [inputs.rate, inputs.step].iter().all(|x| x.dims() == [tokens, heads])
        && weights.conv.len() == shape.taps * shape.channels()
        && weights.decay.len() == heads
        && weights.step_bias.len() == heads;
    if !fits {
        let found = [inputs.qkv, inputs.rate, inputs.step].map(|x| x.dims().to_vec());
        bail!("gated delta net: inputs {found:?} of {tokens} tokens do not fit {shape:?}");
    }
    Ok(tokens)
}

/// Decay and rate of each head of each token.
fn gates(rate: &[f32], step: &[f32], weights: &DeltaWeights) -> Vec<[f32; 2]> {
    /// Gates of a task: some ten microseconds' work.
    const GATES: usize = 256;
    let heads = weights.decay.len();
    let one = |(at, (rate, step)): (usize, (&f32, &f32))| {
        let head = at % heads;
        let softplus = softplus(f64::from(step + weights.step_bias[head]));
        [exp(f64::from(weights.decay[head]) * softplus) as f32, (1.0 / (1.0 + exp(-f64::from(*rate)))) as f32]
    };
    rate.par_iter().zip(step).enumerate().with_min_len(GATES).map(one).collect()
}

/// `ln(1 + exp(x))`.
fn softplus(x: f64) -> f64 {
    x.max(0.0) + ln(1.0 + exp(-x.abs()))
}

/// The convolved channels of every token, queries and keys normed.
fn convolved(
    table: &Table,
    qkv: &[f32],
    weights: &DeltaWeights,
    shape: &DeltaShape,
    writers: &Writers<'_>,
) -> Vec<f32> {
    /// Tokens of a task: some ten microseconds' work.
    const TOKENS: usize = 8;
    let channels = shape.channels();
    let zeros = vec![0.0; channels];
    let key_width = shape.key_heads * shape.key_dim;
    let query_scale = 1.0 / (shape.key_dim as f32).sqrt();
    let token = |(at, out): (usize, &mut [MaybeUninit<f32>])| {
        let rows = writers.conv_rows(at, qkv, &zeros, shape.conv());
        // SAFETY: the table was chosen by what this machine can run; all rows are `channels` long, a multiple of 16,
        // and all of `out` is written before it is read.
        #[allow(unsafe_code)]
        unsafe {
            (table.causal_conv)(&rows, &weights.conv, out.as_mut_ptr().cast());
            let out = std::slice::from_raw_parts_mut(out.as_mut_ptr().cast::<f32>(), channels);
            let (queries, keys) = out[..2 * key_width].split_at_mut(key_width);
            queries.chunks_exact_mut(shape.key_dim).for_each(|q| (table.unit_norm)(q, query_scale));
            keys.chunks_exact_mut(shape.key_dim).for_each(|k| (table.unit_norm)(k, 1.0));
        }
    };
    // SAFETY: every token's channels are written.
    #[allow(unsafe_code)]
    unsafe {
        filled(qkv.len(), |out| {
            out.par_chunks_mut(channels).enumerate().with_min_len(TOKENS).for_each(token);
        })
    }
}

/// The recurrence of every sequence and head.
fn recur(
    table: &Table,
    x: &[f32],
    gates: &[[f32; 2]],
    shape: &DeltaShape,
    writers: &Writers<'_>,
    out: &mut [MaybeUninit<f32>],
) {
    let calls: Vec<DeltaCall<'_>> =
        (0..shape.value_heads).map(|head| call(x, gates, shape, head, out.as_mut_ptr().cast())).collect();
    let parts = shape.value_dim.div_ceil(TASK_COLUMNS);
    let of_a_sequence = shape.value_heads * parts;
    let task = |index: usize| {
        let (sequence, head, part) = (index / of_a_sequence, index / parts % shape.value_heads, index % parts);
        let first = part * TASK_COLUMNS / 16;
        let blocks = first..(first + TASK_COLUMNS / 16).min(shape.value_dim / 16);
        writers.carry(table, &calls[head], shape, (sequence, head), blocks);
    };
    let count = writers.sequences() * of_a_sequence;
    let work = 4 * x.len() / shape.channels().max(1) * shape.value_heads * shape.head_len() / count.max(1);
    (0..count).into_par_iter().with_min_len((TASK_WORK / work.max(1)).clamp(1, parts * 4)).for_each(task);
}

/// The call of head `head`.
fn call<'a>(x: &'a [f32], gates: &'a [[f32; 2]], shape: &DeltaShape, head: usize, out: *mut f32) -> DeltaCall<'a> {
    let (keys, key_width) = (shape.key_head(head) * shape.key_dim, shape.key_heads * shape.key_dim);
    DeltaCall {
        x,
        width: shape.channels(),
        query: keys,
        key: key_width + keys,
        value: 2 * key_width + head * shape.value_dim,
        rows: shape.key_dim,
        gates,
        heads: shape.value_heads,
        head,
        out,
        out_width: shape.outputs(),
        out_at: head * shape.value_dim,
    }
}

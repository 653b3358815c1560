//! A short convolution between two gates: `after * conv(before * x)`, channel by channel, with a state of a few tokens.
//!
//! Of LFM2, <https://arxiv.org/abs/2511.23404>.

mod inputs;
mod reference;

pub use super::states::ConvShape;
pub use inputs::ShortConvInputs;
pub use reference::reference;

use super::states::{StateMemory, Writers};
use super::{cpu_table, filled, read_floats};
use crate::cpu::Table;
use crate::pages::StateRows;
use candle_core::{DType, Device, Result, Tensor, bail};
use rayon::prelude::*;
use std::mem::MaybeUninit;

/// The states of one layer on its device: of each slot the latest products `before * x`, `[taps - 1, channels]`, in f32.
#[derive(Debug)]
pub struct ConvStates {
    shape: ConvShape,
    slots: Slots,
}

#[derive(Debug)]
enum Slots {
    Memory(StateMemory),
    /// `[slots * (taps - 1), channels]`
    Tensor(Tensor),
}

impl ConvStates {
    /// `slots` states. On the CPU the system backs a slot with memory when it is first written.
    ///
    /// # Errors
    /// The device has not that much memory.
    pub fn new(shape: ConvShape, slots: usize, device: &Device) -> Result<Self> {
        let slots = match device {
            Device::Cpu => Slots::Memory(StateMemory::new(shape.state_len(), slots)),
            _ => Slots::Tensor(Tensor::zeros((slots * (shape.taps - 1), shape.channels), DType::F32, device)?),
        };
        Ok(Self { shape, slots })
    }
}

/// Carries the states of a batch's sequences over their tokens and gives the results, `[tokens, channels]`. `weights` are
/// `[taps, channels]` f32, the last row the token's own. `lens` are the tokens of each sequence, one after the other;
/// `rows` their states, all in different slots.
///
/// A token's result depends on its sequence alone, bit for bit on the CPU, however its tokens are divided among calls.
///
/// # Errors
/// Shapes that do not fit, a slot beyond `states` or in use twice, or a failed operation.
pub fn short_conv(
    inputs: ShortConvInputs<'_>,
    weights: &Tensor,
    states: &ConvStates,
    lens: &[usize],
    rows: &[StateRows],
) -> Result<Tensor> {
    let shape = states.shape;
    check(inputs, weights, shape, lens)?;
    match &states.slots {
        Slots::Memory(memory) => on_cpu(inputs, weights, (memory, shape), lens, rows),
        Slots::Tensor(slots) => reference(inputs, weights, slots, lens, rows),
    }
}

fn check(inputs: ShortConvInputs<'_>, weights: &Tensor, shape: ConvShape, lens: &[usize]) -> Result<()> {
    let ConvShape { channels, taps } = shape;
    let all = [inputs.before, inputs.after, inputs.x];
    let tokens = lens.iter().sum::<usize>();
    let fits = channels.is_multiple_of(16) && channels > 0 && taps > 1 && weights.dims() == [taps, channels];
    if !fits || all.iter().any(|x| x.dims() != [tokens, channels]) {
        let found = all.map(|x| x.dims().to_vec());
        bail!(
            "short convolution: inputs {found:?}, weights {:?} and {tokens} tokens do not fit {shape:?}",
            weights.dims()
        );
    }
    Ok(())
}

fn on_cpu(
    inputs: ShortConvInputs<'_>,
    weights: &Tensor,
    (memory, shape): (&StateMemory, ConvShape),
    lens: &[usize],
    rows: &[StateRows],
) -> Result<Tensor> {
    let [before, after, x] = [inputs.before, inputs.after, inputs.x].map(Tensor::contiguous);
    let (before, after, x, table) = (before?, after?, x?, cpu_table()?);
    let mut data = memory.lock();
    let writers = Writers::new(memory, &mut data, lens, rows)?;
    let products = read_floats(&before, |before| read_floats(&x, |x| products(before, x)))??;
    let out = read_floats(&after, |after| {
        read_floats(weights, |weights| convolved(table, &products, after, weights, shape, &writers))
    })??;
    writers.keep_inputs(&products, shape);
    Tensor::from_vec(out, x.shape(), &Device::Cpu)
}

fn products(a: &[f32], b: &[f32]) -> Vec<f32> {
    /// Products of a task: some ten microseconds' work.
    const PRODUCTS: usize = 1 << 15;
    a.par_iter().zip(b).with_min_len(PRODUCTS).map(|(a, b)| a * b).collect()
}

/// The results of every token.
fn convolved(
    table: &Table,
    products: &[f32],
    after: &[f32],
    weights: &[f32],
    shape: ConvShape,
    writers: &Writers<'_>,
) -> Vec<f32> {
    /// Tokens of a task: some ten microseconds' work.
    const TOKENS: usize = 8;
    let channels = shape.channels;
    let zeros = vec![0.0; channels];
    let token = |((at, out), after): ((usize, &mut [MaybeUninit<f32>]), &[f32])| {
        let rows = writers.conv_rows(at, products, &zeros, shape);
        // SAFETY: the table was chosen by what this machine can run; all rows are `channels` long, a multiple of 16.
        #[allow(unsafe_code)]
        unsafe {
            (table.gated_conv)(&rows, weights, after, out.as_mut_ptr().cast());
        }
    };
    // SAFETY: every token's channels are written.
    #[allow(unsafe_code)]
    unsafe {
        filled(products.len(), |out| {
            let tokens = out.par_chunks_mut(channels).enumerate().zip(after.par_chunks(channels));
            tokens.with_min_len(TOKENS).for_each(token);
        })
    }
}

//! Speed of a gated delta net's recurrence in the shape of Qwen3.5 0.8B, and its share of the processor's limits: the
//! least of some rounds, of all operations between the projections.
//!
//! `cargo run --release -p moot-kernels --example delta [--threads N]`
#![allow(missing_docs, clippy::print_stdout)]

use candle_core::{Device, Result, Tensor};
use moot_kernels::StateRows;
use moot_kernels::cpu::limits;
use moot_kernels::ops::delta_net::{DeltaInputs, DeltaShape, DeltaStates, DeltaWeights, HeadOrder, delta_net};
use std::time::Instant;

/// The program's.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const SHAPE: DeltaShape =
    DeltaShape { key_heads: 16, value_heads: 16, key_dim: 128, value_dim: 128, taps: 4, order: HeadOrder::Grouped };
/// Sequences, and tokens of each.
const BATCHES: [[usize; 2]; 6] = [[1, 1], [8, 1], [64, 1], [1, 64], [1, 512], [8, 64]];
const ROUNDS: usize = 7;

fn main() -> Result<()> {
    let mut words = std::env::args().skip(1);
    let threads = match (words.next().as_deref(), words.next()) {
        (Some("--threads"), Some(threads)) => threads.parse().expect("a number after the option"),
        _ => 1,
    };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
    // From another thread each call would wait for the pool to wake.
    pool.install(|| measure(threads))
}

fn measure(threads: usize) -> Result<()> {
    let limits = limits::measure().map_err(candle_core::Error::msg)?;
    println!(
        "{:?}, {threads} threads: {:.1} GB/s, {:.0} GFLOP/s",
        moot_kernels::cpu::table(),
        limits.bytes / 1e9,
        limits.operations / 1e9
    );
    let numbers = |count: usize, scale: f32| Tensor::randn(0_f32, scale, count, &Device::Cpu)?.to_vec1::<f32>();
    let weights = DeltaWeights {
        conv: numbers(SHAPE.taps * SHAPE.channels(), 0.5)?,
        decay: numbers(SHAPE.value_heads, 1.0)?.iter().map(|x| -x.exp()).collect(),
        step_bias: numbers(SHAPE.value_heads, 1.0)?,
    };
    for [sequences, len] in BATCHES {
        let tokens = sequences * len;
        // More states than the caches hold, as the layers of a model are.
        let layers: Vec<DeltaStates> = (0..18).map(|_| DeltaStates::new(SHAPE, sequences)).collect();
        let tensor = |width: usize| Tensor::randn(0_f32, 1.0, (tokens, width), &Device::Cpu);
        let (qkv, rate, step) = (tensor(SHAPE.channels())?, tensor(SHAPE.value_heads)?, tensor(SHAPE.value_heads)?);
        let rows: Vec<StateRows> =
            (0..sequences as u32).map(|slot| StateRows { from: Some(slot), to: slot, saves: Vec::new() }).collect();
        let inputs = DeltaInputs { qkv: &qkv, rate: &rate, step: &step };
        let mut least = f64::INFINITY;
        for _ in 0..ROUNDS {
            let start = Instant::now();
            for states in &layers {
                delta_net(inputs, &weights, states, &vec![len; sequences], &rows)?;
            }
            least = least.min(start.elapsed().as_secs_f64());
        }
        let state = (SHAPE.value_heads * SHAPE.key_dim * SHAPE.value_dim * layers.len()) as f64;
        // Each number of a state is multiplied by the decay, and is part of three multiply-adds.
        let operations = 7.0 * state * tokens as f64 / least / limits.operations;
        let bytes = 2.0 * 4.0 * state * sequences as f64 / least / limits.bytes;
        println!(
            "{sequences:2} x {len:3} tokens: {:7.3} ms for 18 layers, {:6.1} us a token, {:.0} % of the operations, {:.0} % of the bytes",
            least * 1e3,
            least * 1e6 / tokens as f64,
            100.0 * operations,
            100.0 * bytes
        );
    }
    Ok(())
}

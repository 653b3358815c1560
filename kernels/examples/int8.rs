//! Speed of quantised matrix products by type and rows, on one thread: the least of some rounds, in multiply-adds.
//!
//! `cargo run --release -p moot-kernels --example int8 [TYPE..]`
#![allow(missing_docs, clippy::print_stdout)]

use candle_core::quantized::{GgmlDType, QTensor};
use candle_core::{Device, Result, Tensor};
use moot_kernels::Weight;
use std::time::Instant;

/// Qwen2.5-0.5B's widest layer, and one of its inputs in whole units of 256.
const LAYERS: [(GgmlDType, usize, usize); 6] = [
    (GgmlDType::Q4_1, 896, 4864),
    (GgmlDType::Q5_0, 896, 4864),
    (GgmlDType::Q8_0, 896, 4864),
    (GgmlDType::Q4K, 4864, 896),
    (GgmlDType::Q5K, 4864, 896),
    (GgmlDType::Q6K, 4864, 896),
];
const ROWS: [usize; 7] = [1, 2, 3, 4, 8, 16, 256];
/// Multiply-adds of a measurement.
const WORK: usize = 200_000_000;
const ROUNDS: usize = 5;

fn main() -> Result<()> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build_global();
    pool.expect("no pool was there before");
    let asked: Vec<String> = std::env::args().skip(1).collect();
    println!("{:?}: 1e9 multiply-adds a second by rows {ROWS:?}", moot_kernels::cpu::table());
    for (dtype, inputs, outputs) in LAYERS {
        if !asked.is_empty() && !asked.contains(&format!("{dtype:?}")) {
            continue;
        }
        let stored = QTensor::quantize(&Tensor::randn(0_f32, 1.0, (outputs, inputs), &Device::Cpu)?, dtype)?;
        let bytes = stored.data()?;
        let row = bytes.len() / outputs;
        let weight = Weight::from_blocks(dtype, outputs, inputs, |i| &bytes[i * row..][..row]).expect("whole blocks");
        print!("{:>5}", format!("{dtype:?}"));
        for rows in ROWS {
            let x = Tensor::randn(0_f32, 1.0, (rows, inputs), &Device::Cpu)?;
            let once = rows * inputs * outputs;
            let repeat = WORK.div_ceil(once).min(40);
            let mut best = f64::INFINITY;
            for _ in 0..ROUNDS {
                let started = Instant::now();
                for _ in 0..repeat {
                    std::hint::black_box(weight.apply(&x)?);
                }
                best = best.min(started.elapsed().as_secs_f64() / repeat as f64);
            }
            print!(" {:7.1}", once as f64 / best / 1e9);
        }
        println!();
    }
    Ok(())
}

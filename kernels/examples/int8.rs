//! Speed of quantised matrix products by type and rows: the least of some rounds, in multiply-adds.
//!
//! `cargo run --release -p moot-kernels --example int8 [--threads N] [--megabytes N] [--bf16] [--rows N] [TYPE..]`
//!
//! One matrix of a few megabytes is multiplied again and again, so it stays in the cache. With `--megabytes` as many
//! matrices as have that size together are multiplied in turn, as the layers of a model are. With `--bf16` activations are
//! bf16, multiplied by AMX's tiles of such numbers.
#![allow(missing_docs, clippy::print_stdout)]

use candle_core::quantized::{GgmlDType, QTensor};
use candle_core::{Device, Result, Tensor};
use moot_kernels::cpu::limits;
use moot_kernels::ops::rounded::rounded;
use moot_kernels::{BlockType, Weight};
use std::time::Instant;

/// The program's, which gives whole cache lines: tiles of inputs that begin within a line take a quarter longer.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Qwen2.5-0.5B's widest layer, and one of its inputs in whole units of 256.
const LAYERS: [(&str, BlockType, usize, usize); 8] = [
    ("Q4_1", BlockType::Ggml(GgmlDType::Q4_1), 896, 4864),
    ("Q5_0", BlockType::Ggml(GgmlDType::Q5_0), 896, 4864),
    ("Q8_0", BlockType::Ggml(GgmlDType::Q8_0), 896, 4864),
    ("IQ4_NL", BlockType::Iq4Nl, 896, 4864),
    ("MXFP4", BlockType::Mxfp4, 896, 4864),
    ("Q4K", BlockType::Ggml(GgmlDType::Q4K), 4864, 896),
    ("Q5K", BlockType::Ggml(GgmlDType::Q5K), 4864, 896),
    ("Q6K", BlockType::Ggml(GgmlDType::Q6K), 4864, 896),
];
const ROWS: [usize; 8] = [1, 2, 3, 4, 8, 16, 256, 512];
/// Multiply-adds of a measurement, at least one pass over the matrices.
const WORK: usize = 200_000_000;
const ROUNDS: usize = 5;

fn main() -> Result<()> {
    let (mut threads, mut megabytes, mut bf16) = (1, 0, false);
    let (mut rows, mut asked) = (ROWS.to_vec(), Vec::new());
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut number = || words.next().and_then(|number| number.parse().ok()).expect("a number after the option");
        match word.as_str() {
            "--threads" => threads = number(),
            "--megabytes" => megabytes = number(),
            "--bf16" => bf16 = true,
            "--rows" => rows = vec![number()],
            _ => asked.push(word),
        }
    }
    let known = |asked: &String| LAYERS.iter().any(|(name, ..)| name == asked);
    assert!(asked.iter().all(known), "expected types of {LAYERS:?}, found {asked:?}");
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
    // From another thread each product would wait for the pool to wake.
    pool.install(|| measure(threads, megabytes, bf16, &rows, &asked))
}

fn measure(threads: usize, megabytes: usize, bf16: bool, rows: &[usize], asked: &[String]) -> Result<()> {
    let limits = limits::measure().map_err(candle_core::Error::msg)?;
    println!(
        "{:?}, {threads} threads, {:.0}e9 int8 products a second: 1e9 multiply-adds a second by rows {rows:?}",
        moot_kernels::cpu::table(),
        limits.byte_operations / 2e9
    );
    for (name, of, inputs, outputs) in LAYERS {
        if !asked.is_empty() && !asked.iter().any(|asked| asked == name) {
            continue;
        }
        let bytes = stored(of, outputs, inputs)?;
        let row = bytes.len() / outputs;
        let pack = || Weight::from_blocks(of, outputs, inputs, |i| &bytes[i * row..][..row]).expect("whole blocks");
        let weights: Vec<Weight> = (0..(megabytes * 1_000_000 / bytes.len()).max(1)).map(|_| pack()).collect();
        print!("{name:>6}");
        for &rows in rows {
            let x = Tensor::randn(0_f32, 1.0, (rows, inputs), &Device::Cpu)?;
            let x = if bf16 { rounded(&x)? } else { x };
            let once = rows * inputs * outputs;
            let repeat = WORK.div_ceil(once).min(40).next_multiple_of(weights.len());
            let mut best = f64::INFINITY;
            for _ in 0..ROUNDS {
                let started = Instant::now();
                for weight in weights.iter().cycle().take(repeat) {
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

/// A random matrix in blocks of type `of`; where codes select from a table, with scales about 2^-5.
fn stored(of: BlockType, outputs: usize, inputs: usize) -> Result<Vec<u8>> {
    let dense = Tensor::randn(0_f32, 1.0, (outputs, inputs), &Device::Cpu)?;
    if let BlockType::Ggml(dtype) = of {
        return Ok(QTensor::quantize(&dense, dtype)?.data()?.to_vec());
    }
    let count = outputs * inputs / of.block_size() * of.type_size();
    let numbers = dense.flatten_all()?.to_vec1::<f32>()?;
    let mut bytes: Vec<u8> = numbers[..count].iter().map(|x| (x.abs() * 100.0) as u8).collect();
    for block in bytes.chunks_exact_mut(of.type_size()) {
        match of {
            BlockType::Mxfp4 => block[0] = 118 + block[0] % 8,
            _ => block[1] = block[1] & 0x83 | 0x28,
        }
    }
    Ok(bytes)
}

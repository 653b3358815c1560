//! Speed of attention of a prompt, in f32 and by products of bf16: the least of some rounds.
//!
//! `cargo run --release -p moot-kernels --example attention [--threads N] [HEADS KV_HEADS HEAD_DIM START TOKENS]`
//!
//! One layer's attention of TOKENS new tokens over these and START earlier ones; keys and values are f16. The default is a layer
//! of Qwen2.5-0.5B. Multiply-adds count each attended key once in a score and once in a sum.
#![allow(missing_docs, clippy::print_stdout)]

use candle_core::{DType, Device, Result, Tensor};
use moot_kernels::ops::attention::Attention;
use moot_kernels::{AttentionPlan, PAGE, SequenceRows};
use std::time::Instant;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const ROUNDS: usize = 20;

fn main() -> Result<()> {
    let mut words: Vec<String> = std::env::args().skip(1).collect();
    let threads = match words.iter().position(|word| word == "--threads") {
        Some(at) => words.drain(at..at + 2).nth(1).and_then(|number| number.parse().ok()).expect("--threads N"),
        None => 1,
    };
    let shape: Vec<usize> = words.iter().map(|word| word.parse().expect("a number")).collect();
    let [heads, kv_heads, dim, start, len] = shape.try_into().unwrap_or([14, 2, 64, 0, 512]);
    rayon::ThreadPoolBuilder::new().num_threads(threads).build_global().expect("the first pool");
    let pages = (start + len).div_ceil(PAGE);
    let cache = |shape| Tensor::randn(0_f32, 1.0, shape, &Device::Cpu)?.to_dtype(DType::F16);
    let (k, v) = (cache((pages, kv_heads, dim, PAGE))?, cache((pages, kv_heads, PAGE, dim))?);
    let q = Tensor::randn(0_f32, 1.0, (len, heads, dim), &Device::Cpu)?;
    let keys = (start + 1..=start + len).sum::<usize>();
    let plan = AttentionPlan::new(vec![SequenceRows { start, len, pages: (0..pages as u32).collect() }]);
    println!("{heads} heads, {kv_heads} KV heads of {dim}, {len} tokens after {start}, {threads} threads");
    for rounded in [false, true] {
        let op = Attention { rounded, ..Attention::new(&plan, 0.125) };
        let mut least = f64::INFINITY;
        for _ in 0..ROUNDS {
            let begin = Instant::now();
            op.apply([&q, &k, &v])?;
            least = least.min(begin.elapsed().as_secs_f64());
        }
        let rate = (2 * keys * heads * dim) as f64 / least / 1e9 / threads as f64;
        println!(
            "{:5} {:8.3} ms  {rate:6.1}e9 multiply-adds a second and core",
            if rounded { "bf16" } else { "f32" },
            1e3 * least
        );
    }
    Ok(())
}

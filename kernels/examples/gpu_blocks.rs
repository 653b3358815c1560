//! Times products with matrices in blocks on an NVIDIA GPU: ours, Candle's, and widening with a product of bf16 by cuBLAS.
//! `cargo run --release -p moot-kernels --features cuda --example gpu_blocks` (`sh kernels/cuda/build.sh run ...`).
//!
//! Microseconds a product, the median of seven. A step of products is captured as a graph, so that the host does not
//! count, and goes through copies of the matrix that together exceed the card's cache.
#![allow(clippy::print_stdout)]

use candle_core::quantized::{GgmlDType, QMatMul, QStorage, QTensor};
use candle_core::{DType, Device, Module, Result, Tensor};
use moot_kernels::{Graph, PackedBlocks, Packing, Part};
use std::borrow::Cow;
use std::sync::Arc;
use std::time::Instant;

/// Qwen2.5-1.5B's gate and up, down, queries with keys and values; Llama-3.1-8B's gate and up, down.
const MATRICES: [[usize; 2]; 5] = [[17920, 1536], [1536, 8960], [2048, 1536], [28672, 4096], [4096, 14336]];
const ROWS: [usize; 8] = [1, 8, 16, 32, 64, 128, 256, 512];
const TYPES: [GgmlDType; 4] = [GgmlDType::Q4K, GgmlDType::Q6K, GgmlDType::Q8_0, GgmlDType::Q5_0];
/// Bytes of all copies of a matrix: more than the second level of any card's cache.
const HELD: usize = 300 << 20;

/// A matrix for our kernels, and for Candle's.
struct Matrix {
    packed: PackedBlocks,
    candles: Arc<QTensor>,
}

/// Blocks of random codes whose scales are small numbers.
fn random(blocks: GgmlDType, [outputs, inputs]: [usize; 2], device: &Device) -> Result<Matrix> {
    let size = blocks.type_size();
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut bytes = vec![0_u8; outputs * inputs / blocks.block_size() * size];
    for byte in &mut bytes {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        *byte = (state >> 40) as u8;
    }
    // 2^-7 as an f16, where the type has its numbers.
    let places: &[usize] = match blocks {
        GgmlDType::Q6K => &[208],
        GgmlDType::Q4K | GgmlDType::Q5K => &[0, 2],
        _ => &[0],
    };
    for block in bytes.chunks_exact_mut(size) {
        for &at in places {
            block[at..at + 2].copy_from_slice(&[0x00, 0x20]);
        }
    }
    let of_row = bytes.len() / outputs;
    let packed = PackedBlocks::pack(
        vec![Part { blocks, outputs }],
        Packing::InOrder,
        inputs,
        |row| bytes[row * of_row..][..of_row].into(),
        device,
    )?;
    let candles = QTensor::new(QStorage::from_data(Cow::Owned(bytes), device, blocks)?, (outputs, inputs))?;
    Ok(Matrix { packed, candles: Arc::new(candles) })
}

/// Microseconds of one call of `product` on each of `matrices`.
fn timed(device: &Device, matrices: &[Matrix], product: impl Fn(&Matrix) -> Result<Tensor>) -> Result<f64> {
    let step = || matrices.iter().try_for_each(|matrix| product(matrix).map(drop));
    let graph = Graph::capture(device, step)?;
    graph.launch()?;
    device.synchronize()?;
    let mut times = Vec::new();
    for _ in 0..7 {
        let began = Instant::now();
        graph.launch()?;
        device.synchronize()?;
        times.push(began.elapsed().as_secs_f64() * 1e6 / matrices.len() as f64);
    }
    times.sort_by(f64::total_cmp);
    Ok(times[times.len() / 2])
}

fn main() -> Result<()> {
    let device = moot_kernels::open_cuda(0)?;
    println!(
        "| matrix | blocks | rows | ours | Candle's | widened | ours, TB/s of the matrix |\n|---|---|---|---|---|---|---|"
    );
    for shape @ [outputs, inputs] in MATRICES {
        for blocks in TYPES {
            let mut matrices = vec![random(blocks, shape, &device)?];
            let bytes = matrices[0].packed.bytes();
            while matrices.len() * bytes < HELD {
                matrices.push(random(blocks, shape, &device)?);
            }
            for rows in ROWS {
                let x = Tensor::randn(0_f32, 1.0, (rows, inputs), &device)?.to_dtype(DType::BF16)?;
                let ours = timed(&device, &matrices, |w| w.packed.multiply(&x))?;
                let candles = timed(&device, &matrices, |w| QMatMul::from_arc(Arc::clone(&w.candles))?.forward(&x));
                let candles = candles.map_or_else(|e| format!("{e:.40}"), |us| format!("{us:.1}"));
                let widened = timed(&device, &matrices, |w| x.matmul(&w.packed.widen(DType::BF16)?.t()?))?;
                let rate = bytes as f64 / ours / 1e6;
                println!(
                    "| {outputs} x {inputs} | {blocks:?} | {rows} | {ours:.1} | {candles} | {widened:.1} | {rate:.2} |"
                );
            }
        }
    }
    Ok(())
}

use candle_core::quantized::{GgmlDType, QTensor};
use candle_core::{Device, Tensor};
use moot_kernels::Weight;
use std::time::Instant;
fn main() -> candle_core::Result<()> {
    let args: Vec<String> = std::env::args().collect();
    let threads: usize = args[1].parse().unwrap();
    rayon::ThreadPoolBuilder::new().num_threads(threads).build_global().unwrap();
    for (name, dtype) in [("q4k", GgmlDType::Q4K), ("q6k", GgmlDType::Q6K), ("q5_0", GgmlDType::Q5_0), ("q8_0", GgmlDType::Q8_0), ("q4_1", GgmlDType::Q4_1)] {
        if args.len() > 2 && args[2] != name { continue; }
        let (outputs, inputs) = (std::env::var("OUT").map_or(8960, |x| x.parse().unwrap()), 1536);
        let dense = Tensor::randn(0_f32, 1.0, (256, inputs), &Device::Cpu)?;
        let stored = QTensor::quantize(&dense, dtype)?;
        let bytes = stored.data()?;
        let row = bytes.len() / 256;
        let weights: Vec<Weight> = (0..12).map(|_| Weight::from_blocks(dtype, outputs, inputs, |i| &bytes[i % 256 * row..][..row]).unwrap()).collect();
        let size: usize = weights.iter().map(Weight::bytes).sum();
        for rows in [1, 2, 4, 8, 16, 32, 128, 512] { if std::env::var("ROWS").is_ok_and(|r| r.parse() != Ok(rows)) { continue; }
            let x = Tensor::randn(0_f32, 1.0, (rows, inputs), &Device::Cpu)?;
            let reps = if rows > 16 { 2 } else { 4 } * (8960 / outputs);
            let mut best = f64::INFINITY;
            for _ in 0..std::env::var("N").map_or(3, |n| n.parse().unwrap()) {
                rayon::scope(|_| {
                    let t = Instant::now();
                    for _ in 0..reps { for w in &weights { std::hint::black_box(w.apply(&x).unwrap()); } }
                    best = best.min(t.elapsed().as_secs_f64() / reps as f64);
                });
                if best > 4.0 { break; }
            }
            let ops = 2.0 * (12 * rows * outputs * inputs) as f64;
            println!("{name} rows {rows}: {:.1} GB/s {:.0} GOPS", size as f64 / best / 1e9, ops / best / 1e9);
        }
    }
    Ok(())
}

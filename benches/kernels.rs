//! The kernels at the shapes of real models, compared with their references before they are timed.
#![allow(missing_docs, clippy::panic)]

use candle_core::quantized::{GgmlDType, QMatMul, QTensor};
use candle_core::{DType, Device, Module, Result, Tensor};
use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use moot_models::kernels::ops::{attention::Attention, linear};
use moot_models::kernels::{AttentionPlan, PAGE, SequenceRows, Weight};
use std::time::Duration;

/// The program's own.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// `[inputs, outputs]` of the layers of SmolLM2-135M (576 and 1536) and Qwen2.5-0.5B (896 and 4864).
const LAYERS: [(usize, usize); 6] = [(576, 576), (576, 1536), (1536, 576), (896, 896), (896, 4864), (4864, 896)];
const ROWS: [usize; 4] = [1, 4, 32, 256];

/// Qwen2.5-0.5B's: query heads, KV heads, dimensions of a head.
const HEADS: (usize, usize, usize) = (14, 2, 64);

fn group<'a>(criterion: &'a mut Criterion, name: &str) -> BenchmarkGroup<'a, WallTime> {
    let mut group = criterion.benchmark_group(name);
    group.sample_size(10).warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(1));
    group
}

fn normal(shape: impl Into<candle_core::Shape>) -> Result<Tensor> {
    Tensor::randn(0_f32, 1.0, shape, &Device::Cpu)
}

/// # Panics
/// An element differs by more than `tolerance`.
fn assert_equal(what: &str, got: &Tensor, want: &Tensor, tolerance: f64) -> Result<()> {
    let off = f64::from((got - want)?.abs()?.flatten_all()?.max(0)?.to_scalar::<f32>()?);
    assert!(off <= tolerance, "{what}: off by {off}, {tolerance} is allowed");
    Ok(())
}

fn linear_layers(criterion: &mut Criterion) -> Result<()> {
    let mut group = group(criterion, "linear");
    for (inputs, outputs) in LAYERS {
        let dense = normal((outputs, inputs))?;
        let weight = Weight::new(&dense)?;
        for rows in ROWS {
            let x = normal((rows, inputs))?;
            let case = format!("{inputs}->{outputs} rows {rows}");
            // A sum of n products of such numbers is about sqrt(n) large; f32 keeps seven digits of it.
            let tolerance = 5e-5 * (inputs as f64).sqrt();
            assert_equal(&case, &weight.apply(&x)?, &linear::reference(&x, &dense)?, tolerance)?;
            group.throughput(Throughput::Elements(rows as u64));
            group.bench_function(BenchmarkId::new("moot", &case), |bencher| bencher.iter(|| weight.apply(&x)));
            group.bench_function(BenchmarkId::new("reference", &case), |bencher| {
                bencher.iter(|| linear::reference(&x, &dense));
            });
        }
    }
    group.finish();
    Ok(())
}

/// Quantised layers of Qwen2.5-0.5B and 1.5B in their files' types, and Candle's matmul by the same blocks.
fn block_layers(criterion: &mut Criterion) -> Result<()> {
    let layers = [
        (GgmlDType::Q5_0, 896, 4864),
        (GgmlDType::Q8_0, 896, 4864),
        (GgmlDType::Q4K, 1536, 8960),
        (GgmlDType::Q6K, 8960, 1536),
    ];
    let mut group = group(criterion, "blocks");
    for (dtype, inputs, outputs) in layers {
        let stored = QTensor::quantize(&normal((outputs, inputs))?, dtype)?;
        let bytes = stored.data()?;
        let row = bytes.len() / outputs;
        let weight = Weight::from_blocks(dtype, outputs, inputs, |i| &bytes[i * row..][..row]).expect("whole blocks");
        let dense = stored.dequantize(&Device::Cpu)?;
        let candle = QMatMul::from_qtensor(QTensor::new(
            candle_core::quantized::QStorage::from_data(bytes.clone(), &Device::Cpu, dtype)?,
            (outputs, inputs),
        )?)?;
        for rows in [1, 4, 8, 32, 128, 512] {
            let x = normal((rows, inputs))?;
            let case = format!("{dtype:?} {inputs}->{outputs} rows {rows}");
            // Quantised activations have a mean error of 0.005, a sum of n of them 0.005 sqrt(n).
            let tolerance = 0.035 * (inputs as f64).sqrt();
            assert_equal(&case, &weight.apply(&x)?, &linear::reference(&x, &dense)?, tolerance)?;
            group.throughput(Throughput::Elements(rows as u64));
            group.bench_function(BenchmarkId::new("moot", &case), |bencher| bencher.iter(|| weight.apply(&x)));
            group.bench_function(BenchmarkId::new("candle", &case), |bencher| bencher.iter(|| candle.forward(&x)));
        }
    }
    group.finish();
    Ok(())
}

/// `count` sequences of `len` new tokens after `start` others; pages up to `shared` positions are the first one's.
fn sequences(count: usize, start: usize, len: usize, shared: usize) -> Vec<SequenceRows> {
    let pages = (start + len).div_ceil(PAGE) as u32;
    let page = |sequence: usize, i: u32| if (i as usize) < shared / PAGE { i } else { sequence as u32 * pages + i };
    let rows = |sequence| SequenceRows { start, len, pages: (0..pages).map(|i| page(sequence, i)).collect() };
    (0..count).map(rows).collect()
}

fn attentions(criterion: &mut Criterion) -> Result<()> {
    let cases = [
        ("prefill 256 tokens", sequences(1, 0, 256, 0)),
        ("prefill 256 tokens after 1024", sequences(1, 1024, 256, 0)),
        ("prefill 8 x 32 tokens after 480, shared", sequences(8, 480, 32, 480)),
        ("decode 1 row at 1023", sequences(1, 1023, 1, 0)),
        ("decode 16 rows at 511, unshared", sequences(16, 511, 1, 0)),
        ("decode 16 rows at 511, 480 shared", sequences(16, 511, 1, 480)),
    ];
    let (heads, kv_heads, dim) = HEADS;
    let mut group = group(criterion, "attention");
    for (case, sequences) in cases {
        let pages = sequences.iter().flat_map(|s| &s.pages).max().map_or(0, |&page| page as usize + 1);
        let k = normal((pages, kv_heads, dim, PAGE))?.to_dtype(DType::F16)?;
        let v = normal((pages, kv_heads, PAGE, dim))?.to_dtype(DType::F16)?;
        let plan = AttentionPlan::new(sequences);
        let q = normal((plan.rows(), heads, dim))?;
        let scale = 1.0 / (dim as f32).sqrt();
        let (op, all) = (Attention::new(&plan, scale), [&q, &k, &v]);
        let want = op.reference(all)?;
        assert_equal(case, &op.apply(all)?, &want, 2e-5)?;
        group.throughput(Throughput::Elements(plan.rows() as u64));
        group.bench_function(BenchmarkId::new("moot", case), |bencher| {
            bencher.iter(|| op.apply(all));
        });
        group.bench_function(BenchmarkId::new("reference", case), |bencher| {
            bencher.iter(|| op.reference(all));
        });
    }
    group.finish();
    Ok(())
}

fn kernels(criterion: &mut Criterion) {
    linear_layers(criterion)
        .and_then(|()| block_layers(criterion))
        .and_then(|()| attentions(criterion))
        .expect("shapes of a bench fit");
}

criterion_group!(benches, kernels);
criterion_main!(benches);

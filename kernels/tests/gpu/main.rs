//! Every op on an NVIDIA GPU against its reference on the CPU:
//! `cargo test --release --package moot-kernels --features cuda --test gpu`.
// Measurements are printed, for `--nocapture`.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic, clippy::print_stdout)]

mod captures;
mod encoders;

use candle_core::quantized::{GgmlDType, QTensor};
use candle_core::{DType, Device, Result, Tensor};
use moot_kernels::launch::{Choice, NO_MASK};
use moot_kernels::ops::attention::Attention;
use moot_kernels::ops::kv_store::Slots;
use moot_kernels::ops::rotate_store::RotateStore;
use moot_kernels::ops::{gated, norm, rope, sample};
use moot_kernels::{
    AttentionPlan, CUDA, Gate, KernelGroup, PAGE, PackedBlocks, Packing, Part, SequenceRows, Weight, read_back,
};

fn gpu() -> Device {
    let built = CUDA;
    assert!(built, "expected a build with --features cuda");
    moot_kernels::open_cuda(0).unwrap_or_else(|error| panic!("expected an NVIDIA GPU: {error}"))
}

/// Random numbers exact in `dtype`: in f32 on the CPU, and in `dtype` on the GPU.
fn random(shape: &[usize], dtype: DType, gpu: &Device) -> Result<(Tensor, Tensor)> {
    let cpu = Tensor::randn(0_f32, 1.0, shape, &Device::Cpu)?.to_dtype(dtype)?;
    Ok((cpu.to_dtype(DType::F32)?, cpu.to_device(gpu)?))
}

fn close(what: &str, got: &Tensor, expected: &Tensor, most: f32) -> Result<()> {
    let got = read_back(got)?.to_dtype(DType::F32)?;
    let scale = expected.abs()?.maximum(1_f32)?;
    let off: f32 = ((got - expected)?.abs()? / scale)?.flatten_all()?.max(0)?.to_scalar()?;
    assert!(off <= most, "{what}: off by {off}, at most {most}");
    Ok(())
}

fn bits(tensor: &Tensor) -> Result<Vec<u32>> {
    let values: Vec<f32> = read_back(tensor)?.to_dtype(DType::F32)?.flatten_all()?.to_vec1()?;
    Ok(values.into_iter().map(f32::to_bits).collect())
}

const TYPES: [(DType, f32); 3] = [(DType::F32, 1e-4), (DType::F16, 4e-3), (DType::BF16, 3e-2)];

#[test]
#[cfg_attr(not(feature = "cuda"), ignore = "needs an NVIDIA GPU and a build with --features cuda")]
fn rows_are_their_references() -> Result<()> {
    let gpu = gpu();
    for (dtype, most) in TYPES {
        for (rows, hidden) in [(1, 64), (7, 896), (33, 4096)] {
            let ((x, gx), (y, gy)) = (random(&[rows, hidden], dtype, &gpu)?, random(&[rows, hidden], dtype, &gpu)?);
            let (w, gw) = random(&[hidden], dtype, &gpu)?;
            close("norm", &norm::rms_norm(&gx, &gw, 1e-5)?, &norm::reference(&x, &w, 1e-5)?, most)?;
            let (sum, normed) = norm::add_rms_norm(&gx, &gy, &gw, 1e-5)?;
            close("sum", &sum, &(&x + &y)?, most)?;
            close("norm of the sum", &normed, &norm::reference(&(&x + &y)?, &w, 1e-5)?, most)?;
            close("swiglu", &gated::gated(&gx, &gy, Gate::Silu)?, &gated::reference(&x, &y, Gate::Silu)?, most)?;
        }
    }
    Ok(())
}

#[test]
#[cfg_attr(not(feature = "cuda"), ignore = "needs an NVIDIA GPU and a build with --features cuda")]
fn columns_of_one_product_go_where_matrices_do() -> Result<()> {
    let gpu = gpu();
    for (dtype, most) in TYPES {
        let (both, gboth) = random(&[33, 2 * 1000], dtype, &gpu)?;
        let halves = |x: &Tensor| -> Result<[Tensor; 2]> { Ok([x.narrow(1, 0, 1000)?, x.narrow(1, 1000, 1000)?]) };
        let ([gate, up], [ggate, gup]) = (halves(&both)?, halves(&gboth)?);
        close("swiglu", &gated::gated(&ggate, &gup, Gate::Silu)?, &gated::reference(&gate, &up, Gate::Silu)?, most)?;
    }
    Ok(())
}

#[test]
#[cfg_attr(not(feature = "cuda"), ignore = "needs an NVIDIA GPU and a build with --features cuda")]
fn the_step_between_projections_and_attention_equals_the_reference() -> Result<()> {
    let gpu = gpu();
    for (dtype, most) in TYPES {
        let (tokens, heads, kv_heads, dim) = (37, 6, 2, 64);
        let widths = [heads * dim, kv_heads * dim, kv_heads * dim];
        let (rows, grows) = random(&[tokens, widths.iter().sum()], dtype, &gpu)?;
        let (bias, gbias) = random(&[widths.iter().sum()], dtype, &gpu)?;
        let [(norm, gnorm), (other, gother)] = [random(&[dim], dtype, &gpu)?, random(&[dim], dtype, &gpu)?];
        let columns = |x: &Tensor, which: usize| x.narrow(x.rank() - 1, widths[..which].iter().sum(), widths[which]);
        let angles = Tensor::arange(0_f32, (tokens * dim / 2) as f32, &Device::Cpu)?.reshape((tokens, dim / 2))?;
        let (cos, sin) = (angles.cos()?, angles.sin()?);
        let slots = Slots::new((0..tokens as u32).map(|i| (i % 5) * PAGE as u32 + i / 5).collect());
        let caches = |device: &Device, dtype| -> Result<(Tensor, Tensor)> {
            let k = Tensor::zeros((5, kv_heads, dim, PAGE), dtype, device)?;
            Ok((k, Tensor::zeros((5, kv_heads, PAGE, dim), dtype, device)?))
        };
        let run = |device: &Device, dtype, rows: &Tensor, bias: &Tensor, norms: [&Tensor; 2]| -> Result<[Tensor; 3]> {
            let (cos, sin, (k_cache, v_cache)) =
                (cos.to_device(device)?, sin.to_device(device)?, caches(device, dtype)?);
            let [q_bias, k_bias, v_bias] = [columns(bias, 0)?, columns(bias, 1)?, columns(bias, 2)?];
            let step = RotateStore {
                cos: &cos,
                sin: &sin,
                slots: &slots,
                k_cache: &k_cache,
                v_cache: &v_cache,
                biases: [Some(&q_bias), Some(&k_bias), Some(&v_bias)],
                norms: norms.map(Some),
                norm_eps: 1e-5,
            };
            let q = step.apply(&columns(rows, 0)?, &columns(rows, 1)?, &columns(rows, 2)?)?;
            Ok([q, k_cache, v_cache])
        };
        let expected = run(&Device::Cpu, DType::F32, &rows, &bias, [&norm, &other])?;
        let got = run(&gpu, dtype, &grows, &gbias, [&gnorm, &gother])?;
        for ((what, got), expected) in ["queries", "keys", "values"].iter().zip(&got).zip(&expected) {
            close(what, got, expected, 2.0 * most)?;
        }
        let (q, gq) =
            (columns(&rows, 0)?.reshape((tokens, heads, dim))?, columns(&grows, 0)?.reshape((tokens, heads, dim))?);
        let gq = rope::rope(&gq, &cos.to_device(&gpu)?, &sin.to_device(&gpu)?)?;
        close("alone", &gq, &rope::reference(&q.contiguous()?, &cos, &sin)?, most)?;
    }
    Ok(())
}

/// Three that share most of their pages, one with a long chunk, one at its beginning.
fn batch() -> Vec<SequenceRows> {
    let shared = |own: u32| (0..17).chain([20 + own]).collect::<Vec<u32>>();
    let mut rows: Vec<_> = (0..3).map(|i| SequenceRows { start: 280, len: 1, pages: shared(i) }).collect();
    rows.push(SequenceRows { start: 3, len: 150, pages: (30..40).collect() });
    rows.push(SequenceRows { start: 0, len: 1, pages: vec![45] });
    rows
}

/// For each position of each of `pages` whether one of `sequences` has written there.
fn written(sequences: &[SequenceRows], pages: usize) -> Vec<u8> {
    let mut written = vec![0; pages * PAGE];
    for sequence in sequences {
        for position in 0..sequence.start + sequence.len {
            written[sequence.pages[position / PAGE] as usize * PAGE + position % PAGE] = 1;
        }
    }
    written
}

/// With sinks where there is a window, as in gpt-oss.
fn within<'a>(window: usize, plan: &'a AttentionPlan, sinks: &'a Tensor) -> Attention<'a> {
    let sinks = (window < usize::MAX).then_some(sinks);
    Attention { window, sinks, ..Attention::new(plan, 0.1) }
}

/// Where no sequence has written, pages hold NaN: that is not read, or has no weight.
#[test]
#[cfg_attr(not(feature = "cuda"), ignore = "needs an NVIDIA GPU and a build with --features cuda")]
fn attention_is_its_reference_and_a_rows_bits_are_its_own() -> Result<()> {
    const PAGES: usize = 50;
    let gpu = gpu();
    for (dtype, most) in &TYPES[1..] {
        for (heads, kv_heads, dim, window) in [
            (8, 2, 64, usize::MAX),
            (6, 1, 96, usize::MAX),
            (32, 8, 128, usize::MAX),
            (8, 1, 64, 128),
            (32, 8, 128, 100),
            (4, 1, 256, 40),
        ] {
            let plan = AttentionPlan::new(batch());
            let (sinks, gsinks) = random(&[heads], DType::F32, &gpu)?;
            let (q, gq) = random(&[plan.rows(), heads, dim], *dtype, &gpu)?;
            let (k, _) = random(&[PAGES, kv_heads, dim, PAGE], *dtype, &gpu)?;
            let (v, _) = random(&[PAGES, kv_heads, PAGE, dim], *dtype, &gpu)?;
            let cache = |numbers: &Tensor, positions: [usize; 4]| -> Result<Tensor> {
                let written = Tensor::from_vec(written(&batch(), PAGES), &positions, &Device::Cpu)?;
                let unwritten = Tensor::full(f32::NAN, numbers.dims(), &Device::Cpu)?;
                let all = written.broadcast_as(numbers.dims())?.contiguous()?.where_cond(numbers, &unwritten)?;
                all.to_dtype(*dtype)?.to_device(&gpu)
            };
            let (gk, gv) = (cache(&k, [PAGES, 1, 1, PAGE])?, cache(&v, [PAGES, 1, PAGE, 1])?);
            let got = within(window, &plan, &gsinks).apply([&gq, &gk, &gv])?;
            close("attention", &got, &within(window, &plan, &sinks).reference([&q, &k, &v])?, *most)?;
            let mut row = 0;
            for sequence in batch() {
                let own = gq.narrow(0, row, sequence.len)?;
                let plan = AttentionPlan::new(vec![sequence.clone()]);
                let alone = within(window, &plan, &gsinks).apply([&own, &gk, &gv])?;
                assert_eq!(bits(&alone)?, bits(&got.narrow(0, row, sequence.len)?)?, "alone");
                row += sequence.len;
            }
        }
    }
    Ok(())
}

#[test]
#[cfg_attr(not(feature = "cuda"), ignore = "needs an NVIDIA GPU and a build with --features cuda")]
fn the_exact_linear_layer_is_its_reference_and_rows_do_not_depend_on_the_batch() -> Result<()> {
    let gpu = gpu();
    for (dtype, most) in &TYPES[1..] {
        for (rows, inputs, outputs) in [(1, 64, 33), (70, 896, 257), (300, 1536, 640)] {
            let ((x, gx), (w, gw)) =
                (random(&[rows, inputs], *dtype, &gpu)?, random(&[outputs, inputs], *dtype, &gpu)?);
            let weight = Weight::new(&gw)?.exact();
            let got = weight.apply(&gx)?;
            // Sums of so many products are as large as the root of their number.
            close("linear", &got, &x.matmul(&w.t()?)?, *most)?;
            let alone = weight.apply(&gx.narrow(0, rows / 2, 1)?)?;
            assert_eq!(bits(&alone)?, bits(&got.narrow(0, rows / 2, 1)?)?);
        }
    }
    Ok(())
}

#[test]
#[cfg_attr(not(feature = "cuda"), ignore = "needs an NVIDIA GPU and a build with --features cuda")]
fn products_of_blocks_are_their_reference_and_rows_do_not_depend_on_the_batch() -> Result<()> {
    let gpu = gpu();
    let types = [
        GgmlDType::Q4_0,
        GgmlDType::Q4_1,
        GgmlDType::Q5_0,
        GgmlDType::Q5_1,
        GgmlDType::Q8_0,
        GgmlDType::Q4K,
        GgmlDType::Q5K,
        GgmlDType::Q6K,
    ];
    let alone = types.iter().map(std::slice::from_ref);
    let of_two =
        [[GgmlDType::Q4K, GgmlDType::Q6K], [GgmlDType::Q5K, GgmlDType::Q6K], [GgmlDType::Q8_0, GgmlDType::Q4_0]];
    for storage in alone.chain(of_two.iter().map(|both| &both[..])) {
        for (outputs, inputs) in [(33, 256), (640, 1536), (200, 8960), (4096, 512)] {
            let (mut parts, mut numbers, mut rows) = (Vec::new(), Vec::new(), Vec::new());
            for &blocks in storage {
                let cpu = QTensor::quantize(&Tensor::randn(0_f32, 1.0, (outputs, inputs), &Device::Cpu)?, blocks)?;
                parts.push(Part { blocks, outputs });
                numbers.push(cpu.dequantize(&Device::Cpu)?);
                let bytes = cpu.data()?;
                rows.extend(bytes.chunks_exact(bytes.len() / outputs).map(<[u8]>::to_vec));
            }
            let w = Tensor::cat(&numbers, 0)?;
            let on_gpu = PackedBlocks::pack(parts, Packing::InOrder, inputs, |row| (&rows[row][..]).into(), &gpu)?;
            for (dtype, most) in &TYPES[1..] {
                let widened = on_gpu.widen(*dtype)?;
                close(&format!("{storage:?}, widened"), &widened, &w, *most)?;
                for rows in [1, 8, 9, 30, 64, 130] {
                    let (x, gx) = random(&[rows, inputs], *dtype, &gpu)?;
                    let got = on_gpu.multiply(&gx)?;
                    let what = format!("{storage:?}, {rows} rows of {inputs}");
                    // Where a sum is near 0, its error is that of the numbers that cancel.
                    close(&what, &got, &x.matmul(&w.t()?)?, 2.0 * most)?;
                    let alone = on_gpu.multiply(&gx.narrow(0, rows / 2, 1)?)?;
                    assert_eq!(bits(&alone)?, bits(&got.narrow(0, rows / 2, 1)?)?, "{what}");
                }
            }
        }
    }
    Ok(())
}

#[test]
#[cfg_attr(not(feature = "cuda"), ignore = "needs an NVIDIA GPU and a build with --features cuda")]
fn gated_products_are_the_gate_times_the_rest() -> Result<()> {
    let gpu = gpu();
    for (storage, outputs, inputs) in [(GgmlDType::Q4K, 17_920, 1536), (GgmlDType::Q8_0, 48, 64)] {
        let cpu = QTensor::quantize(&Tensor::randn(0_f32, 0.05, (outputs, inputs), &Device::Cpu)?, storage)?;
        let (w, bytes) = (cpu.dequantize(&Device::Cpu)?, cpu.data()?);
        let row = |row: usize| bytes[row * bytes.len() / outputs..][..bytes.len() / outputs].into();
        let on_gpu = PackedBlocks::pack(vec![Part { blocks: storage, outputs }], Packing::Gated, inputs, row, &gpu)?;
        for (dtype, most) in &TYPES[1..] {
            close(&format!("{storage:?}, gated, widened"), &on_gpu.widen(*dtype)?, &w, *most)?;
            for rows in [1, 8, 9, 30, 130] {
                let (x, gx) = random(&[rows, inputs], *dtype, &gpu)?;
                let both = x.matmul(&w.t()?)?.chunk(2, 1)?;
                let expected = (both[0].silu()? * &both[1])?;
                close(&format!("{storage:?}, gated, {rows} rows"), &on_gpu.multiply(&gx)?, &expected, 4.0 * most)?;
            }
        }
    }
    Ok(())
}

#[test]
#[cfg_attr(not(feature = "cuda"), ignore = "needs an NVIDIA GPU and a build with --features cuda")]
fn sampling_obeys_masks_and_cuts() -> Result<()> {
    let gpu = gpu();
    let vocab = 151_936;
    let logits = Tensor::randn(0_f32, 1.0, (3, vocab), &Device::Cpu)?;
    let rows: Vec<Vec<f32>> = logits.to_vec2()?;
    let best = |row: &[f32]| (0..vocab).fold(0, |best, id| if row[id] > row[best] { id } else { best }) as u32;
    let greedy = Choice { temperature: 0.0, top_p: 1.0, draw: 0.0, top_k: 0, mask: NO_MASK };
    let mut mask = vec![0_u32; vocab.div_ceil(32)];
    mask[7] = 1 << 9;
    let one = Choice { temperature: 1.0, draw: 0.7, top_k: 1, ..greedy };
    let got = sample::sample(&logits.to_device(&gpu)?, vocab, &[greedy, Choice { mask: 0, ..greedy }, one], &mask)?;
    assert_eq!(got, [Some(best(&rows[0])), Some(7 * 32 + 9), Some(best(&rows[2]))]);
    Ok(())
}

/// Tokens 100 to 103 with probabilities of 1 to 4 tenths, among others that no draw meets.
#[test]
#[cfg_attr(not(feature = "cuda"), ignore = "needs an NVIDIA GPU and a build with --features cuda")]
fn top_k_and_top_p_keep_the_likeliest() -> Result<()> {
    const VOCAB: usize = 2100;
    const DRAWS: usize = 60;
    let gpu = gpu();
    let mut logits = vec![-80.0_f32; VOCAB];
    (1..5).for_each(|n| logits[99 + n] = (n as f32).ln());
    let logits = Tensor::from_vec(logits.repeat(DRAWS), (DRAWS, VOCAB), &gpu)?;
    for (top_k, top_p, kept) in [
        (2, 1.0, vec![102, 103]),
        (0, 0.5, vec![102, 103]),
        (0, 1.0, vec![100, 101, 102, 103]),
        (3, 0.99, vec![101, 102, 103]),
        (0, 0.0, vec![103]),
    ] {
        let choice = |i: usize| Choice { temperature: 1.0, top_p, top_k, draw: i as f32 / DRAWS as f32, mask: NO_MASK };
        let choices: Vec<Choice> = (0..DRAWS).map(choice).collect();
        let mut drawn = sample::sample(&logits, VOCAB, &choices, &[])?;
        drawn.dedup();
        let kept: Vec<Option<u32>> = kept.into_iter().map(Some).collect();
        assert_eq!(drawn, kept, "top_k {top_k}, top_p {top_p}");
    }
    Ok(())
}

#[test]
#[cfg_attr(not(feature = "cuda"), ignore = "needs an NVIDIA GPU and a build with --features cuda")]
fn the_self_test_passes() {
    let gpu = gpu();
    let began = std::time::Instant::now();
    let failures = moot_kernels::self_test(&gpu);
    println!("self-test: {:.3} s", began.elapsed().as_secs_f64());
    assert!(failures.is_empty(), "{failures:#?}");
}

/// In a process of its own, because kernels are distrusted for the whole process.
#[test]
#[cfg_attr(not(feature = "cuda"), ignore = "needs an NVIDIA GPU and a build with --features cuda")]
fn the_self_test_passes_without_our_kernels() {
    const ALONE: &str = "MOOT_TEST_WITHOUT_KERNELS";
    if std::env::var_os(ALONE).is_none() {
        let test = ["the_self_test_passes_without_our_kernels", "--exact", "--include-ignored", "--nocapture"];
        let program = std::env::current_exe().unwrap();
        let run = std::process::Command::new(program).args(test).env(ALONE, "1").output().unwrap();
        let printed = String::from_utf8_lossy(&[run.stdout, run.stderr].concat()).into_owned();
        assert!(run.status.success() && printed.contains("1 passed"), "{printed}");
        return;
    }
    let gpu = gpu();
    KernelGroup::ALL.into_iter().for_each(moot_kernels::distrust);
    assert!(KernelGroup::ALL.into_iter().all(|group| !moot_kernels::has_kernels(&gpu, group)));
    let failures = moot_kernels::self_test(&gpu);
    assert!(failures.is_empty(), "{failures:#?}");
}

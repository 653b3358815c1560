//! Attention over pages against its reference.

use super::{bits, largest_difference};
use candle_core::{DType, Device, Result, Tensor};
use moot_kernels::ops::attention::Attention;
use moot_kernels::{AttentionPlan, PAGE, SequenceRows};

/// Two sequences that share their first two pages, and one that shares nothing.
fn shared_batch() -> Vec<SequenceRows> {
    vec![
        SequenceRows { start: 40, len: 3, pages: vec![5, 2, 7] },
        SequenceRows { start: 37, len: 1, pages: vec![5, 2, 0] },
        SequenceRows { start: 0, len: 50, pages: vec![1, 3, 4, 6] },
    ]
}

#[test]
fn attention_is_its_reference_with_shared_pages_read_once() -> Result<()> {
    for dtype in [DType::F32, DType::F16] {
        attends(dtype, usize::MAX)?;
        // Some windows begin within a page, within the first of two pages that are read at once, and beyond a tile.
        for window in [1, 5, 16, 20, 33, 50] {
            attends(dtype, window)?;
        }
    }
    Ok(())
}

/// By products of bf16 attention is its reference, up to the eight bits of a weight. Each sequence alone has the same bits, also
/// in two parts, the first of them stored before; a window that no row exceeds changes none.
#[test]
fn attention_by_products_of_bf16_is_its_reference_in_any_batch() -> Result<()> {
    let (heads, kv_heads, dim) = (6, 2, 48);
    let sequences = vec![
        SequenceRows { start: 40, len: 3, pages: vec![5, 2, 7] },
        SequenceRows { start: 37, len: 1, pages: vec![5, 2, 0] },
        // More than the rows of a tile, and pages of three blocks.
        SequenceRows { start: 20, len: 150, pages: vec![1, 3, 4, 6, 8, 9, 10, 11, 12, 13, 14] },
    ];
    let sinks = Tensor::new(&[-200_f32, -1.0, 0.5, 2.0, 9.0, 300.0], &Device::Cpu)?;
    for (dtype, window) in [(DType::F32, usize::MAX), (DType::F16, usize::MAX), (DType::F16, 21), (DType::F16, 170)] {
        let plan = AttentionPlan::new(sequences.clone());
        let cache = |shape| Tensor::randn(0_f32, 1.0, shape, &Device::Cpu)?.to_dtype(dtype);
        let (k, v) = (cache((15, kv_heads, dim, PAGE))?, cache((15, kv_heads, PAGE, dim))?);
        let q = Tensor::randn(0_f32, 1.0, (plan.rows(), heads, dim), &Device::Cpu)?;
        for sinks in [None, Some(&sinks)] {
            let by = |plan: &AttentionPlan, window: usize, q: &Tensor| {
                Attention { rounded: true, ..over(plan, window, sinks) }.apply([q, &k, &v])
            };
            let got = by(&plan, window, &q)?;
            let difference = largest_difference(&got, &over(&plan, window, sinks).reference([&q, &k, &v])?)?;
            assert!(difference < 0.02, "{dtype:?}, a window of {window}: {difference}");
            assert_ne!(bits(&got), bits(&over(&plan, window, sinks).apply([&q, &k, &v])?), "not by products of bf16");
            if window == 170 {
                assert_eq!(bits(&got), bits(&by(&plan, usize::MAX, &q)?));
            }
            let mut row = 0;
            for sequence in &sequences {
                let whole = bits(&got.narrow(0, row, sequence.len)?);
                for first in [sequence.len, sequence.len.div_ceil(3)] {
                    let part = |start: usize, len: usize| SequenceRows { start, len, ..sequence.clone() };
                    let parts = [part(sequence.start, first), part(sequence.start + first, sequence.len - first)];
                    let mut all = Vec::new();
                    for part in parts.into_iter().filter(|part| part.len > 0) {
                        let q = q.narrow(0, row + part.start - sequence.start, part.len)?;
                        all.extend(bits(&by(&AttentionPlan::new(vec![part]), window, &q)?));
                    }
                    assert!(all == whole, "{dtype:?}, a window of {window}, cut behind {first} rows");
                }
                row += sequence.len;
            }
        }
    }
    Ok(())
}

fn over<'a>(plan: &'a AttentionPlan, window: usize, sinks: Option<&'a Tensor>) -> Attention<'a> {
    Attention { window, sinks, ..Attention::new(plan, 0.2) }
}

fn attends(dtype: DType, window: usize) -> Result<()> {
    let (heads, kv_heads, dim) = (6, 2, 32);
    let plan = AttentionPlan::new(shared_batch());
    let cache = |shape| Tensor::randn(0_f32, 1.0, shape, &Device::Cpu)?.to_dtype(dtype);
    let caches = (cache((8, kv_heads, dim, PAGE))?, cache((8, kv_heads, PAGE, dim))?);
    let q = Tensor::randn(0_f32, 1.0, (plan.rows(), heads, dim), &Device::Cpu)?;
    let all = [&q, &caches.0, &caches.1];
    let got = over(&plan, window, None).apply(all)?;
    let want = over(&plan, window, None).reference(all)?;
    assert!(largest_difference(&got, &want)? < 1e-5);
    if window != usize::MAX {
        let full = over(&plan, usize::MAX, None).apply(all)?;
        assert_eq!(bits(&full) == bits(&got), window >= 50, "a window of {window}");
    }
    // Sharers: two common pages and one each; the third: 2 pages for its first 32 rows, 4 for the other 18.
    assert_eq!(plan.page_reads(), 4 + 6);
    assert_eq!(plan.page_reads_unshared(), 6 + 6);
    // A logit far below the scores adds nothing, one above them takes almost everything.
    let sinks = Tensor::new(&[-200_f32, -1.0, 0.5, 2.0, 9.0, 300.0], &Device::Cpu)?;
    let sunk = over(&plan, window, Some(&sinks)).apply(all)?;
    let want = over(&plan, window, Some(&sinks)).reference(all)?;
    assert!(largest_difference(&sunk, &want)? < 1e-5);
    assert_eq!(bits(&sunk.narrow(1, 0, 1)?), bits(&got.narrow(1, 0, 1)?));
    assert!(largest_difference(&sunk.narrow(1, 3, 1)?, &got.narrow(1, 3, 1)?)? > 0.01);
    let mut row = 0;
    for sequence in shared_batch() {
        let alone = AttentionPlan::new(vec![sequence.clone()]);
        let q = q.narrow(0, row, sequence.len)?;
        let own = [&q, &caches.0, &caches.1];
        let out = over(&alone, window, None).apply(own)?;
        assert_eq!(bits(&out), bits(&got.narrow(0, row, sequence.len)?));
        let out = over(&alone, window, Some(&sinks)).apply(own)?;
        assert_eq!(bits(&out), bits(&sunk.narrow(0, row, sequence.len)?));
        row += sequence.len;
    }
    let five = Tensor::zeros(5, DType::F32, &Device::Cpu)?;
    assert!(over(&plan, window, Some(&five)).apply(all).is_err());
    Ok(())
}

/// What no token was written to may hold anything, also what is no number.
#[test]
fn the_reference_reads_nothing_behind_the_last_position() -> Result<()> {
    const WRITTEN: usize = 7;
    let (heads, kv_heads, dim) = (6, 2, 32);
    let plan = AttentionPlan::new(vec![SequenceRows { start: 4, len: WRITTEN - 4, pages: vec![1] }]);
    let q = Tensor::randn(0_f32, 1.0, (plan.rows(), heads, dim), &Device::Cpu)?;
    let k = Tensor::randn(0_f32, 1.0, (2, kv_heads, dim, WRITTEN), &Device::Cpu)?;
    let v = Tensor::randn(0_f32, 1.0, (2, kv_heads, WRITTEN, dim), &Device::Cpu)?;
    let before = |unwritten: f32| -> Result<Tensor> {
        let left = |shape| Tensor::full(unwritten, shape, &Device::Cpu);
        let k = Tensor::cat(&[&k, &left((2, kv_heads, dim, PAGE - WRITTEN))?], 3)?;
        let v = Tensor::cat(&[&v, &left((2, kv_heads, PAGE - WRITTEN, dim))?], 2)?;
        over(&plan, usize::MAX, None).reference([&q, &k, &v])
    };
    assert_eq!(bits(&before(0.0)?), bits(&before(f32::NAN)?));
    Ok(())
}

/// Rows that see both sides, within a window and without one, are the reference; each sequence alone has the same bits.
#[test]
fn attention_in_both_directions_is_the_reference() -> Result<()> {
    let (heads, kv_heads, dim) = (6, 2, 32);
    let sequences = vec![
        SequenceRows { start: 0, len: 50, pages: vec![3, 0, 5, 1] },
        SequenceRows { start: 0, len: 7, pages: vec![2] },
        SequenceRows { start: 0, len: 33, pages: vec![6, 4, 7] },
    ];
    let plan = AttentionPlan::in_both_directions(sequences.clone());
    let caches = [(8, kv_heads, dim, PAGE), (8, kv_heads, PAGE, dim)];
    let [k, v] = caches.map(|shape| Tensor::randn(0_f32, 1.0, shape, &Device::Cpu));
    let (k, v, q) = (k?, v?, Tensor::randn(0_f32, 1.0, (plan.rows(), heads, dim), &Device::Cpu)?);
    let mut earlier: Option<Tensor> = None;
    for window in [6, 40, usize::MAX] {
        // A plan has one window.
        let plan = AttentionPlan::in_both_directions(sequences.clone());
        let got = over(&plan, window, None).apply([&q, &k, &v])?;
        let want = over(&plan, window, None).reference([&q, &k, &v])?;
        assert!(largest_difference(&got, &want)? < 1e-5, "a window of {window}");
        // The first row of the first sequence sees the last one of it without a window alone.
        if let Some(earlier) = earlier.replace(got.clone()) {
            assert_ne!(bits(&earlier.narrow(0, 0, 1)?), bits(&got.narrow(0, 0, 1)?), "a window of {window}");
        }
        let mut row = 0;
        for sequence in &sequences {
            let alone = AttentionPlan::in_both_directions(vec![sequence.clone()]);
            let out = over(&alone, window, None).apply([&q.narrow(0, row, sequence.len)?, &k, &v])?;
            assert_eq!(bits(&out), bits(&got.narrow(0, row, sequence.len)?));
            row += sequence.len;
        }
    }
    Ok(())
}

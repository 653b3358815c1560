//! The ops as the models call them, against their references.
#![allow(missing_docs, clippy::unwrap_used)]

use candle_core::{DType, Device, Result, Tensor};
use moot_kernels::ops::{attention, kv_store::Slots, linear};
use moot_kernels::{AttentionPlan, PAGE, SequenceRows, Weight};

fn largest_difference(a: &Tensor, b: &Tensor) -> Result<f32> {
    (a - b)?.abs()?.flatten_all()?.max(0)?.to_scalar()
}

fn bits(t: &Tensor) -> Vec<u32> {
    t.flatten_all().unwrap().to_vec1::<f32>().unwrap().iter().map(|x| x.to_bits()).collect()
}

#[test]
fn linear_is_candles_matmul_and_knows_no_company() -> Result<()> {
    for (rows, inputs, outputs) in [(1, 16, 1), (5, 896, 130), (40, 2048, 257)] {
        let x = Tensor::randn(0_f32, 1.0, (rows, inputs), &Device::Cpu)?;
        let w = Tensor::randn(0_f32, 1.0, (outputs, inputs), &Device::Cpu)?;
        let weight = Weight::new(&w)?;
        let got = weight.apply(&x)?;
        assert!(largest_difference(&got, &linear::reference(&x, &w)?)? < 1e-3);
        let alone = weight.apply(&x.narrow(0, rows - 1, 1)?)?;
        assert_eq!(bits(&alone), bits(&got.narrow(0, rows - 1, 1)?));
        let ids = Tensor::new(&[0_u32, outputs as u32 - 1], &Device::Cpu)?;
        assert_eq!(bits(&weight.rows(&ids)?), bits(&w.index_select(&ids, 0)?));
    }
    Ok(())
}

#[test]
fn an_id_beyond_the_embedding_is_an_error() -> Result<()> {
    let weight = Weight::new(&Tensor::zeros((3, 16), DType::F32, &Device::Cpu)?)?;
    assert!(weight.rows(&Tensor::new(&[3_u32], &Device::Cpu)?).is_err());
    Ok(())
}

/// Two sequences that share their first two pages, and a stranger.
fn shared_batch() -> Vec<SequenceRows> {
    vec![
        SequenceRows { start: 40, len: 3, pages: vec![5, 2, 7] },
        SequenceRows { start: 37, len: 1, pages: vec![5, 2, 0] },
        SequenceRows { start: 0, len: 50, pages: vec![1, 3, 4, 6] },
    ]
}

#[test]
fn attention_is_its_reference_with_shared_pages_read_once() -> Result<()> {
    let (heads, kv_heads, dim) = (6, 2, 32);
    let plan = AttentionPlan::new(shared_batch());
    let caches = (Tensor::randn(0_f32, 1.0, (8, kv_heads, dim, PAGE), &Device::Cpu)?, {
        Tensor::randn(0_f32, 1.0, (8, kv_heads, PAGE, dim), &Device::Cpu)?
    });
    let q = Tensor::randn(0_f32, 1.0, (plan.rows(), heads, dim), &Device::Cpu)?;
    let got = attention::attention(&q, &caches.0, &caches.1, &plan, 0.2)?;
    let want = attention::reference(&q, &caches.0, &caches.1, &plan, 0.2)?;
    assert!(largest_difference(&got, &want)? < 1e-5);
    // Sharers: two common pages and one each; the stranger: 2 pages for its first 32 rows, 4 for the other 18.
    assert_eq!(plan.page_reads(), 4 + 6);
    assert_eq!(plan.page_reads_unshared(), 6 + 6);
    let mut row = 0;
    for sequence in shared_batch() {
        let alone = AttentionPlan::new(vec![sequence.clone()]);
        let q = q.narrow(0, row, sequence.len)?;
        let out = attention::attention(&q, &caches.0, &caches.1, &alone, 0.2)?;
        assert_eq!(bits(&out), bits(&got.narrow(0, row, sequence.len)?));
        row += sequence.len;
    }
    Ok(())
}

#[test]
fn stored_keys_and_values_are_what_attention_reads() -> Result<()> {
    let (kv_heads, dim, tokens) = (2, 16, 21);
    let (k, v) = (
        Tensor::randn(0_f32, 1.0, (tokens, kv_heads, dim), &Device::Cpu)?,
        Tensor::randn(0_f32, 1.0, (tokens, kv_heads, dim), &Device::Cpu)?,
    );
    let k_cache = Tensor::zeros((3, kv_heads, dim, PAGE), DType::F32, &Device::Cpu)?;
    let v_cache = Tensor::zeros((3, kv_heads, PAGE, dim), DType::F32, &Device::Cpu)?;
    let pages = [2_u32, 0];
    let slots = (0..tokens).map(|p| pages[p / PAGE] * PAGE as u32 + (p % PAGE) as u32).collect();
    Slots::new(slots).store(&k, &v, &k_cache, &v_cache)?;
    for position in [0, 15, 16, 20] {
        let (page, place) = (pages[position / PAGE] as usize, position % PAGE);
        let stored = k_cache.get(page)?.narrow(2, place, 1)?.squeeze(2)?;
        assert_eq!(bits(&stored), bits(&k.get(position)?));
        let stored = v_cache.get(page)?.narrow(1, place, 1)?.squeeze(1)?;
        assert_eq!(bits(&stored), bits(&v.get(position)?));
    }
    Ok(())
}

#[test]
fn a_slot_or_page_beyond_the_cache_is_an_error() -> Result<()> {
    let k = Tensor::zeros((1, 1, 16), DType::F32, &Device::Cpu)?;
    let cache = Tensor::zeros((1, 1, 16, PAGE), DType::F32, &Device::Cpu)?;
    assert!(Slots::new(vec![16]).store(&k, &k, &cache, &cache).is_err());
    let plan = AttentionPlan::new(vec![SequenceRows { start: 0, len: 1, pages: vec![1] }]);
    assert!(attention::attention(&k, &cache, &cache, &plan, 1.0).is_err());
    Ok(())
}

//! The ops as the models call them, against their references.
#![allow(missing_docs, clippy::unwrap_used)]

mod attention;
mod delta;
mod short_conv;
mod structure;

use candle_core::quantized::{GgmlDType, QTensor};
use candle_core::{DType, Device, Result, Tensor};
use moot_kernels::cpu::{E2M1_VALUES_DOUBLED, IQ4_VALUES};
use moot_kernels::ops::{attention::Attention, kv_store::Slots, linear, norm, rope};
use moot_kernels::{AttentionPlan, BlockType, PAGE, SequenceRows, Weight};

fn largest_difference(a: &Tensor, b: &Tensor) -> Result<f32> {
    (a - b)?.abs()?.flatten_all()?.max(0)?.to_scalar()
}

fn bits(t: &Tensor) -> Vec<u32> {
    t.flatten_all().unwrap().to_vec1::<f32>().unwrap().iter().map(|x| x.to_bits()).collect()
}

#[test]
fn linear_is_candles_matmul_and_rows_do_not_depend_on_the_batch() -> Result<()> {
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

/// Codes that select from a table, by hand: a product with rows of the identity gives the numbers, but for activations of
/// eight bits, which hold 0 and 1 exactly.
#[test]
fn codes_that_select_have_the_values_of_their_table() -> Result<()> {
    let (outputs, inputs) = (37, 96);
    let code = |row: usize, input: usize| (row * 7 + input * 5 + input / 16) % 16;
    for (of, values) in [(BlockType::Iq4Nl, IQ4_VALUES), (BlockType::Mxfp4, E2M1_VALUES_DOUBLED)] {
        let scale = |row: usize, block: usize| 2f32.powi((row + block) as i32 % 9 - 6);
        let block = |row: usize, number: usize| {
            let exponent = (scale(row, number).log2() + 127.0) as u8;
            let mut bytes = match of {
                BlockType::Mxfp4 => vec![exponent],
                _ => half::f16::from_f32(scale(row, number)).to_le_bytes().to_vec(),
            };
            let at = |i: usize| code(row, 32 * number + i) as u8;
            bytes.extend((0..16).map(|i| at(i) | at(i + 16) << 4));
            bytes
        };
        let row = |row: usize| (0..inputs / 32).flat_map(|number| block(row, number)).collect::<Vec<u8>>();
        let weight = Weight::from_blocks(of, outputs, inputs, row).unwrap();
        assert_eq!(weight.bytes(), 2 * 32 * inputs / 32 * of.type_size(), "two panels of 32 rows");
        let want: Vec<f32> = (0..outputs * inputs)
            .map(|at| (at / inputs, at % inputs))
            .map(|(row, input)| scale(row, input / 32) * f32::from(values[code(row, input)]))
            .collect();
        let want = Tensor::from_vec(want, (outputs, inputs), &Device::Cpu)?;
        let ids = Tensor::arange(0_u32, outputs as u32, &Device::Cpu)?;
        assert_eq!(bits(&weight.rows(&ids)?), bits(&want), "{of:?}");
        let product = weight.apply(&Tensor::eye(inputs, DType::F32, &Device::Cpu)?)?;
        assert!(largest_difference(&product, &want.t()?.contiguous()?)? < 1e-3, "{of:?}");
        assert!(Weight::from_blocks(of, outputs, 48, row).is_none(), "a row is whole blocks");
    }
    Ok(())
}

#[test]
fn a_bias_is_added() -> Result<()> {
    let x = Tensor::randn(0_f32, 1.0, (7, 256), &Device::Cpu)?;
    let (w, bias) = (Tensor::randn(0_f32, 1.0, (70, 256), &Device::Cpu)?, Tensor::randn(0_f32, 9.0, 70, &Device::Cpu)?);
    let stored = QTensor::quantize(&w, GgmlDType::Q8_0)?;
    let bytes = stored.data()?;
    let blocks = Weight::from_blocks(GgmlDType::Q8_0, 70, 256, |i| &bytes[i * bytes.len() / 70..][..bytes.len() / 70]);
    for weight in [Weight::new(&w)?, blocks.unwrap()] {
        let [got] = Weight::apply_all(&[weight.affine(Some(&bias))], &x)?.try_into().unwrap();
        let want = weight.apply(&x)?.broadcast_add(&bias)?;
        assert!(largest_difference(&got, &want)? < 1e-4);
        assert!(Weight::apply_all(&[weight.affine(Some(&bias.narrow(0, 0, 69)?))], &x).is_err());
    }
    Ok(())
}

#[test]
fn norms_are_their_reference() -> Result<()> {
    for (rows, hidden) in [(1, 67), (40, 896)] {
        let (x, y) = (Tensor::randn(0_f32, 1.0, (rows, hidden), &Device::Cpu)?, {
            Tensor::randn(0_f32, 1.0, (rows, hidden), &Device::Cpu)?
        });
        let weight = Tensor::randn(0_f32, 1.0, hidden, &Device::Cpu)?;
        assert!(largest_difference(&norm::rms_norm(&x, &weight, 1e-5)?, &norm::reference(&x, &weight, 1e-5)?)? < 1e-5);
        let (sum, normed) = norm::add_rms_norm(&x, &y, &weight, 1e-5)?;
        let both = (&x + &y)?;
        assert_eq!(bits(&sum), bits(&both));
        assert_eq!(bits(&normed), bits(&norm::rms_norm(&both, &weight, 1e-5)?));
        assert!(norm::add_rms_norm(&x, &weight, &weight, 1e-5).is_err() || rows == 1);
    }
    Ok(())
}

#[test]
fn rotations_are_their_reference() -> Result<()> {
    for (tokens, heads, dim) in [(1, 3, 16), (50, 9, 80)] {
        let x = Tensor::randn(0_f32, 1.0, (tokens, heads, dim), &Device::Cpu)?;
        let angles = Tensor::randn(0_f32, 1.0, (tokens, dim / 2), &Device::Cpu)?;
        let (cos, sin) = (angles.cos()?, angles.sin()?);
        assert!(largest_difference(&rope::rope(&x, &cos, &sin)?, &rope::reference(&x, &cos, &sin)?)? < 1e-5);
        // On a GPU x is bf16, and the angles are f32.
        let rounded = rope::reference(&x.to_dtype(DType::BF16)?, &cos, &sin)?;
        assert_eq!(rounded.dtype(), DType::BF16);
        assert!(largest_difference(&rope::reference(&x, &cos, &sin)?, &rounded.to_dtype(DType::F32)?)? < 0.05);
        assert!(rope::rope(&x, &sin, &cos.narrow(1, 0, dim / 2 - 1)?).is_err());
    }
    Ok(())
}

#[test]
fn an_id_beyond_the_embedding_is_an_error() -> Result<()> {
    let weight = Weight::new(&Tensor::zeros((3, 16), DType::F32, &Device::Cpu)?)?;
    assert!(weight.rows(&Tensor::new(&[3_u32], &Device::Cpu)?).is_err());
    Ok(())
}

/// Stores random tokens at `slots` of caches of `pages` pages of zeros, of f32 and of f16: their keys and values are there as
/// the nearest number, the largest where they are beyond, and the rest is as it was.
fn stores(pages: usize, slots: &[u32]) -> Result<()> {
    stores_as(DType::F32, f64::from(f32::MAX), pages, slots)?;
    stores_as(DType::F16, 65_504.0, pages, slots)
}

fn stores_as(dtype: DType, largest: f64, pages: usize, slots: &[u32]) -> Result<()> {
    let (kv_heads, dim, tokens) = (2, 16, slots.len());
    let new = |deviation| Tensor::randn(0_f32, deviation, (tokens, kv_heads, dim), &Device::Cpu);
    let (k, v) = (new(30_000.0)?, new(1.0)?);
    let k_cache = Tensor::zeros((pages, kv_heads, dim, PAGE), dtype, &Device::Cpu)?;
    let v_cache = Tensor::zeros((pages, kv_heads, PAGE, dim), dtype, &Device::Cpu)?;
    Slots::new(slots.to_vec()).store(&k, &v, &k_cache, &v_cache)?;
    let nearest = |x: &Tensor| x.clamp(-largest, largest)?.to_dtype(dtype);
    let (k, v) = (nearest(&k)?, nearest(&v)?);
    let bits = |x: &Tensor| Ok::<_, candle_core::Error>(bits(&x.to_dtype(DType::F32)?));
    for slot in 0..pages * PAGE {
        let token = slots.iter().position(|taken| *taken as usize == slot);
        let expected = |new: &Tensor| token.map_or(Ok(vec![0; kv_heads * dim]), |token| bits(&new.get(token)?));
        let (page, offset) = (slot / PAGE, slot % PAGE);
        assert_eq!(bits(&k_cache.get(page)?.narrow(2, offset, 1)?)?, expected(&k)?, "key of slot {slot}");
        assert_eq!(bits(&v_cache.get(page)?.narrow(1, offset, 1)?)?, expected(&v)?, "value of slot {slot}");
    }
    Ok(())
}

#[test]
fn attention_reads_the_stored_keys_and_values() -> Result<()> {
    let pages = [2, 0];
    stores(3, &(0..21).map(|p| pages[p / PAGE] * PAGE as u32 + (p % PAGE) as u32).collect::<Vec<_>>())
}

/// Many pages are written by several threads: tokens of a page do not follow each other, and some pages get none.
#[test]
fn tokens_of_many_sequences_are_stored_in_any_order() -> Result<()> {
    stores(80, &(0..300).map(|i| i * 337 % 1024).collect::<Vec<_>>())
}

#[test]
fn a_slot_or_page_beyond_the_cache_is_an_error() -> Result<()> {
    let k = Tensor::zeros((1, 1, 16), DType::F32, &Device::Cpu)?;
    let cache = Tensor::zeros((1, 1, 16, PAGE), DType::F16, &Device::Cpu)?;
    assert!(Slots::new(vec![16]).store(&k, &k, &cache, &cache).is_err());
    let plan = AttentionPlan::new(vec![SequenceRows { start: 0, len: 1, pages: vec![1] }]);
    assert!(Attention::new(&plan, 1.0).apply([&k, &cache, &cache]).is_err());
    Ok(())
}

const BLOCK_TYPES: [GgmlDType; 10] = [
    GgmlDType::Q4_0,
    GgmlDType::Q4_1,
    GgmlDType::Q5_0,
    GgmlDType::Q5_1,
    GgmlDType::Q8_0,
    GgmlDType::Q2K,
    GgmlDType::Q3K,
    GgmlDType::Q4K,
    GgmlDType::Q5K,
    GgmlDType::Q6K,
];

/// A random matrix as `dtype` stores it, packed, and what it then is.
fn blocks(dtype: GgmlDType, outputs: usize, inputs: usize) -> Result<(Weight, Tensor)> {
    let dense = Tensor::randn(0_f32, 1.0, (outputs, inputs), &Device::Cpu)?;
    let stored = QTensor::quantize(&dense, dtype)?;
    let bytes = stored.data()?;
    let row = bytes.len() / outputs;
    let weight = Weight::from_blocks(dtype, outputs, inputs, |i| &bytes[i * row..][..row]).unwrap();
    Ok((weight, stored.dequantize(&Device::Cpu)?))
}

/// `x` quantised to int8 and back: blocks of 32 with the largest at 127.
fn through_int8(x: &[f32]) -> Vec<f64> {
    let block = |x: &[f32]| {
        let largest = x.iter().fold(0.0_f32, |m, x| m.max(x.abs()));
        let scale = if largest > 0.0 { largest / 127.0 } else { 0.0 };
        let round = |x: f32| if largest > 0.0 { (x * (127.0 / largest)).round_ties_even() } else { 0.0 };
        x.iter().map(|&x| f64::from(round(x)) * f64::from(scale)).collect::<Vec<_>>()
    };
    x.chunks(32).flat_map(block).collect()
}

#[test]
fn rows_of_blocks_are_decoded_by_their_type() -> Result<()> {
    for dtype in BLOCK_TYPES {
        for (outputs, inputs) in [(1, 256), (70, 512), (33, 1280)] {
            let (weight, dense) = blocks(dtype, outputs, inputs)?;
            let ids = Tensor::arange(0, outputs as u32, &Device::Cpu)?;
            assert_eq!(bits(&weight.rows(&ids)?), bits(&dense), "{dtype:?} {outputs} x {inputs}");
        }
    }
    Ok(())
}

#[test]
fn a_matmul_by_blocks_is_exact_but_for_int8_activations() -> Result<()> {
    for dtype in BLOCK_TYPES {
        for (rows, inputs, outputs) in [(1, 256, 1), (7, 768, 70), (13, 1280, 64)] {
            let (weight, dense) = blocks(dtype, outputs, inputs)?;
            let x = Tensor::randn(0_f32, 1.0, (rows, inputs), &Device::Cpu)?;
            let seen: Vec<f64> = x.to_vec2::<f32>()?.iter().flat_map(|row| through_int8(row)).collect();
            let seen = Tensor::from_vec(seen, (rows, inputs), &Device::Cpu)?;
            let want = seen.matmul(&dense.to_dtype(DType::F64)?.t()?)?.to_dtype(DType::F32)?;
            let got = weight.apply(&x)?;
            let off = largest_difference(&got, &want)?;
            assert!(
                off < 2e-4 * (inputs as f32 / 256.0).sqrt(),
                "{dtype:?} {rows} x {inputs} x {outputs}: off by {off}"
            );
        }
    }
    Ok(())
}

#[test]
fn a_row_of_a_matmul_by_blocks_does_not_depend_on_the_batch() -> Result<()> {
    for dtype in BLOCK_TYPES {
        let (weight, _) = blocks(dtype, 70, 768)?;
        let (other, _) = blocks(GgmlDType::Q6K, 33, 768)?;
        let x = Tensor::randn(0_f32, 1.0, (300, 768), &Device::Cpu)?;
        let all = weight.apply(&x)?;
        for (from, rows) in [(0, 1), (5, 2), (17, 7), (100, 12), (255, 45)] {
            let part =
                Weight::apply_all(&[other.affine(None), weight.affine(None)], &x.narrow(0, from, rows)?)?.remove(1);
            assert_eq!(bits(&part), bits(&all.narrow(0, from, rows)?), "{dtype:?}, rows {from} + {rows}");
        }
    }
    Ok(())
}

#[test]
fn halves_give_the_bits_of_the_same_floats() -> Result<()> {
    for dtype in [DType::F16, DType::BF16] {
        let w = Tensor::randn(0_f32, 1.0, (70, 257), &Device::Cpu)?.to_dtype(dtype)?;
        let (narrow, wide) = (Weight::new(&w)?, Weight::new(&w.to_dtype(DType::F32)?)?);
        let x = Tensor::randn(0_f32, 1.0, (13, 257), &Device::Cpu)?;
        assert_eq!(bits(&narrow.apply(&x)?), bits(&wide.apply(&x)?), "{dtype:?}");
        let ids = Tensor::new(&[69_u32, 0, 31], &Device::Cpu)?;
        assert_eq!(bits(&narrow.rows(&ids)?), bits(&wide.rows(&ids)?), "{dtype:?}");
        assert!(narrow.bytes() * 2 == wide.bytes());
    }
    Ok(())
}

#[test]
fn a_nan_makes_its_own_row_alone_nan() -> Result<()> {
    let (weight, _) = blocks(GgmlDType::Q4K, 33, 512)?;
    for bad in [f32::NAN, f32::INFINITY] {
        let mut x = vec![0.5_f32; 3 * 512];
        x[512 + 77] = bad;
        let out = weight.apply(&Tensor::from_vec(x, (3, 512), &Device::Cpu)?)?.to_vec2::<f32>()?;
        assert!(out[1].iter().all(|x| x.is_nan()) && out[0].iter().chain(&out[2]).all(|x| x.is_finite()));
    }
    Ok(())
}

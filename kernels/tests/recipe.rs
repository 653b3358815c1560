//! The bits of every kernel, by the number of the recipe: a record made by the same number has the same bits.
#![allow(missing_docs, clippy::unwrap_used)]

use candle_core::quantized::{GgmlDType, QTensor};
use candle_core::{DType, Device, Result, Tensor};
use moot_kernels::Gate;
use moot_kernels::cpu::{BF16_RECIPE, RECIPE, exp_all};
use moot_kernels::math::{exp, exp_f32, ln, powf};
use moot_kernels::ops::add_norm::add_norm;
use moot_kernels::ops::attention::Attention;
use moot_kernels::ops::bidirectional::bidirectional;
use moot_kernels::ops::delta_net::{DeltaInputs, DeltaShape, DeltaStates, DeltaWeights, HeadOrder, delta_net};
use moot_kernels::ops::gated::gated;
use moot_kernels::ops::norm::add_rms_norm;
use moot_kernels::ops::rope::{rope, tables};
use moot_kernels::ops::rounded::rounded;
use moot_kernels::ops::short_conv::{ConvShape, ConvStates, ShortConvInputs, short_conv};
use moot_kernels::ops::sum_of_rows::sum_of_rows;
use moot_kernels::{Activation, Affine, AttentionPlan, PAGE, SequenceRows, StateRows, Texts, Weight};

/// The number, and the digest of the bits that it stands for. A change of bits is a new row, and a new number.
const BITS: (u32, u64) = (5, 0xb305_331f_e1a7_cd70);

/// The number of the products of bf16, and the digest of their bits.
const BF16_BITS: (u32, u64) = (2, 0x980c_2046_0f98_d4bc);

/// The same, of kernels that came later and changed no bit of those before.
const RECURRENT_BITS: u64 = 0x1690_1f9c_e59e_1e6e;
const SHORT_CONV_BITS: u64 = 0x9a61_a203_8ffd_3b33;

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

/// Numbers between -1 and 1 that are the same everywhere.
struct Numbers(u64);

impl Numbers {
    fn tensor(&mut self, shape: &[usize]) -> Result<Tensor> {
        let count = shape.iter().product();
        let mut next = || {
            // Knuth's constants for a 64-bit linear congruential generator.
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 40) as f32 / 8_388_608.0 - 1.0
        };
        Tensor::from_vec((0..count).map(|_| next()).collect::<Vec<f32>>(), shape, &Device::Cpu)
    }
}

/// FNV-1a.
fn digest_bytes(digest: u64, bytes: impl IntoIterator<Item = u8>) -> u64 {
    bytes.into_iter().fold(digest, |digest, byte| (digest ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

fn digest_floats(digest: u64, numbers: &[f32]) -> u64 {
    digest_bytes(digest, numbers.iter().flat_map(|x| x.to_bits().to_le_bytes()))
}

fn digest(digest: u64, t: &Tensor) -> u64 {
    digest_floats(digest, &t.flatten_all().unwrap().to_vec1::<f32>().unwrap())
}

/// Elementary functions: rotary tables at positions near and far, and what samples and scores.
fn elementary(mut all: u64) -> Result<u64> {
    let speeds: Vec<f32> = (0..32).map(|pair| 1.0 / powf(1e6, f64::from(pair) / 32.0) as f32).collect();
    let positions: Vec<u32> = (0..200).map(|i| i * i * 3 + i).chain([4_095, 131_072, 1 << 24, u32::MAX]).collect();
    all = digest_floats(all, &tables(&positions, &speeds, &[1.25; 32])?);
    let steps = (-7_000..=7_000_i32).map(|i| f64::from(i) / 10.0);
    let wide = steps.clone().flat_map(|x| [exp(x), ln(exp(x)), powf(10_000.0, x / 1e3)]);
    all = digest_bytes(all, wide.flat_map(|x| x.to_bits().to_le_bytes()));
    let mut narrow: Vec<f32> = steps.map(|x| x as f32 / 8.0).collect();
    all = digest_floats(all, &narrow.iter().map(|x| exp_f32(*x)).collect::<Vec<_>>());
    exp_all(&mut narrow);
    Ok(digest_floats(all, &narrow))
}

/// The kernels that only encoders use.
fn encoders(mut all: u64, numbers: &mut Numbers) -> Result<u64> {
    let (tokens, width, outputs) = (21, 64, 40);
    let (x, dense, bias) =
        (numbers.tensor(&[tokens, width])?, numbers.tensor(&[outputs, width])?, numbers.tensor(&[outputs])?);
    let dense = dense.to_vec2::<f32>()?;
    let weight = Weight::from_rows_as_i16(outputs, width, |row, out| out.copy_from_slice(&dense[row])).unwrap();
    for activation in [Activation::Gelu, Activation::GeluTanh, Activation::Relu, Activation::Tanh] {
        let layer = Affine { weight: &weight, bias: Some(&bias), activation };
        all = digest(all, &Weight::apply_all(&[layer], &x)?[0]);
    }
    let (y, scale, shift) = (numbers.tensor(&[tokens, width])?, numbers.tensor(&[width])?, numbers.tensor(&[width])?);
    all = digest(all, &add_norm(&x, &y, &scale, &shift, 1e-12)?);
    all = digest(all, &sum_of_rows(&[(&x, &[3, 20, 0]), (&y, &[1, 1, 7])])?);
    let texts = Texts::new([20, 1]);
    Ok(digest(all, &bidirectional([&(&x * 4.0)?, &y, &x], &texts, 2, 0.2, None)?))
}

#[test]
fn bits_are_those_of_their_recipe() -> Result<()> {
    let (mut numbers, mut all) = (Numbers(1), 0xcbf2_9ce4_8422_2325);
    let (outputs, inputs) = (70, 512);
    let x = numbers.tensor(&[3, inputs])?;
    let dense = numbers.tensor(&[outputs, inputs])?;
    for dtype in [DType::F32, DType::F16, DType::BF16] {
        all = digest(all, &Weight::new(&dense.to_dtype(dtype)?)?.apply(&x)?);
    }
    for dtype in BLOCK_TYPES {
        let stored = QTensor::quantize(&dense, dtype)?;
        let bytes = stored.data()?;
        let row = bytes.len() / outputs;
        let weight = Weight::from_blocks(dtype, outputs, inputs, |i| &bytes[i * row..][..row]).unwrap();
        all = digest(all, &weight.apply(&x)?);
    }
    let (heads, kv_heads, dim) = (4, 2, 32);
    let plan = AttentionPlan::new(vec![SequenceRows { start: 17, len: 20, pages: vec![1, 0, 2] }]);
    let k = numbers.tensor(&[3, kv_heads, dim, PAGE])?;
    let v = numbers.tensor(&[3, kv_heads, PAGE, dim])?;
    let q = (numbers.tensor(&[plan.rows(), heads, dim])? * 4.0)?;
    for dtype in [DType::F32, DType::F16] {
        all = digest(all, &Attention::new(&plan, 0.2).apply([&q, &k.to_dtype(dtype)?, &v.to_dtype(dtype)?])?);
    }
    let (gate, up) = (numbers.tensor(&[5, 67])?, numbers.tensor(&[5, 67])?);
    all = digest(all, &gated(&(gate * 8.0)?, &up, Gate::Silu)?);
    let (x, y, weight) = (numbers.tensor(&[3, 67])?, numbers.tensor(&[3, 67])?, numbers.tensor(&[67])?);
    let (sum, normed) = add_rms_norm(&x, &y, &weight, 1e-5)?;
    all = digest(digest(all, &sum), &normed);
    let (x, cos, sin) = (numbers.tensor(&[3, 2, 24])?, numbers.tensor(&[3, 12])?, numbers.tensor(&[3, 12])?);
    all = digest(all, &rope(&x, &cos, &sin)?);
    all = encoders(all, &mut numbers)?;
    all = elementary(all)?;
    assert_eq!(
        (RECIPE, format!("{all:#x}")),
        (BITS.0, format!("{:#x}", BITS.1)),
        "other bits than those of the recipe: raise cpu::RECIPE, and put its number and digest here"
    );
    Ok(())
}

#[test]
fn bits_are_those_of_their_recipe_in_recurrent_layers() -> Result<()> {
    let mut numbers = Numbers(2);
    let shape =
        DeltaShape { key_heads: 2, value_heads: 4, key_dim: 32, value_dim: 48, taps: 4, order: HeadOrder::Tiled };
    let mut vector = |count: usize| numbers.tensor(&[count])?.to_vec1::<f32>();
    let weights = DeltaWeights {
        conv: vector(shape.taps * shape.channels())?,
        decay: vector(shape.value_heads)?.iter().map(|x| x - 1.0).collect(),
        step_bias: vector(shape.value_heads)?,
    };
    let tokens = 21;
    let [qkv, rate, step] =
        [shape.channels(), shape.value_heads, shape.value_heads].map(|n| numbers.tensor(&[tokens, n]));
    let (qkv, rate, step) = ((qkv? * 4.0)?, (rate? * 8.0)?, (step? * 8.0)?);
    let (states, inputs) = (DeltaStates::new(shape, 1), DeltaInputs { qkv: &qkv, rate: &rate, step: &step });
    let rows = [StateRows { from: None, to: 0, saves: Vec::new() }];
    let read = delta_net(inputs, &weights, &states, &[tokens], &rows)?;
    let mut all = digest(0xcbf2_9ce4_8422_2325, &read);
    all = digest_floats(all, &states.slot(0));
    let gate = (numbers.tensor(&[5, 67])? * 8.0)?;
    all = digest(all, &gated(&gate, &numbers.tensor(&[5, 67])?, Gate::Sigmoid)?);
    assert_eq!(
        (RECIPE, format!("{all:#x}")),
        (BITS.0, format!("{RECURRENT_BITS:#x}")),
        "other bits than those of the recipe: raise cpu::RECIPE, and put its number and digest here"
    );
    Ok(())
}

#[test]
fn bits_are_those_of_their_recipe_in_short_convolutions() -> Result<()> {
    let mut numbers = Numbers(3);
    let (channels, taps, tokens) = (48, 3, 21);
    let mut next = |rows: usize| numbers.tensor(&[rows, channels])? * 4.0;
    let (weights, before, after, x) = (next(taps)?, next(tokens)?, next(tokens)?, next(tokens)?);
    let states = ConvStates::new(ConvShape { channels, taps }, 1, &Device::Cpu)?;
    let inputs = ShortConvInputs { before: &before, after: &after, x: &x };
    let rows = [StateRows { from: None, to: 0, saves: Vec::new() }];
    let all = digest(0xcbf2_9ce4_8422_2325, &short_conv(inputs, &weights, &states, &[tokens], &rows)?);
    assert_eq!(
        (RECIPE, format!("{all:#x}")),
        (BITS.0, format!("{SHORT_CONV_BITS:#x}")),
        "other bits than those of the recipe: raise cpu::RECIPE, and put its number and digest here"
    );
    Ok(())
}

#[test]
fn bits_are_those_of_their_recipe_in_bf16() -> Result<()> {
    let (mut numbers, mut all) = (Numbers(4), 0xcbf2_9ce4_8422_2325);
    let (outputs, inputs) = (70, 512);
    let x = rounded(&numbers.tensor(&[19, inputs])?)?;
    let dense = numbers.tensor(&[outputs, inputs])?;
    for dtype in BLOCK_TYPES {
        let stored = QTensor::quantize(&dense, dtype)?;
        let bytes = stored.data()?;
        let row = bytes.len() / outputs;
        let weight = Weight::from_blocks(dtype, outputs, inputs, |i| &bytes[i * row..][..row]).unwrap();
        all = digest(all, &weight.apply(&x)?);
    }
    let (heads, kv_heads, dim) = (4, 2, 48);
    let plan = AttentionPlan::new(vec![SequenceRows { start: 17, len: 70, pages: vec![1, 0, 2, 5, 4, 3] }]);
    let k = numbers.tensor(&[6, kv_heads, dim, PAGE])?;
    let v = numbers.tensor(&[6, kv_heads, PAGE, dim])?;
    let q = (numbers.tensor(&[plan.rows(), heads, dim])? * 40.0)?;
    for dtype in [DType::F32, DType::F16] {
        let op = Attention { rounded: true, ..Attention::new(&plan, 0.2) };
        all = digest(all, &op.apply([&q, &k.to_dtype(dtype)?, &v.to_dtype(dtype)?])?);
    }
    assert_eq!(
        (BF16_RECIPE, format!("{all:#x}")),
        (BF16_BITS.0, format!("{:#x}", BF16_BITS.1)),
        "other bits than those of the recipe: raise cpu::BF16_RECIPE, and put its number and digest here"
    );
    Ok(())
}

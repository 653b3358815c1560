//! IQ4_NL, IQ4_XS and MXFP4: read as Q8_0, exactly or not at all, but for the scales of IQ4_XS; in four bits on the CPU.

use super::{Builder, assert_says, file, random_bytes};
use candle_core::quantized::GgmlDType;
use candle_core::{DType, Device, Tensor};
use half::f16;
use moot_models::memory::Footprint;
use moot_models::weights::{Codebook, ElementType, Gguf, Weights};
use moot_models::{Decoder, LoadOptions, ModelError, Residency, arch};
use std::path::Path;

const CPU: Device = Device::Cpu;
const IQ4_NL: u32 = 20;
const IQ4_XS: u32 = 23;
const MXFP4: u32 = 39;
const Q8_0: u32 = 8;

/// Number, name, elements and bytes of a block.
const TYPES: [(u32, &str, usize, usize); 3] =
    [(IQ4_NL, "IQ4_NL", 32, 18), (IQ4_XS, "IQ4_XS", 256, 136), (MXFP4, "MXFP4", 32, 17)];

fn block_of(number: u32) -> (usize, usize) {
    let row = TYPES.iter().find(|row| row.0 == number).unwrap();
    (row.2, row.3)
}

/// Random codes of `elements`, under scales about `scale`.
fn blocks(number: u32, elements: usize, scale: f32, seed: u64) -> Vec<u8> {
    let (size, width) = block_of(number);
    let mut bytes = random_bytes(seed, elements / size * width);
    for (index, block) in bytes.chunks_exact_mut(width).enumerate() {
        let scale = scale * (1.0 + index as f32 % 7.0);
        match number {
            MXFP4 => block[0] = (128 + scale.log2() as i32) as u8,
            _ => block[..2].copy_from_slice(&f16::from_f32(scale).to_le_bytes()),
        }
    }
    bytes
}

fn open(builder: &Builder) -> Weights {
    Weights::Gguf(Gguf::from_bytes(Path::new("memory.gguf"), builder.build()).unwrap())
}

/// One matrix "m" of `rows` rows.
fn matrix(number: u32, rows: usize, bytes: &[u8]) -> Weights {
    let (size, width) = block_of(number);
    let inputs = bytes.len() / rows / width * size;
    open(&Builder::new().tensor("m", &[inputs as u64, rows as u64], number, bytes))
}

fn floats(tensor: &Tensor) -> Vec<f32> {
    tensor.flatten_all().unwrap().to_vec1().unwrap()
}

/// All readers of a matrix return the same numbers, as Q8_0.
#[test]
fn rows_are_q8_0_however_they_are_read() {
    for (number, name, ..) in TYPES {
        let bytes = blocks(number, 5 * 512, 0.002, 3);
        let weights = matrix(number, 5, &bytes);
        assert_eq!(weights.stored_type("m").unwrap(), name);
        let rows = || weights.rows("m", 5, 512).unwrap();
        assert_eq!((rows().dtype(), rows().stored(4).len()), (GgmlDType::Q8_0, 16 * 34));
        let whole = floats(&weights.dense("m", &[5, 512], DType::F32, &CPU).unwrap());
        let mut row = vec![0.0; 512];
        for index in 0..3 {
            let slice = rows().slice(1..4);
            slice.read(index, &mut row);
            assert!(slice.check_read().is_ok() && row[..] == whole[(index + 1) * 512..][..512], "{name}, row {index}");
        }
        let held = rows().slice(1..4).quantized(&CPU).unwrap().unwrap();
        assert_eq!((held.dtype(), held.shape().dims()), (GgmlDType::Q8_0, &[3, 512][..]));
        assert!(floats(&held.dequantize(&CPU).unwrap()) == whole[512..4 * 512], "{name}");
        let turned = moot_models::weights::Rows::quantized_together(&[(&rows(), &|row| 4 - row)], &CPU);
        let turned = floats(&turned.unwrap().unwrap().dequantize(&CPU).unwrap());
        assert!(turned[..512] == whole[4 * 512..] && turned[4 * 512..] == whole[..512], "{name}");
        let vector = open(&Builder::new().tensor("v", &[2560], number, &bytes));
        assert!(floats(&vector.dense("v", &[2560], DType::F32, &CPU).unwrap()) == whole, "{name}");
    }
}

/// Values from the definitions, by hand: see the types' documentation in ggml-common.h.
#[test]
fn values_are_scale_times_table() {
    let first = |number, block: &[u8]| {
        let weights = matrix(number, 1, block);
        floats(&weights.dense("m", &[1, block_of(number).0], DType::F32, &CPU).unwrap())
    };
    let half = |scale: f32| f16::from_f32(scale).to_le_bytes();
    // Codes 0, 8 in the first byte: elements 0 and 16.
    let mut codes = [0; 16];
    (codes[0], codes[15]) = (0x80, 0xf7);
    let found = first(IQ4_NL, &[&half(0.5)[..], &codes].concat());
    assert_eq!([found[0], found[16], found[15], found[31]], [-63.5, 0.5, -5.0, 56.5]);
    let found = first(MXFP4, &[&[127][..], &codes].concat());
    assert_eq!([found[0], found[16], found[15], found[31], found[1]], [0.0, 0.0, 6.0, -6.0, 0.0]);
    // Factors 1, 2, 3, 60 in the groups 0, 1, 4, 7, all else 0: -31, -30, -29, 28 and -32.
    let scales = [&(3u16 << 14).to_le_bytes()[..], &[0x21, 0, 0x03, 0xc0]].concat();
    let found = first(IQ4_XS, &[&half(0.25)[..], &scales, &codes.repeat(8)].concat());
    for (group, factor) in [(0, -31.0), (1, -30.0), (2, -32.0), (4, -29.0), (7, 28.0)] {
        let of_group: Vec<f32> = [0, 16, 15, 31].map(|index| found[32 * group + index]).into();
        assert_eq!(of_group, [-127.0, 1.0, -10.0, 113.0].map(|value| 0.25 * factor * value), "group {group}");
    }
}

/// Every exponent with sets of codes: exact where some f16 power of two and int8 numbers give the values, else refused.
#[test]
fn mxfp4_is_exact_or_refused() {
    const VALUES: [f64; 8] = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0];
    let sets: [&[u8]; 12] = [&[0], &[1], &[2], &[3], &[4], &[5], &[6], &[7], &[2, 4], &[4, 6], &[6, 7], &[1, 7]];
    let cases: Vec<(u8, &[u8])> = (0..=254).flat_map(|exponent| sets.map(|set| (exponent, set))).collect();
    let bytes: Vec<u8> = cases.iter().flat_map(|(exponent, set)| block(*exponent, set)).collect();
    let weights = matrix(MXFP4, cases.len(), &bytes);
    let (mut exact, mut refused) = (0, 0);
    for (row, (exponent, set)) in cases.iter().enumerate() {
        let wanted: Vec<f64> =
            set.iter().map(|&code| VALUES[usize::from(code)] * 2f64.powi(i32::from(*exponent) - 127)).collect();
        let fits = (-24..=15).any(|power: i32| {
            let codes = wanted.iter().map(|value| value / 2f64.powi(power));
            codes.into_iter().all(|code| code.fract() == 0.0 && code <= 127.0)
        });
        let rows = weights.rows("m", cases.len(), 32).unwrap().slice(row..row + 1);
        match rows.dense(DType::F32, &CPU) {
            Ok(found) => {
                let found = floats(&found);
                let sign = |index: usize| if index < 16 { 1.0 } else { -1.0 };
                let same = |(index, value): (usize, &f32)| f64::from(*value) == sign(index) * wanted[index % set.len()];
                assert!(fits && found.iter().enumerate().all(same), "2^({exponent} - 127), codes {set:?}: {found:?}");
                exact += 1;
            }
            Err(error) => {
                assert!(!fits && matches!(error, ModelError::BlockScale { .. }), "{exponent}, {set:?}: {error}");
                refused += 1;
            }
        }
    }
    assert!(exact > 255 + 40 * 11 && refused > 1000, "{exact} exact, {refused} refused");
}

/// A block of MXFP4: `codes` over and over, their negatives in the second half. `codes` divide 16 evenly.
fn block(exponent: u8, codes: &[u8]) -> [u8; 17] {
    let mut block = [exponent; 17];
    block[1..].iter_mut().zip(codes.iter().cycle()).for_each(|(to, code)| *to = code | (code | 8) << 4);
    block
}

#[test]
fn a_block_that_q8_0_cannot_hold_is_named() {
    let sound = block(120, &[1]);
    // Row 2 of 3, its second block of two.
    let refusal = |number, good: &[u8], bad: &[u8], parts: &[&str]| {
        let bytes = [good, good, good, good, good, bad].concat();
        let inputs = 2 * block_of(number).0;
        let (_folder, path) = file("m.gguf", &Builder::new().tensor("m", &[inputs as u64, 3], number, &bytes).build());
        let weights = Weights::open(&path).unwrap();
        let rows = || weights.rows("m", 3, inputs).unwrap();
        let dense = rows().dense(DType::F32, &CPU).unwrap_err();
        assert_says(&dense, &path, &[&["tensor m, row 2"][..], parts].concat());
        assert!(dense.hint().is_some());
        // As a decoder reads them, and in a slice that counts from another row.
        let (read, sliced) = (rows(), rows().slice(1..3));
        (0..3).for_each(|row| assert_eq!(read.stored(row).len(), 2 * inputs / 64 * 34));
        (0..2).for_each(|row| assert_eq!(sliced.stored(row).len(), 2 * inputs / 64 * 34));
        for rows in [read, sliced] {
            assert_eq!(rows.check_read().unwrap_err().to_string(), dense.to_string());
        }
        assert_eq!(rows().slice(1..3).quantized(&CPU).unwrap_err().to_string(), dense.to_string());
        assert!(rows().slice(0..2).dense(DType::F32, &CPU).is_ok());
    };
    refusal(MXFP4, &sound, &block(90, &[1, 7]), &["block 1", "MXFP4", "Q8_0", "2^-38"]);
    refusal(MXFP4, &sound, &block(200, &[1]), &["block 1", "2^72"]);
    refusal(MXFP4, &sound, &block(255, &[1]), &["not finite"]);
    refusal(MXFP4, &sound, &block(255, &[0]), &["not finite"]);
    let nl = blocks(IQ4_NL, 32, 0.01, 1);
    for nan in [[0, 0x7c], [0, 0xfc], [1, 0x7e]] {
        refusal(IQ4_NL, &nl, &[&nan[..], &nl[2..]].concat(), &["not finite"]);
    }
    let xs = blocks(IQ4_XS, 256, 0.01, 1);
    // 4096 * -32, the first factor being 0.
    let mut large = [&f16::from_f32(4096.0).to_le_bytes()[..], &xs[2..]].concat();
    (large[2], large[4]) = (0, 0);
    refusal(IQ4_XS, &xs, &large, &["block 1", "IQ4_XS", "-131072"]);
    refusal(IQ4_XS, &xs, &[&[0, 0x7c][..], &xs[2..]].concat(), &["not finite"]);
}

#[test]
fn any_bytes_are_read_or_refused() {
    for (number, name, size, width) in TYPES {
        for seed in 0..50 {
            let weights = matrix(number, 1, &random_bytes(seed, 512 / size * width));
            match weights.dense("m", &[1, 512], DType::F32, &CPU) {
                Ok(dense) => assert!(floats(&dense).iter().all(|value| value.is_finite()), "{name}"),
                Err(error) => assert_says(&error, Path::new("memory.gguf"), &["tensor m, row 0"]),
            }
        }
    }
}

#[test]
fn rows_are_whole_blocks() {
    let entry = |number, inputs| Builder::new().tensor("m", &[inputs, 1], number, &[0; 4096]).build();
    for (number, name, size, width) in TYPES {
        let gguf = Gguf::from_bytes(Path::new("memory.gguf"), entry(number, 512)).unwrap();
        let info = gguf.tensor_info("m").unwrap();
        assert_eq!((info.bytes, info.dtype.name()), (512 / size * width, name));
        let error = Gguf::from_bytes(Path::new("memory.gguf"), entry(number, size as u64 - 16)).unwrap_err();
        assert_says(&error, Path::new("memory.gguf"), &["tensor m", &format!("blocks of {size}"), name]);
    }
    assert_eq!(ElementType::Codebook(Codebook::Iq4Xs).held_as(), GgmlDType::Q8_0);
}

/// A llama of one block whose matrices are of type `number`, the embedding too, and the same with the Q8_0 blocks that they
/// are held as.
fn models(number: u32) -> (Weights, Weights) {
    let integer = |builder: Builder, key: &str, value: u32| builder.value(key, 4, &value.to_le_bytes());
    let mut start = Builder::new().string("general.architecture", "llama");
    for (key, value) in [("block_count", 1), ("context_length", 64), ("embedding_length", 256)] {
        start = integer(start, &format!("llama.{key}"), value);
    }
    for (key, value) in [("feed_forward_length", 512), ("attention.head_count", 4), ("attention.head_count_kv", 2)] {
        start = integer(start, &format!("llama.{key}"), value);
    }
    start = start.value("llama.attention.layer_norm_rms_epsilon", 6, &1e-5f32.to_le_bytes());
    let ones = [1f32; 256].map(f32::to_le_bytes).concat();
    for norm in ["output_norm", "blk.0.attn_norm", "blk.0.ffn_norm"] {
        start = start.tensor(&format!("{norm}.weight"), &[256], 0, &ones);
    }
    let (mut own, mut twin) = (start.clone(), start);
    let matrices = [("token_embd", 48, 256), ("blk.0.attn_q", 256, 256), ("blk.0.attn_k", 128, 256)];
    let more = [("blk.0.attn_v", 128, 256), ("blk.0.attn_output", 256, 256), ("blk.0.ffn_gate", 512, 256)];
    let last = [("blk.0.ffn_up", 512, 256), ("blk.0.ffn_down", 256, 512)];
    for (index, (name, outputs, inputs)) in matrices.into_iter().chain(more).chain(last).enumerate() {
        let scale = if number == MXFP4 { 0.015 } else { 0.0005 / if number == IQ4_XS { 16.0 } else { 1.0 } };
        let bytes = blocks(number, outputs * inputs, scale, index as u64 + 1);
        let weights = matrix(number, outputs, &bytes);
        let rows = weights.rows("m", outputs, inputs).unwrap();
        let held: Vec<u8> = (0..outputs).flat_map(|row| rows.stored(row).into_owned()).collect();
        let (name, dims) = (format!("{name}.weight"), [inputs as u64, outputs as u64]);
        own = own.tensor(&name, &dims, number, &bytes);
        twin = twin.tensor(&name, &dims, Q8_0, &held);
    }
    (open(&own), open(&twin))
}

#[test]
fn a_model_is_its_copy_in_q8_0() {
    for (number, name, ..) in TYPES {
        let (own, twin) = models(number);
        let logits = |weights: &Weights, residency| {
            let options = LoadOptions { residency, ..LoadOptions::default() };
            let decoder = Decoder::load(arch::spec(weights).unwrap(), weights, &options).unwrap();
            (decoder.forward_alone(&[1, 47, 3, 20]).unwrap().concat(), decoder.linear_weights().0.bytes)
        };
        for residency in [Residency::AsStored, Residency::Dense] {
            let ((own, bytes), (twin, of_twin)) = (logits(&own, residency), logits(&twin, residency));
            assert!(own.iter().all(|logit| logit.is_finite()) && own.iter().any(|logit| logit.abs() > 0.01), "{name}");
            assert!(own.iter().map(|x| x.to_bits()).eq(twin.iter().map(|x| x.to_bits())), "{name}, {residency:?}");
            let of_32 = if number == MXFP4 { 17 } else { 18 };
            assert!(residency == Residency::Dense || bytes * 34 == of_twin * of_32, "{name}: {bytes} of {of_twin}");
        }
    }
}

/// The file's bytes are the type's own, and the bytes in memory on the CPU almost; on a GPU they are those of Q8_0.
#[test]
fn memory_is_four_bits_on_the_cpu_and_that_of_q8_0_on_a_gpu() {
    for (number, name, size, width) in TYPES {
        let (own, twin) = models(number);
        let (own, twin) = (Footprint::of(&own).unwrap(), Footprint::of(&twin).unwrap());
        let row = |of: &Footprint, name: &str| of.types.iter().find(|stored| stored.name == name).unwrap().clone();
        let (stored, held) = (row(&own, name), row(&twin, "Q8_0"));
        assert_eq!((stored.tensors, stored.weights, stored.held_as), (held.tensors, held.weights, Some("Q8_0")));
        assert_eq!(stored.bytes as usize, stored.weights as usize / size * width);
        assert_eq!((held.held_as, own.types.len()), (None, 2));
        for residency in [Residency::AsStored, Residency::Dense] {
            let gpu = |of: &Footprint| {
                of.clone().on_gpu(DType::BF16, moot_models::memory::Widened::Nothing).resident_bytes(residency)
            };
            assert_eq!(gpu(&own), gpu(&twin), "{name}");
        }
        assert_eq!(own.resident_bytes(Residency::Dense), twin.resident_bytes(Residency::Dense), "{name}");
        let held = own.resident_bytes(Residency::AsStored);
        assert!(held >= own.stored_bytes() && held < own.stored_bytes() * 107 / 100, "{name}: {held}");
    }
}

//! Measures the machine's limits and checks batch invariance on a generated tiny model.
//!
//! The model is written to a file and loaded as usual, once in f32 and once quantised, so the test covers the code path of
//! real models.

use crate::error::{MootError, Result};
use moot_models::kernels::cpu::limits;
use moot_models::weights::Weights;
use moot_models::{Batch, Decoder, LoadOptions, PAGE, SequenceRows, arch};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use serde::Serialize;
use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::time::Instant;

// `HIDDEN` and `INTERMEDIATE` are multiples of 32, the weights in a block of Q8_0.
const HIDDEN: usize = 128;
const LAYERS: usize = 2;
const HEADS: usize = 4;
const INTERMEDIATE: usize = 320;
const VOCABULARY: usize = 512;

/// Lengths of the sequences: less than a page, a page and one, several pages.
const LENGTHS: [usize; 4] = [5, 17, 40, 61];

/// Tokens per chunk in chunked prefill.
const CHUNK: usize = 16;

/// Allowed difference between a logit from quantised weights and from the same weights in f32, as a share of the largest
/// logit. Quantising activations to int8 causes about 0.01.
const CLOSE: f32 = 0.1;

/// Storage of the tiny model's matrices, one for each kind of matmul kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stored {
    Floats,
    Blocks,
}

impl Stored {
    const ALL: [Self; 2] = [Self::Floats, Self::Blocks];

    fn name(self) -> &'static str {
        match self {
            Self::Floats => "F32",
            Self::Blocks => "Q8_0",
        }
    }
}

/// Measurements and bit comparisons.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SelfTest {
    /// Bytes read from memory per second.
    pub read_bytes_s: f64,
    /// f32 operations per second; a fused multiply-add counts as two.
    pub f32_operations_s: f64,
    /// Tokens per second of the tiny quantised model, all sequences in one batch.
    pub tokens_s: f64,
    /// Storage types whose kernels were tested.
    pub stored: Vec<&'static str>,
    /// Ways of computing the same row that were compared bit for bit.
    pub compared: Vec<&'static str>,
    /// Differences found.
    pub wrong: Vec<String>,
    /// Duration of the self-test in seconds.
    pub seconds: f64,
}

/// Measures and compares.
///
/// # Errors
/// The kernels cannot run, or a file of a megabyte cannot be written.
pub fn run() -> Result<SelfTest> {
    let started = Instant::now();
    let (mut wrong, mut alone, mut tokens_s, mut compared) = (Vec::new(), Vec::new(), 0.0, Vec::new());
    for stored in Stored::ALL {
        let tried = try_one(&decoder(stored)?)?;
        let other = tried.ways.iter().filter(|(_, found)| !same_bits(&tried.alone, found));
        wrong.extend(other.map(|(way, _)| format!("{}: a row computed {way} has other bits", stored.name())));
        compared = tried.ways.iter().map(|(way, _)| *way).collect();
        tokens_s = tried.tokens_s;
        alone.push(tried.alone);
    }
    if !close(&alone[0], &alone[1]) {
        wrong.push("quantised weights give other logits than the same weights in f32".to_owned());
    }
    let limits = limits::measure().map_err(MootError::Usage)?;
    Ok(SelfTest {
        read_bytes_s: limits.bytes,
        f32_operations_s: limits.operations,
        tokens_s,
        stored: Stored::ALL.map(Stored::name).to_vec(),
        compared,
        wrong,
        seconds: started.elapsed().as_secs_f64(),
    })
}

/// The last logits of every sequence, computed in several ways.
struct Tried {
    alone: Vec<Vec<f32>>,
    ways: [(&'static str, Vec<Vec<f32>>); 3],
    tokens_s: f64,
}

fn try_one(decoder: &Decoder) -> Result<Tried> {
    let sequences = sequences();
    let alone = |tokens: &Vec<u32>| last_row(decoder.forward_alone(tokens)?);
    let alone: Vec<Vec<f32>> = sequences.iter().map(alone).collect::<Result<_>>()?;
    let timed = Instant::now();
    let batched = in_batch(decoder, &sequences)?;
    let tokens_s = LENGTHS.iter().sum::<usize>() as f64 / timed.elapsed().as_secs_f64();
    let again = in_batch(decoder, &sequences)?;
    let chunks: Vec<Vec<f32>> = sequences.iter().map(|tokens| in_chunks(decoder, tokens)).collect::<Result<_>>()?;
    let ways = [("alone and in a batch", batched), ("twice", again), ("whole and in chunks", chunks)];
    Ok(Tried { alone, ways, tokens_s })
}

/// Whether all logits are finite and all pairs are within [`CLOSE`].
fn close(floats: &[Vec<f32>], blocks: &[Vec<f32>]) -> bool {
    let largest = floats.iter().flatten().fold(0.0_f32, |largest, logit| largest.max(logit.abs()));
    let pairs = floats.iter().flatten().zip(blocks.iter().flatten());
    // False if one is NaN.
    largest.is_finite() && largest > 0.0 && pairs.map(|(a, b)| (a - b).abs()).all(|apart| apart <= CLOSE * largest)
}

fn same_bits(a: &[Vec<f32>], b: &[Vec<f32>]) -> bool {
    let bits = |rows: &[Vec<f32>]| rows.iter().flatten().map(|logit| logit.to_bits()).collect::<Vec<_>>();
    bits(a) == bits(b)
}

fn last_row(mut rows: Vec<Vec<f32>>) -> Result<Vec<f32>> {
    rows.pop().ok_or_else(|| MootError::Usage("a forward gave no row (bug)".to_owned()))
}

/// The same tokens on every machine.
fn sequences() -> Vec<Vec<u32>> {
    let mut random = ChaCha8Rng::seed_from_u64(1);
    LENGTHS.iter().map(|&length| (0..length).map(|_| random.next_u32() % VOCABULARY as u32).collect()).collect()
}

/// The last logits of every sequence, all in one batch.
fn in_batch(decoder: &Decoder, sequences: &[Vec<u32>]) -> Result<Vec<Vec<f32>>> {
    let (mut pages, mut end) = (0, 0);
    let mut rows = Vec::new();
    let mut wanted = Vec::new();
    for tokens in sequences {
        let count = tokens.len().div_ceil(PAGE) as u32;
        rows.push(SequenceRows { start: 0, len: tokens.len(), pages: (pages..pages + count).collect() });
        pages += count;
        end += tokens.len() as u32;
        wanted.push(end - 1);
    }
    let kv = decoder.kv_cache(pages as usize)?;
    let logits = decoder.forward(&Batch::new(sequences.concat(), rows, wanted), &kv)?;
    Ok(logits.to_vec2().map_err(moot_models::ModelError::from)?)
}

/// The last logits of one sequence, with chunked prefill.
fn in_chunks(decoder: &Decoder, tokens: &[u32]) -> Result<Vec<f32>> {
    let pages: Vec<u32> = (0..tokens.len().div_ceil(PAGE) as u32).collect();
    let kv = decoder.kv_cache(pages.len())?;
    let mut rows = Vec::new();
    for (i, chunk) in tokens.chunks(CHUNK).enumerate() {
        let (start, len) = (i * CHUNK, chunk.len());
        let chunk_pages = pages[..(start + len).div_ceil(PAGE)].to_vec();
        let batch =
            Batch::new(chunk.to_vec(), vec![SequenceRows { start, len, pages: chunk_pages }], vec![len as u32 - 1]);
        rows = decoder.forward(&batch, &kv)?.to_vec2().map_err(moot_models::ModelError::from)?;
    }
    last_row(rows)
}

/// Removes the file on drop.
struct Scratch(PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// The tiny model, written and loaded.
fn decoder(stored: Stored) -> Result<Decoder> {
    let time = std::time::UNIX_EPOCH.elapsed().map_or(0, |since| since.as_nanos());
    let name = format!("moot-doctor-{}-{time}-{}.gguf", std::process::id(), stored.name());
    let path = std::env::temp_dir().join(name);
    // `create_new`: the name is unique to this process, so the file must not exist.
    let mut file = File::create_new(&path).map_err(|error| MootError::io(&path, "create", error))?;
    let scratch = Scratch(path);
    file.write_all(&gguf(stored)).map_err(|error| MootError::io(&scratch.0, "write", error))?;
    let weights = Weights::open(&scratch.0)?;
    Ok(Decoder::load(arch::spec(&weights)?, &weights, &LoadOptions::default())?)
}

/// A GGUF file of the llama architecture, without a vocabulary.
fn gguf(stored: Stored) -> Vec<u8> {
    const NUMBERS: [(&str, usize); 6] = [
        ("block_count", LAYERS),
        ("context_length", 256),
        ("embedding_length", HIDDEN),
        ("feed_forward_length", INTERMEDIATE),
        ("attention.head_count", HEADS),
        ("attention.head_count_kv", HEADS / 2),
    ];
    // GGUF's default, which holds where no key names another.
    const ALIGNMENT: usize = 32;
    let string = |text: &str| [&(text.len() as u64).to_le_bytes()[..], text.as_bytes()].concat();
    let kind = |number: u32| number.to_le_bytes().to_vec();
    let tensors = tensors();
    let mut file = [b"GGUF".to_vec(), kind(3)].concat();
    file.extend((tensors.len() as u64).to_le_bytes());
    file.extend((NUMBERS.len() as u64 + 2).to_le_bytes());
    // GGUF's types of values: 4 is u32, 6 is f32, 8 is a string.
    file.extend([string("general.architecture"), kind(8), string("llama")].concat());
    file.extend([string("llama.attention.layer_norm_rms_epsilon"), kind(6)].concat());
    file.extend(1e-5_f32.to_le_bytes());
    for (name, number) in NUMBERS {
        file.extend([string(&format!("llama.{name}")), kind(4), kind(number as u32)].concat());
    }
    // One seed for both storage types: their logits are compared.
    let mut random = ChaCha8Rng::seed_from_u64(0);
    let mut data = Vec::new();
    for (name, shape) in &tensors {
        file.extend([string(name), kind(shape.len() as u32)].concat());
        // GGUF lists the dimension that varies fastest first.
        shape.iter().rev().for_each(|&size| file.extend((size as u64).to_le_bytes()));
        let blocks = shape.len() == 2 && stored == Stored::Blocks;
        // ggml's types of tensors: 8 is Q8_0, 0 is F32. Norms are F32 in every file.
        file.extend([kind(if blocks { 8 } else { 0 }), (data.len() as u64).to_le_bytes().to_vec()].concat());
        let count = shape.iter().product();
        data.extend(if shape.len() == 1 { norm(&mut random, count) } else { matrix(&mut random, count, stored) });
        data.resize(data.len().next_multiple_of(ALIGNMENT), 0);
    }
    file.resize(file.len().next_multiple_of(ALIGNMENT), 0);
    file.extend(data);
    file
}

/// `count` f32 numbers around 1.
fn norm(random: &mut ChaCha8Rng, count: usize) -> Vec<u8> {
    (0..count).flat_map(|_| (0.5 + random.next_u32() as f32 / u32::MAX as f32).to_le_bytes()).collect()
}

/// `count` weights, 8-bit codes times a power of two: the same numbers in both storage types.
fn matrix(random: &mut ChaCha8Rng, count: usize, stored: Stored) -> Vec<u8> {
    /// 2^-10 as an f16.
    const SCALE: u16 = 5 << 10;
    let codes: Vec<i8> = (0..count).map(|_| (random.next_u32() % 255) as i16 - 127).map(|code| code as i8).collect();
    match stored {
        Stored::Floats => codes.iter().flat_map(|&code| (f32::from(code) / 1024.0).to_le_bytes()).collect(),
        Stored::Blocks => {
            let block = |codes: &[i8]| {
                let bytes = codes.iter().map(|code| code.to_le_bytes()[0]);
                SCALE.to_le_bytes().into_iter().chain(bytes).collect::<Vec<u8>>()
            };
            codes.chunks(32).flat_map(block).collect()
        }
    }
}

/// Every tensor of the model, row-major.
fn tensors() -> Vec<(String, Vec<usize>)> {
    let mut all = vec![
        ("token_embd.weight".to_owned(), vec![VOCABULARY, HIDDEN]),
        ("output_norm.weight".to_owned(), vec![HIDDEN]),
    ];
    for layer in 0..LAYERS {
        for (part, shape) in [
            ("attn_norm", vec![HIDDEN]),
            ("ffn_norm", vec![HIDDEN]),
            ("attn_q", vec![HIDDEN, HIDDEN]),
            ("attn_k", vec![HIDDEN / 2, HIDDEN]),
            ("attn_v", vec![HIDDEN / 2, HIDDEN]),
            ("attn_output", vec![HIDDEN, HIDDEN]),
            ("ffn_gate", vec![INTERMEDIATE, HIDDEN]),
            ("ffn_up", vec![INTERMEDIATE, HIDDEN]),
            ("ffn_down", vec![HIDDEN, INTERMEDIATE]),
        ] {
            all.push((format!("blk.{layer}.{part}.weight"), shape));
        }
    }
    all
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_bits_are_the_same_and_a_difference_would_be_seen() {
        for stored in Stored::ALL {
            let tried = try_one(&decoder(stored).unwrap()).unwrap();
            assert!(tried.alone.len() == LENGTHS.len() && tried.alone[0].len() == VOCABULARY);
            for (way, found) in &tried.ways {
                assert!(same_bits(&tried.alone, found), "{}, {way}", stored.name());
            }
            let mut other = tried.alone.clone();
            other[0][0] = f32::from_bits(other[0][0].to_bits() ^ 1);
            assert!(!same_bits(&tried.alone, &other));
        }
    }

    #[test]
    fn distant_values_and_nan_are_not_close() {
        let [floats, blocks] = Stored::ALL.map(|stored| try_one(&decoder(stored).unwrap()).unwrap().alone);
        assert!(close(&floats, &blocks) && !same_bits(&floats, &[vec![0.0]]));
        for wrong in [f32::NAN, f32::INFINITY, 1e9, 0.0] {
            let other: Vec<Vec<f32>> = blocks.iter().map(|row| vec![wrong; row.len()]).collect();
            assert!(!close(&floats, &other), "{wrong}");
        }
    }
}

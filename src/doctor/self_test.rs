//! The machine's limits, and the promise that a row has the same bits in any company, on a tiny model made on the spot.
//!
//! The model goes through a file and the ordinary loader: what is tested is the way that every model takes.

use crate::error::{MootError, Result};
use moot_models::kernels::cpu::limits;
use moot_models::weights::Weights;
use moot_models::{Batch, Decoder, LoadOptions, PAGE, SequenceRows, arch};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

const HIDDEN: usize = 128;
const LAYERS: usize = 2;
const KV: usize = 64;
const INTERMEDIATE: usize = 320;
const VOCABULARY: usize = 512;

/// Lengths of the sequences: less than a page, a page and one, several pages.
const LENGTHS: [usize; 4] = [5, 17, 40, 61];

/// Tokens of a chunk where the prompt comes in chunks.
const CHUNK: usize = 16;

/// What was measured, and whether the bits are right.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SelfTest {
    /// Bytes read from memory in a second.
    pub read_bytes_s: f64,
    /// f32 operations in a second; a fused multiply-add is two.
    pub f32_operations_s: f64,
    /// Tokens of the tiny model in a second, all sequences at once.
    pub tokens_s: f64,
    /// Ways of computing the same row that were compared, bit for bit.
    pub compared: Vec<&'static str>,
    /// What differed.
    pub wrong: Vec<String>,
    /// Seconds that all of it took.
    pub seconds: f64,
}

/// Measures and compares.
///
/// # Errors
/// The kernels cannot run, or there is no room for a file of a megabyte.
pub fn run() -> Result<SelfTest> {
    let started = Instant::now();
    let decoder = decoder()?;
    let sequences = sequences();
    let alone: Vec<Vec<f32>> =
        sequences.iter().map(|tokens| last_row(decoder.forward_alone(tokens)?)).collect::<Result<_>>()?;
    let timed = Instant::now();
    let company = in_company(&decoder, &sequences)?;
    let tokens_s = LENGTHS.iter().sum::<usize>() as f64 / timed.elapsed().as_secs_f64();
    let again = in_company(&decoder, &sequences)?;
    let chunks: Vec<Vec<f32>> = sequences.iter().map(|tokens| in_chunks(&decoder, tokens)).collect::<Result<_>>()?;
    let ways = [("alone and in company", company), ("twice", again), ("whole and in chunks", chunks)];
    let mut wrong: Vec<String> = ways
        .iter()
        .filter(|(_, found)| !same_bits(&alone, found))
        .map(|(way, _)| format!("the same row, computed {way}, has other bits"))
        .collect();
    if alone.iter().flatten().any(|logit| !logit.is_finite()) {
        wrong.push("a logit is not finite".to_owned());
    }
    let limits = limits::measure().map_err(MootError::Usage)?;
    Ok(SelfTest {
        read_bytes_s: limits.bytes,
        f32_operations_s: limits.operations,
        tokens_s,
        compared: ways.iter().map(|(way, _)| *way).collect(),
        wrong,
        seconds: started.elapsed().as_secs_f64(),
    })
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

/// The last logits of every sequence, all in one forward.
fn in_company(decoder: &Decoder, sequences: &[Vec<u32>]) -> Result<Vec<Vec<f32>>> {
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

/// The last logits of one sequence whose tokens come a chunk at a time.
fn in_chunks(decoder: &Decoder, tokens: &[u32]) -> Result<Vec<f32>> {
    let pages: Vec<u32> = (0..tokens.len().div_ceil(PAGE) as u32).collect();
    let kv = decoder.kv_cache(pages.len())?;
    let mut rows = Vec::new();
    for (i, chunk) in tokens.chunks(CHUNK).enumerate() {
        let (start, len) = (i * CHUNK, chunk.len());
        let held = pages[..(start + len).div_ceil(PAGE)].to_vec();
        let batch = Batch::new(chunk.to_vec(), vec![SequenceRows { start, len, pages: held }], vec![len as u32 - 1]);
        rows = decoder.forward(&batch, &kv)?.to_vec2().map_err(moot_models::ModelError::from)?;
    }
    last_row(rows)
}

/// A folder that goes when this does.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A tiny model of random weights, written and loaded.
fn decoder() -> Result<Decoder> {
    let folder = Folder(std::env::temp_dir().join(format!("moot-doctor-{}", std::process::id())));
    let written = std::fs::create_dir_all(&folder.0).and_then(|()| write_model(&folder.0));
    written.map_err(|error| MootError::io(&folder.0, "write", error))?;
    let weights = Weights::open(&folder.0)?;
    Ok(Decoder::load(arch::spec(&weights)?, &weights, &LoadOptions::default())?)
}

fn write_model(folder: &Path) -> std::io::Result<()> {
    let config = serde_json::json!({
        "model_type": "llama", "hidden_size": HIDDEN, "intermediate_size": INTERMEDIATE,
        "num_hidden_layers": LAYERS, "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": VOCABULARY,
        "max_position_embeddings": 256, "rms_norm_eps": 1e-5, "rope_theta": 10_000.0, "tie_word_embeddings": true
    });
    std::fs::write(folder.join("config.json"), config.to_string())?;
    let mut random = ChaCha8Rng::seed_from_u64(0);
    let (mut header, mut data) = (BTreeMap::new(), Vec::new());
    for (name, shape) in tensors() {
        let start = data.len();
        let spread = 1.0 / (shape[shape.len() - 1] as f32).sqrt();
        for _ in 0..shape.iter().product::<usize>() {
            let unit = random.next_u32() as f32 / u32::MAX as f32;
            // A norm's weights lie about one, a matrix's about zero.
            let weight = if shape.len() == 1 { 0.5 + unit } else { (2.0 * unit - 1.0) * spread };
            data.extend_from_slice(&weight.to_le_bytes());
        }
        let offsets = [start, data.len()];
        header.insert(name, serde_json::json!({ "dtype": "F32", "shape": shape, "data_offsets": offsets }));
    }
    let mut header = serde_json::to_vec(&header)?;
    header.resize(header.len().next_multiple_of(8), b' ');
    let file = [&(header.len() as u64).to_le_bytes()[..], &header, &data].concat();
    std::fs::write(folder.join("model.safetensors"), file)
}

/// Every tensor of the model, by the names and in the shapes of a transformers folder.
fn tensors() -> Vec<(String, Vec<usize>)> {
    let mut all = vec![
        ("model.embed_tokens.weight".to_owned(), vec![VOCABULARY, HIDDEN]),
        ("model.norm.weight".to_owned(), vec![HIDDEN]),
    ];
    for layer in 0..LAYERS {
        for (part, shape) in [
            ("input_layernorm", vec![HIDDEN]),
            ("post_attention_layernorm", vec![HIDDEN]),
            ("self_attn.q_proj", vec![HIDDEN, HIDDEN]),
            ("self_attn.k_proj", vec![KV, HIDDEN]),
            ("self_attn.v_proj", vec![KV, HIDDEN]),
            ("self_attn.o_proj", vec![HIDDEN, HIDDEN]),
            ("mlp.gate_proj", vec![INTERMEDIATE, HIDDEN]),
            ("mlp.up_proj", vec![INTERMEDIATE, HIDDEN]),
            ("mlp.down_proj", vec![HIDDEN, INTERMEDIATE]),
        ] {
            all.push((format!("model.layers.{layer}.{part}.weight"), shape));
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
        let decoder = decoder().unwrap();
        let sequences = sequences();
        let company = in_company(&decoder, &sequences).unwrap();
        let chunks: Vec<_> = sequences.iter().map(|tokens| in_chunks(&decoder, tokens).unwrap()).collect();
        assert!(same_bits(&company, &chunks) && company.len() == LENGTHS.len());
        let mut other = chunks;
        other[0][0] = f32::from_bits(other[0][0].to_bits() ^ 1);
        assert!(!same_bits(&company, &other));
    }
}

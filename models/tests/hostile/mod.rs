//! Damaged files: opening a model and a short forward end soon, in a result or an error, for any bytes.
//!
//! The damage is drawn from a seed, so that a failure names the one file that brings it back.

mod architectures;
mod gguf;
mod templates;

use moot_models::{LoadOptions, Model, ModelError};
use safetensors::SafeTensors;
use safetensors::tensor::{Dtype, TensorView};
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Far more than a tiny model takes, far less than a loop that a count from the file drives.
const PATIENCE: Duration = Duration::from_secs(5);

/// SplitMix64: <https://prng.di.unimi.it/splitmix64.c>.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 32) as usize % limit.max(1)
    }
}

fn tiny(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/tiny").join(name)
}

/// Opens the model and runs three tokens; true where all of that went well.
fn opens(path: &Path) -> Result<bool, ModelError> {
    let model = Model::open(path, &LoadOptions::default())?;
    Ok(model.decoder.forward_alone(&[0, 1, 2])?.len() == 3)
}

/// Cuts `bytes` short, or changes a few of them; digits and signs are likelier than chance would have them, since
/// they are what makes a number too large and JSON still JSON.
fn damage(bytes: &mut Vec<u8>, reach: usize, random: &mut Random) {
    if random.below(8) == 0 {
        bytes.truncate(random.below(bytes.len()));
        return;
    }
    for _ in 0..=random.below(4) {
        let at = random.below(reach.min(bytes.len()));
        bytes[at] = match random.below(4) {
            0 => b"0159-eE.\"{}[]:,\\"[random.below(16)],
            1 => [0, 1, 0x7f, 0x80, 0xff][random.below(5)],
            2 => bytes[at] ^ (1 << random.below(8)),
            _ => random.below(256) as u8,
        };
    }
}

/// Damages `file` of the model at `path` over and over, mostly within its first `reach` bytes.
fn survives(path: &Path, file: &Path, reach: usize, rounds: u64) {
    let sound = fs::read(file).unwrap();
    assert!(opens(path).unwrap());
    let mut refused = 0;
    for seed in 0..rounds {
        let mut random = Random(seed);
        let mut bytes = sound.clone();
        damage(&mut bytes, reach, &mut random);
        fs::write(file, &bytes).unwrap();
        let started = Instant::now();
        let outcome = catch_unwind(AssertUnwindSafe(|| opens(path)));
        let took = started.elapsed();
        let outcome = outcome.unwrap_or_else(|_| panic!("{}: panics with seed {seed}", file.display()));
        assert!(took < PATIENCE, "{}: seed {seed} takes {took:?}", file.display());
        if let Err(error) = outcome {
            refused += 1;
            let message = error.to_string();
            assert!(message.len() < 2000, "{}: seed {seed}: {message}", file.display());
        }
    }
    fs::write(file, &sound).unwrap();
    // Else the damage hits nothing that is read.
    assert!(refused > rounds / 20, "{}: {refused} of {rounds} refused", file.display());
}

fn copied(name: &str, folder: &Path) -> PathBuf {
    let target = folder.join(name);
    fs::create_dir(&target).unwrap();
    for entry in fs::read_dir(tiny(name)).unwrap() {
        let path = entry.unwrap().path();
        fs::copy(&path, target.join(path.file_name().unwrap())).unwrap();
    }
    target
}

#[test]
fn a_damaged_gguf_is_no_panic() {
    let folder = tempfile::tempdir().unwrap();
    for (name, reach) in [("llama.gguf", 10_000), ("qwen2.gguf", 2_500)] {
        let path = folder.path().join(name);
        fs::copy(tiny(name), &path).unwrap();
        survives(&path, &path, reach, 600);
    }
}

#[test]
fn damaged_files_of_a_folder_are_no_panic() {
    let folder = tempfile::tempdir().unwrap();
    let path = copied("qwen2", folder.path());
    for (file, reach, rounds) in [
        ("config.json", 1_000, 500),
        ("tokenizer.json", 10_000, 500),
        ("tokenizer_config.json", 600, 300),
        ("model.safetensors", 3_000, 500),
    ] {
        survives(&path, &path.join(file), reach, rounds);
    }
    let path = copied("llama-sharded", folder.path());
    survives(&path, &path.join("model.safetensors.index.json"), 2_000, 300);
}

/// A chat template that opens is also one that renders, or says why not.
#[test]
fn a_damaged_template_is_no_panic() {
    let folder = tempfile::tempdir().unwrap();
    let path = copied("llama", folder.path());
    survives(&path, &path.join("tokenizer_config.json"), 420, 400);
}

/// The files of a tiny folder, with one tensor more in its weights.
fn with_tensor(name: &str, folder: &Path) -> PathBuf {
    let path = copied("llama", folder);
    let file = path.join("model.safetensors");
    let bytes = fs::read(&file).unwrap();
    let mut tensors = SafeTensors::deserialize(&bytes).unwrap().tensors();
    let one = 1f32.to_le_bytes();
    tensors.push((name.to_owned(), TensorView::new(Dtype::F32, vec![1], &one).unwrap()));
    fs::write(&file, safetensors::serialize(tensors, None).unwrap()).unwrap();
    path
}

fn refused(path: &Path, parts: &[&str]) {
    let message = opens(path).unwrap_err().to_string();
    assert!(parts.iter().all(|part| message.contains(part)), "{message}");
}

#[test]
fn rotations_that_would_be_silently_wrong_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    refused(
        &with_tensor("rope_freqs.weight", folder.path()),
        &["rope_freqs.weight", "no part in the llama architecture"],
    );

    let path = copied("qwen2", folder.path());
    let config = fs::read_to_string(path.join("config.json")).unwrap();
    fs::write(path.join("config.json"), config.replacen('{', "{\"partial_rotary_factor\": 0.5,", 1)).unwrap();
    refused(&path, &["config.json", "partial_rotary_factor", "found 0.5"]);

    let mut bytes = fs::read(tiny("llama.gguf")).unwrap();
    let key = b"llama.rope.dimension_count";
    let value = bytes.windows(key.len()).position(|window| window == key).unwrap() + key.len() + 4;
    assert_eq!(bytes[value], 16);
    bytes[value] = 8;
    let path = folder.path().join("half.gguf");
    fs::write(&path, bytes).unwrap();
    refused(&path, &["half.gguf", "llama.rope.dimension_count", "expected 16", "found 8"]);
}

#[test]
fn keys_and_values_that_no_machine_holds_are_an_error() {
    let model = Model::open(&tiny("llama.gguf"), &LoadOptions::default()).unwrap();
    for pages in [1 << 27, usize::MAX / 16, usize::MAX] {
        let message = model.decoder.kv_cache(pages).unwrap_err().to_string();
        assert!(message.contains(&format!("reserving {pages} KV pages")), "{message}");
    }
}

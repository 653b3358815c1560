//! Damaged files of architectures with experts, with recurrent states, and with keys and values that layers share: loading
//! the decoder and a short forward end soon, in a result or an error. These fixtures have no tokenizer.

use super::gguf::{Number, Sound};
use super::{PATIENCE, Random, damage};
use moot_models::weights::{Gguf, Weights};
use moot_models::{Decoder, LoadOptions, ModelError, arch};
use safetensors::SafeTensors;
use safetensors::tensor::TensorView;
use serde_json::{Value, json};
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Folders, and GGUF files beside them.
const FIXTURES: [&str; 8] = ["qwen3moe", "qwen35", "qwen35moe", "lfm2", "lfm2moe", "gemma4", "gemma4-moe", "gpt-oss"];

/// Longer than the windows of the fixtures.
const TOKENS: usize = 20;

const MOST: u32 = u32::MAX;

/// A field and values that contradict the file's tensors or its other fields.
type Wrong = (&'static str, &'static [u32]);

const COUNT: Wrong = ("expert_count", &[0, 1, 7, 9, 4096, MOST]);
const USED: Wrong = ("expert_used_count", &[0, 9, MOST]);
const WIDTH: Wrong = ("expert_feed_forward_length", &[0, 16, 64, MOST]);

const CONTRADICTIONS: [(&str, &[Wrong]); 8] = [
    ("qwen3moe", &[COUNT, USED, WIDTH]),
    (
        "qwen35",
        &[
            ("ssm.conv_kernel", &[0, 1, 3, 5, 17, MOST]),
            ("ssm.state_size", &[0, 8, 32, MOST]),
            ("ssm.group_count", &[0, 1, 3, MOST]),
            ("ssm.time_step_rank", &[0, 1, 3, 7, MOST]),
            ("ssm.inner_size", &[0, 16, 192, MOST]),
            ("full_attention_interval", &[0, 1, 3, MOST]),
            ("nextn_predict_layers", &[0, 6, MOST]),
        ],
    ),
    ("qwen35moe", &[COUNT, USED, WIDTH, ("expert_shared_feed_forward_length", &[0, 16, 96, MOST])]),
    ("lfm2", &[("shortconv.l_cache", &[0, 1, 2, 4, 17, MOST])]),
    (
        "lfm2moe",
        &[
            COUNT,
            USED,
            WIDTH,
            ("expert_gating_func", &[0, 1, 3, MOST]),
            ("leading_dense_block_count", &[0, 2, 4, MOST]),
        ],
    ),
    (
        "gemma4",
        &[
            ("attention.shared_kv_layers", &[0, 1, 2, 7, 8, MOST]),
            ("attention.key_length_swa", &[0, 8, 32, MOST]),
            ("embedding_length_per_layer_input", &[0, 8, 32, MOST]),
        ],
    ),
    ("gemma4-moe", &[COUNT, USED, WIDTH, ("attention.shared_kv_layers", &[4, MOST])]),
    ("gpt-oss", &[COUNT, USED, WIDTH, ("attention.sliding_window", &[0])]),
];

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/architectures").join(name)
}

fn sound(name: &str) -> Sound {
    let sound = Sound::read(&fixture(&format!("{name}.gguf")));
    of_gguf(name, sound.bytes.clone()).unwrap();
    sound
}

fn forward(weights: &Weights) -> Result<(), ModelError> {
    let decoder = Decoder::load(arch::spec(weights)?, weights, &LoadOptions::default())?;
    let tokens: Vec<u32> = (0..decoder.spec().context.min(TOKENS) as u32).collect();
    decoder.forward_alone(&tokens).map(|_| ())
}

/// The outcome of a file, damaged in the way `what`, which comes soon and without a panic. The message of an error is short.
fn outcome(what: &str, open: impl FnOnce() -> Result<Weights, ModelError>) -> Result<(), String> {
    let started = Instant::now();
    let result = catch_unwind(AssertUnwindSafe(|| forward(&open()?)));
    let took = started.elapsed();
    let result = result.unwrap_or_else(|_| panic!("{what}: panics"));
    assert!(took < PATIENCE, "{what}: takes {took:?}");
    result.map_err(|error| {
        let message = error.to_string();
        assert!(message.len() < 2000, "{what}: {message}");
        message
    })
}

fn of_gguf(what: &str, bytes: Vec<u8>) -> Result<(), String> {
    outcome(what, || Gguf::from_bytes(Path::new("damaged.gguf"), bytes).map(Weights::Gguf))
}

/// Other values of a number, extreme ones among them.
fn others(number: &Number, sound: &Sound) -> Vec<Vec<u8>> {
    let old = number.bytes(sound);
    match number.kind {
        4 | 5 => {
            let old = u32::from_le_bytes(old.try_into().unwrap());
            [0, 1, old.wrapping_add(1), i32::MAX as u32, MOST].map(|new| new.to_le_bytes().to_vec()).to_vec()
        }
        6 => [0.0_f32, -1.0, 1e30, f32::NAN].map(|new| new.to_le_bytes().to_vec()).to_vec(),
        7 => vec![vec![1 - old[0]], vec![2]],
        kind => panic!("{}: no other values of type {kind}", number.key),
    }
}

#[test]
fn any_number_in_the_metadata_is_no_panic() {
    for name in FIXTURES {
        let sound = sound(name);
        let numbers = || sound.numbers.iter().filter(|number| !number.key.starts_with("general."));
        let mut refused = 0;
        for number in numbers() {
            for new in others(number, &sound) {
                let what = format!("{name}: {} at {} as {new:?}", number.key, number.at);
                refused += usize::from(of_gguf(&what, sound.with(number.at, &new)).is_err());
            }
        }
        assert!(refused > numbers().count(), "{name}: {refused} refused");
    }
}

#[test]
fn counts_and_widths_that_contradict_the_tensors_are_refused() {
    for (name, fields) in CONTRADICTIONS {
        let sound = sound(name);
        for (field, values) in fields {
            let is = |number: &&Number| number.key.ends_with(&format!(".{field}"));
            let number = sound.numbers.iter().find(is).unwrap_or_else(|| panic!("{name} has no {field}"));
            for value in *values {
                let what = format!("{name}: {field} = {value}");
                let message = of_gguf(&what, sound.with(number.at, &value.to_le_bytes())).expect_err(&what);
                assert!(message.contains("damaged.gguf"), "{what}: {message}");
            }
        }
    }
}

#[test]
fn files_that_are_cut_short_are_refused() {
    for name in FIXTURES {
        let sound = sound(name);
        let (header, len) = (sound.header, sound.bytes.len());
        for cut in [0, 4, 20, header / 2, header - 5, header, header + (len - header) / 2, len - 1] {
            let what = format!("{name}: {cut} bytes of {len}");
            assert!(of_gguf(&what, sound.bytes[..cut].to_vec()).is_err(), "{what}");
        }
    }
}

#[test]
fn tensors_of_another_shape_are_refused() {
    for name in FIXTURES {
        let sound = sound(name);
        // The block of Qwen3.5 that predicts a second token is not read.
        let unread = match name {
            "qwen35" => "blk.5.",
            "qwen35moe" => "blk.3.",
            _ => "none",
        };
        for entry in sound.tensors.iter().filter(|entry| !entry.name.starts_with(unread)) {
            let mut narrower = entry.dims.clone();
            narrower[0] = if narrower[0] == 1 { 2 } else { narrower[0] / 2 };
            let mut shapes = vec![narrower];
            if let Some(first) = entry.dims.windows(2).position(|pair| pair[0] != pair[1]) {
                let mut turned = entry.dims.clone();
                turned.swap(first, first + 1);
                shapes.push(turned);
            }
            for shape in shapes {
                let bytes: Vec<u8> = shape.iter().flat_map(|dim| dim.to_le_bytes()).collect();
                let what = format!("{name}: {} as {shape:?} instead of {:?}", entry.name, entry.dims);
                assert!(of_gguf(&what, sound.with(entry.dims_at, &bytes)).is_err(), "{what}");
            }
        }
    }
}

/// Blocks are random bits where floats were, and the other way round. Some types fit the space that a tensor has.
#[test]
fn tensors_of_another_type_are_no_panic() {
    /// F32, F16, Q4_0, Q8_0, Q4_K, BF16, MXFP4
    const TYPES: [u32; 7] = [0, 1, 2, 8, 12, 30, 39];
    for name in FIXTURES {
        let sound = sound(name);
        let mut refused = 0;
        for (index, entry) in sound.tensors.iter().enumerate() {
            let kind = TYPES[index % TYPES.len()];
            let what = format!("{name}: {} of type {kind}", entry.name);
            refused += usize::from(of_gguf(&what, sound.with(entry.kind_at, &kind.to_le_bytes())).is_err());
            let unknown = format!("{name}: {} of type 255", entry.name);
            assert!(of_gguf(&unknown, sound.with(entry.kind_at, &255_u32.to_le_bytes())).is_err(), "{unknown}");
        }
        assert!(refused > 0, "{name}");
    }
}

#[test]
fn a_damaged_header_is_no_panic() {
    const ROUNDS: u64 = 60;
    for name in FIXTURES {
        let sound = sound(name);
        let mut refused = 0;
        for seed in 0..ROUNDS {
            let mut bytes = sound.bytes.clone();
            damage(&mut bytes, sound.header, &mut Random(seed));
            refused += u64::from(of_gguf(&format!("{name}: seed {seed}"), bytes).is_err());
        }
        assert!(refused > ROUNDS / 20, "{name}: {refused} of {ROUNDS} refused");
    }
}

/// The JSON pointers of all numbers, texts and booleans of `value`, which is at `at`.
fn scalars(value: &Value, at: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => fields.iter().for_each(|(name, value)| scalars(value, &format!("{at}/{name}"), found)),
        Value::Array(all) => {
            all.iter().enumerate().for_each(|(index, value)| scalars(value, &format!("{at}/{index}"), found));
        }
        Value::Null => {}
        _ => found.push(at.to_owned()),
    }
}

#[test]
fn any_value_in_a_config_is_no_panic() {
    for name in FIXTURES {
        let folder = tempfile::tempdir().unwrap();
        fs::copy(fixture(name).join("model.safetensors"), folder.path().join("model.safetensors")).unwrap();
        let config = fs::read_to_string(fixture(name).join("config.json")).unwrap();
        let config: Value = serde_json::from_str(&config).unwrap();
        let mut pointers = Vec::new();
        scalars(&config, "", &mut pointers);
        let mut refused = 0;
        for pointer in &pointers {
            for new in [json!(0), json!(1), json!(1_u64 << 40), Value::Null] {
                let what = format!("{name}: {pointer} = {new}");
                let mut changed = config.clone();
                *changed.pointer_mut(pointer).unwrap() = new;
                fs::write(folder.path().join("config.json"), changed.to_string()).unwrap();
                refused += usize::from(outcome(&what, || Weights::open(folder.path())).is_err());
            }
        }
        assert!(refused > pointers.len(), "{name}: {refused} refused");
    }
}

/// Apart, stacked, fused, and as codes with scales.
#[test]
fn experts_of_a_folder_that_are_missing_or_of_another_shape_are_refused() {
    for name in ["qwen3moe", "qwen35moe", "lfm2moe", "gemma4-moe", "gpt-oss"] {
        let folder = tempfile::tempdir().unwrap();
        fs::copy(fixture(name).join("config.json"), folder.path().join("config.json")).unwrap();
        let bytes = fs::read(fixture(name).join("model.safetensors")).unwrap();
        let tensors = SafeTensors::deserialize(&bytes).unwrap().tensors();
        let experts = tensors.iter().filter(|(tensor, _)| tensor.contains("layers.1.") && tensor.contains(".experts."));
        assert!(experts.clone().count() > 1, "{name}");
        for (tensor, view) in experts {
            let mut shape = view.shape().to_vec();
            shape.swap(0, 1);
            assert_ne!(shape, view.shape(), "{name}: {tensor}");
            let turned = TensorView::new(view.dtype(), shape, view.data()).unwrap();
            for (how, instead) in [("missing", None), ("of another shape", Some((tensor.clone(), turned)))] {
                let others = tensors.iter().filter(|(other, _)| other != tensor).cloned();
                let changed: Vec<(String, TensorView<'_>)> = others.chain(instead).collect();
                let written = safetensors::serialize(changed, None).unwrap();
                fs::write(folder.path().join("model.safetensors"), written).unwrap();
                let what = format!("{name}: {tensor} is {how}");
                assert!(outcome(&what, || Weights::open(folder.path())).is_err(), "{what}");
            }
        }
    }
}

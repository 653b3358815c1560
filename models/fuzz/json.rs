//! Changes to JSON as a tree, and to the JSON header of a safetensors file.

use super::mutate::{EDGES, blind};
use super::random::Random;
use serde_json::{Map, Number, Value, json};

/// Fields that some architecture reads, and words that it compares with.
const WORDS: [&str; 52] = [
    "rope_scaling",
    "rope_parameters",
    "rope_type",
    "type",
    "factor",
    "low_freq_factor",
    "high_freq_factor",
    "linear",
    "original_max_position_embeddings",
    "short_factor",
    "long_factor",
    "attention_factor",
    "partial_rotary_factor",
    "llama3",
    "beta_fast",
    "mscale",
    "longrope",
    "su",
    "default",
    "yarn",
    "head_dim",
    "sliding_window",
    "use_sliding_window",
    "attention_bias",
    "tie_word_embeddings",
    "quantization_config",
    "model_type",
    "llama",
    "phi3",
    "qwen3",
    "mistral",
    "dtype",
    "shape",
    "data_offsets",
    "added_tokens",
    "normalizer",
    "pre_tokenizer",
    "special",
    "Sequence",
    "Split",
    "ByteLevel",
    "Metaspace",
    "BPE",
    "<s>",
    "Replace",
    "Prepend",
    "pattern",
    "Regex",
    "content",
    "x*",
    "ee",
    "",
]; // one a line would be longer than all the rest

/// One change to a JSON document.
pub(crate) fn document(bytes: &mut Vec<u8>, random: &mut Random) {
    match serde_json::from_slice::<Value>(bytes) {
        Ok(mut tree) if random.below(6) != 0 => {
            change(&mut tree, random);
            *bytes = tree.to_string().into_bytes();
        }
        _ => blind(bytes, random),
    }
}

/// One change to a safetensors file. The header's length is mostly put right afterwards, so that it is read at all.
pub(crate) fn safetensors(bytes: &mut Vec<u8>, random: &mut Random) {
    let length = bytes.first_chunk().map(|length| u64::from_le_bytes(*length));
    let end = length.and_then(|length| usize::try_from(length).ok()?.checked_add(8)).filter(|&end| end <= bytes.len());
    let Some(end) = end.filter(|_| random.below(6) != 0) else {
        blind(bytes, random);
        return;
    };
    let mut header = bytes[8..end].to_vec();
    document(&mut header, random);
    if random.below(2) == 0 && lay_out(&mut header).is_some_and(|data| resize(bytes, end, data)) {
        bytes.splice(..end, [&(header.len() as u64).to_le_bytes()[..], &header].concat());
        return;
    }
    let length = if random.below(10) == 0 { *random.pick(&EDGES) } else { header.len() as u64 };
    bytes.splice(..end, [&length.to_le_bytes()[..], &header].concat());
}

/// Gives every tensor that has a sound type and shape the bytes it needs, one after the other; how many that is in all.
fn lay_out(header: &mut Vec<u8>) -> Option<usize> {
    let mut tree: Map<String, Value> = serde_json::from_slice(header).ok()?;
    let mut at = 0_usize;
    for (_, tensor) in tree.iter_mut().filter(|(name, _)| *name != "__metadata__") {
        let width = match tensor.get("dtype")?.as_str()? {
            "F64" | "I64" => 8,
            "F32" | "I32" => 4,
            "F16" | "BF16" | "I16" => 2,
            _ => 1,
        };
        let shape = tensor.get("shape")?.as_array()?.iter();
        let bytes = shape.map(Value::as_u64).try_fold(width, |bytes: u64, n| bytes.checked_mul(n?))?;
        let end = at.checked_add(usize::try_from(bytes).ok()?)?;
        tensor.as_object_mut()?.insert("data_offsets".to_owned(), json!([at, end]));
        at = end;
    }
    *header = Value::Object(tree).to_string().into_bytes();
    Some(at)
}

/// Makes the data after `end` as long as it should be, within reason.
fn resize(bytes: &mut Vec<u8>, end: usize, data: usize) -> bool {
    let fits = data <= 1 << 16;
    if fits {
        bytes.resize(end + data, 1);
    }
    fits
}

fn change(tree: &mut Value, random: &mut Random) {
    // Down to some node; the deeper, the less likely to go on.
    match tree {
        Value::Object(fields) if !fields.is_empty() && random.below(4) != 0 => {
            let key = fields.keys().nth(random.below(fields.len())).unwrap().clone();
            change_field(fields, &key, random);
        }
        Value::Array(items) if !items.is_empty() && random.below(3) != 0 => {
            let index = random.below(items.len());
            match random.below(5) {
                0 => drop(items.remove(index)),
                1 => items.insert(index, leaf(random)),
                // Steps and merges, many of them.
                2 => items.extend(vec![items[index].clone(); random.below(12)]),
                _ => change(&mut items[index], random),
            }
        }
        Value::Number(number) if random.below(2) == 0 => *tree = near(number, random),
        _ => *tree = leaf(random),
    }
}

fn change_field(fields: &mut Map<String, Value>, key: &str, random: &mut Random) {
    match random.below(8) {
        0 => drop(fields.remove(key)),
        1 => {
            let value = fields.get(key).cloned().unwrap_or(Value::Null);
            fields.insert((*random.pick(&WORDS)).to_owned(), value);
        }
        2 => drop(fields.insert((*random.pick(&WORDS)).to_owned(), leaf(random))),
        _ => change(fields.get_mut(key).unwrap(), random),
    }
}

fn near(number: &Number, random: &mut Random) -> Value {
    let float = number.as_f64().unwrap_or(0.0);
    match number.as_u64() {
        Some(whole) => {
            json!(*random.pick(&[
                whole.wrapping_add(1),
                whole.wrapping_sub(1),
                whole.wrapping_mul(2) % (1 << 60),
                whole / 2
            ]))
        }
        None => json!(*random.pick(&[-float, float * 2.0, float / 2.0, 1.0 / float])),
    }
}

fn leaf(random: &mut Random) -> Value {
    match random.below(10) {
        0 => Value::Null,
        1 => json!(random.below(2) == 0),
        2 => json!(*random.pick(&[0.0, -1.0, 1e-300, 1e300, 0.5, 1e-4, 1e6, 123456.5])),
        3 => json!(-(*random.pick(&EDGES) as i64 as i128).min(i128::from(i64::MAX)) as i64),
        4 => json!(vec![*random.pick(&EDGES); random.below(20)]),
        5 => json!({ *random.pick(&WORDS): *random.pick(&EDGES) }),
        6 | 7 => json!(*random.pick(&WORDS)),
        _ => json!(*random.pick(&EDGES)),
    }
}

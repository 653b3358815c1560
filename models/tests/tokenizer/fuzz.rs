//! A small fuzzer of its own: seeded damage to small vocabularies. For as long as one likes, instead of 100,000 runs:
//! `MOOT_FUZZ_SECONDS=600 MOOT_FUZZ_SEED=1 cargo test --release -p moot-models -- --include-ignored fuzz_vocabularies`.

use super::fixture::{bytes, small_sentencepiece, tiny_metadata};
use super::fuzz_entry::{gguf_vocabulary, tokenizer_json};
use moot_models::weights::{Metadata, Value};
use std::time::{Duration, Instant};

/// Texts that vocabularies and pipelines are made of.
const WORDS: [&str; 42] = [
    "<s>",
    "</s>",
    "<unk>",
    "▁",
    "▁▁",
    "a",
    "ab",
    "Ġ",
    "Ġt",
    "<0x00>",
    "<0xFF>",
    "<0x0A>",
    "",
    " ",
    "\n",
    "<|im_end|>",
    "[INST]",
    "[/INST]",
    "<|user|>",
    "<|end|>",
    "<|assistant|>",
    "NFC",
    "NFKD",
    "Lowercase",
    "Strip",
    "Replace",
    "Prepend",
    "Metaspace",
    "ByteLevel",
    "Split",
    "Digits",
    "Sequence",
    "WordPiece",
    "Unigram",
    "BPE",
    "BertNormalizer",
    "Punctuation",
    "Isolated",
    "Removed",
    "(?i:x|\\s+)",
    "\\p{L}+(?!a)",
    "(?:(\\S*)*\\1)*y(?=z)",
];
const NUMBERS: [u64; 10] = [0, 1, 2, 3, 255, 259, 4096, 1 << 20, u32::MAX as u64, u64::MAX];

/// SplitMix64: the same damage for the same seed.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % below.max(1) as u64) as usize
    }

    fn word(&mut self) -> String {
        (0..=self.roll(3)).map(|_| WORDS[self.roll(WORDS.len())]).collect()
    }
}

/// Any value of `document` replaced, moved, removed or doubled.
fn damage_json(document: &mut serde_json::Value, dice: &mut Dice) {
    use serde_json::Value::{Array, Object};
    let deeper = dice.roll(6) > 0;
    match document {
        Array(items) if !items.is_empty() && deeper => {
            let at = dice.roll(items.len());
            match dice.roll(8) {
                0 => _ = items.remove(at),
                1 => items.push(items[at].clone()),
                2 => items.swap(at, 0),
                _ => damage_json(&mut items[at], dice),
            }
        }
        Object(fields) if !fields.is_empty() && deeper => {
            let key = fields.keys().nth(dice.roll(fields.len())).unwrap().clone();
            match dice.roll(8) {
                0 => _ = fields.shift_remove(&key),
                1 => _ = fields.insert(dice.word(), fields[&key].clone()),
                _ => damage_json(&mut fields[&key], dice),
            }
        }
        other => {
            *other = match dice.roll(7) {
                0 => serde_json::Value::Null,
                1 => (dice.roll(2) == 0).into(),
                2 => NUMBERS[dice.roll(NUMBERS.len())].into(),
                3 => Array(vec![other.clone()]),
                4 => {
                    serde_json::json!({"type": dice.word(), "pattern": {"Regex": dice.word()}, "behavior": "Isolated"})
                }
                _ => dice.word().into(),
            }
        }
    }
}

/// Any field of `metadata` replaced, removed, or changed at one position.
fn damage_metadata(metadata: &Metadata, dice: &mut Dice) -> Metadata {
    let mut values: std::collections::BTreeMap<String, Value> =
        metadata.iter().map(|(key, value)| (key.to_owned(), value.clone())).collect();
    for _ in 0..=dice.roll(4) {
        let key = values.keys().nth(dice.roll(values.len())).unwrap().clone();
        let value = values.get_mut(&key).unwrap();
        match value {
            Value::StringArray(texts) if !texts.is_empty() => {
                let at = dice.roll(texts.len());
                match dice.roll(5) {
                    0 => _ = texts.remove(at),
                    1 => texts.push(dice.word().into()),
                    2 => texts[at].extend(dice.word().bytes().cycle().take(dice.roll(600))),
                    3 => texts[at].push(0xff),
                    _ => texts[at] = dice.word().into(),
                }
            }
            Value::SignedArray(numbers) if !numbers.is_empty() => {
                let at = dice.roll(numbers.len());
                numbers[at] = dice.roll(8) as i64;
            }
            Value::FloatArray(numbers) if !numbers.is_empty() => {
                let at = dice.roll(numbers.len());
                numbers[at] = [0.0, -1e9, 5.0, f64::INFINITY, f64::NAN, -0.0][dice.roll(6)];
            }
            Value::String(text) => *text = dice.word(),
            other => *other = Value::Unsigned(NUMBERS[dice.roll(NUMBERS.len())]),
        }
        if dice.roll(30) == 0 {
            values.remove(&key);
        }
    }
    Metadata::new(metadata.path().to_owned(), values)
}

/// The undamaged inputs: one of each kind of tokenizer.json.
fn documents() -> Vec<serde_json::Value> {
    let tiny = serde_json::from_slice(&bytes("tiny.tokenizer.json")).unwrap();
    let vocab = |texts: &[&str]| -> serde_json::Value {
        texts
            .iter()
            .enumerate()
            .map(|(id, text)| ((*text).to_owned(), serde_json::Value::from(id)))
            .collect::<serde_json::Map<_, _>>()
            .into()
    };
    let space = serde_json::json!({"type": "Replace", "pattern": {"String": " "}, "content": "▁"});
    let metaspace = serde_json::json!({
        "added_tokens": [{"id": 1, "content": "<s>", "special": true, "rstrip": true}, {"id": 2, "content": "</s>", "special": true}],
        "normalizer": {"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "▁"}, space]},
        "decoder": {"type": "Sequence", "decoders": [space, {"type": "ByteFallback"}, {"type": "Fuse"}, {"type": "Strip", "content": " ", "start": 1, "stop": 0}]},
        "model": {"type": "BPE", "unk_token": "<unk>", "byte_fallback": true, "fuse_unk": true,
            "vocab": vocab(&["<unk>", "<s>", "</s>", "<0x0A>", "▁", "a", "b", "ab", "▁a"]), "merges": ["a b", "▁ a"]},
    });
    let mut first = metaspace.clone();
    first["normalizer"] = serde_json::Value::Null;
    first["pre_tokenizer"] =
        serde_json::json!({"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", "split": true});
    let word_piece = serde_json::json!({
        "added_tokens": [{"id": 1, "content": "[CLS]", "special": true}],
        "normalizer": {"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true, "strip_accents": null, "lowercase": true},
        "pre_tokenizer": {"type": "BertPreTokenizer"}, "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": true},
        "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100,
            "vocab": vocab(&["[UNK]", "[CLS]", "the", "##ght", "ri", "word", "##word"])},
    });
    let unigram = serde_json::json!({
        "added_tokens": [{"id": 1, "content": "<s>", "special": true}],
        "normalizer": {"type": "Nmt"},
        "pre_tokenizer": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": true},
        "decoder": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": true},
        "model": {"type": "Unigram", "unk_id": 0, "byte_fallback": false,
            "vocab": [["<unk>", 0.0], ["<s>", 0.0], ["▁", -2.0], ["a", -3.0], ["b", -3.5], ["▁ab", -4.0]]},
    });
    vec![tiny, metaspace, first, word_piece, unigram]
}

fn run(seed: u64, documents: &[serde_json::Value], metadata: &[Metadata]) {
    let dice = &mut Dice(seed);
    let mut document = documents[dice.roll(documents.len())].clone();
    for _ in 0..=dice.roll(4) {
        damage_json(&mut document, dice);
    }
    _ = tokenizer_json(document.to_string().as_bytes());
    _ = gguf_vocabulary(&damage_metadata(&metadata[dice.roll(metadata.len())], dice));
}

fn metadata() -> Vec<Metadata> {
    let template = ("tokenizer.chat_template", Value::String("{{ messages[0].content }}".into()));
    let pieces = ["▁", "a", "b", "ab", "▁a", "▁▁", "[INST]", "[/INST]", "<|user|>"];
    vec![tiny_metadata("qwen2"), tiny_metadata("default"), small_sentencepiece(&pieces, &[template])]
}

#[test]
fn damaged_vocabularies_are_refused_or_work() {
    let (documents, metadata) = (documents(), metadata());
    for seed in 0..600 {
        run(seed, &documents, &metadata);
    }
}

#[test]
#[ignore = "100,000 runs, or as long as MOOT_FUZZ_SECONDS says"]
#[allow(clippy::print_stdout)]
fn fuzz_vocabularies() {
    let number = |name| std::env::var(name).ok().map(|n| n.parse::<u64>().unwrap());
    let (seconds, first) = (number("MOOT_FUZZ_SECONDS"), number("MOOT_FUZZ_SEED").unwrap_or(1_000_000));
    let (documents, metadata) = (documents(), metadata());
    let (start, mut slowest) = (Instant::now(), (Duration::ZERO, 0));
    let mut seed = first;
    // A number of runs where no time is asked for: the same on every machine.
    while seconds.map_or(seed < first + 100_000, |seconds| start.elapsed() < Duration::from_secs(seconds)) {
        let begin = Instant::now();
        if let Err(panic) = std::panic::catch_unwind(|| run(seed, &documents, &metadata)) {
            println!("seed {seed} panicked");
            std::panic::resume_unwind(panic);
        }
        slowest = slowest.max((begin.elapsed(), seed));
        // Milliseconds, even where much else runs: this is a loop that all but never ends.
        assert!(slowest.0 < Duration::from_secs(60), "seed {seed} took {:?}", slowest.0);
        seed += 1;
    }
    println!("{} runs, the slowest (seed {}) took {:?}", seed - first, slowest.1, slowest.0);
}

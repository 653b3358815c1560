//! Ids equal Hugging Face's, and text comes back.

use super::fixture::{MODELS, back, bytes, ids, json, lines, model, tiny, tiny_metadata};
use moot_models::tokenizer::{SPLITTERS, Segment, Tokenizer};
use moot_models::weights::{Metadata, Value};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;

/// First 4 bytes of SHA-256 over little-endian ids.
pub(crate) fn digest(ids: &[u32]) -> Vec<u8> {
    let bytes: Vec<u8> = ids.iter().flat_map(|id| id.to_le_bytes()).collect();
    Sha256::digest(bytes)[..4].to_vec()
}

#[test]
fn ten_thousand_lines_of_many_scripts() {
    let lines = lines();
    assert_eq!(lines.len(), 10_000);
    for name in MODELS {
        let tokenizer = &model(name).1;
        let golden = bytes(&format!("{name}.ids.bin"));
        let mut wrong = Vec::new();
        for (line, expected) in lines.iter().zip(golden.chunks_exact(4)) {
            let ids = tokenizer.encode_text(line).unwrap();
            if digest(&ids) != expected {
                wrong.push(line);
            }
            assert_eq!(tokenizer.decode_text(&ids), back(name, line), "{name}");
        }
        assert!(wrong.is_empty(), "{name}: {} lines differ, first {:?}", wrong.len(), &wrong[..wrong.len().min(5)]);
    }
}

#[test]
fn every_splitter_on_the_tiny_vocabulary() {
    let golden = json("tiny.json");
    for row in &SPLITTERS {
        let tokenizer = Tokenizer::from_gguf(&tiny_metadata(row.name)).unwrap();
        let cases: Vec<_> = golden["content"].as_array().unwrap().iter().filter(|c| c["pre"] == row.name).collect();
        assert!(!cases.is_empty(), "splitter {} has no golden ids: add it to make.py", row.name);
        for case in cases {
            let text = case["text"].as_str().unwrap();
            assert_eq!(tokenizer.encode_text(text).unwrap(), ids(&case["ids"]), "{}: {text:?}", row.name);
        }
        assert_eq!(tokenizer.add_bos(), row.add_bos);
    }
}

/// Marks belong to words in Qwen3.5's splitter, where Qwen2's cuts before them. The small vocabulary has no token that tells
/// gpt-oss's splitter from the others.
#[test]
fn splitters_over_the_vocabulary_of_another() {
    let (metadata, _) = model("qwen2");
    let by = |splitter: &str| {
        let mut values: BTreeMap<String, Value> =
            metadata.iter().map(|(name, value)| (name.into(), value.clone())).collect();
        values.insert("tokenizer.ggml.pre".into(), Value::String(splitter.into()));
        Tokenizer::from_gguf(&Metadata::new(metadata.path().to_owned(), values)).unwrap()
    };
    for (splitter, others) in [("qwen35", vec!["qwen2"]), ("gpt-4o", vec![])] {
        let (tokenizer, others) = (by(splitter), others.into_iter().map(by).collect::<Vec<_>>());
        let mut differ = vec![0; others.len()];
        for case in json(&format!("{splitter}.json")).as_array().unwrap() {
            let (text, wanted) = (case["text"].as_str().unwrap(), ids(&case["ids"]));
            assert_eq!(tokenizer.encode_text(text).unwrap(), wanted, "{text:?}");
            for (differ, other) in differ.iter_mut().zip(&others) {
                *differ += usize::from(other.encode_text(text).unwrap() != wanted);
            }
        }
        assert!(differ.iter().all(|&differ| differ > 0), "no text shows the difference: {splitter}, {differ:?}");
    }
}

#[test]
fn tokenizer_json_as_hugging_face_reads_it() {
    let (tokenizer, golden) = (tiny(), json("tiny.json"));
    for case in golden["content"].as_array().unwrap().iter().filter(|case| case["pre"] == "qwen2") {
        let text = case["text"].as_str().unwrap();
        assert_eq!(tokenizer.encode_text(text).unwrap(), ids(&case["ids"]), "{text:?}");
    }
    assert!(tokenizer.add_bos(), "the post-processor begins with <s>");
    for case in golden["scaffold"].as_array().unwrap() {
        let text = case["text"].as_str().unwrap();
        let (bos, mut expected) = (tokenizer.bos_id().unwrap(), ids(&case["ids"]));
        // Exactly one in front, whether the text has none or two.
        expected.splice(..expected.iter().take_while(|&&id| id == bos).count(), [bos]);
        let scaffold = [Segment::Scaffold(text.to_owned())];
        assert_eq!(tokenizer.encode_prompt(&scaffold).unwrap(), expected, "{text:?}");
    }
}

#[test]
fn special_tokens_of_the_real_vocabularies() {
    let (qwen, smollm) = (&model("qwen2").1, &model("smollm").1);
    assert_eq!((qwen.vocab_size(), smollm.vocab_size()), (151_936, 49_152));
    assert_eq!((qwen.eos_ids(), smollm.eos_ids()), (&[151_643, 151_645][..], &[0, 2][..]));
    assert_eq!((qwen.eos_id(), smollm.eos_id()), (Some(151_645), Some(2)));
    assert_eq!((qwen.bos_id(), smollm.bos_id()), (Some(151_643), Some(1)));
    assert!(!qwen.add_bos() && !smollm.add_bos());
    assert_eq!(qwen.token_bytes(151_644), Some(&b"<|im_start|>"[..]));
    assert_eq!(qwen.token_bytes(151_700), None, "padding stands for nothing");
    assert_eq!(qwen.token_bytes(u32::MAX), None);
    assert!(qwen.is_special(151_657) && !qwen.is_special(220));
    assert_eq!(qwen.special_id("<tool_call>"), Some(151_657));
    let mistral = &model("mistral").1;
    assert_eq!((mistral.vocab_size(), mistral.eos_ids(), mistral.bos_id()), (32_768, &[2][..], Some(1)));
    assert!(mistral.add_bos() && mistral.is_special(751) && !mistral.is_special(0));
    assert_eq!((mistral.special_id("[INST]"), mistral.token_bytes(771)), (Some(3), Some(&[0][..])));
    assert_eq!(qwen.decode_bytes(&[151_644, 14_990, 151_657, 151_645, 151_700]), b"hello<tool_call>");
}

#[test]
fn token_bytes_spell_every_text() {
    for name in MODELS {
        let tokenizer = &model(name).1;
        for line in lines().iter().step_by(97) {
            let ids = tokenizer.encode_text(line).unwrap();
            let spelled: Vec<u8> = ids.iter().flat_map(|&id| tokenizer.token_bytes(id).unwrap().to_vec()).collect();
            assert_eq!(spelled, tokenizer.decode_bytes(&ids));
        }
    }
}

#[test]
fn long_runs_of_one_character_are_no_trouble() {
    for name in MODELS {
        let tokenizer = &model(name).1;
        for run in [" ", "\n", "\t ", "a", "1", "é", "-", "\u{301}", "世", "<|", "🙂\u{200d}"] {
            let text = run.repeat(50_000) + "x";
            let start = std::time::Instant::now();
            let ids = tokenizer.encode_text(&text).unwrap();
            assert_eq!(tokenizer.decode_text(&ids), back(name, &text), "{name}: {run:?}");
            assert!(start.elapsed().as_secs() < 10, "{name}: {run:?} took {:?}", start.elapsed());
        }
    }
}

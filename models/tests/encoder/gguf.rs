//! Encoders as GGUF files: BERT with its own vocabulary, and with that of XLM-R.

use super::families::bits;
use super::{Texts, expected, farthest, golden, options, vectors};
use moot_models::encoder::{EmbeddingModel, Pooling, Precision};
use moot_models::source::Catalog;
use std::path::Path;

#[test]
fn a_gguf_gives_the_ids_and_the_bits_of_the_folder() {
    for name in ["bert", "bert-pieces"] {
        let folder = EmbeddingModel::open(&golden(name), &options(Precision::F32)).unwrap();
        let file = EmbeddingModel::open(&golden(&format!("{name}.gguf")), &options(Precision::F32)).unwrap();
        let recipe = file.recipe();
        assert_eq!((recipe.pooling, recipe.normalise, recipe.prefixes_known), (Pooling::Mean, true, false), "{name}");
        let mut texts: Texts = expected(&golden(name).join("expected.json"));
        // A GGUF knows the positions, not the smaller limit beside them.
        texts.texts.retain(|text| text.ids.len() < folder.recipe().limit);
        assert!(texts.texts.len() > 4);
        for text in &texts.texts {
            assert_eq!(file.tokens("", &text.text).unwrap().ids, text.ids, "{name}: {:?}", text.text);
        }
        let (of_file, of_folder) = (vectors(&file, &texts.texts), vectors(&folder, &texts.texts));
        for ((text, file), folder) in texts.texts.iter().zip(&of_file).zip(&of_folder) {
            assert!(farthest(file, &text.vector) < 2e-5, "{name}: {:?}", text.text);
            assert_eq!(bits(file), bits(folder), "{name}: {:?}", text.text);
        }
    }
}

/// The error for a copy of `bert.gguf` in which `from` is `to`, of the same length.
fn refused(from: &[u8], to: &[u8]) -> String {
    let mut bytes = std::fs::read(golden("bert.gguf")).unwrap();
    let places: Vec<usize> = (0..bytes.len() - from.len()).filter(|&at| bytes[at..].starts_with(from)).collect();
    assert!(!places.is_empty() && from.len() == to.len());
    places.into_iter().for_each(|at| bytes[at..at + to.len()].copy_from_slice(to));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("other.gguf");
    std::fs::write(&path, bytes).unwrap();
    EmbeddingModel::open(&path, &options(Precision::F32)).unwrap_err().to_string()
}

#[test]
fn a_gguf_that_would_be_computed_wrongly_is_refused() {
    for (from, to, named) in [
        (&b"\x04\0\0\0\0\0\0\0bert"[..], &b"\x04\0\0\0\0\0\0\0nomi"[..], "bert as a GGUF file"),
        (b"bert.attention.causal", b"bert.attention.casual", "bert.attention.causal"),
        (b"bert.pooling_type", b"bert.pooling_typo", "bert.pooling_type"),
        (b"bert.attention.layer_norm_epsilon", b"bert.attention.layer_norm_epsilom", "layer_norm_epsilon"),
        (b"tokenizer.ggml.bos_token_id", b"tokenizer.ggml.box_token_id", "tokenizer.ggml.cls_token_id"),
        (b"blk.1.ffn_up.bias", b"blk.1.ffn_up.base", "blk.1.ffn_up.bias"),
    ] {
        let error = refused(from, to);
        assert!(error.contains(named), "{named}: {error}");
    }
}

#[test]
fn the_name_of_a_gguf_begins_with_that_of_its_model() {
    let catalog = Catalog::embedded();
    let alias = |file: &str| catalog.encoder_at(Path::new(file)).map(|entry| entry.alias.as_str());
    assert_eq!(alias("/models/bge-small-en-v1.5-q8_0.gguf"), Some("bge-small-en-v1.5"));
    assert_eq!(alias("/models/E5-base-v2.Q8_0.gguf"), Some("e5-base-v2"));
    assert_eq!(alias("/models/all-MiniLM-L6-v2.gguf"), Some("all-minilm-l6-v2"));
    assert_eq!(alias("/models/e5-base-v22.gguf"), None);
}

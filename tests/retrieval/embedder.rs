//! The embedder of this process, over the tiny encoders of the model tests: prefixes by side, masks, what identifies it.

use moot::retrieval::{Embedder, EmbedderOptions, LocalEmbedder, Side};
use moot_models::encoder::{EmbeddingModel, EncoderOptions, Packed, Precision};
use moot_models::source::{Catalog, EncoderEntry};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A copy of the tiny encoder `name` as a hub has it that says nothing of pooling: the catalog's row decides.
fn unsaid(name: &str) -> (TempDir, PathBuf) {
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("models/tests/golden/encoders").join(name);
    let folder = TempDir::new().unwrap();
    for file in ["config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"] {
        if from.join(file).exists() {
            std::fs::copy(from.join(file), folder.path().join(file)).unwrap();
        }
    }
    let path = folder.path().to_owned();
    (folder, path)
}

fn row(alias: &str) -> EncoderEntry {
    Catalog::embedded().encoder_named(alias).unwrap().clone()
}

fn exact() -> EmbedderOptions {
    let load = EncoderOptions { precision: Precision::F32, ..EncoderOptions::default() };
    EmbedderOptions { load, ..EmbedderOptions::default() }
}

#[test]
fn each_side_has_its_prefix() {
    let (_folder, path) = unsaid("bert");
    let known = row("e5-small-v2");
    let embedder = LocalEmbedder::load(&path, Some(&known), &exact()).unwrap();
    let model = EmbeddingModel::open_as(&path, Some(&known), &exact().load).unwrap();
    let alone = |text: &str| model.embed("", &[text]).unwrap().vectors;
    assert_eq!(embedder.embed(&["who"], Side::Query).unwrap(), alone("query: who"));
    assert_eq!(embedder.embed(&["who"], Side::Passage).unwrap(), alone("passage: who"));
    assert_ne!(alone("query: who"), alone("passage: who"));
    assert_eq!((embedder.dimension(), embedder.truncated()), (model.dimension(), 0));
    embedder.embed(&["who", &"bridge ".repeat(600)], Side::Passage).unwrap();
    assert_eq!(embedder.truncated(), 1);
}

#[test]
fn the_identity_names_all_that_changes_a_vector() {
    let (_folder, path) = unsaid("bert");
    let of = |alias: &str, options: &EmbedderOptions| {
        LocalEmbedder::load(&path, Some(&row(alias)), options).unwrap().identity().to_owned()
    };
    let plain = of("e5-small-v2", &exact());
    let int16 = of("e5-small-v2", &EmbedderOptions::default());
    let cls = of("bge-small-en-v1.5", &exact());
    assert!(plain != int16 && plain != cls && int16 != cls, "{plain}\n{int16}\n{cls}");
    assert_eq!(plain, of("e5-small-v2", &exact()));
    std::fs::write(path.join("sentence_bert_config.json"), r#"{"do_lower_case": true}"#).unwrap();
    assert!(of("e5-small-v2", &exact()).ends_with("normaliser changed"));
    let (_other, elsewhere) = unsaid("xlm-roberta");
    let other = LocalEmbedder::load(&elsewhere, Some(&row("e5-small-v2")), &exact()).unwrap();
    assert_ne!(plain, other.identity(), "other weights");
}

#[test]
fn the_identity_names_the_layers_behind_the_pooling() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("models/tests/golden/encoders/gemma3-embedding");
    let (_folder, path) = unsaid("gemma3-embedding");
    for name in ["modules.json", "1_Pooling/config.json", "2_Dense/config.json", "2_Dense/model.safetensors"]
        .into_iter()
        .chain(["3_Dense/config.json", "3_Dense/model.safetensors"])
    {
        std::fs::create_dir_all(path.join(name).parent().unwrap()).unwrap();
        std::fs::copy(golden.join(name), path.join(name)).unwrap();
    }
    let identity = || LocalEmbedder::load(&path, None, &exact()).unwrap().identity().to_owned();
    let before = identity();
    let weights = path.join("3_Dense/model.safetensors");
    let mut bytes = std::fs::read(&weights).unwrap();
    // The lowest bits of the last number.
    let last = bytes.len() - 4;
    bytes[last] ^= 1;
    std::fs::write(&weights, bytes).unwrap();
    assert_ne!(identity(), before);
}

#[test]
fn an_unknown_folder_without_prompts_is_reported() {
    let (_folder, path) = unsaid("bert");
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("models/tests/golden/encoders/bert");
    std::fs::copy(golden.join("modules.json"), path.join("modules.json")).unwrap();
    std::fs::create_dir(path.join("1_Pooling")).unwrap();
    std::fs::copy(golden.join("1_Pooling/config.json"), path.join("1_Pooling/config.json")).unwrap();
    let note = LocalEmbedder::load(&path, None, &exact()).unwrap().note().unwrap();
    assert!(note.contains("no prefixes are known"), "{note}");
    assert_eq!(LocalEmbedder::load(&path, Some(&row("e5-small-v2")), &exact()).unwrap().note(), None);
}

#[test]
fn an_instruction_goes_around_the_text_and_masks_behind_it() {
    let (_folder, path) = unsaid("xlm-roberta");
    let known = row("inbedder-roberta-large");
    let unasked = LocalEmbedder::load(&path, Some(&known), &exact()).unwrap();
    let error = unasked.embed(&["a bridge"], Side::Passage).unwrap_err().to_string();
    assert!(error.contains("expected an instruction"), "{error}");

    let asked = EmbedderOptions { instruction: Some("Which year?".into()), ..exact() };
    let embedder = LocalEmbedder::load(&path, Some(&known), &asked).unwrap();
    let vector = embedder.embed(&["a bridge"], Side::Passage).unwrap();
    let whole = "### Input:\na bridge\n\n### Instruction:\nWhich year?\n\n### Response:";
    let model = embedder.model();
    let tokens = model.tokens("", whole).unwrap();
    let (ids, hidden) = (&tokens.ids, model.dimension());
    let masks = &ids[ids.len() - 4..ids.len() - 1];
    assert!(masks.iter().all(|id| id == &masks[0] && *id != ids[ids.len() - 5]), "three masks before the end: {ids:?}");

    let states = model.encoder().unwrap().forward(&Packed::new([&tokens].into_iter())).unwrap();
    let states: Vec<f32> = states.flatten_all().unwrap().to_vec1().unwrap();
    let at = |mask: usize, i: usize| states[(ids.len() - 4 + mask) * hidden + i];
    for (i, got) in vector.iter().enumerate() {
        let want = (at(0, i) + at(1, i) + at(2, i)) / 3.0;
        assert!((got - want).abs() < 1e-6, "{i}: {got} for {want}");
    }
}

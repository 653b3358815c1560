//! Folders that are not sound: each is refused in one line that says where and what.

use super::{golden, options};
use moot_models::encoder::{Classifier, EmbeddingModel, NliLabels, Precision, Unsupported};
use serde_json::{Value, json};
use std::path::Path;

/// A copy of golden folder `name`.
pub(super) fn copy(name: &str) -> tempfile::TempDir {
    fn all(from: &Path, to: &Path) {
        for file in std::fs::read_dir(from).unwrap() {
            let file = file.unwrap();
            let target = to.join(file.file_name());
            if file.path().is_dir() {
                std::fs::create_dir(&target).unwrap();
                all(&file.path(), &target);
            } else {
                std::fs::copy(file.path(), target).unwrap();
            }
        }
    }
    let folder = tempfile::tempdir().unwrap();
    all(&golden(name), folder.path());
    folder
}

pub(super) fn change(folder: &Path, file: &str, with: impl FnOnce(&mut Value)) {
    let path = folder.join(file);
    let mut value: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    with(&mut value);
    std::fs::write(path, value.to_string()).unwrap();
}

/// The message for golden folder `name` after `damage`.
fn message(name: &str, damage: impl FnOnce(&Path)) -> String {
    let folder = copy(name);
    damage(folder.path());
    let opened = if name.ends_with("nli") {
        Classifier::open(folder.path(), &options(Precision::F32), None).map(|_| ())
    } else {
        EmbeddingModel::open(folder.path(), &options(Precision::F32)).map(|_| ())
    };
    opened.unwrap_err().to_string()
}

fn config(name: &str, field: &str, value: Value) -> String {
    message(name, |folder| change(folder, "config.json", |config| config[field] = value))
}

#[test]
fn a_configuration_that_is_not_built() {
    let unknown = config("bert", "model_type", json!("longformer"));
    assert!(unknown.contains("bert, roberta, xlm-roberta, deberta-v2, modernbert, mpnet, t5, HHEMv2Config; as embedder also qwen3, gemma3_text; as reranker also qwen3"));
    assert!(config("bert", "hidden_act", json!("mish")).contains("field hidden_act: expected gelu"));
    assert!(config("bert", "position_embedding_type", json!("relative_key")).contains("position_embedding_type"));
    assert!(config("bert", "num_attention_heads", json!(3)).contains("multiple of 16"));
    assert!(config("bert", "num_attention_heads", json!(0)).contains("num_attention_heads"));
    assert!(config("bert", "num_hidden_layers", json!(1)).contains("encoder.layer.1"));
    let missing = config("bert", "num_hidden_layers", json!(3));
    assert!(missing.contains("encoder.layer.2.") && missing.contains("is missing"), "{missing}");
    assert!(config("bert", "intermediate_size", json!(96)).contains("expected shape"));
    assert!(config("bert", "is_decoder", json!(true)).contains("is_decoder"));
    assert!(config("bert", "max_position_embeddings", json!(u64::MAX)).contains("max_position_embeddings"));
    assert!(config("bert", "vocab_size", json!(3)).contains("vocabulary"));
    assert!(config("deberta", "pos_att_type", json!(["c2p"])).contains("c2p and p2c"));
    assert!(config("deberta", "conv_kernel_size", json!(3)).contains("conv_kernel_size"));
    assert!(config("deberta", "relative_attention", json!(false)).contains("relative_attention"));
    assert!(config("deberta-nli", "position_buckets", json!(2)).contains("position_buckets"));
    assert!(config("deberta-nli", "pooler_hidden_act", json!("tanh")).contains("pooler_hidden_act"));
    assert!(config("bert-nli", "id2label", json!({"0": "yes"})).contains("each of the 3 rows"));
}

#[test]
fn files_that_are_missing_or_cut() {
    for name in ["config.json", "tokenizer.json", "model.safetensors"] {
        let error = message("bert", |folder| std::fs::remove_file(folder.join(name)).unwrap());
        assert!(error.contains(name), "{error}");
        let error = message("bert", |folder| {
            let bytes = std::fs::read(folder.join(name)).unwrap();
            std::fs::write(folder.join(name), &bytes[..bytes.len() / 2]).unwrap();
        });
        assert!(error.contains(name), "{error}");
    }
    let error = message("bert", |folder| std::fs::remove_dir_all(folder.join("1_Pooling")).unwrap());
    assert!(error.contains("1_Pooling"), "{error}");
}

#[test]
fn a_folder_without_a_sound_pooling_is_refused() {
    let error = message("bert", |folder| std::fs::remove_file(folder.join("modules.json")).unwrap());
    assert!(error.contains("does not say how its tokens become one vector"), "{error}");
    let modules = |with: fn(&mut Value)| message("bert", |folder| change(folder, "modules.json", with));
    assert!(modules(|m| m[1]["type"] = json!("sentence_transformers.models.Dense")).contains("module 1"));
    assert!(modules(|m| m[1]["path"] = json!("../elsewhere")).contains("a folder of this one"));
    assert!(modules(|m| m.as_array_mut().unwrap().truncate(1)).contains("expected Pooling"));
    let pooling = |with: fn(&mut Value)| message("bert", |folder| change(folder, "1_Pooling/config.json", with));
    assert!(pooling(|p| p["pooling_mode_max_tokens"] = json!(true)).contains("pooling_mode_max_tokens"));
    assert!(pooling(|p| p["pooling_mode_cls_token"] = json!(true)).contains("pooling_mode_mean_tokens"));
    assert!(pooling(|p| p["pooling_mode"] = json!("max")).contains("mean, cls or lasttoken"));
}

#[test]
fn tensors_that_do_not_fit() {
    // A classifier is not an embedder, and the other way round: its head would be ignored without a message.
    let folder = copy("bert-nli");
    std::fs::copy(golden("bert").join("modules.json"), folder.path().join("modules.json")).unwrap();
    std::fs::create_dir(folder.path().join("1_Pooling")).unwrap();
    std::fs::copy(golden("bert").join("1_Pooling/config.json"), folder.path().join("1_Pooling/config.json")).unwrap();
    let error = EmbeddingModel::open(folder.path(), &options(Precision::F32)).unwrap_err().to_string();
    assert!(error.contains("classifier.bias has no part"), "{error}");
    let error = Classifier::open(&golden("bert"), &options(Precision::F32), None).unwrap_err().to_string();
    assert!(error.contains("classifier.weight is missing"), "{error}");
    let error = message("bert", |folder| {
        // The last number of the file: a weight that is NaN.
        let path = folder.join("model.safetensors");
        let mut bytes = std::fs::read(&path).unwrap();
        let end = bytes.len();
        bytes[end - 4..].copy_from_slice(&f32::NAN.to_le_bytes());
        std::fs::write(path, bytes).unwrap();
    });
    assert!(error.contains("not finite"), "{error}");
}

#[test]
fn labels_are_known_by_name() {
    let labels = |labels: [&str; 3], known: &[&str]| {
        let folder = copy("bert-nli");
        let [a, b, c] = labels;
        change(folder.path(), "config.json", |config| config["id2label"] = json!({"0": a, "1": b, "2": c}));
        let model = Classifier::open(folder.path(), &options(Precision::F32), None).unwrap();
        let known: Vec<String> = known.iter().map(|&label| label.to_owned()).collect();
        model.nli(&known).map_err(|error| error.to_string())
    };
    let numbered = ["LABEL_0", "LABEL_1", "LABEL_2"];
    let error = labels(numbered, &[]).unwrap_err();
    assert!(error.contains("expected three labels, called entailment") && error.contains("found LABEL_0"), "{error}");
    let known = labels(numbered, &["entailment", "neutral", "contradiction"]).unwrap();
    assert_eq!(known, NliLabels { entailment: 0, others: Some(Unsupported { neutral: 1, contradiction: 2 }) });
    assert!(labels(numbered, &["unsupported", "supported"]).is_err(), "names of another head");
    let order = labels(["NEUTRAL", "Contradiction", "entailment"], &[]).unwrap();
    assert_eq!(order, NliLabels { entailment: 2, others: Some(Unsupported { neutral: 0, contradiction: 1 }) });
}

//! Settings of a folder beside its tokenizer.json: lower case, the length of a text, prompts.

use super::damaged::{change, copy};
use super::{expected, golden, options};
use moot_models::encoder::{Classifier, EmbeddingModel, Precision, TextSettings};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::path::Path;

/// A change of a folder, and the ids that the reference then gives the texts.
#[derive(Deserialize)]
struct Row {
    folder: String,
    normalizer: Map<String, Value>,
    config: Map<String, Value>,
    sentence: bool,
    ids: Vec<Vec<u32>>,
}

#[derive(Deserialize)]
struct Casing {
    texts: Vec<String>,
    rows: Vec<Row>,
}

/// `fields` into the object `value`; null removes one.
fn merge(value: &mut Value, fields: &Map<String, Value>) {
    for (name, field) in fields {
        match field {
            Value::Null => drop(value.as_object_mut().unwrap().remove(name)),
            field => value[name] = field.clone(),
        }
    }
}

#[test]
fn lower_case_is_that_of_the_reference() {
    let Casing { texts, rows } = expected(&golden("casing.json"));
    for row in &rows {
        let folder = copy(&row.folder);
        change(folder.path(), "tokenizer.json", |tokenizer| merge(&mut tokenizer["normalizer"], &row.normalizer));
        change(folder.path(), "tokenizer_config.json", |config| merge(config, &row.config));
        if row.sentence {
            change(folder.path(), "sentence_bert_config.json", |config| config["do_lower_case"] = json!(true));
        }
        let model = EmbeddingModel::open(folder.path(), &options(Precision::F32)).unwrap();
        for (text, ids) in texts.iter().zip(&row.ids) {
            let case = (&row.folder, &row.normalizer, &row.config, row.sentence);
            assert_eq!(&model.tokens("", text).unwrap().ids, ids, "{case:?}: {text:?}");
        }
    }
}

#[test]
fn a_changed_normalizer_is_reported() {
    let recased = |sentence: bool, own: bool| {
        let folder = copy("bert");
        change(folder.path(), "tokenizer_config.json", |config| {
            config["tokenizer_class"] = json!("BertTokenizer");
            config["do_lower_case"] = json!(own);
        });
        change(folder.path(), "sentence_bert_config.json", |config| config["do_lower_case"] = json!(sentence));
        EmbeddingModel::open(folder.path(), &options(Precision::F32)).unwrap().recased()
    };
    assert!(!recased(false, true), "both files say lower case");
    assert!(recased(false, false) && recased(true, true));
    let folder = copy("bert");
    change(folder.path(), "tokenizer_config.json", |config| {
        config["tokenizer_class"] = json!("BertTokenizerFast");
        config["do_lower_case"] = json!("yes");
    });
    let error = EmbeddingModel::open(folder.path(), &options(Precision::F32)).unwrap_err().to_string();
    assert!(error.contains("do_lower_case: expected true or false"), "{error}");
}

/// The limit of the golden folder `bert`, whose encoder has 48 positions, with these files instead of its own.
fn limit(files: &[(&str, Value)]) -> Result<usize, String> {
    let folder = copy("bert");
    for own in ["sentence_bert_config.json", "tokenizer_config.json"] {
        std::fs::remove_file(folder.path().join(own)).unwrap();
    }
    for (name, content) in files {
        std::fs::write(folder.path().join(name), content.to_string()).unwrap();
    }
    let model = EmbeddingModel::open(folder.path(), &options(Precision::F32)).map_err(|error| error.to_string())?;
    let tokens = model.tokens("", &"bridge ".repeat(100)).unwrap().ids.len();
    assert_eq!(tokens, model.recipe().limit, "a text is cut there");
    Ok(tokens)
}

#[test]
fn the_length_of_a_text() {
    let length = |tokens: u32| json!({"max_seq_length": tokens});
    let config = |tokens: f64| ("tokenizer_config.json", json!({"model_max_length": tokens}));
    for (files, expected) in [
        (vec![], 48),
        (vec![config(20.0)], 20),
        (vec![config(1e30)], 48),
        (vec![config(512.0)], 48),
        (vec![("sentence_bert_config.json", length(12)), config(20.0)], 12),
        (vec![("sentence_bert_config.json", length(30)), config(20.0)], 30),
        (vec![("sentence_bert_config.json", length(512)), config(20.0)], 48),
        (vec![("sentence_bert_config.json", json!({"max_seq_length": null})), config(20.0)], 20),
        (vec![("sentence_roberta_config.json", length(12)), config(20.0)], 12),
        (vec![("sentence_xlm-roberta_config.json", length(12))], 12),
        (vec![("sentence_distilbert_config.json", length(12))], 12),
        (vec![("sentence_roberta_config.json", length(12)), ("sentence_bert_config.json", length(16))], 16),
    ] {
        assert_eq!(limit(&files).unwrap(), expected, "{files:?}");
    }
    let none = limit(&[("sentence_bert_config.json", length(0))]).unwrap_err();
    assert!(none.contains("at least 8 tokens"), "{none}");
    let text = limit(&[("sentence_bert_config.json", json!({"max_seq_length": "all"}))]).unwrap_err();
    assert!(text.contains("max_seq_length"), "{text}");
}

#[test]
fn a_classifiers_length_is_its_folders() {
    let folder = copy("bert-nli");
    let at = |path: &Path| Classifier::open(path, &options(Precision::F32), None).unwrap().limit();
    assert_eq!(at(folder.path()), 48);
    std::fs::write(folder.path().join("sentence_roberta_config.json"), r#"{"max_seq_length": 24}"#).unwrap();
    assert_eq!(at(folder.path()), 24);
    assert_eq!(TextSettings::of(folder.path(), 16).unwrap().limit, 16);
}

#[test]
fn a_folder_without_prompts_is_reported() {
    let note = |prompts: Option<Value>, name: &str| {
        let folder = copy("bert");
        if let Some(prompts) = prompts {
            let text = json!({"prompts": prompts}).to_string();
            std::fs::write(folder.path().join("config_sentence_transformers.json"), text).unwrap();
        }
        let named = folder.path().join(name);
        std::fs::create_dir(&named).unwrap();
        for file in ["config.json", "tokenizer.json", "model.safetensors", "modules.json", "1_Pooling"] {
            std::fs::rename(folder.path().join(file), named.join(file)).unwrap();
        }
        let _ = std::fs::rename(
            folder.path().join("config_sentence_transformers.json"),
            named.join("config_sentence_transformers.json"),
        );
        EmbeddingModel::open(&named, &options(Precision::F32)).unwrap().recipe().note()
    };
    let told = note(None, "my-model").unwrap();
    assert!(told.contains("no prefixes are known") && !told.contains('\n'), "{told}");
    assert!(note(Some(json!({"query": "", "document": ""})), "my-model").is_some());
    assert_eq!(note(Some(json!({"query": "query: "})), "my-model"), None);
    assert_eq!(note(None, "all-MiniLM-L6-v2"), None, "the catalog knows that it has none");
}

//! Rerankers: the logit of each pair is the reference's, alone and in a batch, and long passages are cut in windows.

use super::damaged::{change, copy};
use super::families::{Judged, Pairs, bits};
use super::{Texts, cosine, expected, farthest, golden, options, vectors};
use moot_models::encoder::{Classifier, EmbeddingModel, Long, NliLabels, Pair, Precision};
use serde_json::json;

/// With the number of pairs that are longer than the model's limit.
const RERANKERS: [(&str, usize); 3] = [("bert-reranker", 3), ("xlm-roberta-reranker", 3), ("modernbert-reranker", 1)];

fn pair(judged: &Judged) -> Pair<'_> {
    Pair { first: &judged.first, second: &judged.second }
}

#[test]
fn one_logit_is_that_of_the_reference() {
    for (name, truncated) in RERANKERS {
        let judged: Pairs = expected(&golden(name).join("expected.json"));
        let all: Vec<Pair<'_>> = judged.pairs.iter().map(pair).collect();
        for (precision, tolerance) in [(Precision::F32, 5e-5), (Precision::Int16, 1e-2)] {
            let model = Classifier::open(&golden(name), &options(precision), None).unwrap();
            model.one_logit().unwrap();
            let together = model.classify(&all).unwrap();
            assert_eq!(together.truncated, truncated, "{name}");
            for (judged, logits) in judged.pairs.iter().zip(&together.logits) {
                let off = farthest(logits, &judged.logits);
                assert!(off < tolerance, "{name} {precision:?}: {:?}: off by {off}", judged.first);
                let alone = model.classify(&[pair(judged)]).unwrap();
                assert_eq!(bits(&alone.logits[0]), bits(logits), "{name} {precision:?}");
            }
            for (logits, probabilities) in together.logits.iter().zip(&together.probabilities) {
                assert!((probabilities[0] - 1.0 / (1.0 + (-logits[0]).exp())).abs() < 1e-6, "{name}: the sigmoid");
            }
        }
    }
}

#[test]
fn a_grounding_classifier_is_the_reference() {
    let judged: Pairs = expected(&golden("bert-grounding").join("expected.json"));
    let all: Vec<Pair<'_>> = judged.pairs.iter().map(pair).collect();
    let model = Classifier::open(&golden("bert-grounding"), &options(Precision::F32), None).unwrap();
    for (judged, logits) in judged.pairs.iter().zip(model.classify(&all).unwrap().logits) {
        assert!(farthest(&logits, &judged.logits) < 5e-5, "{:?}", judged.first);
    }
    assert_eq!(model.nli(&[]).unwrap(), NliLabels { entailment: 1, others: None });
}

#[test]
fn several_labels_are_no_relevance() {
    let model = Classifier::open(&golden("bert-nli"), &options(Precision::F32), None).unwrap();
    let error = model.one_logit().unwrap_err().to_string();
    assert!(error.contains("expected one label") && error.contains("contradiction, entailment, neutral"), "{error}");
}

#[test]
fn a_long_passage_is_cut_in_windows_behind_the_whole_query() {
    for (name, _) in RERANKERS {
        let model = Classifier::open(&golden(name), &options(Precision::F32), None).unwrap();
        let (query, passage) = ("Who closed the bridge?", "The bridge of the city was closed. ".repeat(20));
        let ids = |first, second, long| {
            let windows = model.windows(Pair { first, second }, long).unwrap();
            windows.into_iter().map(|window| (window.ids, window.truncated)).collect::<Vec<_>>()
        };
        let windows = ids(query, &passage, Long::Second);
        assert!(windows.len() > 2, "{name}");
        let [(empty, _)] = &ids(query, "", Long::Second)[..] else { panic!("{name}: one window") };
        for (ids, truncated) in &windows {
            assert_eq!((ids.len(), *truncated), (model.limit(), false), "{name}");
            assert_eq!(ids[..empty.len() - 1], empty[..empty.len() - 1], "{name}: the query is whole");
        }
        assert!(ids(&passage, &passage, Long::Second).iter().all(|(_, truncated)| *truncated), "{name}");
        // A pair that fits is one window, the pair itself.
        let fitting = ids(query, "Nobody.", Long::Second);
        assert_eq!(fitting, ids(query, "Nobody.", Long::First), "{name}");
        let logits = model.logits(&model.windows(Pair { first: query, second: "Nobody." }, Long::Second).unwrap());
        let classified = model.classify(&[Pair { first: query, second: "Nobody." }]).unwrap();
        assert_eq!(bits(&logits.unwrap()[0]), bits(&classified.logits[0]), "{name}");
    }
}

#[test]
fn older_configurations_of_modernbert_are_the_same() {
    let folder = copy("modernbert");
    change(folder.path(), "config.json", |config| {
        let fields = config.as_object_mut().unwrap();
        fields.remove("layer_types").unwrap();
        fields.remove("rope_parameters").unwrap();
        fields.insert("global_attn_every_n_layers".into(), json!(3));
        fields.insert("global_rope_theta".into(), json!(160_000.0));
        fields.insert("local_rope_theta".into(), json!(10_000.0));
    });
    let texts: Texts = expected(&golden("modernbert").join("expected.json"));
    let model = EmbeddingModel::open(folder.path(), &options(Precision::F32)).unwrap();
    for (text, vector) in texts.texts.iter().zip(vectors(&model, &texts.texts)) {
        assert!(cosine(&vector, &text.vector) > 0.999_999, "{:?}", text.text);
    }
    let refused = |field: &str, value: serde_json::Value| {
        change(folder.path(), "config.json", |config| config[field] = value);
        let error = EmbeddingModel::open(folder.path(), &options(Precision::F32)).unwrap_err().to_string();
        change(folder.path(), "config.json", |config| config[field] = serde_json::Value::Null);
        assert!(error.contains(field), "{error}");
    };
    refused("attention_bias", json!(true));
    refused("norm_bias", json!(true));
    refused("rope_scaling", json!({"type": "linear", "factor": 2.0}));
    refused("layer_types", json!(["full_attention", "sliding_attention"]));
    refused("global_attn_every_n_layers", json!(0));
    refused("hidden_activation", json!("silu"));
}

#[test]
fn a_tokenizer_with_other_ends_than_the_family_is_its_own() {
    // As multilingual E5: a BERT with the tokens of XLM-R.
    let model = EmbeddingModel::open(&golden("bert-pieces"), &options(Precision::F32)).unwrap();
    let ids = model.tokens("", "lisbon").unwrap().ids;
    assert_eq!((ids[0], ids[ids.len() - 1]), (0, 2));
    // Without a post-processor the family's ends are looked for, and not found.
    let folder = copy("bert-pieces");
    change(folder.path(), "tokenizer.json", |tokenizer| tokenizer["post_processor"] = serde_json::Value::Null);
    let error = EmbeddingModel::open(folder.path(), &options(Precision::F32)).unwrap_err().to_string();
    assert!(error.contains("[CLS], as bert models have"), "{error}");
    let folder = copy("bert");
    change(folder.path(), "tokenizer.json", |tokenizer| tokenizer["post_processor"] = serde_json::Value::Null);
    let without = EmbeddingModel::open(folder.path(), &options(Precision::F32)).unwrap();
    let with = EmbeddingModel::open(&golden("bert"), &options(Precision::F32)).unwrap();
    assert_eq!(without.tokens("", "a b").unwrap(), with.tokens("", "a b").unwrap());
    let folder = copy("bert");
    change(folder.path(), "tokenizer.json", |tokenizer| {
        tokenizer["post_processor"]["special_tokens"]["[SEP]"]["ids"] = json!([900]);
    });
    let error = EmbeddingModel::open(folder.path(), &options(Precision::F32)).unwrap_err().to_string();
    assert!(error.contains("post_processor") && error.contains("900"), "{error}");
}

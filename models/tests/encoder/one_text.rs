//! Classifiers that read both texts of a pair as one: MiniCheck's T5 and HHEM.

use super::damaged::{change, copy};
use super::families::bits;
use super::{expected, farthest, golden, options};
use moot_models::encoder::{Classifier, DistanceBuckets, Long, NliLabels, Pair, Precision};
use moot_models::source::Catalog;
use safetensors::SafeTensors;
use serde::Deserialize;
use serde_json::{Value, json};
use tempfile::TempDir;

const MINICHECK: &str = "predict: {premise}</s>{hypothesis}";
/// Folders, with what their files leave out.
const MODELS: [(&str, Option<&str>); 2] = [("minicheck-t5", Some(MINICHECK)), ("hhem", None)];

#[derive(Deserialize)]
struct Judged {
    first: String,
    second: String,
    ids: Vec<u32>,
    logits: Vec<f32>,
}

#[derive(Deserialize)]
struct Pairs {
    pairs: Vec<Judged>,
}

fn pairs(name: &str) -> Vec<Judged> {
    expected::<Pairs>(&golden(name).join("expected.json")).pairs
}

fn pair(judged: &Judged) -> Pair<'_> {
    Pair { first: &judged.first, second: &judged.second }
}

#[test]
fn ids_and_logits_are_those_of_the_reference() {
    for (name, written) in MODELS {
        for (precision, tolerance) in [(Precision::F32, 5e-5), (Precision::Int16, 2e-2)] {
            let model = Classifier::open(&golden(name), &options(precision), written).unwrap();
            assert_eq!(model.nli(&[]).unwrap(), NliLabels { entailment: 1, others: None }, "{name}");
            let pairs = pairs(name);
            let all: Vec<Pair<'_>> = pairs.iter().map(pair).collect();
            let together = model.classify(&all).unwrap();
            assert_eq!(together.truncated, 0);
            for (judged, logits) in pairs.iter().zip(&together.logits) {
                let [window] = &model.windows(pair(judged), Long::First).unwrap()[..] else { panic!("one window") };
                assert_eq!(window.ids, judged.ids, "{name}: {:?}", judged.first);
                let off = farthest(logits, &judged.logits);
                assert!(off < tolerance, "{name} {precision:?}: {:?}: off by {off}", judged.first);
                let alone = model.classify(&[pair(judged)]).unwrap().logits;
                assert_eq!(bits(&alone[0]), bits(logits), "{name} {precision:?}: {:?}", judged.first);
            }
        }
    }
}

#[test]
fn windows_of_a_long_premise_are_written_alike() {
    let model = Classifier::open(&golden("hhem"), &options(Precision::F32), None).unwrap();
    let long = "The bridge of the city was closed for repairs in the spring. ".repeat(20);
    let windows = model.windows(Pair { first: &long, second: "It was open." }, Long::First).unwrap();
    let empty = model.windows(Pair { first: "", second: "It was open." }, Long::First).unwrap()[0].ids.clone();
    assert!(windows.len() > 1);
    // Behind the premise stand "Hypothesis:", the claim and the last token.
    let same = |n: &usize| windows.iter().all(|window| window.ids[*n] == empty[*n]);
    let before = (0..empty.len()).take_while(same).count();
    assert!(before > 20, "{before}");
    for window in &windows {
        assert_eq!(window.ids.len(), model.limit());
        assert_eq!(window.ids[..before], empty[..before]);
        assert!(window.ids.ends_with(&empty[before..]));
    }
}

#[test]
fn distances_share_buckets_as_in_the_reference() {
    let buckets: Vec<usize> = expected(&golden("t5-buckets.json"));
    let published = DistanceBuckets { count: 32, farthest: 128 };
    let got: Vec<usize> = (-600..=600).map(|distance| published.bucket(distance)).collect();
    assert_eq!(got, buckets);
}

/// What transformers 5 computes with the folder of MiniCheck that it saved again.
#[derive(Deserialize)]
struct Again {
    pairs: Vec<Judged>,
    /// Logits where the output is the embedding.
    tied: Vec<Vec<f32>>,
    /// As `tied`, where what the output reads is scaled.
    tied_and_scaled: Vec<Vec<f32>>,
}

/// That folder with its tensors, which are those of `minicheck-t5`; if `tied`, without the output.
fn saved_again(tied: bool, scaled: bool) -> TempDir {
    let folder = copy("minicheck-t5-again");
    let bytes = std::fs::read(golden("minicheck-t5").join("model.safetensors")).unwrap();
    let file = SafeTensors::deserialize(&bytes).unwrap();
    let tensors = file.tensors().into_iter().filter(|(name, _)| !tied || name != "lm_head.weight");
    std::fs::write(folder.path().join("model.safetensors"), safetensors::serialize(tensors, None).unwrap()).unwrap();
    change(folder.path(), "config.json", |config| config["scale_decoder_outputs"] = json!(scaled));
    folder
}

#[test]
fn a_folder_that_transformers_5_saved_again_is_read() {
    let reference: Again = expected(&golden("minicheck-t5-again").join("expected.json"));
    let config: Value = expected(&golden("minicheck-t5-again").join("config.json"));
    assert_eq!((&config["tie_word_embeddings"], &config["scale_decoder_outputs"]), (&json!(true), &json!(false)));
    let pairs: Vec<Pair<'_>> = reference.pairs.iter().map(pair).collect();
    let own: Vec<Vec<f32>> = reference.pairs.iter().map(|judged| judged.logits.clone()).collect();
    let forms = [(false, false, &own), (true, false, &reference.tied), (true, true, &reference.tied_and_scaled)];
    for (tied, scaled, logits) in forms {
        let folder = saved_again(tied, scaled);
        let model = Classifier::open(folder.path(), &options(Precision::F32), Some(MINICHECK)).unwrap();
        for judged in &reference.pairs {
            assert_eq!(model.windows(pair(judged), Long::First).unwrap()[0].ids, judged.ids, "{:?}", judged.first);
        }
        let found = model.classify(&pairs).unwrap().logits;
        assert_eq!(found.len(), logits.len());
        for (found, expected) in found.iter().zip(logits) {
            let off = farthest(found, expected);
            assert!(off < 5e-5, "tied {tied}, scaled {scaled}: off by {off}");
        }
    }
}

/// A copy of the folder `name` with other values of `changes`; `null` takes a field out.
fn changed(name: &str, changes: &[(&str, Value)]) -> TempDir {
    let folder = TempDir::new().unwrap();
    for file in ["model.safetensors", "tokenizer.json", "tokenizer_config.json"] {
        std::fs::copy(golden(name).join(file), folder.path().join(file)).unwrap();
    }
    let mut config: Value = expected(&golden(name).join("config.json"));
    let fields = config.as_object_mut().unwrap();
    for (field, value) in changes {
        if value.is_null() {
            fields.remove(*field)
        } else {
            fields.insert((*field).to_owned(), value.clone())
        };
    }
    std::fs::write(folder.path().join("config.json"), config.to_string()).unwrap();
    folder
}

fn refused(changes: &[(&str, Value)]) -> String {
    let folder = changed("minicheck-t5", changes);
    Classifier::open(folder.path(), &options(Precision::F32), Some(MINICHECK)).unwrap_err().to_string()
}

#[test]
fn what_would_be_computed_wrongly_is_refused() {
    let of = |field: &str, value: Value| refused(&[(field, value)]);
    for (field, value) in [
        ("feed_forward_proj", json!("relu")),
        ("d_kv", json!(24)),
        ("relative_attention_num_buckets", json!(18)),
        ("relative_attention_max_distance", json!(4)),
        ("scale_decoder_outputs", json!("no")),
        ("decoder_start_token_id", json!(100_000)),
        ("num_heads", json!(0)),
    ] {
        let error = of(field, value);
        let named = if field.starts_with("relative") { "relative_attention_num_buckets" } else { field };
        assert!(error.contains(named), "{field}: {error}");
    }
    // Files of transformers 4 say it by one field.
    let before = |tied: Value| [("scale_decoder_outputs", Value::Null), ("tie_word_embeddings", tied)];
    for tied in [json!(true), Value::Null] {
        let error = refused(&before(tied));
        assert!(error.contains("tie_word_embeddings"), "{error}");
    }
    let folder = changed("minicheck-t5", &before(json!(false)));
    Classifier::open(folder.path(), &options(Precision::F32), Some(MINICHECK)).unwrap();
    // Transformers 5 leaves the output out where it is the embedding, and only there.
    let folder = saved_again(true, false);
    change(folder.path(), "config.json", |config| config["tie_word_embeddings"] = json!(false));
    let error = Classifier::open(folder.path(), &options(Precision::F32), Some(MINICHECK)).unwrap_err().to_string();
    assert!(error.contains("lm_head.weight"), "{error}");
    // With one block less, tensors of the file are not read, which is refused.
    assert!(of("num_decoder_layers", json!(1)).contains("decoder.block.1"));
    assert!(of("num_layers", json!(1)).contains("encoder.block.1"));
}

#[test]
fn how_a_pair_is_written_must_be_known() {
    let open = |written| Classifier::open(&golden("minicheck-t5"), &options(Precision::F32), written);
    let error = open(None).unwrap_err().to_string();
    assert!(error.contains("prompt") && error.contains("{premise}"), "{error}");
    for wrong in ["predict: {premise}", "{hypothesis} after {premise}"] {
        let error = open(Some(wrong)).unwrap_err().to_string();
        assert!(error.contains("behind it, {hypothesis}"), "{wrong}: {error}");
    }
    // The file's own words come first.
    let folder = changed("minicheck-t5", &[("prompt", json!("predict: {text1}</s>{text2}"))]);
    let own = Classifier::open(folder.path(), &options(Precision::F32), Some("{premise} {hypothesis}")).unwrap();
    let first = &pairs("minicheck-t5")[0];
    assert_eq!(own.windows(pair(first), Long::First).unwrap()[0].ids, first.ids);
}

#[test]
fn the_catalog_says_how_minicheck_and_hhem_are_written() {
    let catalog = Catalog::embedded();
    let minicheck = catalog.encoder_named("minicheck-flan-t5-large").unwrap();
    assert_eq!(minicheck.written.as_deref(), Some(MINICHECK));
    let hhem = catalog.encoder_named("hhem-2.1-open").unwrap();
    assert_eq!(hhem.tokenizer.as_ref().unwrap().repo, "google/flan-t5-base");
    // The same text as the tiny folder's, which is the published one.
    let prompt = expected::<Value>(&golden("hhem").join("config.json"))["prompt"].as_str().unwrap().to_owned();
    let prompt = prompt.replace("{text1}", "{premise}").replace("{text2}", "{hypothesis}");
    assert_eq!(hhem.written.as_deref(), Some(prompt.as_str()));
}

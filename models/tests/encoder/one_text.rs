//! Classifiers that read both texts of a pair as one: MiniCheck's T5 and HHEM.

use super::families::bits;
use super::{expected, farthest, golden, options};
use moot_models::encoder::{Classifier, DistanceBuckets, Long, NliLabels, Pair, Precision};
use moot_models::source::Catalog;
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

/// A copy of the folder `name` with another value of `field`; `null` takes it out.
fn changed(name: &str, field: &str, value: Value) -> TempDir {
    let folder = TempDir::new().unwrap();
    for file in ["model.safetensors", "tokenizer.json", "tokenizer_config.json"] {
        std::fs::copy(golden(name).join(file), folder.path().join(file)).unwrap();
    }
    let mut config: Value = expected(&golden(name).join("config.json"));
    let fields = config.as_object_mut().unwrap();
    if value.is_null() {
        fields.remove(field)
    } else {
        fields.insert(field.to_owned(), value)
    };
    std::fs::write(folder.path().join("config.json"), config.to_string()).unwrap();
    folder
}

fn refused(name: &str, written: Option<&str>, field: &str, value: Value) -> String {
    let folder = changed(name, field, value);
    Classifier::open(folder.path(), &options(Precision::F32), written).unwrap_err().to_string()
}

#[test]
fn what_would_be_computed_wrongly_is_refused() {
    let of = |field: &str, value: Value| refused("minicheck-t5", Some(MINICHECK), field, value);
    for (field, value) in [
        ("feed_forward_proj", json!("relu")),
        ("d_kv", json!(24)),
        ("relative_attention_num_buckets", json!(18)),
        ("relative_attention_max_distance", json!(4)),
        ("tie_word_embeddings", json!(true)),
        ("tie_word_embeddings", Value::Null),
        ("decoder_start_token_id", json!(100_000)),
        ("num_heads", json!(0)),
    ] {
        let error = of(field, value);
        let named = if field.starts_with("relative") { "relative_attention_num_buckets" } else { field };
        assert!(error.contains(named), "{field}: {error}");
    }
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
    let folder = changed("minicheck-t5", "prompt", json!("predict: {text1}</s>{text2}"));
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

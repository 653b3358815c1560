//! Entailment over the tiny cross-encoders of the model tests, and by a script.

use moot::nli::{Classifier, ClassifierIdentity, ClassifierOptions, LocalClassifier, ScriptedClassifier};
use moot::transcript::{Pair, Relation};
use moot_models::encoder::{self, EncoderOptions, Precision};
use moot_models::source::Catalog;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

const FOLDERS: [&str; 3] = ["bert-nli", "roberta-nli", "deberta-nli"];

fn pair_of(premise: impl Into<String>, hypothesis: impl Into<String>) -> Pair {
    Pair { premise: premise.into(), hypothesis: hypothesis.into() }
}

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("models/tests/golden/encoders").join(name)
}

fn exact() -> ClassifierOptions {
    let load = EncoderOptions { precision: Precision::F32, ..EncoderOptions::default() };
    ClassifierOptions { load, ..ClassifierOptions::default() }
}

fn load(name: &str) -> LocalClassifier {
    LocalClassifier::load(&golden(name), None, &ClassifierOptions::default()).unwrap()
}

/// Golden folder `name` with another `id2label`.
fn labelled(name: &str, labels: &Value) -> (TempDir, PathBuf) {
    let folder = TempDir::new().unwrap();
    for file in ["config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"] {
        std::fs::copy(golden(name).join(file), folder.path().join(file)).unwrap();
    }
    let path = folder.path().join("config.json");
    let mut config: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    config["id2label"] = labels.clone();
    std::fs::write(&path, config.to_string()).unwrap();
    let path = folder.path().to_owned();
    (folder, path)
}

/// Pairs of many lengths, among them premises beyond the limit of the tiny models.
fn pairs() -> Vec<Pair> {
    let words = "The bridge of the old harbour was closed in the spring of 1998 and nobody knows why it was.";
    let words: Vec<&str> = words.split(' ').collect();
    let premise = |i: usize| words.iter().cycle().skip(i).take(1 + i * i % 97).copied().collect::<Vec<_>>().join(" ");
    (0..40).map(|i| pair_of(premise(i), words[i % 7..i % 7 + 4].join(" "))).collect()
}

fn bits(relation: Relation) -> [u32; 3] {
    [relation.entailment, relation.neutral, relation.contradiction].map(f32::to_bits)
}

#[test]
fn a_relation_is_the_models_in_the_order_of_its_labels() {
    for name in FOLDERS {
        let pair = pair_of("A man plays a guitar.", "Somebody makes music.");
        let classifier = LocalClassifier::load(&golden(name), None, &exact()).unwrap();
        let relation = classifier.entail(std::slice::from_ref(&pair)).unwrap()[0];
        let model = encoder::Classifier::open(&golden(name), &exact().load, None).unwrap();
        let asked = encoder::Pair { first: &pair.premise, second: &pair.hypothesis };
        // The golden folders have contradiction, entailment, neutral.
        let [contradiction, entailment, neutral] = model.classify(&[asked]).unwrap().probabilities[0][..] else {
            panic!("three classes")
        };
        assert_eq!(relation, Relation { entailment, neutral, contradiction }, "{name}");
        let (_folder, other) = labelled(name, &json!({"0": "ENTAILMENT", "1": "Neutral", "2": "contradiction"}));
        let relation = LocalClassifier::load(&other, None, &exact()).unwrap().entail(&[pair]).unwrap()[0];
        let renamed = Relation { entailment: contradiction, neutral: entailment, contradiction: neutral };
        assert_eq!(relation, renamed, "{name}");
    }
}

#[test]
fn a_pair_has_the_same_bits_in_any_batch_and_from_any_thread() {
    let pairs = pairs();
    for name in FOLDERS {
        let classifier = load(name);
        let together = classifier.entail(&pairs).unwrap();
        for (pair, relation) in pairs.iter().zip(&together) {
            let alone = classifier.entail(std::slice::from_ref(pair)).unwrap()[0];
            assert_eq!(bits(alone), bits(*relation), "{name}: {pair:?}");
        }
        let before = classifier.counts();
        std::thread::scope(|scope| {
            for thread in 0..8 {
                let (pairs, together, classifier) = (&pairs, &together, &classifier);
                scope.spawn(move || {
                    for i in (thread..pairs.len()).step_by(8) {
                        let relation = classifier.entail(&pairs[i..=i]).unwrap()[0];
                        assert_eq!(bits(relation), bits(together[i]), "{name}: {:?}", pairs[i]);
                    }
                });
            }
        });
        let after = classifier.counts();
        assert_eq!(after.pairs - before.pairs, pairs.len() as u64);
        assert!(after.batches - before.batches <= pairs.len() as u64 && after.seconds > before.seconds);
        assert!(after.windows > after.pairs, "{name}: some premises have several windows");
        assert!(classifier.entail(&[]).unwrap().is_empty());
        assert_eq!(classifier.counts(), after, "nothing asked, nothing computed");
    }
}

#[test]
fn a_long_premise_has_the_relation_of_its_clearest_window() {
    let classifier = load("bert-nli");
    let long =
        pair_of("The harbour of Lisbon was rebuilt after the earthquake of 1755. ".repeat(12), "It was rebuilt.");
    let windows = classifier
        .model()
        .windows(encoder::Pair { first: &long.premise, second: &long.hypothesis }, encoder::Long::First)
        .unwrap();
    let rows = classifier.model().probabilities(&windows).unwrap();
    assert!(rows.len() > 3);
    let neutral = |row: &Vec<f32>| row[2];
    let clearest = rows.iter().min_by(|a, b| neutral(a).total_cmp(&neutral(b))).unwrap();
    assert!(rows.iter().any(|row| neutral(row) > neutral(clearest)), "the windows differ");
    let relation = classifier.entail(&[long]).unwrap()[0];
    assert_eq!([relation.contradiction, relation.entailment, relation.neutral], clearest[..]);
    assert_eq!(classifier.counts().truncated, 0);
    let words = "a bridge of the city ".repeat(40);
    classifier.entail(&[pair_of(words.clone(), words), pair_of("a", "b")]).unwrap();
    assert_eq!(classifier.counts().truncated, 1, "a hypothesis that long is cut, and that is counted");
}

#[test]
fn models_that_cannot_classify_are_refused() {
    let refused = |labels: &Value| {
        let (_folder, path) = labelled("bert-nli", labels);
        LocalClassifier::load(&path, None, &exact()).unwrap_err().to_string()
    };
    let unnamed = refused(&json!({"0": "LABEL_0", "1": "LABEL_1", "2": "LABEL_2"}));
    assert!(
        unnamed.contains("called entailment, neutral and contradiction") && unnamed.contains("found LABEL_0"),
        "{unnamed}"
    );
    assert!(
        refused(&json!({"0": "entailment", "1": "neutral", "2": "other"})).contains("found entailment, neutral, other")
    );
    let open = |name: &str| {
        let options = ClassifierOptions { offline: true, ..exact() };
        LocalClassifier::open(name, &options, &mut |_| {}).unwrap_err().to_string()
    };
    assert!(open("nli-minilm2-l6").contains("nli-minilm2-l6-h768"), "{}", open("nli-minilm2-l6"));
    assert!(open("smollm2-135m").contains("expected an encoder"), "{}", open("smollm2-135m"));
    // Named as an embedder of the catalog.
    let folder = TempDir::new().unwrap();
    let vectors = folder.path().join("e5-small-v2");
    std::fs::create_dir(&vectors).unwrap();
    let error = open(vectors.to_str().unwrap());
    assert!(error.contains("does not classify pairs"), "{error}");
}

#[test]
fn a_grounding_classifier_knows_support_alone() {
    let pair = pair_of("A man plays a guitar.", "Somebody makes music.");
    let model = encoder::Classifier::open(&golden("bert-grounding"), &exact().load, None).unwrap();
    let asked = encoder::Pair { first: &pair.premise, second: &pair.hypothesis };
    let supported = model.classify(&[asked]).unwrap().probabilities[0][1];
    let classifier = LocalClassifier::load(&golden("bert-grounding"), None, &exact()).unwrap();
    let relation = classifier.entail(std::slice::from_ref(&pair)).unwrap()[0];
    assert_eq!(relation, Relation { entailment: supported, neutral: 1.0 - supported, contradiction: 0.0 });
    assert!(classifier.identity().support_only && classifier.note().unwrap().contains("finds no contradictions"));
    let other = load("bert-nli");
    assert!(!other.identity().support_only && other.note().is_none());

    // A long premise has the support of its best window.
    let long = pair_of("The bridge of the city was closed. ".repeat(30), "Nobody knows why.");
    let windows = encoder::Pair { first: &long.premise, second: &long.hypothesis };
    let windows = model.windows(windows, encoder::Long::First).unwrap();
    assert!(windows.len() > 2);
    let best = model.probabilities(&windows).unwrap().iter().map(|row| row[1]).fold(0.0, f32::max);
    assert_eq!(classifier.entail(&[long]).unwrap()[0].entailment, best);

    // One logit is support where the file or the catalog says so: a reranker has one too.
    let (_folder, path) = labelled("bert-reranker", &json!({"0": "supported"}));
    assert!(LocalClassifier::load(&path, None, &exact()).unwrap().identity().support_only);
    let error = LocalClassifier::load(&golden("bert-reranker"), None, &exact()).unwrap_err().to_string();
    assert!(error.contains("found LABEL_0"), "{error}");
    let mut known = Catalog::embedded().encoder_named("minicheck-deberta-v3-large").unwrap().clone();
    let (_folder, numbered) = labelled("bert-grounding", &json!({"0": "LABEL_0", "1": "LABEL_1"}));
    let named = LocalClassifier::load(&numbered, Some(&known), &exact()).unwrap();
    assert_eq!(named.entail(std::slice::from_ref(&pair)).unwrap()[0], relation);
    known.labels.clear();
    assert!(LocalClassifier::load(&numbered, Some(&known), &exact()).is_err());
}

#[test]
fn the_identity_has_everything_that_changes_a_relation() {
    let of = |name: &str, options: &ClassifierOptions| {
        LocalClassifier::load(&golden(name), None, options).unwrap().identity().clone()
    };
    let plain = of("bert-nli", &exact());
    assert_eq!((plain.name.as_str(), plain.kind.as_str(), plain.sha256.len()), ("bert-nli", "bert", 64));
    assert!(plain.recipe.contains("f32") && plain.recipe.contains("windows of 48"), "{}", plain.recipe);
    assert_ne!(plain.recipe, of("bert-nli", &ClassifierOptions::default()).recipe);
    assert_ne!(plain.sha256, of("roberta-nli", &exact()).sha256);
    let catalog = Catalog::embedded();
    let row = catalog.encoder_named("nli-minilm2-l6-h768").unwrap();
    let known = LocalClassifier::load(&golden("roberta-nli"), Some(row), &exact()).unwrap();
    assert_eq!((known.identity().name.as_str(), known.identity().kind.as_str()), ("nli-minilm2-l6-h768", "roberta"));
}

#[test]
fn a_script_returns_its_relations() {
    let yes = Relation { entailment: 0.9, neutral: 0.1, contradiction: 0.0 };
    let pair = pair_of("The bridge was closed.", "It was not open.");
    let scripted = ScriptedClassifier::table([(pair.clone(), yes)]);
    assert_eq!(scripted.entail(&[pair.clone(), pair.clone()]).unwrap(), [yes, yes]);
    let error = scripted.entail(&[pair_of("a", "b")]).unwrap_err().to_string();
    assert!(error.contains("no relation on \"b\" after \"a\""), "{error}");
    assert_eq!(scripted.asked(), [pair.clone(), pair, pair_of("a", "b")]);
    let counts = scripted.counts();
    assert_eq!((counts.pairs, counts.batches), (3, 2));
    let object: &dyn Classifier = &scripted;
    assert_eq!(object.identity().kind, "scripted");
}

#[test]
fn a_transcript_keeps_the_bits() {
    let relation = Relation { entailment: 0.1, neutral: f32::MIN_POSITIVE, contradiction: 0.899_999_9 };
    let line = serde_json::to_string(&(pair_of("p", "h"), relation)).unwrap();
    assert!(line.starts_with(r#"[{"premise":"p","hypothesis":"h"},{"entailment":0.1,"#), "{line}");
    let (pair, back): (Pair, Relation) = serde_json::from_str(&line).unwrap();
    assert_eq!((pair, bits(back)), (pair_of("p", "h"), bits(relation)));
    let identity = ClassifierIdentity { name: "n".into(), kind: "bert".into(), ..Default::default() };
    assert_eq!(serde_json::to_string(&identity).unwrap(), r#"{"name":"n","sha256":"","kind":"bert"}"#);
}

//! Every family: ids, vectors, logits; alone and in a batch; the real MiniLM.

use super::{Texts, cosine, expected, farthest, golden, options, vectors};
use moot_models::encoder::{
    Batches, Buckets, Classifier, EmbeddingModel, FAMILIES, Long, NliLabels, Packed, Pair, Pooling, Precision,
    RelativePositions, Unsupported,
};
use moot_models::source::{Catalog, Task};
use serde::Deserialize;

const EMBEDDING: [&str; 6] = ["bert", "xlm-roberta", "deberta", "bert-pieces", "modernbert", "mpnet"];
/// With the number of pairs that are longer than the model's limit.
const CLASSIFIERS: [(&str, usize); 5] =
    [("bert-nli", 3), ("roberta-nli", 1), ("deberta-nli", 3), ("modernbert-nli", 1), ("mpnet-nli", 3)];

#[derive(Deserialize)]
pub(super) struct Judged {
    pub first: String,
    pub second: String,
    pub logits: Vec<f32>,
}

#[derive(Deserialize)]
pub(super) struct Pairs {
    pub pairs: Vec<Judged>,
}

pub(super) fn bits(numbers: &[f32]) -> Vec<u32> {
    numbers.iter().map(|x| x.to_bits()).collect()
}

#[test]
fn ids_and_vectors_are_those_of_the_reference() {
    for name in EMBEDDING {
        let model = EmbeddingModel::open(&golden(name), &options(Precision::F32)).unwrap();
        let texts: Texts = expected(&golden(name).join("expected.json"));
        for text in &texts.texts {
            assert_eq!(model.tokens("", &text.text).unwrap().ids, text.ids, "{name}: {:?}", text.text);
        }
        for (text, vector) in texts.texts.iter().zip(vectors(&model, &texts.texts)) {
            let off = farthest(&vector, &text.vector);
            assert!(off < 2e-5, "{name}: {:?}: off by {off}", text.text);
        }
    }
}

#[test]
fn int16_keeps_the_direction() {
    for name in EMBEDDING {
        let model = EmbeddingModel::open(&golden(name), &options(Precision::Int16)).unwrap();
        let texts: Texts = expected(&golden(name).join("expected.json"));
        for (text, vector) in texts.texts.iter().zip(vectors(&model, &texts.texts)) {
            let cosine = cosine(&vector, &text.vector);
            assert!(cosine > 0.999_99, "{name}: {:?}: {cosine}", text.text);
        }
    }
}

#[test]
fn logits_are_those_of_the_reference() {
    for (name, truncated) in CLASSIFIERS {
        let pairs: Pairs = expected(&golden(name).join("expected.json"));
        let all: Vec<Pair<'_>> = pairs.pairs.iter().map(|p| Pair { first: &p.first, second: &p.second }).collect();
        for (precision, tolerance) in [(Precision::F32, 5e-5), (Precision::Int16, 1e-2)] {
            let model = Classifier::open(&golden(name), &options(precision), None).unwrap();
            let classified = model.classify(&all).unwrap();
            for (pair, logits) in pairs.pairs.iter().zip(&classified.logits) {
                let off = farthest(logits, &pair.logits);
                assert!(off < tolerance, "{name} {precision:?}: {:?}: off by {off}", pair.first);
            }
            assert_eq!(classified.truncated, truncated, "{name}");
            for row in &classified.probabilities {
                assert!((row.iter().sum::<f32>() - 1.0).abs() < 1e-6);
            }
            let labels = model.nli(&[]).unwrap();
            assert_eq!(labels, NliLabels { entailment: 1, others: Some(Unsupported { neutral: 2, contradiction: 0 }) });
        }
    }
}

#[test]
fn a_text_has_the_same_bits_in_any_batch() {
    for precision in [Precision::F32, Precision::Int16] {
        for name in EMBEDDING {
            let model = EmbeddingModel::open(&golden(name), &options(precision)).unwrap();
            let texts: Texts = expected(&golden(name).join("expected.json"));
            // Enough copies for several batches.
            let many: Vec<&str> = (0..200).map(|i| texts.texts[i * 5 % texts.texts.len()].text.as_str()).collect();
            let together = model.embed("", &many).unwrap();
            for (text, vector) in many.iter().zip(together.vectors.chunks(model.dimension())).take(20) {
                let alone = model.embed("", &[text]).unwrap();
                assert_eq!(bits(&alone.vectors), bits(vector), "{name} {precision:?}: {text:?}");
            }
        }
        for (name, _) in CLASSIFIERS {
            let model = Classifier::open(&golden(name), &options(precision), None).unwrap();
            let pairs: Pairs = expected(&golden(name).join("expected.json"));
            let all: Vec<Pair<'_>> = pairs.pairs.iter().map(|p| Pair { first: &p.first, second: &p.second }).collect();
            let together = model.classify(&all).unwrap().logits;
            for (pair, logits) in all.iter().zip(&together) {
                assert_eq!(bits(&model.classify(&[*pair]).unwrap().logits[0]), bits(logits), "{name} {precision:?}");
            }
        }
    }
}

#[test]
fn truncated_texts_are_counted() {
    let model = EmbeddingModel::open(&golden("bert"), &options(Precision::F32)).unwrap();
    assert_eq!((model.recipe().limit, model.recipe().pooling, model.recipe().normalise), (40, Pooling::Mean, true));
    let long = "bridge ".repeat(100);
    let embedded = model.embed("", &[&long, "bridge", &long]).unwrap();
    assert_eq!(embedded.truncated, 2);
    let cut = model.tokens("", &long).unwrap();
    assert_eq!((cut.ids.len(), cut.truncated), (40, true));
    assert_eq!(model.embed("", &[]).unwrap().vectors, Vec::<f32>::new());
}

#[test]
fn a_long_premise_is_cut_in_windows() {
    for (name, _) in CLASSIFIERS {
        let model = Classifier::open(&golden(name), &options(Precision::F32), None).unwrap();
        let short = Pair { first: "A man plays a guitar.", second: "Somebody makes music." };
        let [whole] = &model.windows(short, Long::First).unwrap()[..] else { panic!("{name}: one window") };
        let classified = model.classify(&[short]).unwrap();
        assert_eq!(
            bits(&model.probabilities(std::slice::from_ref(whole)).unwrap()[0]),
            bits(&classified.probabilities[0])
        );

        // Numbers, so that no part of the premise occurs twice.
        let numbers = |range: std::ops::Range<u32>| range.map(|i| format!(" {i}")).collect::<String>();
        let premise = numbers(100..180);
        let long = Pair { first: &premise, second: "The bridge was open." };
        let windows = model.windows(long, Long::First).unwrap();
        let empty = model.windows(Pair { first: "", ..long }, Long::First).unwrap()[0].ids.clone();
        let room = model.limit() - empty.len();
        assert!(windows.len() > 2, "{name}: {}", windows.len());
        for window in &windows {
            assert_eq!((window.ids.len(), window.truncated), (model.limit(), false), "{name}: every window is full");
            assert_eq!(window.ids[1 + room..], empty[1..], "{name}: the hypothesis is whole");
        }
        // Without what they share, the windows are the premise.
        let mut joined = windows[0].ids[1..=room].to_vec();
        for pair in windows.windows(2) {
            let (before, after) = (&pair[0].ids[1..=room], &pair[1].ids[1..=room]);
            let shared = (room / 4..=room).find(|&n| before[room - n..] == after[..n]).expect("windows overlap");
            joined.extend_from_slice(&after[shared..]);
        }
        let ids = |first: &str| {
            let ids = &model.windows(Pair { first, ..long }, Long::First).unwrap()[0].ids;
            ids[1..=ids.len() - empty.len()].to_vec()
        };
        for i in 100..177 {
            let part = ids(&numbers(i..i + 3));
            assert!(joined.windows(part.len()).any(|tokens| tokens == part), "{name}: {i}");
        }
        assert!(joined.starts_with(&ids(&numbers(100..103))) && joined.ends_with(&ids(&numbers(177..180))), "{name}");
        let cut = model.windows(Pair { first: &premise, second: &premise }, Long::First).unwrap();
        assert!(cut.iter().all(|window| window.truncated && window.ids.len() == model.limit()), "{name}");
    }
}

#[test]
fn special_tokens_in_a_text_are_words() {
    for (name, spelled) in [("bert", "[SEP]"), ("xlm-roberta", "</s>"), ("deberta", "[CLS]")] {
        let model = EmbeddingModel::open(&golden(name), &options(Precision::F32)).unwrap();
        let ids = model.tokens("", &format!("a {spelled} b")).unwrap().ids;
        let ends = [ids[0], ids[ids.len() - 1]];
        assert!(ids[1..ids.len() - 1].iter().all(|id| !ends.contains(id)), "{name}: {ids:?}");
    }
}

#[test]
fn prefixes_go_before_or_around() {
    let model = EmbeddingModel::open(&golden("bert"), &options(Precision::F32)).unwrap();
    let ids = |prefix: &str, text: &str| model.tokens(prefix, text).unwrap().ids;
    assert_eq!(ids("query: ", "who"), ids("", "query: who"));
    assert_eq!(ids("a {text} b", "who"), ids("", "a who b"));
    let error = model.embed("{text}: {instruction}", &["who"]).unwrap_err().to_string();
    assert!(error.contains("expected an instruction"), "{error}");
}

#[test]
fn distances_share_rows_as_in_the_reference() {
    let rows: Vec<u32> = expected(&golden("buckets.json"));
    let buckets = Some(Buckets { count: 256, farthest: 512 });
    let positions = RelativePositions { span: 256, buckets, normed: true, shared: true };
    let got: Vec<u32> = (-511..512).map(|distance| positions.row(distance)).collect();
    assert_eq!(got, rows);
}

#[test]
fn packed_tokens_have_the_index_of_their_text() {
    let model = EmbeddingModel::open(&golden("bert"), &options(Precision::F32)).unwrap();
    let texts = ["a", "a bridge of the city", ""].map(|text| model.tokens("", text).unwrap());
    let group = Batches::new(&texts, 1000).iter().next().unwrap().to_vec();
    let packed = Packed::new(group.iter().map(|&text| &texts[text]));
    assert_eq!(packed.texts.tokens(), packed.ids.len());
    assert_eq!(group[0], 1, "the longest is first");
    assert_eq!(packed.ids[packed.texts.range(0)], texts[1].ids);
}

#[test]
fn the_catalogs_encoders_are_of_known_kinds() {
    let catalog = Catalog::embedded();
    assert!(catalog.encoders.len() > 15);
    for entry in &catalog.encoders {
        assert_eq!(entry.task == Task::Embedding, entry.pooling.is_some(), "{}", entry.alias);
    }
    let e5 = catalog.encoder_at(std::path::Path::new("/models/intfloat/E5-base-v2")).unwrap();
    assert_eq!((e5.query.as_str(), e5.passage.as_str(), e5.normalise), ("query: ", "passage: ", true));
    let cached = "hub/models--facebook--contriever/snapshots/0123abc";
    assert!(!catalog.encoder_at(std::path::Path::new(cached)).unwrap().normalise);
    assert!(catalog.encoder_at(std::path::Path::new("my-model")).is_none());
    let error = catalog.encoder_named("e5-base").unwrap_err().to_string();
    assert!(error.contains("e5-base-v2"), "{error}");
    assert!(catalog.encoder_named("smollm2-135m").unwrap_err().to_string().contains("expected an encoder"));
    let two = |name: &str| name.contains("roberta") || name == "mpnet";
    assert!(FAMILIES.iter().all(|family| (family.between == 2) == two(family.name)));
}

/// The folder of the real MiniLM, from the caches of this machine.
fn minilm() -> std::path::PathBuf {
    use moot_models::source::{Options, default_cache, locate_encoder};
    let options = Options { cache: default_cache().unwrap(), offline: true };
    locate_encoder("all-minilm-l6-v2", &options, &mut |_| {}).unwrap().0.path
}

#[test]
#[ignore = "needs the real all-MiniLM-L6-v2"]
fn the_real_minilm_is_the_reference() {
    let texts: Texts = expected(&golden("minilm.json"));
    for (precision, least) in [(Precision::F32, 0.999_999), (Precision::Int16, 0.999_99)] {
        let model = EmbeddingModel::open(&minilm(), &options(precision)).unwrap();
        for text in &texts.texts {
            assert_eq!(model.tokens("", &text.text).unwrap().ids, text.ids, "{:?}", text.text);
        }
        for (text, vector) in texts.texts.iter().zip(vectors(&model, &texts.texts)) {
            let cosine = cosine(&vector, &text.vector);
            assert!(cosine > least, "{precision:?}: {:?}: {cosine}", text.text);
            let alone = model.embed("", &[&text.text]).unwrap().vectors;
            assert_eq!(bits(&alone), bits(&vector), "{precision:?}: {:?}", text.text);
        }
    }
}

//! Reranking: more candidates are asked for than are wanted, and the most relevant of them kept; the reranker of this
//! process over the tiny models of the model tests.

use moot::question::{Origin, Passage};
use moot::retrieval::{
    Hit, LocalReranker, RerankCounts, Reranked, Reranker, RerankerOptions, Retriever, RetrieverIdentity, Wanted,
    relevance,
};
use moot_models::encoder::{Classifier, EncoderOptions, Long, Pair, Precision};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// Passages in the order in which a search found them: text and source.
struct Shelf {
    passages: Vec<(String, &'static str)>,
    asked: Mutex<Vec<Wanted>>,
}

impl Retriever for Shelf {
    fn retrieve(&self, _: &str, wanted: &Wanted) -> moot::Result<Vec<Hit>> {
        self.asked.lock().unwrap().push(wanted.clone());
        let passage = |(line, (text, source)): (usize, &(String, &'static str))| Passage {
            text: text.clone(),
            title: None,
            source: Some((*source).to_owned()),
            date: None,
            url: None,
            notes: Vec::new(),
            origin: Origin { file: "a.txt".into(), id: None, line: Some(line as u64), page: None, characters: 0..1 },
        };
        let hits = self.passages.iter().enumerate().map(passage);
        Ok(hits.take(wanted.top).map(|passage| Hit { passage, score: 0.5, copies: Vec::new() }).collect())
    }

    fn identity(&self) -> RetrieverIdentity {
        RetrieverIdentity { index: "shelf".into(), embedder: None, reranker: None, mode: "lexical".into() }
    }
}

/// A passage's logit is the number that it begins with, plus the length of the query.
struct Numbers;

impl Reranker for Numbers {
    fn logits(&self, pairs: &[(&str, &str)]) -> moot::Result<Vec<f32>> {
        let number = |passage: &str| passage.split(' ').next().unwrap().parse::<f32>().unwrap();
        Ok(pairs.iter().map(|(query, passage)| number(passage) + query.len() as f32).collect())
    }

    fn identity(&self) -> &str {
        "numbers"
    }

    fn counts(&self) -> RerankCounts {
        RerankCounts::default()
    }
}

fn shelf(texts: &[(&str, &'static str)]) -> Arc<Shelf> {
    let passages = texts.iter().map(|(text, source)| ((*text).to_owned(), *source)).collect();
    Arc::new(Shelf { passages, asked: Mutex::default() })
}

/// A retriever over a shelf that the test keeps.
struct Kept(Arc<Shelf>);

impl Retriever for Kept {
    fn retrieve(&self, query: &str, wanted: &Wanted) -> moot::Result<Vec<Hit>> {
        self.0.retrieve(query, wanted)
    }

    fn identity(&self) -> RetrieverIdentity {
        self.0.identity()
    }
}

fn reranked(shelf: &Arc<Shelf>, candidates: Option<usize>) -> Reranked {
    Reranked::new(Box::new(Kept(shelf.clone())), Arc::new(Numbers), candidates)
}

fn wanted(top: usize, by_source: bool) -> Wanted {
    Wanted { top, by_source, filter: moot::retrieval::Filter::NONE, fold: true }
}

fn texts(hits: &[Hit]) -> Vec<&str> {
    hits.iter().map(|hit| hit.passage.text.as_str()).collect()
}

#[test]
fn the_most_relevant_candidates_are_kept() {
    let all = [("1 a", "x"), ("-2 b", "y"), ("3 c", "x"), ("3 d", "y"), ("9 e", "x")];
    let shelf = shelf(&all);
    let reranked = reranked(&shelf, Some(4));
    let found = reranked.retrieve_all(&["", "ab"], &wanted(3, false)).unwrap();
    // The fifth is not a candidate; of equal logits the one that the search found first.
    assert_eq!(texts(&found[0]), ["3 c", "3 d", "1 a"]);
    assert_eq!(found[0].iter().map(|hit| hit.score).collect::<Vec<_>>(), [3.0, 3.0, 1.0].map(relevance));
    assert_eq!(texts(&found[1]), texts(&found[0]));
    assert!((found[1][0].score - 1.0 / (1.0 + (-5.0_f32).exp())).abs() < 1e-6, "the logit of its own query");
    assert_eq!(shelf.asked.lock().unwrap().iter().map(|asked| asked.top).collect::<Vec<_>>(), [4, 4]);
}

#[test]
fn a_method_that_wants_more_than_the_candidates_gets_them() {
    let all: Vec<(String, &str)> = (0..70).map(|i| (format!("{i} text"), "x")).collect();
    let all: Vec<(&str, &str)> = all.iter().map(|(text, source)| (text.as_str(), *source)).collect();
    let shelf = shelf(&all);
    for (candidates, top, by_source, asked) in
        [(Some(4), 9, false, 9), (None, 5, false, 50), (None, 60, false, 60), (None, 1, true, 5), (Some(2), 1, true, 2)]
    {
        let found = reranked(&shelf, candidates).retrieve("", &wanted(top, by_source)).unwrap();
        assert_eq!(shelf.asked.lock().unwrap().pop().unwrap(), wanted(asked, by_source));
        assert_eq!(found.len(), top);
        assert_eq!(found[0].passage.text, format!("{} text", asked - 1));
    }
}

#[test]
fn sources_keep_their_best() {
    let shelf = shelf(&[("1 a", "x"), ("2 b", "y"), ("8 c", "x"), ("7 d", "x"), ("9 e", "y")]);
    let found = reranked(&shelf, None).retrieve("", &wanted(2, true)).unwrap();
    assert_eq!(texts(&found), ["9 e", "2 b", "8 c", "7 d"]);
}

#[test]
fn copies_stay_with_their_passage() {
    struct Copied;
    impl Retriever for Copied {
        fn retrieve(&self, query: &str, wanted: &Wanted) -> moot::Result<Vec<Hit>> {
            let mut hits = shelf(&[("1 a", "x"), ("2 b", "y")]).retrieve(query, wanted)?;
            hits[0].copies = vec![hits[0].passage.clone()];
            Ok(hits)
        }
        fn identity(&self) -> RetrieverIdentity {
            RetrieverIdentity::default()
        }
    }
    let found = Reranked::new(Box::new(Copied), Arc::new(Numbers), None).retrieve("", &wanted(2, false)).unwrap();
    assert_eq!(texts(&found), ["2 b", "1 a"]);
    assert_eq!((found[0].copies.len(), found[1].copies.len()), (0, 1));
}

#[test]
fn the_identity_names_the_reranker_and_its_candidates() {
    let shelf = shelf(&[]);
    let identity = |candidates| reranked(&shelf, candidates).identity();
    assert_eq!(identity(Some(20)).reranker.unwrap(), "numbers, 20 candidates");
    assert_eq!(identity(None).reranker.unwrap(), "numbers, 50 candidates, or 5 of each source");
    assert_eq!((identity(None).index.as_str(), identity(None).mode.as_str()), ("shelf", "lexical"));
    let without = serde_json::to_value(shelf.identity()).unwrap();
    assert!(without.get("reranker").is_none(), "records without a reranker stay as they were");
}

pub(crate) fn tiny(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("models/tests/golden/encoders").join(name)
}

fn local(name: &str, precision: Precision) -> LocalReranker {
    let load = EncoderOptions { precision, ..EncoderOptions::default() };
    LocalReranker::load(&tiny(name), None, &RerankerOptions { load, ..RerankerOptions::default() }).unwrap()
}

#[test]
fn a_cross_encoder_scores_passages_and_the_best_window_of_long_ones() {
    let reranker = local("xlm-roberta-reranker", Precision::F32);
    let model = Classifier::open(
        &tiny("xlm-roberta-reranker"),
        &EncoderOptions { precision: Precision::F32, ..EncoderOptions::default() },
        None,
    );
    let model = model.unwrap();
    let long = "The bridge of the city was closed for repairs in the spring. ".repeat(12);
    let pairs = [("Who?", "The old theatre."), ("Who?", long.as_str()), ("When was it?", "")];
    let logits = reranker.logits(&pairs).unwrap();
    for (&(first, second), logit) in pairs.iter().zip(&logits) {
        let windows = model.windows(Pair { first, second }, Long::Second).unwrap();
        let best = model.logits(&windows).unwrap().into_iter().flatten().fold(f32::NEG_INFINITY, f32::max);
        assert_eq!(logit.to_bits(), best.to_bits(), "{second:?}");
        assert_eq!(reranker.logits(&[(first, second)]).unwrap()[0].to_bits(), logit.to_bits(), "alone");
    }
    let counts = reranker.counts();
    assert_eq!((counts.passages, counts.truncated, counts.batches), (6, 0, 4));
    assert!(counts.windows > 8, "{counts:?}");
    assert_eq!(reranker.logits(&[]).unwrap(), Vec::<f32>::new());
    reranker.logits(&[(long.as_str(), long.as_str())]).unwrap();
    assert_eq!(reranker.counts().truncated, 1);
    assert!(reranker.tokens(&pairs).unwrap() > 64);
}

#[test]
fn a_decoder_scores_passages_by_yes_and_no() {
    let reranker = local("qwen3-reranker", Precision::F32);
    assert!(reranker.identity().contains(" qwen3 cpu ") && reranker.identity().contains("prompts of 512"));
    let pairs = [("Who?", "The old theatre."), ("Who?", "Nobody."), ("When was it?", "")];
    let logits = reranker.logits(&pairs).unwrap();
    for (pair, logit) in pairs.iter().zip(&logits) {
        assert_eq!(reranker.logits(&[*pair]).unwrap()[0].to_bits(), logit.to_bits(), "alone");
    }
    assert_eq!((reranker.counts().passages, reranker.counts().windows), (6, 6));
}

#[test]
fn the_identity_of_a_cross_encoder_names_all_that_changes_a_score() {
    let exact = local("bert-reranker", Precision::F32).identity().to_owned();
    assert!(
        exact.starts_with("bert-reranker sha256:") && exact.contains(" bert cpu ") && exact.contains("windows of 48")
    );
    assert_ne!(exact, local("bert-reranker", Precision::Int16).identity());
    assert_ne!(exact, local("xlm-roberta-reranker", Precision::F32).identity());
}

#[test]
fn a_model_of_another_task_is_refused() {
    let error = LocalReranker::load(&tiny("bert-nli"), None, &RerankerOptions::default()).unwrap_err().to_string();
    assert!(error.contains("expected one label"), "{error}");
    let offline = RerankerOptions { offline: true, ..RerankerOptions::default() };
    let error = LocalReranker::open("e5-small-v2", &offline, &mut |_| {}).unwrap_err().to_string();
    assert!(error.contains("e5-small-v2"), "{error}");
}

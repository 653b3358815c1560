//! A search finds what a plain loop over all passages finds, in every mode, under every filter.

use super::*;
use moot::retrieval::index::full_text;
use std::collections::{HashMap, HashSet};

const QUERIES: [&str; 4] =
    ["s3w7 s3w1 common4", "common1 common2 s9w20", "Title4 s0w3 s0w3", "nothing of this is there"];

fn filters() -> Vec<Filter> {
    let some = |text: &str| Some(text.to_owned());
    vec![
        Filter::default(),
        Filter { sources: vec!["diary".into()], ..Filter::default() },
        Filter { sources: vec!["press".into(), "council".into()], from: some("2013"), until: some("2016-05") },
        Filter { from: some("2018-05-11"), ..Filter::default() },
        Filter { until: some("2009"), ..Filter::default() },
        // So few that they are read one by one.
        Filter { sources: vec!["diary".into()], from: some("2012"), until: some("2012") },
    ]
}

fn cosines(query: &str, all: &[Passage]) -> Vec<f32> {
    let embedder = WordEmbedder::new();
    let query = embedder.embed(&[query], Side::Query).unwrap();
    let vector = |passage: &Passage| embedder.embed(&[&full_text(passage)], Side::Passage).unwrap();
    all.iter().map(|p| vector(p).iter().zip(&query).map(|(a, b)| a * b).sum()).collect()
}

/// BM25 as published (Robertson and Zaragoza 2009, with Lucene's idf), k1 = 1.2, b = 0.75.
fn bm25(query: &str, all: &[Passage]) -> Vec<f32> {
    let words = |text: &str| -> Vec<String> { text.to_lowercase().split_whitespace().map(str::to_owned).collect() };
    let texts: Vec<Vec<String>> = all.iter().map(|p| words(&full_text(p))).collect();
    let mean = texts.iter().map(Vec::len).sum::<usize>() as f64 / texts.len() as f64;
    let mut holding: HashMap<&str, f64> = HashMap::new();
    for text in &texts {
        for word in text.iter().map(String::as_str).collect::<HashSet<_>>() {
            *holding.entry(word).or_default() += 1.0;
        }
    }
    let score = |text: &Vec<String>| {
        let of = |word: &String| {
            let n = holding.get(word.as_str()).copied().unwrap_or(0.0);
            let idf = (1.0 + (texts.len() as f64 - n + 0.5) / (n + 0.5)).ln();
            let f = text.iter().filter(|w| *w == word).count() as f64;
            idf * f * 2.2 / (f + 1.2 * (0.25 + 0.75 * text.len() as f64 / mean))
        };
        words(query).iter().map(of).sum::<f64>() as f32
    };
    texts.iter().map(score).collect()
}

/// Lines of the best of `scores` among those that `admitted` lets through.
fn best(scores: &[f32], top: usize, admitted: impl Fn(usize) -> bool) -> Vec<u64> {
    let mut order: Vec<usize> = (0..scores.len()).filter(|i| admitted(*i)).collect();
    order.sort_by(|a, b| scores[*b].total_cmp(&scores[*a]).then(a.cmp(b)));
    order.into_iter().take(top).map(|i| i as u64 + 1).collect()
}

/// Equal but for passages whose scores differ by less than a rounding.
fn assert_ranked(found: &[Hit], want: &[u64], scores: &[f32], what: &str) {
    assert_eq!(found.len(), want.len(), "{what}");
    for (found, want) in found.iter().zip(want) {
        let line = found.passage.origin.line.unwrap();
        let (got, want) = (scores[line as usize - 1], scores[*want as usize - 1]);
        assert!((got - want).abs() < 2e-5, "{what}: line {line} with {got} where {want} belongs");
        assert!((found.score - got).abs() < 2e-5 * got.abs().max(1.0), "{what}: {} for {got}", found.score);
    }
}

#[test]
fn dense_and_bm25_agree_with_a_plain_loop() {
    let dir = tempfile::tempdir().unwrap();
    let all = passages(300);
    build(dir.path(), 300, Some(&WordEmbedder::new()), Storage::F32, small());
    assert_eq!(Index::open(dir.path()).unwrap().manifest().segments.len(), 5);
    for query in QUERIES {
        for filter in filters() {
            let wanted = Wanted { filter: filter.clone(), ..wanted(12) };
            let what = format!("{query} under {filter:?}");
            let scores = cosines(query, &all);
            let want = best(&scores, 12, |i| filter.admits(&all[i]));
            assert_ranked(&find(dir.path(), Mode::Dense, query, &wanted), &want, &scores, &what);
            let scores = bm25(query, &all);
            let want = best(&scores, 12, |i| scores[i] > 0.0 && filter.admits(&all[i]));
            assert_ranked(&find(dir.path(), Mode::Bm25, query, &wanted), &want, &scores, &what);
        }
    }
}

#[test]
fn each_source_gives_its_own_best() {
    let dir = tempfile::tempdir().unwrap();
    let all = passages(200);
    build(dir.path(), 200, Some(&WordEmbedder::new()), Storage::F32, small());
    let wanted = Wanted { by_source: true, ..wanted(3) };
    for (mode, scores) in [(Mode::Dense, cosines(QUERIES[0], &all)), (Mode::Bm25, bm25(QUERIES[0], &all))] {
        let found = find(dir.path(), mode, QUERIES[0], &wanted);
        let groups: Vec<&[Hit]> = found.chunk_by(|a, b| a.passage.source == b.passage.source).collect();
        assert_eq!(groups.len(), 4, "{mode:?}: three sources, and passages of none");
        assert!(groups.windows(2).all(|pair| pair[0][0].score >= pair[1][0].score), "{mode:?}");
        for group in groups {
            let source = &group[0].passage.source;
            let bound = if mode == Mode::Bm25 { 0.0 } else { f32::NEG_INFINITY };
            let want = best(&scores, 3, |i| all[i].source == *source && scores[i] > bound);
            assert_ranked(group, &want, &scores, &format!("{mode:?}, {source:?}"));
        }
    }
    let hybrid = find(dir.path(), Mode::Hybrid, QUERIES[0], &wanted);
    assert_eq!(hybrid.len(), 12);
}

#[test]
fn both_are_fused_by_rank() {
    let dir = tempfile::tempdir().unwrap();
    build(dir.path(), 300, Some(&WordEmbedder::new()), Storage::F32, small());
    let dense = lines(&find(dir.path(), Mode::Dense, QUERIES[0], &wanted(100)));
    let words = lines(&find(dir.path(), Mode::Bm25, QUERIES[0], &wanted(100)));
    let mut scores: HashMap<u64, f32> = HashMap::new();
    for list in [&dense, &words] {
        for (rank, line) in list.iter().enumerate() {
            *scores.entry(*line).or_default() += 1.0 / (61.0 + rank as f32);
        }
    }
    for found in find(dir.path(), Mode::Hybrid, QUERIES[0], &wanted(10)) {
        let want = scores.remove(&found.passage.origin.line.unwrap()).unwrap();
        assert!((found.score - want).abs() < 1e-6);
        assert!(scores.values().all(|other| *other <= want + 1e-6), "the best come first");
    }
}

#[test]
fn smaller_types_find_nearly_the_same() {
    let want = {
        let dir = tempfile::tempdir().unwrap();
        build(dir.path(), 300, Some(&WordEmbedder::new()), Storage::F32, small());
        QUERIES.map(|query| lines(&find(dir.path(), Mode::Dense, query, &wanted(10))))
    };
    for storage in [Storage::F16, Storage::I8] {
        let dir = tempfile::tempdir().unwrap();
        build(dir.path(), 300, Some(&WordEmbedder::new()), storage, small());
        let found = QUERIES.map(|query| lines(&find(dir.path(), Mode::Dense, query, &wanted(10))));
        let same = |(found, want): (&Vec<u64>, &Vec<u64>)| found.iter().filter(|line| want.contains(line)).count();
        let same: usize = found.iter().zip(&want).map(same).sum();
        assert!(same >= 37, "{storage:?}: {same} of 40");
    }
}

#[test]
fn an_unknown_source_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    build(dir.path(), 50, None, Storage::F16, small());
    let wanted = Wanted { filter: Filter { sources: vec!["dairy".into()], ..Filter::default() }, ..wanted(3) };
    let error = retriever(dir.path(), Search { mode: Mode::Bm25, ..Search::default() }).retrieve("common1", &wanted);
    let error = error.unwrap_err().to_string();
    assert!(error.contains("dairy") && error.contains("diary, council, press"), "{error}");
}

#[test]
fn words_alone_need_no_embedder() {
    let dir = tempfile::tempdir().unwrap();
    build(dir.path(), 130, None, Storage::F16, small());
    assert!(!find(dir.path(), Mode::Bm25, "s3w7", &wanted(3)).is_empty());
    assert!(find(dir.path(), Mode::Bm25, "", &wanted(3)).is_empty());
    assert!(find(dir.path(), Mode::Bm25, "unheardof", &wanted(3)).is_empty());
    let embedder: Arc<dyn Embedder> = Arc::new(WordEmbedder::new());
    let error = IndexRetriever::new(Index::open(dir.path()).unwrap(), Some(embedder), Search::default()).err().unwrap();
    assert!(error.to_string().contains("BM25 alone") && error.hint().unwrap().contains("bm25"), "{error}");
}

#[test]
fn several_queries_at_once_are_answered_as_each_alone() {
    let dir = tempfile::tempdir().unwrap();
    build(dir.path(), 200, Some(&WordEmbedder::new()), Storage::F16, small());
    for mode in [Mode::Dense, Mode::Bm25, Mode::Hybrid] {
        for by_source in [false, true] {
            let wanted = Wanted { by_source, ..wanted(6) };
            let retriever = retriever(dir.path(), Search { mode, ..Search::default() });
            let together = retriever.retrieve_all(&QUERIES, &wanted).unwrap();
            let alone: Vec<_> = QUERIES.iter().map(|query| retriever.retrieve(query, &wanted).unwrap()).collect();
            assert_eq!(together, alone, "{mode:?}");
        }
    }
}

/// Three notes about a bridge, and seven about other things that share common words with any question.
fn notes(dir: &Path) {
    let texts = [
        "The bridge over the Elde was opened in 1932.",
        "When the Elde bridge opens, ships wait.",
        "Of all the bridges, the Elde's is the longest.",
        "Soup was served in the hall when it rained.",
        "The school was closed in the winter of 1931.",
        "When did the mill burn? It was in the spring.",
        "The library is for all of us.",
        "He was the first of the family in the town.",
        "What was in the box was never said.",
        "The garden of the hotel was the pride of the town.",
    ];
    let passage =
        |(i, text): (usize, &&str)| Passage { text: (*text).to_owned(), title: None, ..passages(i + 1)[i].clone() };
    let all: Vec<Passage> = texts.iter().enumerate().map(passage).collect();
    let mut builder = Builder::create(dir, None, Storage::F16, small()).unwrap();
    builder.run(&corpus(), &mut all.into_iter().map(Ok), None, &mut silent).unwrap();
}

#[test]
fn passages_about_something_else_are_cut_off() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("index");
    notes(&dir);
    let plain = Search { mode: Mode::Bm25, ..Search::default() };
    let cut = Search { cutoff: Some(Cutoff::DEFAULT), ..plain };
    let find = |search, query| lines(&retriever(&dir, search).retrieve(query, &wanted(10)).unwrap());
    let question = "When was the bridge over the Elde opened?";
    assert_eq!(find(plain, question).len(), 10, "each has a word of the question");
    let mut found = find(cut, question);
    found.sort_unstable();
    assert_eq!(found, [1, 2, 3]);
    assert!(find(cut, "When was the zeppelin over the Rhine launched?").is_empty());
    assert_eq!(retriever(&dir, cut).identity().mode, "lexical, cut off");
    // Vectors of an embedder without a known threshold for cosines are not judged.
    let dense = folder.path().join("dense");
    build(&dense, 20, Some(&WordEmbedder::new()), Storage::F16, small());
    let hybrid = Search { cutoff: Some(Cutoff::DEFAULT), ..Search::default() };
    let judged = Search { cutoff: Some(Cutoff { coverage: 2.0, cosine: Some(2.0) }), ..Search::default() };
    let count = |search| retriever(&dense, search).retrieve(QUERIES[0], &wanted(5)).unwrap().len();
    assert_eq!((count(hybrid), count(judged)), (5, 0));
}

#[test]
fn passages_without_a_date_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("index");
    build(&dir, 200, None, Storage::F16, small());
    let retriever = retriever(&dir, Search { mode: Mode::Bm25, ..Search::default() });
    let all = passages(200);
    for filter in filters() {
        let dated = filter.from.is_some() || filter.until.is_some();
        let undated = |p: &&Passage| dated && p.date.is_none() && filter.admits_source(p.source.as_deref());
        assert_eq!(retriever.undated(&filter).unwrap(), all.iter().filter(undated).count() as u64, "{filter:?}");
    }
}

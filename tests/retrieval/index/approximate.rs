//! Grouped vectors: the same results if all groups are read, nearly the same if few are; filters are exact.

use super::*;
use moot::retrieval::index::Manifest;

fn grouped() -> Limits {
    Limits { group_from: 2_000, segment: 512, ..Limits::default() }
}

fn dense(exact: bool, share: f32) -> Search {
    Search { mode: Mode::Dense, exact, share, ..Search::default() }
}

fn queries() -> Vec<String> {
    (0..60).map(|i| format!("s{}w{} s{}w{} common{}", i % 12, i % 25, i % 12, (i * 7) % 25, i % 40)).collect()
}

#[test]
fn grouping_changes_no_exact_answer() {
    let (plain, dir) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let embedder = WordEmbedder::new();
    build(plain.path(), 3000, Some(&embedder), Storage::F16, Limits { segment: 512, ..Limits::default() });
    build(dir.path(), 3000, Some(&embedder), Storage::F16, grouped());
    let manifest = Manifest::read(dir.path()).unwrap();
    manifest.verify(dir.path()).unwrap();
    let clusters = manifest.clusters.as_ref().unwrap();
    assert_eq!((clusters.passages, clusters.lists), (3000, 219));
    assert!(!dir.path().join("segments/000000/vectors.bin").exists(), "vectors are stored once");
    let filter = Filter { sources: vec!["press".into()], from: Some("2012".into()), until: None };
    for wanted in [wanted(10), Wanted { filter, ..wanted(10) }, Wanted { by_source: true, ..wanted(4) }] {
        for query in queries() {
            let want = retriever(plain.path(), dense(true, 0.0)).retrieve(&query, &wanted).unwrap();
            assert_eq!(retriever(dir.path(), dense(true, 0.0)).retrieve(&query, &wanted).unwrap(), want, "{query}");
            let all = retriever(dir.path(), dense(false, 1.0)).retrieve(&query, &wanted).unwrap();
            assert_eq!(all, want, "every list, {query}");
        }
    }
}

/// A record says whether its passages were found by reading every vector.
#[test]
fn the_identity_says_whether_the_search_is_exact() {
    let (plain, dir) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    build(plain.path(), 300, Some(&WordEmbedder::new()), Storage::F16, Limits::default());
    build(dir.path(), 3000, Some(&WordEmbedder::new()), Storage::F16, grouped());
    let mode = |path: &Path, search| retriever(path, search).identity().mode;
    assert_eq!(mode(dir.path(), dense(false, 0.33)), "dense, approximate");
    assert_eq!(mode(dir.path(), dense(true, 0.33)), "dense");
    assert_eq!(mode(plain.path(), dense(false, 0.33)), "dense");
    let by = |mode, cutoff| Search { mode, cutoff, ..Search::default() };
    assert_eq!(mode(dir.path(), by(Mode::Hybrid, Some(Cutoff::DEFAULT))), "hybrid, approximate, cut off");
    assert_eq!(mode(dir.path(), by(Mode::Bm25, None)), "lexical");
}

#[test]
fn a_third_of_the_rows_holds_most_of_the_best() {
    let dir = tempfile::tempdir().unwrap();
    build(dir.path(), 3000, Some(&WordEmbedder::new()), Storage::F16, grouped());
    let (exact, few) = (retriever(dir.path(), dense(true, 0.0)), retriever(dir.path(), dense(false, 0.33)));
    for filter in [Filter::default(), Filter { sources: vec!["diary".into()], ..Filter::default() }] {
        let wanted = Wanted { filter: filter.clone(), ..wanted(10) };
        let mut same = 0;
        for query in queries() {
            let want = lines(&exact.retrieve(&query, &wanted).unwrap());
            let found = few.retrieve(&query, &wanted).unwrap();
            assert_eq!(found.len(), 10, "a filter takes nothing from the number found");
            assert!(found.iter().all(|found| filter.admits(&found.passage)));
            same += lines(&found).iter().filter(|line| want.contains(line)).count();
        }
        assert!(same >= 540, "{same} of 600 under {filter:?}");
    }
}

#[test]
fn added_vectors_are_found_at_once_and_grouped_if_they_are_many() {
    let dir = tempfile::tempdir().unwrap();
    let embedder = WordEmbedder::new();
    build(dir.path(), 2100, Some(&embedder), Storage::F16, grouped());
    let all = passages(6000);
    let mut from = 2100;
    for (number, to) in [2200, 6000].into_iter().enumerate() {
        let mut builder = Builder::open(dir.path(), Some(&embedder), grouped()).unwrap();
        let corpus = [format!("more {number}")];
        builder.run(&corpus, &mut all[from..to].iter().cloned().map(Ok), Some(&embedder), &mut silent).unwrap();
        drop(builder);
        from = to;
        let clusters = Manifest::read(dir.path()).unwrap().clusters.unwrap();
        assert_eq!(clusters.passages, [2100, 6000][number], "a hundred stay where they are");
        let retriever = retriever(dir.path(), dense(false, 0.05));
        for line in [1, 2150, to] {
            let query = moot::retrieval::index::full_text(&all[line - 1]).into_owned();
            assert_eq!(lines(&retriever.retrieve(&query, &wanted(1)).unwrap()), [line as u64]);
        }
    }
    assert!(!dir.path().join("clusters-000000").exists() && dir.path().join("clusters-000001").exists());
    Manifest::read(dir.path()).unwrap().verify(dir.path()).unwrap();
}

#[test]
fn little_memory_groups_in_more_passes_and_loses_no_row() {
    let rows = |memory: usize| {
        let dir = tempfile::tempdir().unwrap();
        let limits = Limits { memory, ..grouped() };
        build(dir.path(), 2500, Some(&WordEmbedder::new()), Storage::I8, limits);
        let manifest = Manifest::read(dir.path()).unwrap();
        manifest.verify(dir.path()).unwrap();
        retriever(dir.path(), dense(false, 1.0)).retrieve("s1w1 s1w2", &wanted(3)).unwrap()
    };
    // 60 KB hold 576 rows; the sample is smaller too, so the lists may differ, but every row is in one.
    assert_eq!(lines(&rows(60_000)), lines(&rows(1 << 30)));
}

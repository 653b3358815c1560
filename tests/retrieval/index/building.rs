//! Built at once, in pieces, after stops and kills: always the same index.

use super::*;
use moot::MootError;
use moot::retrieval::index::Manifest;
use std::fs;

fn interrupted_after(limit: u64) -> impl FnMut(&BuildProgress) -> Result<()> {
    move |progress| match progress {
        BuildProgress::Indexed(done) if *done >= limit => Err(MootError::Interrupted),
        _ => Ok(()),
    }
}

fn run(dir: &Path, count: usize, observe: &mut dyn FnMut(&BuildProgress) -> Result<()>) -> Result<()> {
    let embedder = WordEmbedder::new();
    let mut builder = Builder::create(dir, Some(&embedder), Storage::F16, small())?;
    builder.run(&corpus(), &mut passages(count).into_iter().map(Ok), Some(&embedder), observe)
}

#[test]
fn passages_come_back_as_they_went_in() {
    let dir = tempfile::tempdir().unwrap();
    build(dir.path(), 200, Some(&WordEmbedder::new()), Storage::I8, small());
    let index = Index::open(dir.path()).unwrap();
    for (id, want) in passages(200).iter().enumerate() {
        assert_eq!(index.passage(id as u64).unwrap(), *want);
    }
    assert!(index.passage(200).is_err());
    index.manifest().verify(dir.path()).unwrap();
    assert_eq!(index.manifest().passages(), 200);
}

#[test]
fn a_stopped_build_continues() {
    let whole = tempfile::tempdir().unwrap();
    build(whole.path(), 300, Some(&WordEmbedder::new()), Storage::F16, small());
    let dir = tempfile::tempdir().unwrap();
    assert!(matches!(run(dir.path(), 300, &mut interrupted_after(128)), Err(MootError::Interrupted)));
    let half = Manifest::read(dir.path()).unwrap();
    assert_eq!((half.segments.len(), half.passages()), (2, 128));
    let mut resumed = 0;
    run(dir.path(), 300, &mut |progress| {
        if let BuildProgress::Resumed(done) = progress {
            resumed = *done;
        }
        Ok(())
    })
    .unwrap();
    assert_eq!(resumed, 128);
    assert_eq!(Manifest::read(dir.path()).unwrap().segments.len(), 5);
    let sums = |dir: &Path| {
        let segments = Manifest::read(dir).unwrap().segments;
        // The library names its own files at random, so those of words differ.
        segments.into_iter().map(|mut s| (s.files.remove("bm25.bin").is_some(), s)).collect::<Vec<_>>()
    };
    assert_eq!(sums(dir.path()), sums(whole.path()));
}

#[test]
fn leftovers_of_a_kill_are_removed() {
    let dir = tempfile::tempdir().unwrap();
    assert!(run(dir.path(), 300, &mut interrupted_after(64)).is_err());
    // Killed while writing a segment, and between naming one and telling the manifest of it.
    for folder in ["building-000001", "building-clusters-000000", "segments/000001"] {
        fs::create_dir_all(dir.path().join(folder)).unwrap();
        fs::write(dir.path().join(folder).join("vectors.bin"), b"torn").unwrap();
    }
    fs::write(dir.path().join("manifest.new"), b"{").unwrap();
    assert_eq!(Index::open(dir.path()).unwrap().manifest().passages(), 64);
    run(dir.path(), 300, &mut silent).unwrap();
    let index = Index::open(dir.path()).unwrap();
    index.manifest().verify(dir.path()).unwrap();
    assert_eq!(index.manifest().passages(), 300);
    assert!(!dir.path().join("building-000001").exists() && !dir.path().join("building-clusters-000000").exists());
}

#[test]
fn adding_leaves_existing_segments_unchanged() {
    let dir = tempfile::tempdir().unwrap();
    let embedder = WordEmbedder::new();
    build(dir.path(), 100, Some(&embedder), Storage::F16, small());
    let before = Manifest::read(dir.path()).unwrap();
    let more = passages(150).split_off(100);
    let mut builder = Builder::open(dir.path(), Some(&embedder), small()).unwrap();
    let more_corpus = ["more".to_owned()];
    builder.run(&more_corpus, &mut more.clone().into_iter().map(Ok), Some(&embedder), &mut silent).unwrap();
    drop(builder);
    let index = Index::open(dir.path()).unwrap();
    assert_eq!(index.manifest().segments[..before.segments.len()], before.segments[..]);
    assert_eq!(index.manifest().passages(), 150);
    assert_eq!(index.passage(120).unwrap(), more[20]);
    let query = &more[20].text;
    for mode in [Mode::Dense, Mode::Bm25, Mode::Hybrid] {
        assert_eq!(lines(&find(dir.path(), mode, query, &wanted(1))), [121], "{mode:?}");
    }
    // The same corpus twice would give every passage a copy.
    let mut builder = Builder::open(dir.path(), Some(&embedder), small()).unwrap();
    let error = builder.run(&more_corpus, &mut std::iter::empty(), Some(&embedder), &mut silent).unwrap_err();
    assert!(error.to_string().contains("more is in it already"), "{error}");
}

#[test]
fn a_corpus_that_changed_is_not_gone_on_with() {
    let dir = tempfile::tempdir().unwrap();
    assert!(run(dir.path(), 300, &mut interrupted_after(128)).is_err());
    let embedder = WordEmbedder::new();
    let mut changed = passages(300);
    changed[70].text.push('!');
    let mut builder = Builder::create(dir.path(), Some(&embedder), Storage::F16, small()).unwrap();
    assert_eq!(builder.unfinished(), Some(corpus().as_slice()));
    let error = builder.run(&corpus(), &mut changed.into_iter().map(Ok), Some(&embedder), &mut silent).unwrap_err();
    assert!(error.to_string().contains("segment 000001"), "{error}");
    let other = ["others".to_owned()];
    let error = builder.run(&other, &mut passages(9).into_iter().map(Ok), Some(&embedder), &mut silent).unwrap_err();
    assert!(error.to_string().contains("expected the corpus that was stopped, notes, found others"), "{error}");
    assert_eq!(Manifest::read(dir.path()).unwrap().passages(), 128);
}

#[test]
fn a_fault_in_the_corpus_loses_nothing_before_it() {
    let dir = tempfile::tempdir().unwrap();
    let embedder = WordEmbedder::new();
    let limits = Limits { segment: 600, ..Limits::default() };
    let mut builder = Builder::create(dir.path(), Some(&embedder), Storage::F16, limits).unwrap();
    let fault = || MootError::Usage("line 514 is no JSON".into());
    let mut torn = passages(513).into_iter().map(Ok).chain([Err(fault())]);
    let error = builder.run(&corpus(), &mut torn, Some(&embedder), &mut silent).unwrap_err();
    assert!(error.to_string().contains("line 514"), "{error}");
    drop(builder);
    assert_eq!(Manifest::read(dir.path()).unwrap().passages(), 512);
    build(dir.path(), 520, Some(&embedder), Storage::F16, limits);
    assert_eq!(Manifest::read(dir.path()).unwrap().passages(), 520);
}

#[test]
fn an_empty_corpus_leaves_nothing() {
    let parent = tempfile::tempdir().unwrap();
    let dir = parent.path().join("index");
    let mut builder = Builder::create(&dir, None, Storage::F16, small()).unwrap();
    let error = builder.run(&corpus(), &mut std::iter::empty(), None, &mut silent).unwrap_err();
    assert!(error.to_string().contains("expected passages, found none"), "{error}");
    assert!(!dir.exists());
}

#[test]
fn two_builders_at_once_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let first = Builder::create(dir.path(), None, Storage::F16, small()).unwrap();
    let error = Builder::create(dir.path(), None, Storage::F16, small()).err().unwrap();
    assert!(error.to_string().contains("another process is building"), "{error}");
    drop(first);
    Builder::create(dir.path(), None, Storage::F16, small()).unwrap();
}

#[test]
fn memory_bounds_a_segment() {
    let dir = tempfile::tempdir().unwrap();
    build(dir.path(), 2000, None, Storage::F16, Limits { memory: 1 << 20, ..Limits::default() });
    let manifest = Manifest::read(dir.path()).unwrap();
    assert_eq!(manifest.passages(), 2000);
    assert!(manifest.segments.len() > 1, "{} segments", manifest.segments.len());
}

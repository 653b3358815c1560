//! An index brought up to date with its files finds what a new index of them finds, and embeds new texts alone.

mod stopped;

use super::killed::Mortal;
use super::*;
use moot::retrieval::chunk::{Chunking, Overlap};
use moot::retrieval::corpus::Corpus;
use moot::retrieval::index::{Changes, Manifest, Updated, full_text};
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

fn limits() -> Limits {
    Limits { segment: 16, group_from: 1_000_000, ..Limits::default() }
}

/// A folder of notes, and an index of it.
struct World {
    _folder: tempfile::TempDir,
    notes: PathBuf,
    dir: PathBuf,
}

impl World {
    fn new(files: usize) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (notes, dir) = (folder.path().join("notes"), folder.path().join("index"));
        fs::create_dir(&notes).unwrap();
        let world = Self { _folder: folder, notes, dir };
        (0..files).for_each(|i| world.write(&format!("{i:02}.txt"), &sentences(i, 0..4)));
        world
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.notes.join(name), text).unwrap();
    }

    fn path(&self, name: &str) -> String {
        self.notes.join(name).display().to_string()
    }

    fn build(&self, dir: &Path, embedder: &dyn Embedder, storage: Storage, limits: Limits) {
        let corpus = Corpus::open(&[self.path("")]).unwrap();
        let typed = [self.path(""), format!("({})", cut().describe())];
        let mut builder = Builder::create(dir, Some(embedder), storage, limits).unwrap();
        builder.reads(&corpus);
        builder.run(&typed, &mut corpus.passages(cut()), Some(embedder), &mut silent).unwrap();
    }

    fn changes(&self, paths: &[String]) -> Changes {
        Changes::find(&self.dir, &Manifest::read(&self.dir).unwrap(), paths, u64::MAX).unwrap().unwrap()
    }

    fn update(&self, embedder: &dyn Embedder, limits: Limits, paths: &[String]) -> Result<Updated> {
        let mut builder = Builder::open(&self.dir, Some(embedder), limits)?;
        let changes = self.changes(paths);
        let parts = changes.to_read();
        let mut passages = parts.iter().flat_map(|(corpus, chunking)| corpus.passages(*chunking));
        builder.update(&changes, &mut passages, Some(embedder), &mut silent)
    }

    /// That the index holds and finds what a new index of the same files holds and finds, with the same scores.
    fn is_as_new(&self, storage: Storage) {
        let fresh = self.dir.with_extension("fresh");
        let _ = fs::remove_dir_all(&fresh);
        self.build(&fresh, &WordEmbedder::new(), storage, Limits::default());
        assert_eq!(all(&self.dir), all(&fresh));
        Manifest::read(&self.dir).unwrap().verify(&self.dir).unwrap();
        for mode in [Mode::Dense, Mode::Bm25, Mode::Hybrid] {
            for by_source in [false, true] {
                let wanted = Wanted { by_source, ..wanted(10_000) };
                let search = |dir: &Path| {
                    let search = Search { mode, exact: true, ..Search::default() };
                    let hits = retriever(dir, search).retrieve("word3x1 word5x2 common1", &wanted).unwrap();
                    let location = |hit: Hit| (hit.passage.origin.file, hit.passage.origin.characters.start, hit.score);
                    let mut locations: Vec<_> = hits.into_iter().map(location).collect();
                    locations.sort_by(|a, b| (&a.0, a.1).cmp(&(&b.0, b.1)));
                    locations
                };
                let (found, want) = (search(&self.dir), search(&fresh));
                assert_eq!(found.len(), want.len(), "{mode:?}");
                for ((file, start, score), want) in found.iter().zip(&want) {
                    // Passages of equal score may come in another order, which changes their ranks.
                    let near = mode == Mode::Hybrid || (score - want.2).abs() < 1e-6;
                    assert!(*file == want.0 && *start == want.1 && near, "{mode:?}: {file}, {score}, not {want:?}");
                }
            }
        }
        assert!(self.changes(&[]).is_empty());
    }
}

/// Passages of six words: one for each sentence.
fn cut() -> Chunking {
    Chunking::new(6, Overlap::Words(0)).unwrap()
}

fn sentences(file: usize, numbers: std::ops::Range<usize>) -> String {
    let sentence = |i: usize| format!("Word{file}x{i} common{} common{} lies there still. ", i % 3, file % 5);
    numbers.map(sentence).collect()
}

/// All passages, in the order of their files.
fn all(dir: &Path) -> Vec<(String, u64, String)> {
    let index = Index::open(dir).unwrap();
    let passages = (0..index.manifest().passages()).map(|id| index.passage(id).unwrap());
    let mut all: Vec<_> =
        passages.map(|p| (p.origin.file.clone(), p.origin.characters.start, full_text(&p).into_owned())).collect();
    all.sort();
    all
}

fn touch(path: &str) {
    let file = fs::File::options().append(true).open(path).unwrap();
    file.set_modified(SystemTime::now() + Duration::from_secs(90)).unwrap();
}

fn names(paths: &std::collections::BTreeSet<String>) -> Vec<&str> {
    paths.iter().map(|path| path.rsplit('/').next().unwrap()).collect()
}

#[test]
fn changed_new_deleted_and_renamed_files() {
    for storage in [Storage::F16, Storage::I8] {
        let world = World::new(20);
        world.build(&world.dir, &WordEmbedder::new(), storage, limits());
        let before = Manifest::read(&world.dir).unwrap();
        assert_eq!((before.passages(), before.segments.len()), (80, 5));
        assert!(world.changes(&[]).is_empty());
        // One sentence more in front and one less at the end: three texts move.
        world.write("02.txt", &format!("Quite another one stands here first. {}", sentences(2, 0..3)));
        world.write("98.txt", &sentences(98, 0..2));
        fs::remove_file(world.path("17.txt")).unwrap();
        fs::rename(world.path("18.txt"), world.path("99.txt")).unwrap();
        touch(&world.path("05.txt"));
        let changes = world.changes(&[]);
        assert_eq!(names(&changes.new), ["98.txt", "99.txt"]);
        assert_eq!((names(&changes.changed), names(&changes.deleted)), (vec!["02.txt"], vec!["17.txt", "18.txt"]));
        assert_eq!((changes.touched(), changes.files()), (1, 20));
        let embedder = Mortal::new(usize::MAX);
        let updated = world.update(&embedder, limits(), &[]).unwrap();
        // No text of the renamed file is embedded; its passages now belong to another file.
        assert_eq!(updated, Updated { added: 1 + 2 + 4, removed: 1 + 4 + 4, embedded: 1 + 2 });
        assert_eq!(embedder.embedded(), 3);
        world.is_as_new(storage);
        assert_eq!(world.changes(&[]).touched(), 0, "its new time is recorded");
        let after = Manifest::read(&world.dir).unwrap();
        assert_eq!(after.segments[..3], before.segments[1..4], "segments without such files stay as they are");
        let folders = fs::read_dir(world.dir.join("segments")).unwrap().count();
        assert_eq!(folders, after.segments.len(), "replaced segments are removed");
    }
}

#[test]
fn an_update_without_changes_does_nothing() {
    let world = World::new(6);
    world.build(&world.dir, &WordEmbedder::new(), Storage::F16, limits());
    let (before, hash) = (Manifest::read(&world.dir).unwrap(), Index::open(&world.dir).unwrap().sha256());
    touch(&world.path("05.txt"));
    assert_eq!(world.update(&Mortal::new(0), limits(), &[]).unwrap(), Updated::default());
    assert_eq!(Manifest::read(&world.dir).unwrap().segments, before.segments);
    assert_eq!(Index::open(&world.dir).unwrap().sha256(), hash, "runs that name the index by its hash go on");
}

#[test]
fn small_segments_do_not_pile_up() {
    let world = World::new(3);
    world.build(&world.dir, &WordEmbedder::new(), Storage::F16, Limits::default());
    for i in 50..56 {
        world.write(&format!("{i}.txt"), &sentences(i, 0..2));
        assert_eq!(world.update(&WordEmbedder::new(), Limits::default(), &[]).unwrap().added, 2);
    }
    assert_eq!(Manifest::read(&world.dir).unwrap().segments.len(), 1);
    world.is_as_new(Storage::F16);
}

#[test]
fn grouped_vectors_keep_their_lists() {
    let world = World::new(40);
    let grouping = Limits { group_from: 100, ..limits() };
    world.build(&world.dir, &WordEmbedder::new(), Storage::F16, grouping);
    let before = Manifest::read(&world.dir).unwrap().clusters.unwrap();
    assert_eq!((before.passages, before.segments), (160, 10));
    world.write("13.txt", &sentences(13, 2..6));
    fs::remove_file(world.path("30.txt")).unwrap();
    let embedder = Mortal::new(usize::MAX);
    let updated = world.update(&embedder, limits(), &[]).unwrap();
    assert_eq!((updated.added, updated.removed, embedder.embedded()), (2, 2 + 4, 2));
    let after = Manifest::read(&world.dir).unwrap();
    let clusters = after.clusters.clone().unwrap();
    assert_eq!((clusters.passages, clusters.segments, clusters.lists), (160 - 32, 8, before.lists));
    assert_eq!(clusters.files["centroids.bin"], before.files["centroids.bin"]);
    assert!(!world.dir.join(&before.name).exists());
    world.is_as_new(Storage::F16);
    let near = Search { mode: Mode::Dense, share: 0.3, ..Search::default() };
    let found = retriever(&world.dir, near).retrieve(&sentences(20, 1..2), &wanted(1)).unwrap();
    assert!(found[0].passage.origin.file.ends_with("20.txt"), "{found:?}");
    // With enough new vectors everything is grouped again.
    (60..75).for_each(|i| world.write(&format!("{i}.txt"), &sentences(i, 0..4)));
    world.update(&WordEmbedder::new(), grouping, &[]).unwrap();
    assert_eq!(Manifest::read(&world.dir).unwrap().clusters.unwrap().passages, 160 - 4 + 60);
    world.is_as_new(Storage::F16);
    // All of a grouped index may go.
    (0..80).for_each(|i| drop(fs::remove_file(world.path(&format!("{i:02}.txt")))));
    world.write("80.txt", &sentences(80, 0..1));
    world.update(&WordEmbedder::new(), limits(), &[]).unwrap();
    assert!(Manifest::read(&world.dir).unwrap().clusters.is_none());
    world.is_as_new(Storage::F16);
}

#[test]
fn an_open_index_stays_as_it_was() {
    let world = World::new(8);
    world.build(&world.dir, &WordEmbedder::new(), Storage::F16, limits());
    let open = retriever(&world.dir, Search::default());
    let wanted = Wanted { by_source: true, ..wanted(3) };
    let before = retriever(&world.dir, Search::default()).retrieve("word3x1", &wanted).unwrap();
    (0..8).for_each(|i| world.write(&format!("{i:02}.txt"), "All of this is new."));
    assert_eq!(world.update(&WordEmbedder::new(), limits(), &[]).unwrap().removed, 32);
    // This index has not read words, sources and dates before.
    assert_eq!(open.retrieve("word3x1", &wanted).unwrap(), before);
}

#[test]
fn named_files_alone_are_updated() {
    let world = World::new(6);
    fs::create_dir(world.notes.join("more")).unwrap();
    world.build(&world.dir, &WordEmbedder::new(), Storage::F16, limits());
    world.write("more/a.txt", &sentences(70, 0..2));
    world.write("03.txt", &sentences(71, 0..2));
    fs::remove_file(world.path("04.txt")).unwrap();
    let updated = |paths: &[&str]| {
        let paths: Vec<String> = paths.iter().map(|path| world.path(path)).collect();
        let updated = world.update(&WordEmbedder::new(), limits(), &paths).unwrap();
        (updated.added, updated.removed)
    };
    assert_eq!(updated(&["more/"]), (2, 0));
    assert_eq!(updated(&["05.txt"]), (0, 0));
    assert_eq!(updated(&["04.txt"]), (0, 4));
    let left = world.changes(&[]);
    assert_eq!((names(&left.changed), left.new.len(), left.deleted.len()), (vec!["03.txt"], 0, 0));
    assert_eq!(updated(&[]), (2, 4));
    world.is_as_new(Storage::F16);
    let manifest = Manifest::read(&world.dir).unwrap();
    let error = Changes::find(&world.dir, &manifest, &[world.path("o4.txt")], 0).unwrap_err().to_string();
    assert!(error.contains("o4.txt: expected a file or folder of the index") && error.contains("index add"), "{error}");
}

#[test]
fn files_that_are_not_found_are_not_taken_for_deleted() {
    let world = World::new(3);
    world.build(&world.dir, &WordEmbedder::new(), Storage::F16, limits());
    let aside = world.notes.with_extension("aside");
    fs::rename(&world.notes, &aside).unwrap();
    let find = || Changes::find(&world.dir, &Manifest::read(&world.dir).unwrap(), &[], 0);
    let error = find().unwrap_err();
    assert!(error.to_string().contains("expected its files, ") && error.hint().is_some(), "{error}");
    fs::rename(&aside, &world.notes).unwrap();
    assert!(find().unwrap().unwrap().is_empty());
}

#[test]
fn files_of_a_missing_folder_are_deleted_where_it_is_named() {
    let world = World::new(2);
    let more = world.notes.with_extension("more");
    fs::create_dir(&more).unwrap();
    fs::write(more.join("a.txt"), sentences(70, 0..2)).unwrap();
    fs::write(more.join("b.txt"), sentences(71, 0..2)).unwrap();
    let (embedder, pattern) = (WordEmbedder::new(), format!("{}/*.txt", more.display()));
    for typed in [more.display().to_string(), pattern] {
        let paths = [world.path(""), typed.clone()];
        let corpus = Corpus::open(&paths).unwrap();
        let typed = [&paths[..], &[format!("({})", cut().describe())]].concat();
        let mut builder = Builder::create(&world.dir, Some(&embedder), Storage::F16, limits()).unwrap();
        builder.reads(&corpus);
        builder.run(&typed, &mut corpus.passages(cut()), Some(&embedder), &mut silent).unwrap();
        drop(builder);
        let aside = more.with_extension("aside");
        fs::rename(&more, &aside).unwrap();
        let find = |paths: &[String]| Changes::find(&world.dir, &Manifest::read(&world.dir).unwrap(), paths, 0);
        for folder in ["missing", "empty"] {
            let error = find(&[]).unwrap_err();
            assert!(error.to_string().contains("expected the 2 files that it read in "), "{folder}: {error}");
            assert!(error.hint().unwrap().contains("takes them out of the index"), "{error}");
            let named = find(&[more.display().to_string()]).unwrap().unwrap();
            assert_eq!((named.deleted.len(), named.changed.len()), (2, 0), "{folder}");
            // An empty folder may be where a disk is mounted.
            let _ = fs::create_dir(&more);
        }
        fs::remove_dir(&more).unwrap();
        fs::rename(&aside, &more).unwrap();
        // One of several files is deleted without a confirmation.
        fs::rename(more.join("b.txt"), more.join("b.old")).unwrap();
        assert_eq!(names(&find(&[]).unwrap().unwrap().deleted), ["b.txt"]);
        fs::rename(more.join("b.old"), more.join("b.txt")).unwrap();
        fs::remove_dir_all(&world.dir).unwrap();
    }
}

#[test]
fn a_build_is_unfinished_from_its_beginning() {
    let world = World::new(2);
    let corpus = Corpus::open(&[world.path("")]).unwrap();
    let mut builder = Builder::create(&world.dir, None, Storage::F16, limits()).unwrap();
    let error = Manifest::read(&world.dir).unwrap().check_finished(&world.dir).unwrap_err();
    assert!(error.to_string().contains("found one that was stopped before it began"), "{error}");
    let mut passages = corpus.passages(cut());
    let mut looked = std::iter::from_fn(|| {
        // The state that a kill before the first segment leaves.
        let manifest = Manifest::read(&world.dir).unwrap();
        assert!(!manifest.builds.last().unwrap().finished);
        passages.next()
    });
    builder.run(&["notes".into()], &mut looked, None, &mut silent).unwrap();
    // An addition without passages leaves the index as it was.
    let before = Manifest::read(&world.dir).unwrap();
    builder.run(&["none".into()], &mut std::iter::empty(), None, &mut silent).unwrap_err();
    assert_eq!(Manifest::read(&world.dir).unwrap(), before);
}

#[test]
fn a_faulty_file_leaves_the_index_as_it_was() {
    let world = World::new(3);
    world.build(&world.dir, &WordEmbedder::new(), Storage::F16, limits());
    let before = (Manifest::read(&world.dir).unwrap(), all(&world.dir));
    world.write("table.jsonl", &("{\"text\": \"A line is sound.\"}\n".repeat(1000) + &"{\n".repeat(1001)));
    world.write("01.txt", "Another text.");
    let error = world.update(&WordEmbedder::new(), limits(), &[]).unwrap_err().to_string();
    assert!(error.contains("table.jsonl:1001"), "{error}");
    assert_eq!((Manifest::read(&world.dir).unwrap(), all(&world.dir)), before);
    assert_eq!(fs::read_dir(world.dir.join("segments")).unwrap().count(), before.0.segments.len());
    // A file without text, and an index among its own files, add nothing.
    fs::remove_file(world.path("table.jsonl")).unwrap();
    world.write("empty.txt", "");
    world.update(&WordEmbedder::new(), limits(), &[]).unwrap();
    world.is_as_new(Storage::F16);
}

#[test]
fn an_index_among_its_files_does_not_index_itself() {
    let mut world = World::new(3);
    world.dir = world.notes.join("own.index");
    world.build(&world.dir, &WordEmbedder::new(), Storage::F16, limits());
    assert!(world.changes(&[]).is_empty());
    world.write("03.txt", "A new text.");
    assert_eq!(world.update(&WordEmbedder::new(), limits(), &[]).unwrap().added, 1);
    assert!(world.changes(&[]).is_empty());
}

#[test]
fn a_damaged_record_is_named() {
    let world = World::new(3);
    world.build(&world.dir, &WordEmbedder::new(), Storage::F16, limits());
    let path = world.dir.join("inputs-000000.json");
    let whole = fs::read_to_string(&path).unwrap();
    for torn in [whole[..whole.len() - 1].to_owned(), whole.replace("02.txt", "03.txt")] {
        fs::write(&path, torn).unwrap();
        let manifest = Manifest::read(&world.dir).unwrap();
        for error in [
            Index::open(&world.dir).err().unwrap(),
            manifest.verify(&world.dir).unwrap_err(),
            Changes::find(&world.dir, &manifest, &[], 0).unwrap_err(),
        ] {
            assert!(error.to_string().starts_with(&path.display().to_string()), "{error}");
        }
    }
}

#[test]
fn unfinished_and_unrecorded_indexes_are_refused() {
    let world = World::new(3);
    world.build(&world.dir, &WordEmbedder::new(), Storage::F16, limits());
    let changes = world.changes(&[]);
    let embedder = WordEmbedder::new();
    let path = world.dir.join("manifest.json");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("\"finished\": true", "\"finished\": false")).unwrap();
    let mut builder = Builder::open(&world.dir, Some(&embedder), limits()).unwrap();
    let error = builder.update(&changes, &mut std::iter::empty(), Some(&embedder), &mut silent).unwrap_err();
    assert!(error.to_string().contains("expected a finished build") && error.hint().is_some(), "{error}");
    drop(builder);
    let mut manifest: serde_json::Value = serde_json::from_str(&text).unwrap();
    manifest.as_object_mut().unwrap().remove("inputs");
    fs::write(&path, manifest.to_string()).unwrap();
    assert!(Changes::find(&world.dir, &Manifest::read(&world.dir).unwrap(), &[], 0).unwrap().is_none());
    Index::open(&world.dir).unwrap();
}

//! Updates that are stopped or killed: the index stays as it was, and the vectors are kept.

use super::super::killed::Slow;
use super::*;
use std::process::{Command, Stdio};

const CHILD: [&str; 3] = ["--ignored", "--exact", "retrieval::index::updating::stopped::child"];
const OUTPUT: &str = "MOOT_TEST_UPDATED_INDEX";

/// Lines of a table, which are more than a batch.
fn table(world: &World, lines: usize) {
    let line = |i: usize| format!("{{\"text\": \"Line{i} of the table.\"}}\n");
    world.write("table.jsonl", &(0..lines).map(line).collect::<String>());
}

#[test]
fn a_stopped_update_keeps_its_vectors() {
    let world = World::new(3);
    world.build(&world.dir, &WordEmbedder::new(), Storage::F16, Limits::default());
    let before = all(&world.dir);
    table(&world, 1200);
    let stopped = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        world.update(&Mortal::new(600), Limits::default(), &[]).unwrap();
    }));
    assert!(stopped.is_err());
    assert_eq!(all(&world.dir), before);
    let again = Mortal::new(usize::MAX);
    assert_eq!(world.update(&again, Limits::default(), &[]).unwrap().added, 1200);
    assert_eq!(again.embedded(), 1200 - 1024);
    assert!(!world.dir.join("embedded.bin").exists());
    world.is_as_new(Storage::F16);
}

/// Not a test: the process that is killed.
#[test]
#[ignore = "run by the test below, in a process of its own"]
fn child() {
    let Some(path) = std::env::var_os(OUTPUT) else { return };
    let embedder = Slow(WordEmbedder::new());
    let dir = PathBuf::from(path);
    let manifest = Manifest::read(&dir).unwrap();
    let large = Limits { segment: 1024, ..limits() };
    let mut builder = Builder::open(&dir, Some(&embedder), large).unwrap();
    let changes = Changes::find(&dir, &manifest, &[], u64::MAX).unwrap().unwrap();
    let parts = changes.to_read();
    let mut passages = parts.iter().flat_map(|(corpus, chunking)| corpus.passages(*chunking));
    builder.update(&changes, &mut passages, Some(&embedder), &mut silent).unwrap();
}

#[test]
fn a_killed_update_leaves_the_index_as_it_was() {
    let world = World::new(12);
    world.build(&world.dir, &WordEmbedder::new(), Storage::F16, limits());
    let before = all(&world.dir);
    world.write("02.txt", &sentences(2, 1..4));
    fs::remove_file(world.path("07.txt")).unwrap();
    table(&world, 3000);
    let mut kills = 0;
    loop {
        let mut command = Command::new(std::env::current_exe().unwrap());
        let mut child = command.args(CHILD).env(OUTPUT, &world.dir).stdout(Stdio::null()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(250 + 90 * kills));
        if let Some(status) = child.try_wait().unwrap() {
            assert!(status.success());
            break;
        }
        child.kill().unwrap();
        // It may have ended in between.
        if child.wait().unwrap().success() {
            break;
        }
        kills += 1;
        if all(&world.dir) != before {
            break; // killed after the manifest was replaced
        }
        Manifest::read(&world.dir).unwrap().verify(&world.dir).unwrap();
        assert_eq!(find(&world.dir, Mode::Hybrid, "word3x1", &wanted(3)).len(), 3);
        assert!(kills < 100, "it never ends");
    }
    assert!(kills >= 2, "the update was over before it could be killed");
    world.update(&WordEmbedder::new(), limits(), &[]).unwrap();
    world.is_as_new(Storage::F16);
    let left: Vec<_> = fs::read_dir(&world.dir).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(left.iter().all(|name| !name.to_string_lossy().starts_with("building-")), "{left:?}");
    assert_eq!(left.iter().filter(|name| name.to_string_lossy().starts_with("inputs-")).count(), 1, "{left:?}");
}

//! Builds that are killed at random moments, and one whose disk is full.

use super::*;
use moot::retrieval::index::Manifest;
use std::fs;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Where the child writes; the tests below set it.
const OUTPUT: &str = "MOOT_TEST_KILLED_INDEX";
const PASSAGES: usize = 1500;
const CHILD: [&str; 3] = ["--ignored", "--exact", "retrieval::index::killed::child"];

fn limits() -> Limits {
    Limits { segment: 64, group_from: 1_000, ..Limits::default() }
}

/// Slow, as a model is; texts whose vectors are in the journal take no time.
pub(super) struct Slow(pub(super) WordEmbedder);

impl Embedder for Slow {
    fn embed(&self, texts: &[&str], side: Side) -> Result<Vec<f32>> {
        std::thread::sleep(Duration::from_micros(300) * u32::try_from(texts.len()).unwrap());
        self.0.embed(texts, side)
    }
    fn dimension(&self) -> usize {
        self.0.dimension()
    }
    fn identity(&self) -> &str {
        self.0.identity()
    }
}

/// Not a test: the process that is killed.
#[test]
#[ignore = "run by the tests below, in a process of its own"]
fn child() {
    let Some(path) = std::env::var_os(OUTPUT) else { return };
    let embedder = Slow(WordEmbedder::new());
    let built = Builder::create(Path::new(&path), Some(&embedder), Storage::F16, limits())
        .and_then(|mut b| b.run(&corpus(), &mut passages(PASSAGES).into_iter().map(Ok), Some(&embedder), &mut silent));
    if let Err(error) = built {
        // The parent reads it.
        fs::write(Path::new(&path).with_extension("error"), error.to_string()).unwrap();
    }
}

fn spawn(path: &Path) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(CHILD).env(OUTPUT, path).stdout(Stdio::null()).spawn().unwrap()
}

#[test]
fn killed_builds_continue_and_lose_no_finished_segment() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index");
    let (mut kills, mut kept) = (0, 0);
    loop {
        let (mut child, start) = (spawn(&path), Instant::now());
        // Longer with every kill: on a busy machine a build also gets to the end of a segment.
        let patience = Duration::from_millis(150 + 70 * (kills % 5) + 10 * kills);
        let ended = loop {
            if let Some(status) = child.try_wait().unwrap() {
                break Some(status);
            }
            if start.elapsed() > patience {
                child.kill().unwrap();
                child.wait().unwrap();
                break None;
            }
            std::thread::sleep(Duration::from_millis(1));
        };
        if path.join("manifest.json").exists() {
            let manifest = Manifest::read(&path).unwrap();
            manifest.verify(&path).unwrap();
            assert!(manifest.passages() >= kept, "a finished segment was lost");
            kept = manifest.passages();
            Index::open(&path).unwrap();
            // A process may be killed behind its last step.
            if ended.is_none() && manifest.builds.last().is_some_and(|build| build.finished) {
                break;
            }
        }
        match ended {
            Some(status) => {
                assert!(status.success());
                break;
            }
            None => kills += 1,
        }
        assert!(kills < 200, "it never ends");
    }
    let error = path.with_extension("error");
    assert!(!error.exists(), "{}", fs::read_to_string(&error).unwrap_or_default());
    assert!(kills >= 2, "the build was over before it could be killed");
    let index = Index::open(&path).unwrap();
    for (id, want) in passages(PASSAGES).iter().enumerate() {
        assert_eq!(index.passage(id as u64).unwrap(), *want);
    }
    assert!(index.manifest().clusters.is_some());
}

/// A limit on the size of files simulates a full disk: writing fails, and the process continues.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_one_line_and_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index");
    let run = |blocks: usize| {
        let program = std::env::current_exe().unwrap();
        let script = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" \"$@\"");
        let mut command = Command::new("sh");
        command.arg("-c").arg(script).arg(program).args(CHILD).env(OUTPUT, &path).stdout(Stdio::null());
        assert!(command.stderr(Stdio::null()).status().unwrap().success());
    };
    // Blocks of 512 bytes or of 1024, by shell: room for the files of segments, but not for all vectors together.
    run(90);
    let told = fs::read_to_string(path.with_extension("error")).unwrap();
    assert!(told.contains("cannot write: File too large") && !told.contains('\n'), "{told}");
    assert!(told.contains("vectors.bin"), "{told}");
    let manifest = Manifest::read(&path).unwrap();
    manifest.verify(&path).unwrap();
    assert_eq!(manifest.passages(), PASSAGES as u64);
    assert!(manifest.clusters.is_none());
    let left: Vec<_> = fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(left.iter().all(|name| !name.to_string_lossy().starts_with("building-")), "{left:?}");
    assert_eq!(lines(&find(&path, Mode::Dense, "s1w1", &wanted(3))).len(), 3);
    // With room again, the same command finishes the work.
    fs::remove_file(path.with_extension("error")).unwrap();
    assert!(spawn(&path).wait().unwrap().success());
    assert!(Manifest::read(&path).unwrap().clusters.is_some());
}

/// Counts what it embeds, and is killed after so many texts.
pub(super) struct Mortal {
    inner: WordEmbedder,
    embedded: std::sync::atomic::AtomicUsize,
    lives: usize,
}

impl Mortal {
    pub(super) fn new(lives: usize) -> Self {
        Self { inner: WordEmbedder::new(), embedded: 0.into(), lives }
    }

    pub(super) fn embedded(&self) -> usize {
        self.embedded.load(std::sync::atomic::Ordering::Relaxed)
    }
}

impl Embedder for Mortal {
    fn embed(&self, texts: &[&str], side: Side) -> Result<Vec<f32>> {
        assert!(self.embedded() < self.lives, "killed");
        self.embedded.fetch_add(texts.len(), std::sync::atomic::Ordering::Relaxed);
        self.inner.embed(texts, side)
    }
    fn dimension(&self) -> usize {
        self.inner.dimension()
    }
    fn identity(&self) -> &str {
        self.inner.identity()
    }
}

/// A build of 2,000 passages in one segment; a panic of the embedder ends it as a kill does.
fn mortal(dir: &Path, embedder: &Mortal, count: usize) -> bool {
    let built = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let mut builder = Builder::create(dir, Some(embedder), Storage::F16, Limits::default()).unwrap();
        builder.run(&corpus(), &mut passages(count).into_iter().map(Ok), Some(embedder), &mut silent).unwrap();
    }));
    built.is_ok()
}

#[test]
fn vectors_of_an_unfinished_segment_are_not_computed_again() {
    let folder = tempfile::tempdir().unwrap();
    let (dir, whole) = (folder.path().join("index"), folder.path().join("whole"));
    assert!(!mortal(&dir, &Mortal::new(1000), 2000), "it was killed");
    assert_eq!(Manifest::read(&dir).unwrap().passages(), 0, "no segment was finished");
    // The last record is cut in the middle, as by a kill while it was written.
    let journal = dir.join("embedded.bin");
    let length = fs::metadata(&journal).unwrap().len();
    fs::OpenOptions::new().write(true).open(&journal).unwrap().set_len(length - 7).unwrap();
    let again = Mortal::new(usize::MAX);
    assert!(mortal(&dir, &again, 2000));
    assert_eq!(again.embedded(), 2000 - 1024 + 1, "two batches of 512 less the cut record were kept");
    assert!(mortal(&whole, &Mortal::new(usize::MAX), 2000) && !journal.exists());
    // Names of files in the lexical part differ from build to build; vectors do not.
    let vectors = |dir: &Path| fs::read(dir.join("segments/000000/vectors.bin")).unwrap();
    assert!(vectors(&dir) == vectors(&whole), "as if never killed");
}

#[test]
fn vectors_outlive_an_error_before_the_first_batch() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("index");
    let faulty = || {
        let embedder = Mortal::new(usize::MAX);
        let mut builder = Builder::create(&dir, Some(&embedder), Storage::F16, Limits::default()).unwrap();
        let mut passages = std::iter::once(Err(moot::MootError::Usage("no JSON".into())));
        builder.run(&corpus(), &mut passages, Some(&embedder), &mut silent).unwrap_err().to_string()
    };
    assert_eq!(faulty(), "no JSON");
    assert!(!dir.exists(), "nothing was embedded, and nothing is left");
    assert!(!mortal(&dir, &Mortal::new(1000), 2000), "it was killed");
    assert_eq!(faulty(), "no JSON");
    assert!(!Manifest::read(&dir).unwrap().builds[0].finished);
    let again = Mortal::new(usize::MAX);
    assert!(mortal(&dir, &again, 2000));
    assert_eq!(again.embedded(), 2000 - 1024);
}

#[test]
fn vectors_of_other_passages_are_not_taken() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("index");
    assert!(!mortal(&dir, &Mortal::new(1), 700));
    let other: Vec<Passage> = passages(700).into_iter().rev().collect();
    let embedder = Mortal::new(usize::MAX);
    let mut builder = Builder::create(&dir, Some(&embedder), Storage::F16, Limits::default()).unwrap();
    builder.run(&corpus(), &mut other.into_iter().map(Ok), Some(&embedder), &mut silent).unwrap();
    assert_eq!(embedder.embedded(), 700);
    // A journal of another embedder, or something else, is replaced.
    let dir = folder.path().join("replaced");
    assert!(!mortal(&dir, &Mortal::new(1), 700));
    fs::write(dir.join("embedded.bin"), "moot vectors 1, segment 1").unwrap();
    let embedder = Mortal::new(usize::MAX);
    assert!(mortal(&dir, &embedder, 700));
    assert_eq!(embedder.embedded(), 700);
}

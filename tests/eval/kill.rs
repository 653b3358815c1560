//! A run that is killed, again and again, until it is done.

use super::journal::{debate, madam_header, questions as debated, reply};
use super::runner::{answering, run_to};
use super::{concluded, questions};
use moot::eval::record::Writer;
use moot::eval::record::reader::Record;
use moot::question::Question;
use std::collections::HashSet;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// Where the child writes; the test below sets it.
const OUTPUT: &str = "MOOT_TEST_KILLED_RUN";
const QUESTIONS: usize = 40;

/// Not a test: the process that is killed.
#[test]
#[ignore = "run by the test below, in a process of its own"]
fn child() {
    let Some(path) = std::env::var_os(OUTPUT) else { return };
    let (method, _) = answering(|_: &Question| {
        std::thread::sleep(Duration::from_millis(10));
        Ok(concluded(&["yes"]))
    });
    run_to(Path::new(&path), &questions(QUESTIONS), &method, 4, &AtomicBool::new(false), &mut |_| {}).unwrap();
}

/// Not a test: one question of 30 documents, some milliseconds a call.
#[test]
#[ignore = "run by the tests below, in a process of its own"]
fn long_child() {
    let Some(path) = std::env::var_os(OUTPUT) else { return };
    let mut writer = Writer::open(Path::new(&path), &madam_header()).unwrap();
    debate(&mut writer, &debated(2, 30), 2, |call| {
        std::thread::sleep(Duration::from_micros(300));
        Ok(reply(call))
    })
    .unwrap();
}

/// Not a test: holds the record open.
#[test]
#[ignore = "run by the tests below, in a process of its own"]
fn holding_child() {
    let Some(path) = std::env::var_os(OUTPUT) else { return };
    let _writer = Writer::open(Path::new(&path), &madam_header()).unwrap();
    std::thread::sleep(Duration::from_secs(60));
}

#[test]
fn a_second_process_is_refused_until_the_first_is_gone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out.jsonl");
    let mut child = spawn_of("eval::kill::holding_child", &path);
    while length(&path) == 0 {
        assert!(child.try_wait().unwrap().is_none(), "the child ended");
        std::thread::sleep(Duration::from_millis(2));
    }
    let before = fs::read(&path).unwrap();
    let refused = Writer::open(&path, &madam_header()).err().map(|e| e.to_string()).unwrap_or_default();
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(refused.contains("another process is writing this record"), "{refused}");
    assert_eq!(fs::read(&path).unwrap(), before);
    assert!(Writer::open(&path, &madam_header()).is_ok());
}

fn spawn(path: &Path) -> Child {
    spawn_of("eval::kill::child", path)
}

fn spawn_of(test: &str, path: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", test])
        .env(OUTPUT, path)
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

fn length(path: &Path) -> u64 {
    fs::metadata(path).map_or(0, |m| m.len())
}

#[test]
fn killed_runs_neither_lose_nor_repeat_a_question() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out.jsonl");
    let mut finished: HashSet<String> = HashSet::new();
    let mut kills = 0;
    loop {
        let (mut child, before, start) = (spawn(&path), length(&path), Instant::now());
        // Some lines of progress, then a kill at a random moment.
        let ended = loop {
            if let Some(status) = child.try_wait().unwrap() {
                break Some(status);
            }
            if length(&path) > before + 1500 * (kills % 4 + 1) || start.elapsed() > Duration::from_secs(60) {
                child.kill().unwrap();
                child.wait().unwrap();
                break None;
            }
            std::thread::sleep(Duration::from_millis(1));
        };
        // A duplicate would be an error here.
        let now: HashSet<String> = Record::read(&path).unwrap().questions.into_iter().map(|q| q.question.id).collect();
        assert!(finished.is_subset(&now), "a finished question was lost");
        finished = now;
        match ended {
            Some(status) => {
                assert!(status.success());
                break;
            }
            None => kills += 1,
        }
    }
    assert_eq!(finished.len(), QUESTIONS);
    assert!(kills >= 2, "the run was over before it could be killed");
}

/// Two debates of 30 documents in flight, killed at random moments: no recorded call is lost or recorded twice.
#[test]
fn killed_debates_continue_from_their_calls() {
    let folder = tempfile::tempdir().unwrap();
    let (path, whole) = (folder.path().join("out.jsonl"), folder.path().join("whole.jsonl"));
    let calls = |path: &Path| {
        let text = fs::read(path).unwrap_or_default();
        text.split_inclusive(|&b| b == b'\n')
            .filter(|line| line.starts_with(b"{\"of\"") && line.ends_with(b"\n"))
            .count()
    };
    let (mut kills, mut before) = (0, 0);
    loop {
        let (mut child, start) = (spawn_of("eval::kill::long_child", &path), Instant::now());
        let ended = loop {
            if let Some(status) = child.try_wait().unwrap() {
                break Some(status);
            }
            if calls(&path) > before + 10 * (kills % 3 + 1) || start.elapsed() > Duration::from_secs(60) {
                child.kill().unwrap();
                child.wait().unwrap();
                break None;
            }
            std::thread::sleep(Duration::from_micros(500));
        };
        let now = calls(&path);
        assert!(now >= before, "recorded calls were lost");
        before = now;
        match ended {
            Some(status) => {
                assert!(status.success());
                break;
            }
            None => kills += 1,
        }
    }
    assert!(kills >= 2, "the run was over before it could be killed");
    assert_eq!(before, 2 * 93, "each call has one line");
    let mut writer = Writer::open(&whole, &madam_header()).unwrap();
    debate(&mut writer, &debated(2, 30), 1, |call| Ok(reply(call))).unwrap();
    let replies = |path: &Path| {
        let (record, ledger) = Record::read_whole(path).unwrap();
        assert!(ledger.altered.is_empty() && ledger.journal.is_empty());
        let mut said: Vec<_> = record
            .questions
            .into_iter()
            .map(|q| (q.question.id, q.conclusion, q.calls.into_iter().map(|c| c.reply).collect::<Vec<_>>()))
            .collect();
        said.sort_by(|a, b| a.0.cmp(&b.0));
        said
    };
    assert_eq!(replies(&path), replies(&whole));
}

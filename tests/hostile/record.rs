//! Records that are not regular files, or exceed any memory; limits of the address space; counts that wrap.
#![cfg(unix)]

use crate::cli::program::{THREE, Workspace, moot, text, wait_for};
use crate::eval::{answered, header};
use moot::eval::record::reader::Record;
use moot::eval::record::{Reader, Writer};
use moot::generation::Usage;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

/// Far more than a refusal takes.
const PATIENCE: Duration = Duration::from_secs(20);

fn pipe(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

/// The exit code and the errors of `command`, which is killed where it does not end by itself.
fn ended(mut command: Command) -> (Option<i32>, String) {
    let mut child = command.spawn().unwrap();
    let started = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if started.elapsed() > PATIENCE {
            child.kill().unwrap();
            panic!("{command:?} does not end");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    let output = child.wait_with_output().unwrap();
    (output.status.code(), text(&output.stderr))
}

#[test]
fn only_a_regular_file_is_a_record() {
    let workspace = Workspace::new();
    pipe(&workspace.path("pipe"));
    let _listening = UnixListener::bind(workspace.path("socket")).unwrap();
    for (name, kind) in [("/dev/zero", "a device"), ("pipe", "a named pipe"), ("socket", "a socket"), (".", "a folder")]
    {
        let mut command = moot(["score", name]);
        command.current_dir(workspace.path(""));
        let (code, said) = ended(command);
        assert_eq!(code, Some(1), "{name}: {said}");
        assert!(said.contains(&format!("expected a regular file, found {kind}")), "{name}: {said}");
    }
    // As outputs they are refused before the model is looked for, which is not there.
    for (name, kind) in [("/dev/full", "a device"), ("/dev/null", "a device"), ("pipe", "a named pipe")] {
        let mut command = moot(["run", THREE, "-o", name, "--model", "nowhere.gguf"]);
        command.current_dir(workspace.path(""));
        let (code, said) = ended(command);
        assert_eq!(code, Some(1), "{name}: {said}");
        assert!(said.contains(&format!("{name}: expected a regular file, found {kind}")), "{name}: {said}");
    }
    // As data sets, queries and weights too.
    for typed in [
        &["run", "pipe", "-o", "out.jsonl"][..],
        &["sources", "show", "pipe"],
        &["sources", "estimate", "pipe", "-o", "w.json"],
        &["run", THREE, "-o", "out.jsonl", "--source-weights", "pipe"],
        &["lab", "bench", "--calls", "pipe", "--model", "tiny.gguf"],
        &["record", "show", "pipe"],
        &["record", "calls", "pipe"],
    ] {
        let mut command = moot(typed.iter().copied());
        command.current_dir(workspace.path("")).env("MOOT_CACHE", workspace.path(""));
        let (code, said) = ended(command);
        assert_eq!(code, Some(1), "{typed:?}: {said}");
        assert!(said.contains("expected a regular file, found a named pipe"), "{typed:?}: {said}");
    }
    assert!(!workspace.path("out.jsonl").exists());
}

#[test]
fn a_line_without_an_end_is_refused_with_its_number() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("r.jsonl");
    let mut writer = Writer::open(&path, &header()).unwrap();
    writer.append(&answered("q0", &["yes"], &["no"], &["yes"])).unwrap();
    drop(writer);
    // A sparse file of three gigabytes.
    let whole = fs::metadata(&path).unwrap().len();
    let mut file = OpenOptions::new().write(true).open(&path).unwrap();
    file.set_len(whole + (3 << 30)).unwrap();
    let started = Instant::now();
    let error = Record::read(&path).unwrap_err().to_string();
    assert!(error.ends_with("r.jsonl:4: expected a line of at most 268435456 bytes, found more"), "{error}");
    assert!(started.elapsed() < PATIENCE, "{:?}", started.elapsed());
    let error = Writer::open(&path, &header()).err().unwrap().to_string();
    assert!(error.contains("r.jsonl:4: expected a line of at most"), "{error}");
    assert_eq!(fs::metadata(&path).unwrap().len(), whole + (3 << 30), "what is no torn line is left alone");
    // The header is a line like the others.
    file.set_len(0).unwrap();
    file.set_len(3 << 30).unwrap();
    file.write_all(b"{\"moot_record\":").unwrap();
    let error = Reader::open(&path).err().unwrap().to_string();
    assert!(error.ends_with("r.jsonl:1: expected a line of at most 268435456 bytes, found more"), "{error}");
}

fn signalled(child: &Child, signal: &str) {
    assert!(Command::new("kill").args([format!("-{signal}"), child.id().to_string()]).status().unwrap().success());
}

#[test]
fn an_interrupted_run_ends_with_the_code_of_its_signal_and_prints_how_to_continue() {
    for (signal, code) in [("INT", 130), ("TERM", 143)] {
        let workspace = Workspace::new();
        let path = workspace.path("out.jsonl");
        let mut child = workspace.run_of(40, "out.jsonl").spawn().unwrap();
        assert!(wait_for(&mut child, &path, 1));
        signalled(&child, signal);
        let output = child.wait_with_output().unwrap();
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{said}");
        assert!(said.contains("run the same command to resume"), "{said}");
        assert!(Record::read(&path).unwrap().questions.len() < 120);
    }
}

#[test]
fn a_record_that_is_removed_during_its_run_is_noticed() {
    for replaced in [false, true] {
        let workspace = Workspace::new();
        let path = workspace.path("out.jsonl");
        let mut child = workspace.run_of(40, "out.jsonl").spawn().unwrap();
        assert!(wait_for(&mut child, &path, 1));
        fs::remove_file(&path).unwrap();
        if replaced {
            fs::write(&path, "notes").unwrap();
        }
        let output = child.wait_with_output().unwrap();
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains("the record was deleted during the run, and these questions are lost"), "{said}");
        assert!(!said.contains("recorded in") && !said.contains("interrupted"), "{said}");
        assert!(!replaced || fs::read(&path).unwrap() == b"notes", "another file is left alone");
    }
}

#[test]
fn input_beyond_the_address_space_is_refused() {
    let workspace = Workspace::new();
    let typed = "ulimit -v 4194304; exec \"$0\" ask When? --docs notes.txt --model tiny.gguf --offline --kv-memory 6G";
    fs::write(workspace.path("notes.txt"), "The bridge was closed in 1998.").unwrap();
    let mut command = Command::new("sh");
    command.args(["-c", typed, env!("CARGO_BIN_EXE_moot")]).current_dir(workspace.path(""));
    command.env("MOOT_CACHE", workspace.path("")).stdin(std::process::Stdio::null());
    command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    let (code, said) = ended(command);
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("--kv-memory 6442450944: expected at most 4294967296 bytes"), "{said}");
}

#[test]
fn counts_of_tokens_do_not_wrap() {
    let most = Usage { prompt: usize::MAX, reused: usize::MAX, computed: usize::MAX, generated: usize::MAX };
    let mut sum = most;
    sum += most;
    assert_eq!(sum, most);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("r.jsonl");
    let mut record = answered("q0", &["yes"], &["no"], &["yes"]);
    record.calls.iter_mut().for_each(|call| call.usage = most);
    let again = record.calls[0].clone();
    record.calls.push(again);
    Writer::open(&path, &header()).unwrap().append(&record).unwrap();
    let output = moot(["score", path.to_str().unwrap(), "--json"]).output().unwrap();
    let scores: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let tokens = scores["records"][0]["metrics"]["prompt-tokens"]["mean"].as_f64().unwrap();
    assert!(tokens > 3e19, "{tokens}");
    let path = path.to_str().unwrap();
    for typed in [&["record", "show", path, "1"][..], &["record", "calls", path]] {
        assert!(moot(typed.iter().copied()).output().unwrap().status.success(), "{typed:?}");
    }
}

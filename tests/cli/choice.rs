//! `moot ask` without a model where its streams are pipes: the program itself.

use super::program::text;
use std::fs;
use std::io::Write;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Stdio};

/// The messages of a question by an unknown method, which is an error behind the choice of a model and before its file is
/// needed. "2" can be read from standard input, and a hub accepts connections.
fn said(folder: &Path) -> String {
    let hub = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", hub.local_addr().unwrap());
    let mut command = Command::new(env!("CARGO_BIN_EXE_moot"));
    command.args(["ask", "When?", "--docs", "notes.txt", "--method", "oracle"]).current_dir(folder);
    command.env("MOOT_CACHE", folder.join("cache")).env("HF_HOME", folder.join("hf")).env("HF_ENDPOINT", endpoint);
    for variable in ["MOOT_MODEL", "MOOT_OFFLINE", "HF_HUB_OFFLINE", "HF_HUB_CACHE"] {
        command.env_remove(variable);
    }
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // The program may have ended already.
    let _ = child.stdin.take().unwrap().write_all(b"2\n");
    let output = child.wait_with_output().unwrap();
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("oracle"), "{said}");
    said
}

#[test]
fn a_pipe_is_asked_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let said = said(folder.path());
    assert!(!said.contains("No model is named") && !said.contains("as chosen before"), "{said}");
    assert!(!folder.path().join("cache/told/model").exists());
}

#[test]
fn an_earlier_choice_holds_in_a_pipe() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir_all(folder.path().join("cache/told")).unwrap();
    fs::write(folder.path().join("cache/told/model"), "smollm2-135m\n").unwrap();
    let said = said(folder.path());
    assert!(said.contains("model smollm2-135m, as chosen before"), "{said}");
}

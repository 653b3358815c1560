//! `moot mcp`, the program.

use super::*;
use crate::cli::program::{moot, text};
use crate::serve::{PATIENCE, tiny};
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// The program, with a client's end of its streams.
struct Program {
    _folder: tempfile::TempDir,
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
}

impl Program {
    fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let model = tiny(folder.path());
        Self::with(folder, &["-m", &model])
    }

    fn with(folder: tempfile::TempDir, typed: &[&str]) -> Self {
        let always = ["mcp", "--offline", "--max-tokens", "8", "--kv-memory", "64M"];
        let mut command = moot(always.into_iter().chain(typed.iter().copied()));
        command.stdin(Stdio::piped()).env("MOOT_CACHE", folder.path().join("cache"));
        let mut child = command.spawn().unwrap();
        let (input, output) = (child.stdin.take(), child.stdout.take().unwrap());
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            BufReader::new(output).lines().map_while(Result::ok).try_for_each(|line| sender.send(line))
        });
        Self { _folder: folder, child, input, lines }
    }

    fn send(&mut self, message: &Value) {
        self.send_text(&message.to_string());
    }

    fn send_text(&mut self, line: &str) {
        writeln!(self.input.as_mut().unwrap(), "{line}").unwrap();
    }

    /// The next line, which must be a message: nothing else is on standard output.
    fn next(&mut self) -> Value {
        let line = self.lines.recv_timeout(PATIENCE).unwrap();
        let value: Value = serde_json::from_str(&line).unwrap_or_else(|e| panic!("{e}: {line}"));
        assert_eq!(value["jsonrpc"], "2.0", "{line}");
        value
    }

    /// The response to `message`, which is the next line.
    fn ask(&mut self, message: Value) -> Value {
        self.send(&message);
        let response = self.next();
        assert_eq!(response["id"], message["id"], "{response}");
        response
    }

    fn result(&mut self, message: Value) -> Value {
        let response = self.ask(message);
        assert!(response["result"].is_object(), "{response}");
        response["result"].clone()
    }

    /// Ends the input, and waits for the program; what it wrote to standard error.
    fn end(mut self) -> String {
        drop(self.input.take());
        let start = Instant::now();
        while self.child.try_wait().unwrap().is_none() {
            assert!(start.elapsed() < PATIENCE, "it does not end");
            std::thread::sleep(Duration::from_millis(20));
        }
        assert!(self.child.wait().unwrap().success());
        assert_eq!(self.lines.try_iter().collect::<Vec<_>>(), Vec::<String>::new());
        let mut noted = Vec::new();
        self.child.stderr.take().unwrap().read_to_end(&mut noted).unwrap();
        text(&noted)
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
    }
}

#[test]
fn an_initialized_client_is_answered_while_the_models_are_loaded() {
    let mut program = Program::start();
    let about = program.result(initialize(INITIALIZED));
    assert_eq!((&about["protocolVersion"], &about["serverInfo"]["name"]), (&json!(INITIALIZED), &json!("moot")));
    program.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
    let tools = program.result(request(1, "tools/list", json!({})));
    check_tools(&tools);
    let result = program.result(call(2, "ask", question()));
    assert_eq!(given(&tools, "ask", &result)["calls"], 2);
    assert!(result.get("resultType").is_none());
    assert_eq!(program.result(request("p", "ping", json!({}))), json!({}));
    program.end();
}

#[test]
fn a_stateless_client_needs_no_beginning() {
    let mut program = Program::start();
    let tools = program.result(stateless(request(1, "tools/list", json!({}))));
    check_tools(&tools);
    let result = program.result(stateless(call(2, "ask", question())));
    assert_eq!((given(&tools, "ask", &result)["calls"].as_u64(), &result["resultType"]), (Some(2), &json!("complete")));
    let about = program.result(request(3, "server/discover", json!({})));
    assert_eq!(about["supportedVersions"][0], STATELESS);
    assert_eq!(program.ask(stateless(request(4, "initialize", json!({}))))["error"]["code"], -32601);
    program.end();
}

#[test]
fn what_is_no_message_is_refused_and_the_next_one_is_read() {
    let mut program = Program::start();
    for (line, code) in [
        ("{", -32700),
        ("[]", -32600),
        ("\u{feff}{}", -32700),
        (r#"{"jsonrpc": "2.0", "id": 1, "method": 5}"#, -32600),
        (r#"{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "nothing"}}"#, -32602),
    ] {
        program.send_text(line);
        assert_eq!(program.next()["error"]["code"], code, "{line}");
    }
    program.send_text("");
    // A line beyond the limit is not held.
    let long = format!(r#"{{"jsonrpc": "2.0", "id": 1, "method": "ping", "x": "{}"}}"#, "x".repeat(17 << 20));
    program.send_text(&long);
    assert_eq!(program.next()["error"]["code"], -32700);
    for (tool, arguments, expected) in wrong_arguments() {
        let result = program.result(call(7, tool, arguments));
        assert!(failed(&result).contains(expected), "{tool}: expected {expected}, found {result}");
    }
    assert_eq!(program.result(request(8, "ping", json!({}))), json!({}));
    program.end();
}

#[test]
fn calls_run_at_once_tell_their_progress_and_are_cancelled() {
    let mut program = Program::start();
    program.send(&followed(call("long", "ask", long_question()), 5));
    program.send(&followed(call("short", "ask", question()), "t"));
    let (mut numbers, mut done) = (Vec::new(), None);
    while done.is_none() {
        let message = program.next();
        if message["params"]["progressToken"] == "t" {
            numbers.push(message["params"]["progress"].as_u64().unwrap());
        } else if message["id"] == "short" {
            done = Some(message["result"]["structuredContent"]["calls"].clone());
        } else {
            assert_eq!(message["params"]["progressToken"], 5, "the long call goes on: {message}");
        }
    }
    assert_eq!(done, Some(json!(2)));
    assert!(numbers.len() >= 3 && numbers == (1..=numbers.len() as u64).collect::<Vec<_>>(), "{numbers:?}");

    program.send(&call("long", "ask", question()));
    let next = |program: &mut Program| loop {
        let message = program.next();
        if message["params"]["progressToken"] != 5 {
            return message;
        }
    };
    assert_eq!(next(&mut program)["error"]["code"], -32600, "the id is in use");
    program.send(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": "long" } }));
    // It ends without a response, and its id is free.
    let start = Instant::now();
    loop {
        program.send(&call("long", "sources", json!({})));
        let message = next(&mut program);
        if message["result"].is_object() {
            assert!(failed(&message["result"]).contains("no corpus"), "{message}");
            break;
        }
        assert!(start.elapsed() < PATIENCE);
        std::thread::sleep(Duration::from_millis(20));
    }
    program.end();
}

#[test]
fn the_end_of_the_input_ends_calls_and_the_program() {
    let mut program = Program::start();
    program.send(&followed(call(1, "ask", long_question()), 1));
    while program.next()["params"]["message"] != "stage 1: 40 calls" {}
    drop(program.input.take());
    let start = Instant::now();
    while program.child.try_wait().unwrap().is_none() {
        assert!(start.elapsed() < PATIENCE, "it does not end");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(program.child.wait().unwrap().success());
}

#[test]
fn a_corpus_is_searched_and_records_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let model = tiny(folder.path());
    let at = |name: &str| folder.path().join(name).display().to_string();
    std::fs::create_dir(at("notes")).unwrap();
    std::fs::write(at("notes/board.txt"), "The Orrin ferry stopped in 1968.\n").unwrap();
    let (notes, records) = (at("notes"), at("asked"));
    let typed = ["-m", &model, "--corpus", &notes, "--embedder", "none", "--records", &records];
    let mut program = Program::with(folder, &typed);
    let tools = program.result(request(1, "tools/list", json!({})));
    let found = program.result(call(2, "search", json!({ "query": "Orrin ferry" })));
    assert_eq!(given(&tools, "search", &found)["passages"].as_array().unwrap().len(), 1);
    assert!(found["content"][0]["text"].as_str().unwrap().contains("board.txt:1"), "{found}");
    let sources = program.result(call(3, "sources", json!({})));
    assert_eq!(given(&tools, "sources", &sources)["passages"], 1);
    let id = given(&tools, "ask", &program.result(call(4, "ask", question())))["id"].as_str().unwrap().to_owned();
    assert!(std::path::Path::new(&records).join(format!("{id}.jsonl")).is_file());
    program.end();
}

#[test]
fn a_model_that_cannot_be_loaded_ends_the_program_with_a_line() {
    let folder = tempfile::tempdir().unwrap();
    let mut program = Program::with(folder, &["-m", "nothing.gguf"]);
    let status = program.child.wait().unwrap();
    let mut noted = Vec::new();
    program.child.stderr.take().unwrap().read_to_end(&mut noted).unwrap();
    assert!(!status.success() && text(&noted).contains("nothing.gguf"), "{}", text(&noted));
}

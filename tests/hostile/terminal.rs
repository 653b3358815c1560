//! Names that were made to steer a terminal, on their way to one.

use crate::eval::{answered, header};
use moot::eval::record::Writer;
use moot::generation::{Message, Role};
use moot::retrieval::index::{Builder, Limits, Storage};
use moot::retrieval::{Origin, Passage};
use moot::transcript::{CallRecord, QuestionRecord};
use std::fs;
use std::path::Path;
use std::process::Command;

/// ESC, OSC and its end, C1, a bidi override, an Arabic letter mark, a zero-width space, a tag.
const HOSTILE: &str = "na\x1b[2Jm\x1b]0;t\x07e\u{9b}31m\u{202e}\u{61c}\u{200b}\u{e0041}";

/// The program's output, both streams.
fn printed(folder: &Path, typed: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_moot"));
    command.args(typed).current_dir(folder).env("MOOT_CACHE", folder.join("cache")).env("MOOT_OFFLINE", "1");
    // As on a terminal: styles of our own are not stripped.
    let output = command.env("CLICOLOR_FORCE", "1").env("HF_HOME", folder.join("hf")).output().unwrap();
    String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap()
}

fn harmless(text: &str, of: &str) {
    // Our own styles: ESC, a bracket, numbers, m. There is none in the name.
    let mut parts = text.split("\u{1b}[");
    let first = parts.next().unwrap_or_default().to_owned();
    let styled = |part: &str| match part.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';').strip_prefix('m')
    {
        Some(rest) => rest.to_owned(),
        None => format!("\u{1b}{part}"),
    };
    let ours = first + &parts.map(styled).collect::<String>();
    let steers = |c: char| {
        (c.is_control() && c != '\n')
            || "\u{202e}\u{61c}\u{200b}".contains(c)
            || ('\u{e0000}'..='\u{e007f}').contains(&c)
    };
    assert!(!ours.contains(steers), "{of}: {ours:?}");
    assert!(text.contains("na") && (text.contains("[2Jm") || text.contains("\\u001b[2Jm")), "{of}: {text:?}");
}

#[test]
fn records_reach_no_terminal_as_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("r.jsonl");
    let mut writer = Writer::open(&path, &header()).unwrap();
    writer.append(&answered("q0", &["yes"], &["no"], &["yes"])).unwrap();
    drop(writer);
    let record = fs::read_to_string(&path).unwrap();
    let (first, rest) = record.split_once('\n').unwrap();
    let mut first: serde_json::Value = serde_json::from_str(first).unwrap();
    hostile(&mut first);
    fs::write(&path, format!("{first}\n{rest}")).unwrap();
    for typed in [&["score", "r.jsonl"][..], &["score", "r.jsonl", "--json"]] {
        harmless(&printed(folder.path(), typed), typed[typed.len() - 1]);
    }
}

/// Every command that prints what a record holds, with all of a question, its calls and its answers hostile.
#[test]
fn no_text_of_a_record_reaches_a_terminal_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let mut record = answered("q0", &[HOSTILE], &["no"], &[HOSTILE]);
    let messages = vec![Message::new(Role::User, HOSTILE)];
    let first = record.calls[0].clone();
    let call = CallRecord { role: HOSTILE.into(), messages, reply: HOSTILE.into(), ..first };
    record.question.text = HOSTILE.into();
    record.question.slices = vec![HOSTILE.into()];
    record.calls = vec![call];
    let error = Some(format!("error {HOSTILE}"));
    let failed = QuestionRecord { conclusion: None, error, ..answered("q1", &["yes"], &[], &[]) };
    for (name, other) in [("r.jsonl", "no"), ("s.jsonl", HOSTILE)] {
        let mut writer = Writer::open(&folder.path().join(name), &header()).unwrap();
        let mut record = record.clone();
        record.conclusion.as_mut().unwrap().answers[0].text = other.into();
        writer.append(&record).unwrap();
        writer.append(&failed).unwrap();
    }
    for typed in [
        "show r.jsonl",
        "show s.jsonl 1 --full",
        "show s.jsonl nothing",
        "calls r.jsonl",
        "score r.jsonl s.jsonl --all",
        "score r.jsonl --json",
        "compare r.jsonl s.jsonl --all-slices",
        "compare r.jsonl s.jsonl --all-slices --format csv",
        "compare r.jsonl s.jsonl --all-slices --format markdown",
        "compare r.jsonl s.jsonl --format json",
        "compare r.jsonl s.jsonl --changed",
        "replay s.jsonl",
        "replay s.jsonl --json",
        "verify s.jsonl --hashes --json",
        "sources estimate s.jsonl -o w.json",
        "merge r.jsonl s.jsonl -o m.jsonl",
    ] {
        let words: Vec<&str> = typed.split(' ').collect();
        let text = printed(folder.path(), &words);
        assert!(!text.is_empty(), "{typed}");
        text.lines().for_each(|line| steers_nothing(line, typed));
    }
}

/// A line has no control characters except in sequences that set colours.
fn steers_nothing(line: &str, of: &str) {
    let plain = anstream::adapter::strip_str(line).to_string();
    let steers = |c: char| {
        (c.is_control() && c != '\t')
            || "\u{202e}\u{61c}\u{200b}".contains(c)
            || ('\u{e0000}'..='\u{e007f}').contains(&c)
    };
    assert!(!plain.contains(steers), "{of}: {plain:?}");
    for part in line.split('\x1b').skip(1) {
        let end = part.trim_start_matches(|c: char| "[;".contains(c) || c.is_ascii_digit());
        assert!(end.starts_with('m'), "{of}: {part:?}");
    }
}

/// Replaces every name of a model or dataset by the name.
fn hostile(value: &mut serde_json::Value) {
    let Some(fields) = value.as_object_mut() else { return };
    for (key, value) in fields {
        if value.is_string() && matches!(key.as_str(), "model" | "id" | "name" | "dataset") {
            *value = HOSTILE.into();
        }
        hostile(value);
    }
}

#[test]
fn indexes_and_models_reach_no_terminal_as_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let index = folder.path().join("index");
    let mut builder = Builder::create(&index, None, Storage::F16, Limits::default()).unwrap();
    let origin = Origin { file: HOSTILE.into(), id: None, line: None, page: None, characters: 0..1 };
    let text = format!("words {HOSTILE}");
    let passage = Passage {
        text,
        title: Some(HOSTILE.into()),
        source: Some(HOSTILE.into()),
        date: None,
        url: None,
        notes: Vec::new(),
        origin,
    };
    builder.run(&[HOSTILE.into()], &mut [Ok(passage)].into_iter(), None, &mut |_| Ok(())).unwrap();
    drop(builder);
    let model = format!("{HOSTILE}.gguf");
    let tiny = concat!(env!("CARGO_MANIFEST_DIR"), "/models/tests/golden/tiny/llama.gguf");
    fs::copy(tiny, folder.path().join(&model)).unwrap();
    let model = model.as_str();
    for typed in [
        &["index", "info", "index"][..],
        &["index", "info", "index", "--json"],
        &["index", "search", "index", "words"],
        &["index", "search", "index", "words", "--json"],
        &["models", "info", model],
        &["models", "info", model, "--json"],
        &["models", "verify", model],
        &["models", "verify", model, "--json"],
        &["models", "info", HOSTILE],
    ] {
        harmless(&printed(folder.path(), typed), &typed.join(" "));
    }
}

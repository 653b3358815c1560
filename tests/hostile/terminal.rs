//! Names that were made to steer a terminal, on their way to one.

use crate::eval::{answered, header};
use moot::eval::record::Writer;
use moot::retrieval::index::{Builder, Limits, Storage};
use moot::retrieval::{Origin, Passage};
use std::fs;
use std::path::Path;
use std::process::Command;

/// ESC, OSC and its end, C1, a bidi override, an Arabic letter mark, a zero-width space, a tag.
const HOSTILE: &str = "na\x1b[2Jm\x1b]0;t\x07e\u{9b}31m\u{202e}\u{61c}\u{200b}\u{e0041}";

/// What the program prints, on both streams.
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

/// Puts the name in the place of every name of a model or dataset.
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

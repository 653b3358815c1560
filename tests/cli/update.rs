//! `moot index update` as people type it, on words alone: no model is needed.

use super::program::{moot, text};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

/// Runs in `folder`, where the notes are.
fn index(folder: &Path, typed: &[&str]) -> Output {
    moot(["index"].into_iter().chain(typed.iter().copied())).current_dir(folder).output().unwrap()
}

fn said(folder: &Path, typed: &[&str]) -> String {
    let out = index(folder, typed);
    assert!(out.status.success(), "{}", text(&out.stderr));
    format!("{}{}", text(&out.stdout), text(&out.stderr))
}

fn built() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let notes = folder.path().join("notes");
    fs::create_dir(&notes).unwrap();
    for (name, content) in [
        ("bridge.md", "# The bridge\n\nThe council opened the bridge in 1932."),
        ("ferry.txt", "The ferry stopped when the bridge was opened."),
        ("mill.txt", "The mill burned down in the spring of 1905."),
    ] {
        fs::write(notes.join(name), content).unwrap();
    }
    said(folder.path(), &["build", "notes", "-o", "notes.index", "--embedder", "none"]);
    (folder, notes)
}

#[test]
fn an_index_follows_its_files() {
    let (folder, notes) = built();
    let folder = folder.path();
    assert!(said(folder, &["info", "notes.index"]).contains("3, none changed after it was built"));
    assert!(!said(folder, &["search", "notes.index", "bridge"]).contains("older than its files"));
    assert!(said(folder, &["update", "notes.index"]).contains("notes.index: no file is new, changed or deleted"));

    fs::write(notes.join("ferry.txt"), "The ferry stopped in 1931, before the zeppelin came.").unwrap();
    fs::write(notes.join("tower.txt"), "The tower is older than the bridge: 1874.").unwrap();
    fs::remove_file(notes.join("mill.txt")).unwrap();
    let found = said(folder, &["search", "notes.index", "mill"]);
    let older = "notes.index is older than its files: 1 file new, 1 changed, 1 deleted (moot index update notes.index)";
    assert!(found.contains(older) && found.contains("burned down"), "{found}");
    let info = said(folder, &["info", "notes.index"]);
    assert!(info.contains("3, 1 new, 1 changed, 1 deleted after it was built"), "{info}");
    let info: Value = serde_json::from_str(&said(folder, &["info", "notes.index", "--json"])).unwrap();
    assert_eq!((&info["files"]["new"], &info["files"]["deleted"]), (&Value::from(1), &Value::from(1)));

    let told = said(folder, &["update", "notes.index"]);
    assert!(told.contains("notes.index: 1 file new, 1 changed, 1 deleted; 2 passages added, 2 removed"), "{told}");
    let found = said(folder, &["search", "notes.index", "mill"]);
    assert!(!found.contains("burned down") && !found.contains("older than"), "{found}");
    assert!(said(folder, &["search", "notes.index", "zeppelin"]).contains("before the zeppelin came"));
    assert!(said(folder, &["search", "notes.index", "tower"]).contains("tower.txt"));
    let info = said(folder, &["info", "notes.index", "--verify"]);
    assert!(info.contains("3 in 1 segment") && info.contains("3, none changed"), "{info}");
}

#[test]
fn one_path_is_updated_and_an_addition_too() {
    let (folder, notes) = built();
    let folder = folder.path();
    fs::write(folder.join("letter.txt"), "A letter of the ferryman.").unwrap();
    said(folder, &["add", "notes.index", "letter.txt"]);
    fs::write(folder.join("letter.txt"), "A letter of the miller, who left.").unwrap();
    fs::write(notes.join("ferry.txt"), "Another text about nothing.").unwrap();
    let told = said(folder, &["update", "notes.index", "letter.txt"]);
    assert!(told.contains("0 files new, 1 changed, 0 deleted; 1 passage added, 1 removed"), "{told}");
    let told = said(folder, &["search", "notes.index", "miller"]);
    assert!(told.contains("letter.txt") && told.contains("0 files new, 1 changed, 0 deleted"), "{told}");
    let told = said(folder, &["update", "notes.index", "notes/"]);
    assert!(told.contains("0 files new, 1 changed, 0 deleted"), "{told}");
    fs::remove_file(folder.join("letter.txt")).unwrap();
    let told = said(folder, &["update", "notes.index"]);
    assert!(told.contains("0 files new, 0 changed, 1 deleted; 0 passages added, 1 removed"), "{told}");
}

#[test]
fn impossible_updates_are_one_line_and_a_hint() {
    let (folder, notes) = built();
    let folder = folder.path();
    let refused = |folder: &Path, typed: &[&str], want: &str, hint: &str| {
        let out = index(folder, typed);
        let told = text(&out.stderr);
        assert!(!out.status.success() && told.contains(want) && told.contains(hint), "{typed:?}: {told}");
        assert!(told.lines().filter(|line| line.starts_with("error: ") || line.starts_with("hint: ")).count() <= 2);
    };
    refused(folder, &["update", "nowhere"], "expected an index, found nothing there", "moot index build");
    refused(folder, &["update", "notes.index", "elsewhere"], "elsewhere: expected a file or folder of the index", "");
    refused(
        &notes,
        &["update", "../notes.index"],
        "expected its files, notes, found none of them",
        "run the command in",
    );
    let manifest = folder.join("notes.index/manifest.json");
    let whole = fs::read_to_string(&manifest).unwrap();
    fs::write(&manifest, whole.replace("\"finished\": true", "\"finished\": false")).unwrap();
    refused(folder, &["update", "notes.index"], "expected a finished build, found that of notes", "finish it first");
    // As it was before files were recorded: searched, compared by time, not updated.
    let mut old: Value = serde_json::from_str(&whole).unwrap();
    old.as_object_mut().unwrap().remove("inputs");
    fs::write(&manifest, old.to_string()).unwrap();
    refused(folder, &["update", "notes.index"], "expected a record of its files, found none", "build it again");
    assert!(said(folder, &["info", "notes.index"]).contains("none changed after it was built"));
    let later = std::time::SystemTime::now() + std::time::Duration::from_secs(60);
    fs::File::options().append(true).open(notes.join("ferry.txt")).unwrap().set_modified(later).unwrap();
    assert!(said(folder, &["search", "notes.index", "bridge"]).contains("1 file was changed after it was built"));
}

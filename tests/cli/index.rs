//! `moot index` as people type it, on words alone: no model is needed.

use super::program::{moot, text};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Output;

fn corpus(folder: &Path) -> String {
    let notes = folder.join("notes");
    for (source, name, content) in [
        ("council", "bridge.md", "---\ndate: 1932-03-19\n---\n# The bridge\n\nThe council opened the bridge in 1932."),
        ("diary", "spring.txt", "I crossed the new bridge in the spring of 1931, before any ceremony."),
        ("press", "ferry.txt", "The ferry stopped when the bridge was opened. Nobody missed the ferry."),
    ] {
        fs::create_dir_all(notes.join(source)).unwrap();
        fs::write(notes.join(source).join(name), content).unwrap();
    }
    notes.display().to_string()
}

fn index<'a>(typed: impl IntoIterator<Item = &'a str>) -> Output {
    moot(["index"].into_iter().chain(typed)).output().unwrap()
}

fn built(folder: &Path) -> String {
    let (notes, dir) = (corpus(folder), folder.join("notes.index").display().to_string());
    let out = index(["build", &notes, "-o", &dir, "--embedder", "none"]);
    assert!(out.status.success(), "{}", text(&out.stderr));
    assert!(text(&out.stdout).contains("3 passages in"), "{}", text(&out.stdout));
    dir
}

fn hits(out: &Output) -> Vec<Value> {
    assert!(out.status.success(), "{}", text(&out.stderr));
    text(&out.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn a_folder_of_notes_is_indexed_searched_and_added_to() {
    let folder = tempfile::tempdir().unwrap();
    let dir = built(folder.path());
    let best = hits(&index(["search", &dir, "Who missed the ferry?", "--json"]));
    assert!(best[0]["text"].as_str().unwrap().starts_with("The ferry stopped"), "{best:?}");
    assert_eq!(best[0]["source"], "press");
    assert!(best[0]["origin"]["file"].as_str().unwrap().ends_with("press/ferry.txt"));

    let by_source = hits(&index(["search", &dir, "bridge", "--by-source", "--top", "1", "--json"]));
    assert_eq!(by_source.len(), 3);
    let one = hits(&index(["search", &dir, "bridge", "--source", "diary", "--json"]));
    assert_eq!(one.len(), 1);
    let dated = hits(&index(["search", &dir, "bridge", "--until", "1932", "--json"]));
    assert!(dated.len() == 1 && dated[0]["source"] == "council", "{dated:?}");

    let printed = index(["search", &dir, "ferry"]);
    assert!(text(&printed.stdout).contains("press/ferry.txt"), "{}", text(&printed.stdout));
    let nothing = index(["search", &dir, "zeppelin"]);
    assert!(nothing.status.success() && text(&nothing.stdout).starts_with("nothing found"));

    let more = folder.path().join("tower.txt");
    fs::write(&more, "The tower is older than the bridge and the ferry: 1874.").unwrap();
    let more = more.display().to_string();
    let added = index(["add", &dir, &more]);
    assert!(text(&added.stdout).contains("1 passage in") && text(&added.stdout).contains("4 in all"));
    assert_eq!(hits(&index(["search", &dir, "tower", "--json"])).len(), 1);
    let info = index(["info", &dir, "--verify", "--json"]);
    let info: Value = serde_json::from_slice(&info.stdout).unwrap();
    assert_eq!((&info["passages"], &info["verified"]), (&Value::from(4), &Value::from(true)));
    assert!(text(&index(["info", &dir]).stdout).contains("4 in 2 segments"));
}

#[test]
fn a_file_of_queries_is_answered_line_by_line() {
    let folder = tempfile::tempdir().unwrap();
    let dir = built(folder.path());
    let asked = folder.path().join("queries.txt");
    fs::write(&asked, "ferry\nspring ceremony\n").unwrap();
    let asked = asked.display().to_string();
    let all = hits(&index(["search", &dir, "--queries", &asked, "--top", "1", "--json"]));
    let told: Vec<_> = all.iter().map(|line| (line["query"].as_u64().unwrap(), line["source"].clone())).collect();
    assert_eq!(told, [(1, "press".into()), (2, "diary".into())]);
    let printed = text(&index(["search", &dir, "--queries", &asked, "--top", "1"]).stdout);
    assert!(printed.starts_with("1. ferry\n") && printed.contains("\n2. spring ceremony\n"), "{printed}");
}

#[test]
fn errors_are_one_line_and_a_hint() {
    let folder = tempfile::tempdir().unwrap();
    let dir = built(folder.path());
    let notes = folder.path().join("notes").display().to_string();
    let nowhere = folder.path().join("nowhere").display().to_string();
    let wrong = |typed: &[&str], code: i32, want: &str| {
        let out = index(typed.iter().copied());
        let told = text(&out.stderr);
        assert_eq!(out.status.code(), Some(code), "{typed:?}: {told}");
        assert!(told.contains(want), "{typed:?}: {told}");
        let lines = told.lines().filter(|line| line.starts_with("error: ") || line.starts_with("hint: ")).count();
        assert!(lines <= 2 && told.contains("error: "), "{told}");
    };
    wrong(&["search", &nowhere, "bridge"], 1, "expected an index, found nothing there");
    wrong(&["search", &notes, "bridge"], 1, "found a folder without manifest.json");
    wrong(&["search", &dir, " "], 2, "empty query");
    wrong(&["search", &dir], 2, "QUERY");
    wrong(&["search", &dir, "bridge", "--source", "concil"], 2, "council, diary, press");
    wrong(&["search", &dir, "bridge", "--from", "May 1932"], 2, "expected a date, as 2018");
    wrong(&["search", &dir, "bridge", "--retriever", "dense"], 1, "expected vectors, found BM25 alone");
    wrong(&["build", &notes, "-o", &dir, "--embedder", "none"], 1, "found a finished index of 3 passages");
    wrong(&["search", &dir, "bridge", "--embedder", "all-minilm-l6-v2"], 1, "found an index of words alone");
    wrong(&["build", &notes, "-o", &notes, "--embedder", "none"], 1, "expected an empty folder or an index, found ");
    wrong(&["build", &notes, "-o", &nowhere, "--embedder", "none", "--type", "f8"], 2, "f32, f16, int8");
    wrong(&["add", &dir, &notes], 1, "is in it already");
    wrong(&["add", &nowhere, &notes], 1, "found nothing there");
    let binary = folder.path().join("binary.txt");
    fs::write(&binary, b"abc\xff\xfe\x01\x02").unwrap();
    let binary = binary.display().to_string();
    wrong(&["build", &binary, "-o", &nowhere, "--embedder", "none"], 1, "binary.txt");
    let empty = folder.path().join("empty");
    fs::create_dir(&empty).unwrap();
    let empty = empty.display().to_string();
    wrong(&["build", &empty, "-o", &nowhere, "--embedder", "none"], 1, "empty");
    assert!(!Path::new(&nowhere).exists(), "nothing is begun before the corpus is known to be sound");
    let torn = Path::new(&dir).join("segments/000000/bm25.bin");
    let whole = fs::read(&torn).unwrap();
    fs::write(&torn, &whole[..whole.len() / 2]).unwrap();
    wrong(&["search", &dir, "bridge"], 1, "segments/000000/bm25.bin: expected");
    wrong(&["info", &dir, "--verify"], 1, "segments/000000/bm25.bin: expected");
}

#[test]
fn a_search_reports_changed_files_of_its_index() {
    let folder = tempfile::tempdir().unwrap();
    let dir = built(folder.path());
    let said = |typed: &[&str]| {
        let out = index(typed.iter().copied());
        assert!(out.status.success(), "{}", text(&out.stderr));
        format!("{}{}", text(&out.stdout), text(&out.stderr))
    };
    assert!(said(&["info", &dir]).contains("none changed after it was built"));
    assert!(!said(&["search", &dir, "bridge"]).contains("older than its files"));
    let ferry = folder.path().join("notes/press/ferry.txt");
    let later = std::time::SystemTime::now() + std::time::Duration::from_secs(60);
    fs::File::options().append(true).open(&ferry).unwrap().set_modified(later).unwrap();
    assert!(said(&["info", &dir]).contains("none changed after it was built"), "its content is the same");
    fs::write(&ferry, "The ferry sank.").unwrap();
    assert!(said(&["info", &dir]).contains("0 new, 1 changed, 0 deleted after it was built"));
    assert!(said(&["search", &dir, "bridge"]).contains("is older than its files: 0 files new, 1 changed, 0 deleted"));
    let manifest = Path::new(&dir).join("manifest.json");
    let unfinished = fs::read_to_string(&manifest).unwrap().replace("\"finished\": true", "\"finished\": false");
    fs::write(&manifest, unfinished).unwrap();
    assert!(said(&["search", &dir, "bridge"]).contains("is unfinished: the build of "));
    fs::remove_dir_all(folder.path().join("notes")).unwrap();
    let unfinished = fs::read_to_string(&manifest).unwrap().replace("\"finished\": false", "\"finished\": true");
    fs::write(&manifest, unfinished).unwrap();
    assert!(said(&["info", &dir]).contains("not compared: expected its files, "));
    assert!(said(&["search", &dir, "bridge"]).contains("cannot be compared with its files: expected its files, "));
}

#[test]
fn passages_beyond_the_embedders_limit_are_counted() {
    let tiny = concat!(env!("CARGO_MANIFEST_DIR"), "/models/tests/golden/encoders/bert");
    let folder = tempfile::tempdir().unwrap();
    let (notes, dir) = (folder.path().join("notes"), folder.path().join("notes.index").display().to_string());
    fs::create_dir(&notes).unwrap();
    fs::write(notes.join("long.txt"), "The bridge was opened. ".repeat(400)).unwrap();
    fs::write(notes.join("short.txt"), "The bridge was opened in 1931.").unwrap();
    let notes = notes.display().to_string();
    let built = index(["build", &notes, "-o", &dir, "--embedder", tiny, "--words", "0"]);
    let said = text(&built.stderr);
    assert!(built.status.success() && said.contains("1 passage exceeds the embedder's limit"), "{said}");
}

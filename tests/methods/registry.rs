//! The tables of methods and files: complete, without duplicates.

use moot::contradictions;
use moot::methods::{self, METHODS};
use moot::prompt_file;
use moot::prompts::{self, File};
use moot::protocol::formats::FORMATS;
use moot::protocol::switches::Typed;
use moot::protocol::{Row, entailment};
use std::collections::{BTreeMap, BTreeSet};

#[test]
fn every_method_has_a_name_of_its_own_a_paper_and_prompts() {
    let names: BTreeSet<&str> = METHODS.iter().map(|row| row.name).collect();
    assert_eq!(names.len(), METHODS.len());
    for row in METHODS {
        assert!(!row.about.is_empty() && row.paper.contains("section"), "{}", row.name);
        // No address of these is known to us.
        let unpublished = ["ConflictScore", "Multi-LLM Verification", "none; "];
        let known = row.paper.contains("(arXiv ") || unpublished.iter().any(|start| row.paper.starts_with(start));
        assert!(known, "{}: {}", row.name, row.paper);
        let files: BTreeSet<&str> = row.files().map(|file| file.name).collect();
        assert_eq!((files.len(), prompts::hashes(row.files()).len()), (row.files().count(), row.files().count()));
        assert!(methods::build(row.name, &Typed::new()).unwrap().values.json().is_object());
    }
    let unknown = methods::build("madam", &Typed::new()).unwrap_err().to_string();
    assert!(METHODS.iter().all(|row| unknown.contains(row.name)), "{unknown}");
}

/// The texts of a method that users and records read: none is missing, none is long.
#[test]
fn every_row_has_a_protocol_and_a_cost() {
    for row in METHODS {
        let name = row.name;
        assert!(name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-'), "{name}");
        let lines = row.protocol.lines().count();
        assert!((1..=10).contains(&lines), "{name}: a protocol of {lines} lines");
        let first = row.protocol.lines().next().unwrap();
        assert!(!first.trim().is_empty() && row.protocol.lines().all(|line| line.chars().count() <= 130), "{name}");
        assert!(!row.calls.is_empty() && !row.calls.contains('\n'), "{name}");
        assert!(!row.about.ends_with('.') && !row.about.contains(['\n', '|']) && !row.paper.contains('|'), "{name}");
        assert!(!row.roles.is_empty() && !row.prompts.is_empty() && !row.formats.is_empty(), "{name}");
        let roles: BTreeSet<&str> = row.all_roles().collect();
        assert_eq!(roles.len(), row.all_roles().count(), "{name}: a role twice");
        let formats: BTreeSet<&str> = row.formats.iter().map(|format| format.name).collect();
        assert_eq!(formats.len(), row.formats.len(), "{name}: a format twice");
        assert!(row.formats.iter().all(|format| FORMATS.contains(format)), "{name}: a format of no table");
        let switches: BTreeSet<&str> = row.switches.iter().map(|switch| switch.name).collect();
        assert_eq!(switches.len(), row.switches.len(), "{name}: a switch twice");
    }
}

#[test]
fn a_file_has_one_text_whatever_lists_it() {
    for row in METHODS {
        for file in row.files() {
            assert_eq!(listed()[file.name].text, file.text, "{}: {}", row.name, file.name);
        }
    }
}

/// Git takes a file with a NUL byte for binary, and no reader sees a control character.
#[test]
fn no_prompt_grammar_or_schema_holds_a_control_character() {
    for (name, file) in listed() {
        let found = file.text.chars().find(|c| c.is_control() && *c != '\n');
        assert_eq!(found, None, "{name}");
    }
}

/// A whole transcript, with the exact prompts, of every method but those whose tests compare their prompts alone.
#[test]
fn every_method_has_a_golden_transcript() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/transcripts");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let told: BTreeSet<String> = files.map(|name| name.split('.').next().unwrap().replace('_', "-")).collect();
    let silent: Vec<&str> = METHODS.iter().map(|row| row.name).filter(|name| !told.contains(*name)).collect();
    assert_eq!(silent, SILENT);
}

/// Methods without a golden transcript.
const SILENT: [&str; 7] = [
    "ra-rag",
    "verification",
    "conflict-score",
    "regenerated-rag",
    "conflict-report",
    "truthful-judge",
    "source-pools",
];

const BEGIN: &str = "<!-- methods -->\n";
const END: &str = "<!-- /methods -->";

/// The table of docs/methods.md is printed from the rows; `MOOT_GOLDEN=write cargo test` writes it anew.
#[test]
fn the_table_in_the_docs_is_the_table() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/methods.md");
    let docs = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = docs.split_once(BEGIN).expect("docs/methods.md has the mark of the table");
    let (found, after) = rest.split_once(END).expect("docs/methods.md has the mark of the table's end");
    let line = |row: &&Row| format!("| [`{0}`](methods/{0}.md) | {1} | {2} |\n", row.name, row.about, row.paper);
    let lines: String = METHODS.iter().map(line).collect();
    let table = format!("| method | what it is | source |\n|---|---|---|\n{lines}");
    if std::env::var("MOOT_GOLDEN").is_ok_and(|value| value == "write") {
        std::fs::write(&path, format!("{before}{BEGIN}{table}{END}{after}")).unwrap();
    } else {
        assert_eq!(found, table, "the methods in docs/methods.md (MOOT_GOLDEN=write)");
    }
}

/// Every file that a row or a format lists, by name.
fn listed() -> BTreeMap<&'static str, File> {
    let formats = FORMATS.iter().flat_map(|format| format.files());
    let methods = METHODS.iter().flat_map(|row| row.files());
    let others = contradictions::PROMPTS.iter().copied().chain([entailment::PROMPT]);
    methods.chain(formats).chain(others).map(|file| (file.name, file)).collect()
}

#[test]
fn every_file_on_disk_is_in_a_table_and_names_its_paper() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/prompts");
    let mut on_disk = BTreeSet::new();
    for folder in std::fs::read_dir(&root).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_dir()) {
        for file in std::fs::read_dir(&folder).unwrap() {
            let path = file.unwrap().path();
            on_disk.insert(path.strip_prefix(&root).unwrap().to_str().unwrap().to_owned());
        }
    }
    let listed = listed();
    assert_eq!(on_disk, listed.keys().map(|&name| name.to_owned()).collect());
    for file in listed.values() {
        let first = file.text.lines().next().unwrap();
        let sourced = ["appendix", "section", "algorithm", "figure"].iter().any(|word| first.contains(word));
        assert!(sourced && first.contains("Departures"), "{}: {first}", file.name);
        assert!(first.starts_with("{#-") || first.starts_with("//"), "{}: {first}", file.name);
    }
}

#[test]
fn hashes_are_those_of_the_files() {
    let list = prompt_file!("reply/list.lark");
    assert_eq!(prompts::hashes([list])["reply/list.lark"], list.sha256());
    let known = File { name: "abc", text: "abc" };
    assert_eq!(known.sha256(), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

//! Documents of which nothing is read, documents in other languages, and folders in which nothing is compared.

use super::{GUIDE, LEAFLET, Watch, find_with, folder, read};
use moot::MootError;
use moot::contradictions::{Folder, Options, without_pairs};
use moot::llm::scripted::Scripted;
use std::collections::BTreeSet;

const CHINESE: (&str, &str) = ("qiao.md", "# 桥\n\n这座桥于1931年开放。它有四个拱。\n");
const RUSSIAN: (&str, &str) = ("most.txt", "Мост в Орме открыли в 1931 году.\n");

#[test]
fn a_document_of_which_nothing_is_read_is_noted_with_the_reason() {
    let files = folder(&[CHINESE, RUSSIAN, GUIDE, LEAFLET, ("title.md", "# The mill\n")]);
    let folder = read(files.path()).unwrap();
    for wanted in [
        "qiao.md: no sentence is read: text without spaces between words (Chinese, Japanese, Thai and others)",
        "most.txt: not English",
        "title.md: no sentence is read: headings, questions",
    ] {
        assert_eq!(folder.notes.iter().filter(|note| note.contains(wanted)).count(), 1, "{:?}", folder.notes);
    }
    assert_eq!(folder.notes.len(), 3, "{:?}", folder.notes);
}

#[test]
fn a_folder_of_which_nothing_is_read_is_refused_with_the_reason() {
    let files = folder(&[CHINESE, ("ta.md", "塔高31米。\n")]);
    let said = read(files.path()).unwrap_err().to_string();
    assert!(said.contains("expected documents with statements, found none: text without spaces"), "{said}");
}

/// The reason why nothing is compared, and that no call is made.
fn uncompared(folder: &Folder) -> String {
    let silent = Scripted::failing(|call| Err(MootError::Usage(format!("asked: {}", call.what))));
    let report = find_with(folder, &silent, None, &Watch::default()).unwrap();
    assert_eq!(Some(&report), without_pairs(folder).as_ref());
    let reason = report.notes.last().unwrap().clone();
    let estimate = folder.estimate(&Options::default());
    assert!(estimate.ends_with(&reason) && !estimate.contains("call"), "{estimate}");
    reason
}

#[test]
fn a_folder_without_two_documents_to_compare_costs_no_call() {
    // The pronoun would cost a call of the reader.
    let text = "Harlow Mill was built in 1790. It has 240 windows.\n";
    let copies = folder(&[("a.txt", text), ("b.txt", text)]);
    assert_eq!(uncompared(&read(copies.path()).unwrap()), "nothing is compared: all files are one document");
    let single = folder(&[("a.txt", text), CHINESE]);
    let expected = "nothing is compared: fewer than two documents have statements";
    assert_eq!(uncompared(&read(single.path()).unwrap()), expected);
}

#[test]
fn a_folder_in_which_nothing_changed_costs_no_call() {
    let files = folder(&[("a.txt", "Harlow Mill was built in 1790. It has 240 windows.\n"), LEAFLET, CHINESE]);
    let paths = [files.path().display().to_string()];
    let since = |changed: &[&str]| {
        let path = |name: &&str| std::fs::canonicalize(files.path().join(name)).unwrap();
        Folder::read(&paths, Some(&changed.iter().map(path).collect::<BTreeSet<_>>())).unwrap()
    };
    assert_eq!(uncompared(&since(&[])), "nothing is compared: no document changed");
    assert_eq!(uncompared(&since(&["qiao.md"])), "nothing is compared: no document with statements changed");
    assert_eq!(without_pairs(&since(&["a.txt"])), None);
}

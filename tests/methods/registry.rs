//! The tables: nothing forgotten, nothing twice.

use moot::methods::{self, METHODS, Switches};
use moot::prompts::{self, FILES};
use std::collections::BTreeSet;

#[test]
fn every_method_has_a_name_of_its_own_a_paper_and_prompts() {
    let names: BTreeSet<&str> = METHODS.iter().map(|row| row.name).collect();
    assert_eq!(names.len(), METHODS.len());
    for row in METHODS {
        assert!(!row.about.is_empty() && row.paper.contains("section"), "{}", row.name);
        assert_eq!(prompts::hashes(row.prompts).unwrap().len(), row.prompts.len());
        assert!(methods::build(row.name, &Switches::default()).unwrap().switches().is_object());
    }
    let unknown = methods::build("madam", &Switches::default()).map(|_| ()).unwrap_err().to_string();
    assert!(METHODS.iter().all(|row| unknown.contains(row.name)), "{unknown}");
}

#[test]
fn every_file_on_disk_is_in_the_table_is_used_and_names_its_paper() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/prompts");
    let mut on_disk = BTreeSet::new();
    for folder in std::fs::read_dir(&root).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_dir()) {
        for file in std::fs::read_dir(&folder).unwrap() {
            let path = file.unwrap().path();
            on_disk.insert(path.strip_prefix(&root).unwrap().to_str().unwrap().to_owned());
        }
    }
    let in_table: BTreeSet<String> = FILES.iter().map(|file| file.name.to_owned()).collect();
    assert_eq!(on_disk, in_table);
    let used: BTreeSet<String> = METHODS.iter().flat_map(|row| row.prompts).map(|&name| name.to_owned()).collect();
    assert_eq!(in_table, used);
    for file in FILES {
        let first = file.text.lines().next().unwrap();
        assert!(first.contains("appendix") && first.contains("Departures"), "{}: {first}", file.name);
        assert!(first.starts_with("{#-") || first.starts_with("//"), "{}: {first}", file.name);
    }
}

#[test]
fn hashes_are_those_of_the_files() {
    let hash = &prompts::hashes(&["reply/list.lark"]).unwrap()["reply/list.lark"];
    assert_eq!(hash.len(), 64);
    assert!(prompts::hashes(&["nowhere.jinja"]).is_err());
}

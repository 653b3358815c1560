//! The pages of the documentation: lines of a readable width, and links whose targets exist.

use moot_models::arch::{NOT_READ, NotRead};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

const WIDTH: usize = 120;

/// Folders without pages: fixtures, corpora and built files.
const LEFT_OUT: &[&str] = &["target", "tests", "corpus", "demo", "node_modules"];

fn pages(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() {
            if !name.starts_with('.') && !LEFT_OUT.contains(&name.as_str()) {
                pages(&path, found);
            }
        } else if name.ends_with(".md") {
            found.push(path);
        }
    }
}

/// Every page with its text.
fn all() -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    pages(Path::new(env!("CARGO_MANIFEST_DIR")), &mut found);
    found.into_iter().map(|path| (path.clone(), fs::read_to_string(path).unwrap())).collect()
}

/// The lines outside of code blocks, with their numbers.
fn prose(text: &str) -> Vec<(usize, &str)> {
    let mut code = false;
    let mut found = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        if line.trim_start().starts_with("```") {
            code = !code;
        } else if !code {
            found.push((number, line));
        }
    }
    found
}

/// Characters of a line without the targets of its links, which cannot be broken.
fn width(line: &str) -> usize {
    let targets = line.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
    line.chars().count() - targets.map(|(target, _)| target.chars().count()).sum::<usize>()
}

/// Lines of prose wider than [`WIDTH`]. Tables and pictures cannot be broken.
fn wide(text: &str) -> Vec<usize> {
    let exempt = |line: &str| line.trim_start().starts_with(['|', '<', '!']);
    prose(text).iter().filter(|(_, line)| width(line) > WIDTH && !exempt(line)).map(|(number, _)| *number).collect()
}

/// The anchors of a page's headings, as hosts of Markdown make them.
fn anchors(text: &str) -> Vec<String> {
    let headings = prose(text).into_iter().filter_map(|(_, line)| {
        let title = line.trim_start_matches('#');
        (title.len() < line.len()).then(|| title.trim())
    });
    headings
        .map(|title| {
            let kept =
                title.to_lowercase().chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c)).collect::<String>();
            kept.replace(' ', "-")
        })
        .collect()
}

/// The targets of links and pictures, without those on other hosts.
fn targets(text: &str) -> Vec<String> {
    let joined = prose(text).iter().map(|(_, line)| *line).collect::<Vec<_>>().join("\n");
    let ends = joined.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
    ends.map(|(target, _)| target.to_owned()).filter(|target| !target.contains("://")).collect()
}

/// The reason why a target does not exist, or `None`.
fn broken(page: &Path, text: &str, target: &str) -> Option<String> {
    let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
    let path = if file.is_empty() { page.to_owned() } else { page.parent().unwrap().join(file) };
    if !path.exists() {
        return Some(format!("{target}: no such file"));
    }
    let of = if file.is_empty() { text.to_owned() } else { fs::read_to_string(&path).unwrap_or_default() };
    (!anchor.is_empty() && file.is_empty() | file.ends_with(".md") && !anchors(&of).iter().any(|a| a == anchor))
        .then(|| format!("{target}: no such heading"))
}

#[test]
fn lines_of_pages_fit_a_screen() {
    let found: Vec<String> = all()
        .iter()
        .flat_map(|(path, text)| wide(text).into_iter().map(|line| format!("{}:{line}", path.display())))
        .collect();
    assert!(found.is_empty(), "wider than {WIDTH} characters: {found:#?}");
}

#[test]
fn links_of_pages_lead_somewhere() {
    let pages = all();
    assert!(pages.len() > 20, "{} pages", pages.len());
    let mut found = Vec::new();
    for (path, text) in &pages {
        for fault in targets(text).iter().filter_map(|target| broken(path, text, target)) {
            found.push(format!("{}: {fault}", path.display()));
        }
    }
    assert!(found.is_empty(), "{found:#?}");
}

/// Where paths of the table of limits begin, as its page says.
const LIMITS_IN: &[&str] = &["", "src/retrieval/corpus", "src/eval", "models/src", "models/src/tokenizer"];

/// The files that a row of the table of limits names and that do not exist. One without a folder is beside the one before.
fn absent(row: &str) -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (cell, mut before) = (row.split('|').nth(3).unwrap_or_default(), PathBuf::new());
    let mut found = Vec::new();
    for name in cell.split('`').skip(1).step_by(2) {
        let mut places = LIMITS_IN.iter().map(|place| root.join(place).join(name)).chain([before.join(name)]);
        match places.find(|path| path.exists()) {
            Some(path) => before = path.parent().unwrap().to_owned(),
            None => found.push(name.to_owned()),
        }
    }
    found
}

#[test]
fn limits_are_rows_of_one_table_and_name_files_that_exist() {
    let page = include_str!("../../docs/limits-input.md");
    let lines: Vec<&str> = page.lines().collect();
    let first = lines.iter().position(|line| line.starts_with('|')).unwrap();
    let rows: Vec<&str> = lines[first..].iter().copied().take_while(|line| line.starts_with('|')).collect();
    assert_eq!(rows.len(), lines.iter().filter(|line| line.starts_with('|')).count(), "a row is no part of the table");
    for row in &rows[2..] {
        assert_eq!(row.split('|').count(), 6, "{row}");
        assert!(row.split('|').nth(3).is_some_and(|cell| cell.contains('`')), "{row}");
        assert_eq!(absent(row), [""; 0], "{row}");
    }
    assert_eq!(absent("| a | b | `src/error.rs`, `escape.rs`, `nowhere.rs` | c |"), ["nowhere.rs"]);
}

fn cells(row: &str) -> Vec<String> {
    row.trim().trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect()
}

/// The cells of the column `name` of a page's table.
fn column(page: &str, name: &str) -> Vec<String> {
    let index_of = |line: &str| cells(line).iter().position(|cell| cell == name);
    let mut rows = page.lines().skip_while(|line| index_of(line).is_none());
    let index = index_of(rows.next().unwrap()).unwrap();
    let rows = rows.skip(1).take_while(|line| line.trim_start().starts_with('|'));
    rows.map(|row| cells(row)[index].clone()).collect()
}

#[test]
fn the_table_of_architectures_names_every_tiny_model() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("models/tests/golden");
    let folders = fs::read_dir(golden.join("architectures")).unwrap().map(|entry| entry.unwrap().path());
    let folders = folders.filter(|path| path.join("config.json").exists());
    let mut left: BTreeSet<String> =
        folders.map(|path| path.file_name().unwrap().to_str().unwrap().to_owned()).collect();
    assert!(left.len() > 20, "{left:?}");
    for cell in column(include_str!("../../docs/models.md"), "tiny golden") {
        let (both, alone) = cell.split_once("folder alone").unwrap_or((cell.as_str(), ""));
        assert!(both.contains('`'), "{cell}");
        for (names, has_gguf) in [(both, true), (alone, false)] {
            for name in names.split('`').skip(1).step_by(2) {
                let folder = if name.contains('/') { "" } else { "architectures" };
                let path = golden.join(folder).join(name);
                assert_eq!((path.is_dir(), path.with_extension("gguf").exists()), (true, has_gguf), "{name}");
                left.remove(name);
            }
        }
    }
    assert!(left.is_empty(), "not in the table: {left:?}");
}

/// A column of the table of architectures that are refused with a reason.
fn not_read(cell: fn(&NotRead) -> String) -> Vec<String> {
    NOT_READ.iter().map(cell).collect()
}

/// Names as code.
fn code(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

#[test]
fn the_table_of_what_is_not_read_is_the_programs() {
    let page = include_str!("../../docs/limits.md");
    assert_eq!(column(page, "not read"), not_read(|row| row.models.to_owned()));
    assert_eq!(column(page, "GGUF"), not_read(|row| code(row.gguf)));
    assert_eq!(column(page, "config.json"), not_read(|row| code(row.model_types)));
    assert_eq!(column(page, "reason"), not_read(|row| row.reason.to_owned()));
}

#[test]
fn wide_lines_and_broken_links_are_found() {
    let long = "word ".repeat(30);
    let text = format!("# A page\n\n{long}\n| {long} |\n```\n{long}\n```\n![{long}](x.svg)\n## Two: `words`, more\n");
    assert_eq!(wide(&text), [3]);
    assert_eq!(anchors(&text), ["a-page", "two-words-more"]);
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("page.md");
    fs::write(&page, &text).unwrap();
    let faults = ["page.md", "#a-page", "page.md#two-words-more", "#three", "other.md", "page.md#b"]
        .map(|target| broken(&page, &text, target));
    assert_eq!(faults.each_ref().map(Option::is_some), [false, false, false, true, true, true], "{faults:?}");
    assert_eq!(targets("[a](b.md) and [c](https://d) ![e](f.svg#g)"), ["b.md", "f.svg#g"]);
}

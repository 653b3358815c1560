//! The page of each method: its beginning is printed from its row, and a table compares it with its paper.

use moot::cli::methods::needs;
use moot::methods::METHODS;
use moot::protocol::Row;
use std::collections::{BTreeSet, VecDeque};
use std::fs;
use std::path::{Path, PathBuf};

const BEGIN: &str = "<!-- method -->\n";
const END: &str = "<!-- /method -->\n";

/// The heading and the head of the table that compares a method with its paper.
const COMPARED: &str = "## Paper, reference code, here\n\n| | paper | reference code | here |\n|---|---|---|---|\n";

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/methods")
}

/// Most characters of a line of a protocol.
const WIDTH: usize = 120;

/// `protocol` in lines of at most [`WIDTH`] characters. Words beyond that go to the next line, if it continues the sentence, or to a
/// line of their own.
fn wrapped(protocol: &str) -> String {
    let is_item = |line: &str| line.split_once(". ").is_some_and(|(number, _)| number.parse::<u8>().is_ok());
    let indent = |line: &str| if is_item(line) { 3 } else { line.len() - line.trim_start().len() };
    let mut rest: VecDeque<String> = protocol.lines().map(str::to_owned).collect();
    let mut lines = Vec::new();
    while let Some(line) = rest.pop_front() {
        let Some((end, c)) = line.char_indices().nth(WIDTH) else {
            lines.push(line);
            continue;
        };
        let (kept, over) = line[..end + c.len_utf8()].rsplit_once(' ').expect("a protocol's words are short");
        let over = format!("{over}{}", &line[end + c.len_utf8()..]);
        let continues =
            |next: &&String| indent(next) == indent(&line) && !is_item(next) && !line.ends_with(['.', ';', ':']);
        let next = rest.front().filter(continues).map(|next| format!(" {}", next.trim_start()));
        if next.is_some() {
            rest.pop_front();
        }
        rest.push_front(format!("{}{over}{}", " ".repeat(indent(&line)), next.unwrap_or_default()));
        lines.push(kept.to_owned());
    }
    lines.join("\n")
}

#[test]
fn protocols_are_wrapped_between_words() {
    let (long, item) = ("abcdefghi ".repeat(12), "1. ".to_owned() + &"abcdefg ".repeat(14));
    let wide = long.trim_end().to_owned();
    assert_eq!(
        wrapped(&format!("{wide} end\nnext.")),
        format!("{wide}\nend next."),
        "the next line continues the sentence"
    );
    assert_eq!(wrapped(&format!("{wide} end.\nNext.")), format!("{wide}\nend.\nNext."), "it begins another one");
    let wide = item.trim_end();
    assert_eq!(
        wrapped(&format!("{wide} the rest\n2. Next")),
        format!("{wide} the\n   rest\n2. Next"),
        "an item is indented"
    );
    assert_eq!(wrapped("1. Short.\n   More."), "1. Short.\n   More.");
}

/// The part of a method's page that is made from its row.
fn printed(row: &Row) -> String {
    let mut page = format!("```text\n{}\n```\n\n", wrapped(row.protocol));
    let mut facts = vec![
        ("source", row.paper.to_owned()),
        ("calls a question", row.calls.to_owned()),
        ("tokens a reply", row.max_tokens.to_string()),
    ];
    facts.push(("needs", needs(row)));
    facts.push(("roles", row.all_roles().map(|role| format!("`{role}`")).collect::<Vec<_>>().join(", ")));
    if !row.headline.is_empty() {
        facts.push(("published", row.headline.to_owned()));
    }
    page.push_str("| | |\n|---|---|\n");
    facts.iter().for_each(|(name, fact)| page.push_str(&format!("| {name} | {fact} |\n")));
    if !row.switches.is_empty() {
        page.push_str("\n## Switches\n\n| `--set` | values | default | what it is |\n|---|---|---|---|\n");
    }
    for switch in row.switches {
        let values = switch.kind.expected();
        page.push_str(&format!("| `{}` | {values} | `{}` | {} |\n", switch.name, switch.default, switch.about));
    }
    if !row.presets.is_empty() {
        page.push_str("\n## Presets\n\n| `--preset` | switches | what it is |\n|---|---|---|\n");
    }
    for preset in row.presets {
        let switches = preset.switches.iter().map(|(name, value)| format!("`{name}={value}`"));
        let switches = Some(switches.collect::<Vec<_>>().join(", ")).filter(|text| !text.is_empty());
        page.push_str(&format!("| `{}` | {} | {} |\n", preset.name, switches.unwrap_or("none".into()), preset.about));
    }
    page.push_str("\n## Prompts\n\n| file | of | departures |\n|---|---|---|\n");
    for prompt in row.prompts {
        let (of, departures) = told(prompt.text);
        page.push_str(&format!("| `{}` | {of} | {departures} |\n", prompt.name));
    }
    page
}

/// The source and the departures from it that a prompt's first line names.
fn told(prompt: &str) -> (String, String) {
    let line = prompt.lines().next().unwrap();
    let line = line.trim_start_matches("{#-").trim_end_matches("-#}").trim();
    let (of, departures) = line.split_once(" Departures: ").expect("a prompt's first line names its departures");
    (of.trim_end_matches('.').to_owned(), departures.trim_end_matches('.').to_owned())
}

/// `MOOT_GOLDEN=write cargo test` writes the printed parts anew.
#[test]
fn every_method_has_a_page_that_is_printed_from_its_row() {
    for row in METHODS {
        let path = folder().join(format!("{}.md", row.name));
        let page = fs::read_to_string(&path).unwrap_or_else(|_| panic!("docs/methods/{}.md is missing", row.name));
        assert!(page.starts_with(&format!("# {}\n", row.name)), "{}: its heading", row.name);
        let (before, rest) = page.split_once(BEGIN).expect("the page has the mark of its printed part");
        let (found, after) = rest.split_once(END).expect("the page has the mark of that part's end");
        let printed = printed(row);
        if std::env::var("MOOT_GOLDEN").is_ok_and(|value| value == "write") {
            fs::write(&path, format!("{before}{BEGIN}{printed}{END}{after}")).unwrap();
        } else {
            assert_eq!(found, printed, "docs/methods/{}.md (MOOT_GOLDEN=write)", row.name);
        }
    }
}

#[test]
fn no_page_is_left_of_a_method_that_is_gone_and_the_index_links_to_all() {
    let names = fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let pages: BTreeSet<String> = names.collect();
    let rows: BTreeSet<String> = METHODS.iter().map(|row| format!("{}.md", row.name)).collect();
    assert_eq!(pages, rows);
    let index = fs::read_to_string(folder().with_extension("md")).unwrap();
    for row in METHODS {
        assert!(index.contains(&format!("[`{0}`](methods/{0}.md)", row.name)), "{} in docs/methods.md", row.name);
    }
}

/// A method of a paper is compared with it, line by line; that of this project has no paper.
#[test]
fn every_method_of_a_paper_is_compared_with_it() {
    for row in METHODS.iter().filter(|row| row.name != "moot") {
        let page = fs::read_to_string(folder().join(format!("{}.md", row.name))).unwrap();
        let (_, table) = page.split_once(COMPARED).unwrap_or_else(|| panic!("{}: {COMPARED}", row.name));
        let lines: Vec<&str> = table.lines().take_while(|line| line.starts_with('|')).collect();
        assert!(lines.len() >= 2, "{}", row.name);
        for line in lines {
            let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
            assert!(cells.len() == 4 && cells.iter().all(|cell| !cell.is_empty()), "{}: {line}", row.name);
        }
    }
}

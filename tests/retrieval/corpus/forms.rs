//! The forms that datasets come in.

use super::{one, passages};
use moot::retrieval::corpus::Document;

/// Title, text, source, date, address and id, "-" for what is not there.
fn row(document: &Document) -> [&str; 6] {
    let [title, source, date, url, id] =
        [&document.title, &document.source, &document.date, &document.url, &document.id]
            .map(|x| x.as_deref().unwrap_or("-"));
    [title, &document.text, source, date, url, id]
}

fn rows(name: &str, content: &str) -> Vec<[String; 6]> {
    one(name, content.as_bytes()).unwrap().iter().map(|document| row(document).map(str::to_owned)).collect()
}

#[test]
fn tables() {
    let dpr = "id\ttext\ttitle\n1\t\"Aaron \"\"Ah\u{e4}r\u{f4}n\"\" is\ta prophet\"\tAaron\n2\tplain\t\n3\t\tNothing\n";
    assert_eq!(
        rows("psgs.tsv", dpr),
        [["Aaron", "Aaron \"Ah\u{e4}r\u{f4}n\" is\ta prophet", "-", "-", "-", "1"], ["-", "plain", "-", "-", "-", "2"]]
    );
    let named = "\u{feff}URL,Passage,Source, Date\nhttps://www.a.example/b,\"two\nlines\",,2020-01-02\n,c,S,\n";
    assert_eq!(
        rows("a.csv", named),
        [
            ["-", "two\nlines", "a.example", "2020-01-02", "https://www.a.example/b", "-"],
            ["-", "c", "S", "-", "-", "-"]
        ]
    );
    // MS MARCO's collection: no header, nothing quoted.
    assert_eq!(
        rows("collection.tsv", "0\t\"One\n1\ttwo\" three\n"),
        [["-", "\"One", "-", "-", "-", "0"], ["-", "two\" three", "-", "-", "-", "1"]]
    );
    let lines: Vec<_> = passages("a.csv", "text\n\"a\nb\"\nc\n", 9, 0).iter().map(|p| p.origin.line).collect();
    assert_eq!(lines, [Some(2), Some(4)]);
}

#[test]
fn lines_of_json() {
    let flashrag = "{\"id\": \"0\", \"contents\": \"\\\"The bridge\\\"\\nIt opened.\\nIt closed.\"}";
    assert_eq!(rows("a.jsonl", flashrag), [["The bridge", "It opened.\nIt closed.", "-", "-", "-", "0"]]);
    let beir = "{\"_id\": \"x\", \"title\": \"T\", \"text\": \"B\", \"metadata\": {\"url\": \"http://c.example/\", \"date\": 1998}}";
    assert_eq!(rows("a.jsonl", beir), [["T", "B", "c.example", "1998", "http://c.example/", "x"]]);
    let own = "{\"text\": \"B\", \"source\": \"S\", \"url\": \"http://c.example/\", \"title\": \"\", \"id\": 7}\n{\"text\": \" \"}";
    assert_eq!(rows("a.jsonl", own), [["-", "B", "S", "-", "http://c.example/", "7"]]);
    assert_eq!(rows("a.jsonl", "{\"contents\": \"one line\"}"), [["-", "one line", "-", "-", "-", "-"]]);
}

#[test]
fn markdown_and_text() {
    let text = "---\nsource: The Gazette\ndate: 2020-01-02\n---\n\n# The bridge\n\nIt opened.\n";
    assert_eq!(
        rows("a.md", text),
        [["The bridge", "# The bridge\n\nIt opened.\n", "The Gazette", "2020-01-02", "-", "-"]]
    );
    assert_eq!(rows("a.md", "---\ntitle: T\nurl: http://a.b/c\n---\nx"), [["T", "x", "a.b", "-", "http://a.b/c", "-"]]);
    assert_eq!(rows("a.txt", "\u{feff}---\ntitle: T\n---\nx"), [["-", "---\ntitle: T\n---\nx", "-", "-", "-", "-"]]);
}

#[test]
fn the_origin_of_a_passage() {
    let text = "\u{feff}---\ntitle: T\n---\n\nOne two three.\nFour \u{e9} six.\r\n\r\nSeven.\n";
    let found = passages("a.md", text, 3, 0);
    let origins: Vec<_> =
        found.iter().map(|p| (p.text.as_str(), p.origin.line.unwrap(), p.origin.characters.clone())).collect();
    assert_eq!(origins, [("One two three.", 5, 19..33), ("Four \u{e9} six.", 6, 34..45), ("Seven.", 8, 49..55)]);
    assert!(found[0].origin.file.ends_with("/corpus/a.md") && found[0].title.as_deref() == Some("T"));
    let found = passages("a.jsonl", "\n{\"id\": 3, \"contents\": \"T\\nOne. Two.\"}\n", 1, 0);
    let origins: Vec<_> =
        found.iter().map(|p| (p.text.as_str(), p.origin.line.unwrap(), p.origin.characters.clone())).collect();
    assert_eq!(origins, [("One.", 2, 2..6), ("Two.", 2, 7..11)]);
    assert_eq!(found[0].origin.id.as_deref(), Some("3"));
}

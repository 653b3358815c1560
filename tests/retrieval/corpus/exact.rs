//! The character range of a passage gives the passage's text, for any content of the document.

use super::passages;
use moot::question::Passage;
use moot::unicode::into_nfc;
use proptest::prelude::*;
use std::ops::Range;

/// The text at these characters, composed as passages are.
fn characters(text: &str, range: &Range<u64>) -> String {
    into_nfc(text.chars().skip(range.start as usize).take((range.end - range.start) as usize).collect())
}

fn line(text: &str, at: u64) -> u64 {
    text.chars().take(at as usize).filter(|&c| c == '\n').count() as u64 + 1
}

/// Text that resembles prose, with at least one word.
fn prose() -> impl Strategy<Value = String> {
    "([a-zA-Z\u{e9}\u{6a4b}\u{1f600}0-9.!? \n\"',;:#&<>*-]|e\u{301}|\r\n|Dr\\. ){0,120}x([a-z.\u{e9} \n]|\r\n){0,60}"
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "\"\""))
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 100, ..ProptestConfig::default() })]

    #[test]
    fn of_text_and_markdown(text in prose(), words in 1_usize..9, front: bool, mark: bool, kind in 0..2_usize) {
        let front = if front && kind == 1 { "---\nsource: \u{e9}\n---\n\n" } else { "" };
        let file = format!("{}{front}{text}", if mark { "\u{feff}" } else { "" });
        for passage in passages(["a.txt", "a.md"][kind], &file, words, words / 2) {
            let Passage { text, origin, .. } = passage;
            prop_assert_eq!(characters(&file, &origin.characters), text);
            prop_assert_eq!(origin.line, Some(line(&file, origin.characters.start)));
        }
    }

    #[test]
    fn of_records(texts in prop::collection::vec(prose(), 1..4), words in 0_usize..9) {
        let json: String = texts.iter().map(|text| serde_json::json!({ "text": text }).to_string() + "\n").collect();
        let title: String = texts.iter().map(|text| serde_json::json!({ "contents": format!("T\u{e9}\n{text}") }).to_string() + "\n").collect();
        let table = |between: &str| -> String {
            let rows = texts.iter().enumerate().map(|(id, text)| format!("{id}{between}{}\n", quoted(text)));
            format!("id{between}text\n") + &rows.collect::<String>()
        };
        for (name, content, before) in
            [("a.jsonl", &json, ""), ("b.jsonl", &title, "T\u{e9}\n"), ("a.csv", &table(","), ""), ("a.tsv", &table("\t"), "")]
        {
            let found = passages(name, content, words, 0);
            let lines: Vec<u64> = found.iter().map(|passage| passage.origin.line.unwrap()).collect();
            prop_assert!(lines.is_sorted());
            let mut records: Vec<u64> = lines.clone();
            records.dedup();
            prop_assert_eq!(records.len(), texts.len());
            for passage in found {
                let record = records.iter().position(|&line| Some(line) == passage.origin.line).unwrap();
                let field = format!("{before}{}", texts[record]);
                prop_assert_eq!(characters(&field, &passage.origin.characters), passage.text);
            }
        }
    }

    #[test]
    fn of_markup(words in prop::collection::vec("[a-z\u{e9}\u{6a4b}]{1,8}[.]?", 1..40), between in prop::collection::vec(0..8_usize, 40)) {
        const BETWEEN: [&str; 8] = [" ", "\r\n", "</p><p class=\"x\">", "<br>", " <b>", "</b> ", " <!-- no --> ", "&nbsp;"];
        let file: String = words.iter().zip(&between).map(|(word, &at)| format!("{word}{}", BETWEEN[at])).collect();
        for passage in passages("a.html", &file, 5, 0) {
            let markup = characters(&file, &passage.origin.characters);
            let (first, last) = (passage.text.split_whitespace().next().unwrap(), passage.text.split_whitespace().last().unwrap());
            prop_assert!(markup.starts_with(first) && markup.ends_with(last), "{markup:?} is not {:?}", passage.text);
            prop_assert_eq!(passage.origin.line, Some(line(&file, passage.origin.characters.start)));
        }
    }

    #[test]
    fn any_markup_is_read(markup in "(<[/a-z!?-]{0,6}|>|&[a-z#0-9]{0,6};?|[a-z\u{e9}\u{6a4b} \"'=]|\r\n|\r|<script>|</script>|<nav>|</nav>|<!--|-->|<!\\[CDATA\\[){0,60}") {
        for passage in passages("a.html", &format!("x {markup}"), 3, 0) {
            let whole = markup.chars().count() as u64 + 2;
            prop_assert!(passage.origin.characters.start < passage.origin.characters.end);
            prop_assert!(passage.origin.characters.end <= whole);
        }
    }
}

//! Documents of a request: texts, files in base64, paths.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use moot::MootError;
use moot::cancel::Cancel;
use moot::workspace::{InlineDocument, InlineRead, field_of_message};
use std::fs;

fn text(text: &str) -> InlineDocument {
    InlineDocument { text: Some(text.into()), ..InlineDocument::default() }
}

fn file(name: &str, content: &str) -> InlineDocument {
    let base64 = Some(BASE64_STANDARD.encode(content));
    InlineDocument { name: Some(name.into()), base64, ..InlineDocument::default() }
}

fn refused(all: Vec<InlineDocument>) -> String {
    InlineRead::of(all, Some("elsewhere"), &Cancel::default()).unwrap_err().to_string()
}

#[test]
fn texts_files_and_paths_are_read_in_their_order() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.txt"), "It opened in 1931.").unwrap();
    fs::write(folder.path().join("b.bin"), [0_u8, 159]).unwrap();
    let path = InlineDocument { path: Some(folder.path().display().to_string()), ..InlineDocument::default() };
    let dated = InlineDocument { date: Some("1950".into()), ..file("c.md", "It opened in 1968.") };
    let titled = InlineDocument { title: Some("Minutes".into()), id: Some("7".into()), ..text("It opened.") };
    let read = InlineRead::of(vec![text("Never."), path, dated, titled], None, &Cancel::default()).unwrap();
    let found: Vec<(&str, &str)> = read.documents.iter().map(|d| (d.name.as_str(), d.text.as_str())).collect();
    let want = [
        ("document 1", "Never."),
        ("a.txt", "It opened in 1931."),
        ("c.md", "It opened in 1968."),
        ("Minutes", "It opened."),
    ];
    assert_eq!(found, want);
    assert_eq!(read.documents[2].date.as_deref(), Some("1950"));
    assert!(
        matches!(&read.notes[..], [line] if line.starts_with("skipped ") && line.contains("b.bin")),
        "{:?}",
        read.notes
    );
}

#[test]
fn a_refusal_begins_with_the_field() {
    let both = InlineDocument { base64: Some("eA==".into()), ..text("x") };
    let nameless = InlineDocument { name: None, ..file("", "x") };
    let broken = InlineDocument { base64: Some("?".into()), ..file("a.txt", "") };
    for (all, field, said) in [
        (vec![text("a"), text(" ")], "documents[1].text", "expected a text, found none"),
        (vec![InlineDocument::default()], "documents[0].text", "expected a text, found none"),
        (vec![both], "documents[0]", "expected text or base64, found more than one"),
        (vec![nameless], "documents[0].name", "expected a file's name"),
        (vec![broken], "documents[0].base64", "expected a file in base64"),
        (vec![file("a.txt", "")], "documents[0].name", "expected a file that can be read"),
        (vec![text("a"); 41], "documents", "expected at most 40 documents (elsewhere), found 41"),
        (vec![text(&"word ".repeat(3001))], "documents", "expected at most 3000 words a document (elsewhere)"),
    ] {
        let message = refused(all);
        assert_eq!(field_of_message(&message), Some(field), "{message}");
        assert!(message.contains(said), "{message}");
    }
    let temporary = std::env::temp_dir().display().to_string();
    assert!(!refused(vec![file("a.txt", "")]).contains(&temporary), "the folder is not the caller's");
    let whole = InlineRead::of(vec![text("a"); 41], None, &Cancel::default()).unwrap();
    assert_eq!(whole.documents.len(), 41, "all are read whole");
}

#[test]
fn the_field_of_a_message_is_its_first_word() {
    assert_eq!(field_of_message("method.max_tokens 0: a reply needs"), Some("method.max_tokens"));
    assert_eq!(field_of_message("question: expected a text"), Some("question"));
    assert_eq!(field_of_message("question q1: expected a round"), None);
    assert_eq!(field_of_message("none of 3 questions"), None);
}

#[test]
fn a_reading_that_is_cancelled_reads_no_further_file() {
    let cancel = Cancel::default();
    let read = || InlineRead::of(vec![file("a.txt", "It opened in 1931.")], None, &cancel);
    assert_eq!(read().unwrap().documents.len(), 1);
    cancel.cancel();
    assert!(matches!(read(), Err(MootError::Interrupted)));
}

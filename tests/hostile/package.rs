//! Archives that decode to far more than they are, or whose XML does.

use super::one;
use std::io::{Cursor, Write};
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

const MIB: usize = 1 << 20;

/// An archive whose parts hold `head`, then so many MiB of letters, then `tail`.
fn package(parts: &[(&str, &str, usize, &str)]) -> Vec<u8> {
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    let letters = vec![b'a'; MIB];
    for (name, head, mebibytes, tail) in parts {
        archive.start_file(*name, SimpleFileOptions::default()).unwrap();
        archive.write_all(head.as_bytes()).unwrap();
        for _ in 0..*mebibytes {
            archive.write_all(&letters).unwrap();
        }
        archive.write_all(tail.as_bytes()).unwrap();
    }
    archive.finish().unwrap().into_inner()
}

const HEAD: &str = "<w:document xmlns:w=\"w\"><w:body><w:p><w:r><w:t>";
const TAIL: &str = "</w:t></w:r></w:p></w:body></w:document>";

#[test]
fn zip_bombs_are_refused() {
    let bomb = package(&[("word/document.xml", HEAD, 65, TAIL)]);
    assert!(bomb.len() < MIB, "{}", bomb.len());
    assert_eq!(
        one("a.docx", &bomb).unwrap_err(),
        "a.docx: expected parts that decode to at most 64 MiB each, found more in one"
    );
    let parts: Vec<(&str, &str, usize, &str)> = vec![
        ("word/document.xml", HEAD, 60, TAIL),
        ("word/styles.xml", "<s>", 60, "</s>"),
        ("word/footnotes.xml", "<s>", 60, "</s>"),
        ("word/endnotes.xml", "<s>", 60, "</s>"),
        ("docProps/core.xml", "<s>", 60, "</s>"),
    ];
    assert_eq!(
        one("a.docx", &package(&parts)).unwrap_err(),
        "a.docx: expected a file that decodes to at most 256 MiB, found more"
    );
}

#[test]
fn xml_does_not_grow() {
    let entities = "<!DOCTYPE d [<!ENTITY a \"aaaa\"><!ENTITY b \"&a;&a;&a;&a;\">]>".to_owned() + HEAD;
    assert_eq!(one("a.docx", &package(&[("word/document.xml", &entities, 0, &format!("x&b;{TAIL}"))])).unwrap(), "x");
    let deep = "<a>".repeat(600);
    let said = one("a.docx", &package(&[("word/document.xml", &deep, 0, "")])).unwrap_err();
    assert_eq!(said, "a.docx: expected at most 512 open elements in word/document.xml, found more");
}

#[test]
fn damaged_archives_end_in_one_line() {
    let sound = package(&[("word/document.xml", HEAD, 0, &format!("It opened.{TAIL}"))]);
    assert_eq!(one("a.docx", &sound).unwrap(), "It opened.");
    for at in 0..sound.len() {
        let mut torn = sound.clone();
        torn[at] ^= 0x41;
        let read = one("a.docx", &torn);
        assert!(read.as_ref().map_or_else(|said| !said.contains('\n'), |text| !text.is_empty()), "{at}: {read:?}");
        if at % 16 == 0 {
            let read = one("a.docx", &sound[..at]);
            assert!(read.is_err_and(|said| !said.contains('\n')), "{at}");
        }
    }
}

#[test]
fn messages_stay_short_lines() {
    let long = "x\u{9b}".repeat(3000);
    for markup in [format!("<a></{long}>"), format!("<a></{}\n>", "b ".repeat(2000)), format!("<{long}")] {
        let said = one("a.docx", &package(&[("word/document.xml", &markup, 0, "")])).unwrap_err();
        assert!(said.starts_with("a.docx: expected XML in word/document.xml, found "), "{said}");
        assert!(said.len() < 1000 && !said.contains(char::is_control), "{said}");
    }
    let root = format!("<rootfile full-path=\"a&#10;{}\"/>", "b".repeat(60_000));
    let said = one("a.epub", &package(&[("META-INF/container.xml", &root, 0, "")])).unwrap_err();
    assert!(said.starts_with("a.epub: expected an EPUB book, found an archive without a bbb"), "{said}");
    assert!(said.len() < 500 && !said.contains('\n'), "{said}");
}

/// Each chapter has a copy of the title: 10,000 chapters of a title of 10 MiB would be 100 GiB.
#[test]
fn a_chapter_is_read_once_and_titles_are_short() {
    let container = "<rootfile full-path=\"c.opf\"/>";
    let spine = "<itemref idref=\"a\"/>".repeat(9000) + "<itemref idref=\"b\"/>";
    let opf = format!("</dc:title><item id=\"a\" href=\"a.xhtml\"/><item id=\"b\" href=\"./a.xhtml\"/>{spine}</p>");
    let parts = [
        ("META-INF/container.xml", container, 0, ""),
        ("c.opf", "<p><dc:title>A bridge ", 10, opf.as_str()),
        ("a.xhtml", "<p>It opened.</p>", 0, ""),
    ];
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.epub");
    std::fs::write(&path, package(&parts)).unwrap();
    let corpus = moot::retrieval::corpus::Corpus::open(&[path.display().to_string()]).unwrap();
    let read: Vec<_> = corpus.documents().map(Result::unwrap).collect();
    let told: Vec<_> = read.iter().map(|document| (document.title.as_deref(), document.text.as_str())).collect();
    assert_eq!(told, [(Some("A bridge"), "It opened.")]);
}

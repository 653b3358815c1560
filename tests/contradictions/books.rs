//! Books, whose chapters are one document.

use super::read;
use std::io::{Cursor, Write};
use tempfile::TempDir;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

/// A book of these chapters.
fn book(chapters: &[&str]) -> Vec<u8> {
    let listed = |one: fn(usize) -> String| (0..chapters.len()).map(one).collect::<String>();
    let items = listed(|number| format!("<item id=\"c{number}\" href=\"{number}.xhtml\"/>"));
    let order = listed(|number| format!("<itemref idref=\"c{number}\"/>"));
    let opf = format!("<package><manifest>{items}</manifest><spine>{order}</spine></package>");
    let container = "<container><rootfiles><rootfile full-path=\"OEBPS/c.opf\"/></rootfiles></container>";
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    let mut add = |name: &str, text: &str| {
        archive.start_file(name, SimpleFileOptions::default()).unwrap();
        archive.write_all(text.as_bytes()).unwrap();
    };
    add("META-INF/container.xml", container);
    add("OEBPS/c.opf", &opf);
    for (number, chapter) in chapters.iter().enumerate() {
        add(&format!("OEBPS/{number}.xhtml"), &format!("<html><body>{chapter}</body></html>"));
    }
    archive.finish().unwrap().into_inner()
}

/// A folder with these books.
fn shelf(books: &[(&str, &[&str])]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    books.iter().for_each(|(name, chapters)| std::fs::write(folder.path().join(name), book(chapters)).unwrap());
    folder
}

#[test]
fn a_book_is_a_copy_only_with_all_of_its_chapters() {
    let cover = "<p>The guide of the mill is free for every visitor.</p>";
    let first = [cover, "<p>Harlow Mill was built in 1790 by Ada Brook.</p>"];
    let second = [cover, "<p>Harlow Mill was built in 1811 by Ada Brook.</p>"];
    let files = shelf(&[("a.epub", &first), ("b.epub", &first), ("c.epub", &second)]);
    let folder = read(files.path()).unwrap();
    assert_eq!((folder.documents(), folder.sentences()), (2, 4));
    let wanted = "1 file is a copy of another";
    assert!(folder.notes.iter().any(|note| note.starts_with(wanted)), "{:?}", folder.notes);
}

#[test]
fn a_long_book_has_one_note_on_what_is_not_read() {
    let pump = |number: usize| format!("<p>The pump number {number} was built in the year {}.</p>", 1000 + number);
    let chapters: Vec<String> = [0, 600, 1200].iter().map(|&from| (from..from + 600).map(pump).collect()).collect();
    let chapters: Vec<&str> = chapters.iter().map(String::as_str).collect();
    let files =
        shelf(&[("long.epub", chapters.as_slice()), ("short.epub", &["<p>Harlow Mill was built in 1790.</p>"])]);
    let folder = read(files.path()).unwrap();
    let told: Vec<&String> = folder.notes.iter().filter(|note| note.contains("sentences are read")).collect();
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].ends_with("long.epub: its first 1000 of 1800 sentences are read"), "{told:?}");
}

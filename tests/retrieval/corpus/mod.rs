//! A corpus from its files to its passages.

mod exact;
mod forms;
mod heads;
mod html;
mod mail;
mod packages;
mod pages;
mod pdf;
mod rtf;
mod sheets;
mod tables;

use moot::question::Passage;
use moot::retrieval::chunk::{Chunking, Overlap};
use moot::retrieval::corpus::{Corpus, Document, listed_endings};
use std::fs;
use tempfile::TempDir;

/// A folder `corpus` with these files.
fn folder(files: &[(&str, &[u8])]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, content) in files {
        let path = folder.path().join("corpus").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
    folder
}

/// `text` without the folder that tests run in.
fn bare(folder: &TempDir, text: impl ToString) -> String {
    text.to_string().replace(&format!("{}/", folder.path().display()), "")
}

fn open(folder: &TempDir, paths: &[&str]) -> Result<Corpus, String> {
    let full = |path: &&str| folder.path().join(path).display().to_string();
    Corpus::open(&paths.iter().map(full).collect::<Vec<_>>()).map_err(|e| bare(folder, e))
}

/// The documents below `path`, and all that was skipped.
fn read(folder: &TempDir, path: &str) -> Result<(Vec<Document>, Vec<String>), String> {
    let corpus = open(folder, &[path])?;
    let mut skipped = corpus.skipped().to_vec();
    let mut documents = corpus.documents();
    let read: Result<Vec<Document>, _> = documents.by_ref().collect();
    skipped.extend(documents.skipped());
    assert!(read.is_err() || documents.bytes() == corpus.bytes());
    assert!(documents.next().is_none());
    Ok((read.map_err(|e| bare(folder, e))?, skipped.into_iter().map(|s| bare(folder, s)).collect()))
}

/// The documents of one file that is named itself.
fn one(name: &str, content: &[u8]) -> Result<Vec<Document>, String> {
    let folder = folder(&[(name, content)]);
    read(&folder, &format!("corpus/{name}")).map(|(documents, _)| documents).map_err(|e| e.replace("corpus/", ""))
}

fn passages(name: &str, content: &str, words: usize, overlap: usize) -> Vec<Passage> {
    passages_of(name, content.as_bytes(), words, overlap)
}

fn passages_of(name: &str, content: &[u8], words: usize, overlap: usize) -> Vec<Passage> {
    let folder = folder(&[(name, content)]);
    let chunking = Chunking::new(words, Overlap::Words(overlap)).unwrap();
    let corpus = open(&folder, &[&format!("corpus/{name}")]).unwrap();
    corpus.passages(chunking).collect::<Result<_, _>>().unwrap()
}

#[test]
fn folders_are_read_recursively_and_skipped_files_are_reported() {
    let f = folder(&[
        ("b.txt", b"B"),
        ("a/deep/er.md", b"E"),
        ("a/z.txt", b"Z"),
        ("a/.hidden.txt", b"H"),
        (".git/a.txt", b"G"),
        ("a/p.png", b"P"),
        ("rubbish.txt", b"\x80\x01\x02\xff\x03rubbish"),
        ("empty.txt", b"\n"),
        ("odd.jsonl", b"{\"body_text\": 1}"),
        ("odd.csv", b"x,y\n1,2,3\n"),
    ]);
    let (documents, skipped) = read(&f, "corpus").unwrap();
    let found: Vec<_> = documents.iter().map(|d| (d.text.as_str(), d.source.as_deref().unwrap())).collect();
    assert_eq!(found, [("E", "a"), ("Z", "a"), ("B", "corpus")]);
    assert_eq!(bare(&f, &documents[0].file), "corpus/a/deep/er.md");
    assert_eq!(
        skipped,
        [
            format!("corpus/a/p.png: not {}", listed_endings()).as_str(),
            "corpus/empty.txt: expected text, found an empty document",
            "corpus/odd.csv: line 2: expected 2 columns as in the first line, found 3 (is a delimiter or quotation mark in a field not quoted?)",
            "corpus/odd.jsonl: line 1: expected an object with `text` or `contents`, found the fields `body_text`",
            "corpus/rubbish.txt: expected text, found a binary file (no character set makes a text of it; not UTF-8 from byte 0)",
        ]
    );
}

#[test]
fn a_file_that_is_named_itself_must_be_sound() {
    #[rustfmt::skip]
    let cases: &[(&str, &[u8], &str)] = &[
        ("a.txt", b"\x1f\x8b\x08 caf\xe9\x07", "a.txt: expected text, found a binary file (no character set makes a text of it; not UTF-8 from byte 1)"),
        ("a.html", b"<p> </p>", "a.html: expected text, found an empty document"),
        ("a.png", b"", "a.png: expected ENDINGS, or a folder, found .png"),
        ("a.jsonl", b"\n", "a.jsonl: expected one JSON object a line, found an empty file"),
        ("a.jsonl", b"\n{\"text\": 1}", "a.jsonl:2: expected a string in `text`, found the number 1"),
        ("a.csv", b"", "a.csv: expected a header line, found an empty file"),
        ("a.csv", b"id,text\nb,c,d\n", "a.csv:2: expected 2 columns as in the first line, found 3 (is a delimiter or quotation mark in a field not quoted?)"),
        ("a.csv", b"text,title\n,T\n", "no text in the corpus: none of 1 files holds any (a.csv: 1 record without text)"),
    ];
    for (name, content, expected) in cases {
        assert_eq!(one(name, content).unwrap_err(), expected.replace("ENDINGS", &listed_endings()));
    }
    let f = folder(&[("p.png", b"P")]);
    assert_eq!(
        open(&f, &["corpus"]).unwrap_err(),
        format!(
            "corpus: expected at least one {0} file, found only other things (corpus/p.png: not {0})",
            listed_endings()
        )
    );
    assert!(open(&f, &["none"]).unwrap_err().starts_with("none: cannot open: No such file"));
    assert!(open(&f, &["corpus/*.md"]).unwrap_err().ends_with("found nothing"));
    assert!(open(&f, &[]).unwrap_err().contains("expected files or folders"));
}

/// A kind that no reader takes is a bug, which the error says.
#[test]
fn every_ending_has_a_reader() {
    for ending in listed_endings().replace(" or ", ", ").split(", ") {
        let read = one(&format!("a{ending}"), b"text\n<p>x</p>\n");
        assert!(!read.as_ref().is_err_and(|e| e.contains("(bug)")), "{ending}: {read:?}");
    }
}

#[test]
fn a_corpus_without_text_is_an_error() {
    let f = folder(&[("a.txt", b""), ("b.txt", b" ")]);
    assert_eq!(
        read(&f, "corpus").unwrap_err(),
        "no text in the corpus: none of 2 files holds any (corpus/a.txt: expected text, found an empty document)"
    );
}

#[test]
fn a_file_that_breaks_halfway_is_an_error_even_in_a_folder() {
    let late = "{\"text\": \"A\"}\n".repeat(1000) + &"{\"text\": \"B\"\n".repeat(1001);
    let f = folder(&[("a.jsonl", late.as_bytes())]);
    let said = read(&f, "corpus").unwrap_err();
    assert!(said.starts_with("corpus/a.jsonl:1001: expected a JSON object, found JSON that ends"), "{said}");
}

#[test]
fn files_come_in_the_order_given_and_once() {
    let f = folder(&[("a.txt", b"A"), ("b.txt", b"B"), ("c/d.md", b"D")]);
    let corpus = open(&f, &["corpus/b.txt", "corpus/*", "corpus"]).unwrap();
    let texts: Vec<_> = corpus.documents().map(|document| document.unwrap().text).collect();
    assert_eq!(texts, ["B", "A", "D"]);
    assert_eq!((corpus.files(), corpus.bytes()), (3, 3));
    let skipped: Vec<_> = corpus.skipped().iter().map(|s| bare(&f, s)).collect();
    assert_eq!(
        skipped,
        [
            "corpus/b.txt: given before",
            "corpus/a.txt: given before",
            "corpus/b.txt: given before",
            "corpus/c: given before"
        ]
    );
}

/// What was given before is left out, also where nothing else is given with it.
#[test]
fn a_folder_that_is_given_twice_is_read_once() {
    let f = folder(&[("a.txt", b"A")]);
    for second in ["corpus", "corpus/*", "corpus/a.txt"] {
        let corpus = open(&f, &["corpus", second]).unwrap();
        assert_eq!((corpus.files(), corpus.skipped().len()), (1, 1), "{second}");
    }
    let nothing = folder(&[("a.png", b"A")]);
    assert!(open(&nothing, &["corpus", "corpus"]).is_err());
}

#[cfg(unix)]
#[test]
fn names_that_are_not_utf8_stay_apart() {
    use std::os::unix::ffi::OsStrExt;
    let f = folder(&[("a.txt", b"A")]);
    for name in [&b"bad\xff.txt"[..], b"bad\xfe.txt"] {
        fs::write(f.path().join("corpus").join(std::ffi::OsStr::from_bytes(name)), "B").unwrap();
    }
    let passages = open(&f, &["corpus"]).unwrap().passages(Chunking::default());
    let file = |passage: Passage| passage.origin.file.rsplit('/').next().unwrap().to_owned();
    let names: Vec<String> = passages.map(|passage| file(passage.unwrap())).collect();
    assert_eq!(names, ["a.txt", "bad\\xfe.txt", "bad\\xff.txt"]);
}

#[cfg(unix)]
#[test]
fn loops_of_links_end() {
    let f = folder(&[("a/b.txt", b"B")]);
    std::os::unix::fs::symlink(f.path().join("corpus"), f.path().join("corpus/a/loop")).unwrap();
    std::os::unix::fs::symlink("nowhere", f.path().join("corpus/a/dead.txt")).unwrap();
    let (documents, skipped) = read(&f, "corpus").unwrap();
    assert_eq!(documents.len(), 1);
    assert!(skipped[0].starts_with("corpus/a/dead.txt: cannot open") && skipped[1] == "corpus/a/loop: given before");
}

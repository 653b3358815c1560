//! The targets: one function each from bytes to an outcome.

mod package;
mod record;
mod reply;
mod sealed;
mod stream;
mod words;

use super::mutate;
use super::random::Random;
use moot::retrieval::chunk::Chunking;
use moot::retrieval::corpus::Corpus;
use moot::retrieval::index::Index;
use moot::{MootError, Result};
pub(crate) use package::pack;
pub(crate) use sealed::sealed;
use std::fs;
use std::path::PathBuf;
use tempfile::TempDir;

/// A row of [`TARGETS`].
pub(crate) struct Target {
    pub(crate) name: &'static str,
    /// The entry. An error is as good an outcome as any; only a panic, a hang and a greedy allocation are faults.
    pub(crate) entry: fn(&[u8]) -> Result<()>,
    /// Changes an input a little, by what its format is.
    pub(crate) mutate: fn(&mut Vec<u8>, &mut Random),
    /// Files of this package that are in the corpus besides `fuzz/corpus/<name>`.
    pub(crate) more: &'static [&'static str],
    /// The bound on its memory.
    pub(crate) bound: Bound,
}

/// Bytes that a target may hold at once.
pub(crate) struct Bound {
    /// Whatever the input.
    pub(crate) fixed: usize,
    /// For each byte of it.
    pub(crate) factor: usize,
}

/// A text's: the file, its pieces (one for each word, 32 bytes), its passages with what they say of their origin.
const TEXT: Bound = Bound { fixed: 4 << 20, factor: 400 };

/// A PDF's: the stated limits would allow more, but nothing of the corpus packs so much; fonts are unpacked, with tables
/// of all their letters.
const PDF: Bound = Bound { fixed: 256 << 20, factor: 400 };

/// Every target there is.
pub(crate) const TARGETS: &[Target] = &[
    Target {
        name: "pdf",
        entry: |bytes| corpus("pdf", bytes),
        mutate: |bytes, random| tokens(bytes, random, words::PDF),
        more: &["tests/golden/pdf/text.pdf", "tests/golden/pdf/encrypted.pdf", "tests/golden/pdf/picture.pdf"],
        bound: PDF,
    },
    Target {
        name: "html",
        entry: |bytes| corpus("html", bytes),
        mutate: |bytes, random| tokens(bytes, random, words::HTML),
        more: &[],
        bound: TEXT,
    },
    Target {
        name: "text",
        entry: |bytes| corpus("md", bytes),
        mutate: |bytes, random| tokens(bytes, random, words::TEXT),
        more: &[],
        bound: TEXT,
    },
    Target {
        name: "table",
        entry: |bytes| corpus("csv", bytes),
        mutate: |bytes, random| {
            tokens(
                bytes,
                random,
                &["\"", ",", ";", "|", "\n", "\r\n", "\"\"", "\u{feff}", "text", "sep=;\n", "\t", "\0"],
            );
        },
        more: &[],
        bound: TEXT,
    },
    Target {
        name: "lines",
        entry: |bytes| corpus("jsonl", bytes),
        mutate: |bytes, random| tokens(bytes, random, words::JSON),
        more: &[],
        bound: TEXT,
    },
    Target {
        name: "manifest",
        entry: manifest,
        mutate: |bytes, random| tokens(bytes, random, words::JSON),
        more: &[],
        bound: TEXT,
    },
    Target { name: "package", entry: package::package, mutate: package::change, more: &[], bound: package::BOUND },
    Target {
        name: "rtf",
        entry: |bytes| corpus("rtf", bytes),
        mutate: |bytes, random| tokens(bytes, random, words::RTF),
        more: &[],
        bound: TEXT,
    },
    Target { name: "workbook", entry: |bytes| corpus("xls", bytes), mutate: mutate::blind, more: &[], bound: TEXT },
    Target {
        name: "mail",
        entry: |bytes| corpus("eml", bytes),
        mutate: |bytes, random| tokens(bytes, random, words::MAIL),
        more: &[],
        bound: TEXT,
    },
    Target {
        name: "notebook",
        entry: |bytes| corpus("ipynb", bytes),
        mutate: |bytes, random| tokens(bytes, random, words::NOTEBOOK),
        more: &[],
        bound: TEXT,
    },
    Target {
        name: "record",
        entry: record::record,
        mutate: record::change,
        more: &["tests/fixtures/version-1.jsonl", "tests/fixtures/version-2.jsonl"],
        bound: record::BOUND,
    },
    Target {
        name: "stream",
        entry: stream::stream,
        mutate: |bytes, random| tokens(bytes, random, words::STREAM),
        more: &[],
        bound: stream::BOUND,
    },
    Target { name: "reply", entry: reply::reply, mutate: reply::change, more: &[], bound: reply::BOUND },
];

/// Puts a word of the format somewhere, repeats a part, or damages it blindly.
fn tokens(bytes: &mut Vec<u8>, random: &mut Random, words: &[&str]) {
    let at = random.below(bytes.len() + 1);
    match random.below(4) {
        0 => mutate::blind(bytes, random),
        1 => {
            let end = (at + random.below(64)).min(bytes.len());
            let part = bytes[at..end].to_vec();
            let times = 1 + random.below(200);
            drop(bytes.splice(at..at, part.repeat(times)));
        }
        2 => {
            let times = 1 + random.below(3) * random.below(300);
            let word = random.pick(words).as_bytes().repeat(times);
            drop(bytes.splice(at..at, word));
        }
        _ => {
            let end = (at + random.below(12)).min(bytes.len());
            drop(bytes.splice(at..end, random.pick(words).bytes()));
        }
    }
}

thread_local! {
    /// Removed when the thread ends.
    static FOLDER: TempDir = tempfile::Builder::new().prefix("moot-fuzz-").tempdir().unwrap();
}

/// A folder of this thread's own.
fn folder() -> PathBuf {
    FOLDER.with(|folder| folder.path().to_owned())
}

/// A corpus of one file, cut into passages.
fn corpus(ending: &str, bytes: &[u8]) -> Result<()> {
    let path = folder().join(format!("a.{ending}"));
    fs::write(&path, bytes).unwrap();
    let corpus = Corpus::open(&[path.display().to_string()])?;
    for passage in corpus.passages(Chunking::default()) {
        assert!(!passage?.text.trim().is_empty());
    }
    Ok(())
}

/// The manifest of an index whose files are not there.
fn manifest(bytes: &[u8]) -> Result<()> {
    let folder = folder().join("index");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("manifest.json"), bytes).unwrap();
    match Index::open(&folder) {
        Ok(index) => index.manifest().verify(&folder),
        // Sound, as far as it is read without the files.
        Err(MootError::Index { wrong, .. }) if wrong.contains("no such file") => Ok(()),
        Err(error) => Err(error),
    }
}

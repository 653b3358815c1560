//! Datasets: questions with documents and what is right. One file a format, one row a file.

use crate::error::{MootError, Result};
use crate::eval::record::DatasetIdentity;
use crate::jsonl::{Lines, Object};
use crate::question::Question;
use sha2::{Digest, Sha256};
use std::fmt::Write as _;
use std::fs::File;
use std::io;
use std::path::Path;

pub mod ramdocs;

/// A row of [`DATASETS`].
pub struct Row {
    /// As typed, and as printed.
    pub name: &'static str,
    /// Who published it.
    pub paper: &'static str,
    /// The licence found upstream.
    pub licence: &'static str,
    /// One line for people.
    pub about: &'static str,
    /// Whether a file's first object is of this format.
    pub detect: fn(&Object) -> bool,
    /// Reads all of it, in the file's order.
    pub load: fn(&Path) -> Result<Vec<Question>>,
}

/// Every format there is.
pub const DATASETS: &[Row] = &[ramdocs::ROW];

/// A file of questions.
#[derive(Debug, Clone, PartialEq)]
pub struct Dataset {
    /// For the record's header.
    pub identity: DatasetIdentity,
    /// In the file's order.
    pub questions: Vec<Question>,
}

/// Reads the dataset at `path`, whose format its first line tells.
///
/// # Errors
/// [`MootError::Io`] where it cannot be read; [`MootError::Input`] for a format that no row knows, and for
/// the first line that its format forbids, with the field, what was expected and what is there.
pub fn load(path: &Path) -> Result<Dataset> {
    let row = detect(path)?;
    let questions = (row.load)(path)?;
    let name = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    let identity = DatasetIdentity { name, sha256: sha256_of(path)?, questions: questions.len() };
    Ok(Dataset { identity, questions })
}

fn detect(path: &Path) -> Result<&'static Row> {
    let known = || DATASETS.iter().map(|row| row.name).collect::<Vec<_>>().join(", ");
    let Some(first) = Lines::open(path)?.next() else {
        return Err(MootError::Input {
            path: path.into(),
            line: None,
            expected: format!("a dataset ({})", known()),
            found: "an empty file".into(),
        });
    };
    let (number, text) = first?;
    let object = Object::parse(path, number, &text)?;
    DATASETS.iter().find(|row| (row.detect)(&object)).ok_or_else(|| {
        object.complaint(&format!("a line of a known dataset ({})", known()), format!("the fields {}", object.names()))
    })
}

/// Hex SHA-256 of a file.
///
/// # Errors
/// [`MootError::Io`] where it cannot be read.
pub fn sha256_of(path: &Path) -> Result<String> {
    let mut file = File::open(path).map_err(|e| MootError::io(path, "open", e))?;
    let mut hasher = HashWriter(Sha256::new());
    io::copy(&mut file, &mut hasher).map_err(|e| MootError::io(path, "read", e))?;
    Ok(hex(&hasher.0.finalize()))
}

struct HashWriter(Sha256);

impl io::Write for HashWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing into a String cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// An id that survives reordering of the options but not of the file: the line, and the question's own hash, so
/// that two files' ids differ and a question asked twice in one file still has two.
#[must_use]
pub fn question_id(line: usize, question: &str) -> String {
    format!("{line}-{}", &hex(&Sha256::digest(question.as_bytes()))[..8])
}

//! Hashes of dataset files and of questions.

use crate::error::{MootError, Result};
use crate::units::hex;
use sha2::{Digest, Sha256};
use std::io;
use std::path::Path;

/// Hex SHA-256 of a file.
///
/// # Errors
/// [`MootError::Io`] where it cannot be read.
pub(crate) fn sha256_of(path: &Path) -> Result<String> {
    let mut file = crate::files::open(path)?;
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

/// The id of a question whose dataset gives none: the item's number, and a hash of the question, so that the ids of two
/// files differ and a question asked twice in one file has two.
#[must_use]
pub fn question_id(number: usize, question: &str) -> String {
    format!("{number}-{}", &hex(&Sha256::digest(question.as_bytes()))[..8])
}

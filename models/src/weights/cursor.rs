//! Reads numbers and strings off a byte slice; a length is compared with the remaining bytes before it is used.

use crate::error::{ModelError, Result};
use std::path::Path;

/// A position in the bytes of a GGUF file, all numbers little-endian.
pub(super) struct Cursor<'a> {
    path: &'a Path,
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(path: &'a Path, bytes: &'a [u8]) -> Self {
        Self { path, bytes, at: 0 }
    }

    /// The file, for messages.
    pub(super) fn path(&self) -> &Path {
        self.path
    }

    /// Bytes read so far.
    pub(super) fn position(&self) -> usize {
        self.at
    }

    fn remaining(&self) -> usize {
        self.bytes.len() - self.at
    }

    /// The error for `location` not being `expected`.
    pub(super) fn wrong(&self, location: &str, expected: impl Into<String>, found: impl Into<String>) -> ModelError {
        ModelError::Format {
            path: self.path.to_owned(),
            format: "GGUF",
            location: location.to_owned(),
            expected: expected.into(),
            found: found.into(),
        }
    }

    /// The next `length` bytes.
    pub(super) fn take(&mut self, length: u64, location: &str) -> Result<&'a [u8]> {
        let within = usize::try_from(length).ok().filter(|n| *n <= self.remaining());
        let Some(length) = within else {
            let found = format!("{} up to the end of the file", self.remaining());
            return Err(self.wrong(location, format!("{length} bytes at offset {}", self.at), found));
        };
        let taken = &self.bytes[self.at..self.at + length];
        self.at += length;
        Ok(taken)
    }

    /// The next `N` bytes.
    pub(super) fn fixed<const N: usize>(&mut self, location: &str) -> Result<[u8; N]> {
        let taken = self.take(N as u64, location)?;
        Ok(taken.try_into().expect("take returns exactly the bytes asked for (bug)"))
    }

    pub(super) fn u32(&mut self, location: &str) -> Result<u32> {
        self.fixed(location).map(u32::from_le_bytes)
    }

    pub(super) fn u64(&mut self, location: &str) -> Result<u64> {
        self.fixed(location).map(u64::from_le_bytes)
    }

    /// A number of things of which each takes at least `smallest` bytes, so that the file itself bounds it.
    pub(super) fn count(&mut self, smallest: usize, location: &str) -> Result<usize> {
        let count = self.u64(location)?;
        let most = self.remaining() / smallest;
        usize::try_from(count).ok().filter(|n| *n <= most).ok_or_else(|| {
            self.wrong(location, format!("a count of at most {most}, by the file's length"), count.to_string())
        })
    }

    /// A length and that many bytes.
    pub(super) fn counted_bytes(&mut self, location: &str) -> Result<&'a [u8]> {
        let length = self.u64(location)?;
        self.take(length, location)
    }

    /// As [`Self::counted_bytes`], as text.
    pub(super) fn text(&mut self, location: &str) -> Result<&'a str> {
        let start = self.at;
        let bytes = self.counted_bytes(location)?;
        std::str::from_utf8(bytes).map_err(|e| {
            self.wrong(location, "UTF-8 text", format!("an invalid byte at offset {}", start + 8 + e.valid_up_to()))
        })
    }

    /// `count` numbers of `N` bytes each.
    pub(super) fn numbers<const N: usize, T>(
        &mut self,
        count: usize,
        location: &str,
        decode: fn([u8; N]) -> T,
    ) -> Result<Vec<T>> {
        let length = (count as u64).saturating_mul(N as u64);
        let (chunks, _) = self.take(length, location)?.as_chunks::<N>();
        Ok(chunks.iter().map(|chunk| decode(*chunk)).collect())
    }
}

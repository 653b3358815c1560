//! Vectors of the unfinished segment, so that a killed build does not embed their passages again.
//!
//! A segment of 65,536 passages takes a slow embedder minutes to hours. Each batch is appended here as soon as it is
//! embedded. The resumed build reads the same passages, and takes the vectors from here as long as passages and
//! vectors are those of the journal. The file is removed once its segment is finished.

use super::manifest::Dense;
use crate::error::{MootError, Result};
use crate::units::hex;
use sha2::{Digest, Sha256};
use std::fs::{self, File, OpenOptions};
use std::io::{BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// Its file name.
const NAME: &str = "embedded.bin";
/// Bytes of a record's hash: the first ones of a SHA-256 of the passage's line and its vector.
const HASH: usize = 16;

/// The vectors of one segment, as 32-bit numbers, in the order of its passages.
pub(super) struct Journal {
    path: PathBuf,
    dimension: usize,
    /// Bytes before the first record.
    head: u64,
    state: State,
}

enum State {
    /// Records of an earlier build that may still be used; the byte where the next one begins.
    Reading(BufReader<File>, u64),
    Writing(BufWriter<File>),
}

impl Journal {
    /// The journal of segment `number` in `dir`: that of a killed build, or an empty one.
    pub(super) fn open(dir: &Path, number: usize, dense: &Dense) -> Result<Self> {
        let path = dir.join(NAME);
        let embedder = hex(&Sha256::digest(dense.embedder.as_bytes()));
        let head = format!("moot vectors 1, segment {number}, {} numbers, {embedder}\n", dense.dimension);
        let failed = |e| MootError::io(&path, "write", e);
        let begin = head.len() as u64;
        let state = match earlier(&path, head.as_bytes()) {
            Some(reader) => State::Reading(reader, begin),
            None => {
                // The path may hold a link: it is removed, so that the link is not followed.
                let _ = fs::remove_file(&path);
                let file = OpenOptions::new().write(true).create_new(true).open(&path).map_err(failed)?;
                let mut file = BufWriter::new(file);
                file.write_all(head.as_bytes()).map_err(failed)?;
                State::Writing(file)
            }
        };
        Ok(Self { path, dimension: dense.dimension, head: begin, state })
    }

    /// Vectors of the first of `lines`, one after another, as far as they are known.
    pub(super) fn known(&mut self, lines: &[Vec<u8>]) -> Result<Vec<f32>> {
        let mut vectors = Vec::new();
        let State::Reading(reader, at) = &mut self.state else { return Ok(vectors) };
        let mut record = vec![0; HASH + 4 * self.dimension];
        for line in lines {
            // A record that was cut by the kill is the last one.
            let whole = reader.read_exact(&mut record).is_ok() && record[..HASH] == hash(line, &record[HASH..]);
            if !whole {
                let end = *at;
                self.write_from(end)?;
                break;
            }
            *at += record.len() as u64;
            vectors.extend(record[HASH..].as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)));
        }
        Ok(vectors)
    }

    /// Truncates the journal after byte `end`, and continues there.
    fn write_from(&mut self, end: u64) -> Result<()> {
        let failed = |e| MootError::io(&self.path, "write", e);
        let mut file = OpenOptions::new().write(true).open(&self.path).map_err(failed)?;
        file.set_len(end).and_then(|()| file.seek(SeekFrom::Start(end))).map_err(failed)?;
        self.state = State::Writing(BufWriter::new(file));
        Ok(())
    }

    /// Adds the vectors of `lines`. They outlive this process when this returns, though perhaps not a power failure.
    pub(super) fn append(&mut self, lines: &[Vec<u8>], vectors: &[f32]) -> Result<()> {
        if let State::Reading(_, at) = self.state {
            self.write_from(at)?;
        }
        let State::Writing(file) = &mut self.state else { return Ok(()) };
        let mut bytes = Vec::with_capacity(4 * self.dimension);
        for (line, vector) in lines.iter().zip(vectors.chunks_exact(self.dimension)) {
            bytes.clear();
            bytes.extend(vector.iter().flat_map(|x| x.to_le_bytes()));
            let written = file.write_all(&hash(line, &bytes)).and_then(|()| file.write_all(&bytes));
            written.map_err(|e| MootError::io(&self.path, "write", e))?;
        }
        file.flush().map_err(|e| MootError::io(&self.path, "write", e))
    }

    /// Whether `dir` has one.
    pub(super) fn is_in(dir: &Path) -> bool {
        dir.join(NAME).exists()
    }

    /// Whether it holds no vector.
    pub(super) fn is_empty(&self) -> bool {
        let record = (HASH + 4 * self.dimension) as u64;
        // A kill can leave a truncated record, which does not count as a vector.
        fs::metadata(&self.path).is_ok_and(|file| file.len() < self.head + record)
    }

    /// Removes it: its segment is finished.
    pub(super) fn remove(self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// The journal of a killed build behind its `head`; `None` if there is none for this segment and embedder.
fn earlier(path: &Path, head: &[u8]) -> Option<BufReader<File>> {
    // This program writes no links, pipes or devices.
    fs::symlink_metadata(path).ok().filter(fs::Metadata::is_file)?;
    let mut reader = BufReader::new(File::open(path).ok()?);
    let mut found = vec![0; head.len()];
    reader.read_exact(&mut found).ok()?;
    (found == head).then_some(reader)
}

fn hash(line: &[u8], vector: &[u8]) -> [u8; HASH] {
    let mut hash = Sha256::new();
    hash.update((line.len() as u64).to_le_bytes());
    hash.update(line);
    hash.update(vector);
    let mut first = [0; HASH];
    first.copy_from_slice(&hash.finalize()[..HASH]);
    first
}

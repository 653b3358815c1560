//! Vectors that were computed elsewhere, beside the corpus that they belong to: FAISS' flat indexes and NumPy's arrays.

mod faiss;
mod layout;
mod npy;

use crate::error::{MootError, Result};
use layout::{Fault, Layout};
use std::cell::Cell;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// Most files, so that all may be open at once.
const MOST_FILES: usize = 256;
/// Most numbers of a vector.
const MOST_NUMBERS: u64 = 1 << 16;

/// A kind of file: its first bytes, and what reads the rest of its header.
struct Kind {
    marks: &'static [&'static [u8]],
    name: &'static str,
    layout: fn(&mut File) -> std::result::Result<Layout, Fault>,
}

/// Every kind there is.
const KINDS: &[Kind] = &[
    Kind { marks: &[b"IxFI", b"IxF2", b"IxFl"], name: "a flat index of FAISS", layout: faiss::layout },
    Kind { marks: &[b"\x93NUM"], name: "an array of NumPy (.npy)", layout: npy::layout },
];

#[derive(Debug)]
struct Part {
    path: PathBuf,
    layout: Layout,
}

/// The vectors of one or several files, one after the other.
#[derive(Debug)]
pub struct GivenVectors {
    parts: Vec<Part>,
    count: u64,
    dimension: usize,
}

impl GivenVectors {
    /// Reads the headers of `paths`.
    ///
    /// # Errors
    /// [`MootError::Input`] for a file of another kind or length than its header says, or vectors of different lengths;
    /// [`MootError::Io`].
    pub fn open(paths: &[PathBuf]) -> Result<Self> {
        if paths.len() > MOST_FILES {
            return Err(MootError::Usage(format!(
                "--vectors: expected at most {MOST_FILES} files, found {}",
                paths.len()
            )));
        }
        let parts = paths.iter().map(|path| Part::open(path)).collect::<Result<Vec<_>>>()?;
        let Some(first) = parts.first() else {
            return Err(MootError::Usage("--vectors: expected a file, found none".into()));
        };
        let dimension = first.layout.dimension;
        if let Some(other) = parts.iter().find(|part| part.layout.dimension != dimension) {
            let expected = format!("vectors of {dimension} numbers, as in {}", first.path.display());
            return Err(wrong(&other.path, &expected, &format!("vectors of {}", other.layout.dimension)));
        }
        let count = parts.iter().map(|part| part.layout.count).sum();
        Ok(Self { count, dimension: usize::try_from(dimension).unwrap_or(usize::MAX), parts })
    }

    /// Number of vectors.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Numbers of each.
    #[must_use]
    pub fn dimension(&self) -> usize {
        self.dimension
    }

    /// The names of the files, without folders.
    #[must_use]
    pub fn names(&self) -> String {
        let name = |part: &Part| part.path.file_name().map(|name| name.to_string_lossy().into_owned());
        self.parts.iter().filter_map(name).collect::<Vec<_>>().join(", ")
    }

    /// Vectors `first` to `first + count`, row-major.
    ///
    /// # Errors
    /// [`MootError::Io`]; [`MootError::Input`] where there are fewer.
    pub fn rows(&self, first: u64, count: usize) -> Result<Vec<f32>> {
        let (mut rows, mut at, mut left) = (Vec::with_capacity(count * self.dimension), first, count as u64);
        let mut before = 0;
        for part in &self.parts {
            let inside = at.saturating_sub(before).min(part.layout.count);
            let taken = (part.layout.count - inside).min(left);
            if taken > 0 && at >= before {
                rows.extend(part.rows(inside, taken)?);
                (at, left) = (at + taken, left - taken);
            }
            before += part.layout.count;
        }
        if left > 0 {
            let path = self.parts.last().map_or_else(PathBuf::new, |part| part.path.clone());
            return Err(wrong(
                &path,
                &format!("{} vectors in all files", first + count as u64),
                &self.count.to_string(),
            ));
        }
        Ok(rows)
    }
}

impl Part {
    fn open(path: &Path) -> Result<Self> {
        let io = |e| MootError::io(path, "read", e);
        let mut file = crate::files::open(path)?;
        let mut mark = [0; 4];
        file.read_exact(&mut mark).map_err(|_| {
            let kinds = KINDS.iter().map(|kind| kind.name).collect::<Vec<_>>().join(" or ");
            wrong(path, &kinds, "fewer than 4 bytes")
        })?;
        let Some(kind) = KINDS.iter().find(|kind| kind.marks.contains(&mark.as_slice())) else {
            let kinds = KINDS.iter().map(|kind| kind.name).collect::<Vec<_>>().join(" or ");
            return Err(wrong(path, &kinds, &format!("a file that begins with {}", mark.escape_ascii())));
        };
        let layout = (kind.layout)(&mut file)
            .map_err(|fault| wrong(path, &format!("{} with {}", kind.name, fault.expected), &fault.found))?;
        if layout.dimension == 0 || layout.dimension > MOST_NUMBERS {
            let expected = format!("vectors of 1 to {MOST_NUMBERS} numbers");
            return Err(wrong(path, &expected, &layout.dimension.to_string()));
        }
        let length = file.metadata().map_err(io)?.len();
        let bytes = layout.count.checked_mul(layout.dimension * layout.number.bytes());
        if bytes.and_then(|bytes| bytes.checked_add(layout.offset)) != Some(length) {
            let Layout { count, dimension, number, offset } = layout;
            let expected =
                format!("{count} vectors of {dimension} numbers of {} bytes behind {offset} bytes", number.bytes());
            return Err(wrong(path, &expected, &format!("{length} bytes in all")));
        }
        Ok(Self { path: path.to_owned(), layout })
    }

    fn rows(&self, first: u64, count: u64) -> Result<Vec<f32>> {
        let row = self.layout.dimension * self.layout.number.bytes();
        let io = |e| MootError::io(&self.path, "read", e);
        let mut file = crate::files::open(&self.path)?;
        file.seek(SeekFrom::Start(self.layout.offset + first * row)).map_err(io)?;
        let mut bytes = vec![0; usize::try_from(count * row).unwrap_or(usize::MAX)];
        file.read_exact(&mut bytes).map_err(io)?;
        Ok(self.layout.number.read(&bytes))
    }
}

fn wrong(path: &Path, expected: &str, found: &str) -> MootError {
    MootError::Input { path: path.to_owned(), line: None, expected: expected.to_owned(), found: found.to_owned() }
}

/// The comparison of given vectors with those of an embedder: passages that are embedded again, and what was found.
#[derive(Debug)]
pub(crate) struct Comparison {
    /// Of this many passages one is embedded again.
    every: u64,
    /// Least cosine of a given vector to the embedder's, so far.
    least: Cell<f32>,
}

/// Passages embedded again.
const COMPARED: u64 = 32;
/// Least cosine to the embedder's vector. The same model gives more than 0.99 in other arithmetic, and less where titles are
/// joined otherwise; other passages, and other models, give less than this.
const LEAST_COSINE: f32 = 0.9;
/// Largest ratio of a given vector's length to the embedder's: more means that one of them was not normalised.
const RATIO: f32 = 1.1;

impl Comparison {
    pub(crate) fn over(count: u64) -> Self {
        Self { every: count.div_ceil(COMPARED).max(1), least: Cell::new(1.0) }
    }

    /// Whether the passage at `index` is embedded again.
    pub(crate) fn takes(&self, index: u64) -> bool {
        index.is_multiple_of(self.every)
    }

    /// The least cosine so far.
    pub(crate) fn least(&self) -> f32 {
        self.least.get()
    }

    /// Compares a given vector with the embedder's.
    pub(crate) fn compare(&self, given: &[f32], own: &[f32]) -> std::result::Result<(), String> {
        let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
        let (a, b) = (dot(given, given).sqrt(), dot(own, own).sqrt());
        let cosine = dot(given, own) / (a * b);
        // Not `cosine < LEAST_COSINE`: a cosine that is no number would pass.
        if !(LEAST_COSINE..).contains(&cosine) {
            return Err(format!(
                "a cosine of {cosine:.3} to the embedder's own vector (expected at least {LEAST_COSINE})"
            ));
        }
        if !(1.0 / RATIO..=RATIO).contains(&(a / b)) {
            return Err(format!("a length of {a:.3}, where the embedder's own vector has {b:.3}"));
        }
        self.least.set(self.least.get().min(cosine));
        Ok(())
    }
}

//! The manifest: the only file of an index that is replaced. A file belongs to the index once the manifest lists it.

use super::files::{self, FileSum};
use super::layout::{CLUSTER_FILES, MANIFEST, SEGMENT_FILES, inputs_number, number, segment_folder};
use crate::error::{MootError, Result};
use moot_models::kernels::Storage;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Format number; other formats are refused.
pub const FORMAT: u32 = 1;

/// Bytes of a manifest at most: some 600 of them describe a segment of 65,536 passages.
const MAX_BYTES: u64 = 256 << 20;
/// Characters of a parser's complaint about one.
const MAX_FAULT: usize = 300;
/// Numbers of a vector at most.
const MAX_DIMENSION: usize = 1 << 16;
/// Largest index, in bytes, that is read and compared whole when it is opened; of a larger one, some blocks of each file.
const READ_WHOLE: u64 = 32 << 20;

/// The content of `manifest.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// [`FORMAT`]; also identifies the file.
    pub moot_index: u32,
    /// Version of the program that began the index.
    pub program: String,
    /// Its vectors; `None` for an index with BM25 only.
    pub dense: Option<Dense>,
    /// Whether it has BM25.
    pub bm25: bool,
    /// Finished segments, in the order of their passages.
    pub segments: Vec<SegmentEntry>,
    /// Builds and additions, in order.
    pub builds: Vec<BuildEntry>,
    /// Vectors clustered for approximate search.
    pub clusters: Option<ClustersEntry>,
    /// The files that were read, as they were; absent in an index that was built before they were recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inputs: Option<InputsEntry>,
}

/// The vectors of an index.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dense {
    /// The embedder's name when the index was begun, if given; used to open it again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// [`crate::retrieval::Embedder::identity`].
    pub embedder: String,
    /// Numbers per vector.
    pub dimension: usize,
    /// "f32", "f16" or "int8".
    pub storage: String,
}

impl Dense {
    /// The storage type.
    ///
    /// # Errors
    /// [`MootError::UnknownName`].
    pub(crate) fn storage(&self) -> Result<Storage> {
        storage_named(&self.storage)
    }
}

/// The storage type called `name`: "f32", "f16" or "int8".
///
/// # Errors
/// [`MootError::UnknownName`].
pub(crate) fn storage_named(name: &str) -> Result<Storage> {
    let all = [Storage::F32, Storage::F16, Storage::I8];
    all.into_iter().find(|storage| storage.name() == name).ok_or_else(|| MootError::UnknownName {
        kind: "storage type",
        name: name.into(),
        known: all.map(Storage::name).join(", "),
    })
}

/// One finished segment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SegmentEntry {
    /// Its folder under `segments`.
    pub name: String,
    /// Number of passages.
    pub passages: u64,
    /// Its files.
    pub files: BTreeMap<String, FileSum>,
}

/// The record of the files that were read: `super::InputFile`s of each build.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InputsEntry {
    /// Its name: `inputs-000000.json`.
    pub name: String,
    /// Its length and hash.
    pub sum: FileSum,
}

/// One build or addition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BuildEntry {
    /// The corpus, as typed.
    pub corpus: Vec<String>,
    /// Number of its first segment, from 0; an update mixes the segments of finished builds.
    pub first: usize,
    /// Whether all of the corpus is indexed.
    pub finished: bool,
}

/// The clustered vectors of the first passages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClustersEntry {
    /// Its folder.
    pub name: String,
    /// Number of segments whose vectors are clustered; they are the first ones.
    pub segments: usize,
    /// Passages of those segments.
    pub passages: u64,
    /// Number of lists.
    pub lists: usize,
    /// Its files.
    pub files: BTreeMap<String, FileSum>,
}

impl Manifest {
    pub(super) fn new(dense: Option<Dense>, bm25: bool) -> Self {
        Self {
            moot_index: FORMAT,
            program: env!("CARGO_PKG_VERSION").into(),
            dense,
            bm25,
            segments: Vec::new(),
            builds: Vec::new(),
            clusters: None,
            inputs: None,
        }
    }

    /// Reads the manifest of the index in `dir`.
    ///
    /// # Errors
    /// [`MootError::Index`] if there is none, or it has another format or is damaged.
    pub fn read(dir: &Path) -> Result<Self> {
        let path = dir.join(MANIFEST);
        let text = match fs::metadata(&path).and_then(|found| read_bounded(&path, &found)) {
            Ok(text) if text.len() as u64 <= MAX_BYTES => text,
            Ok(_) => return Err(files::torn(&path, format!("expected at most {MAX_BYTES} bytes, found more"))),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Err(no_index(dir)),
            Err(e) if e.kind() == std::io::ErrorKind::NotADirectory => return Err(no_index(dir)),
            Err(e) => return Err(MootError::io(&path, "read", e)),
        };
        // Serde repeats what it found, however long that is.
        let broken = |e: serde_json::Error| {
            let found: String = crate::escape::line(&e.to_string()).chars().take(MAX_FAULT).collect();
            files::torn(&path, format!("expected the manifest of an index, found {found}"))
        };
        let value: Value = serde_json::from_slice(&text).map_err(broken)?;
        let found = &value["moot_index"];
        if *found != FORMAT {
            let found = if found.is_null() { "none".into() } else { found.to_string() };
            return Err(MootError::Index {
                path: dir.to_owned(),
                wrong: format!("expected an index of format {FORMAT}, found {found}"),
                hint: "it was made by another version of moot: use that version, or build the index again".into(),
            });
        }
        let manifest: Self = serde_json::from_value(value).map_err(broken)?;
        if let Some(dense) = &manifest.dense {
            dense.storage()?;
        }
        manifest.check().map_err(|(expected, found)| {
            files::torn(&path, format!("expected {expected}, found {}", crate::jsonl::shortened(&found)))
        })?;
        Ok(manifest)
    }

    /// Checks that this program could have written it: names are generated, so that files are only ever read, replaced
    /// and removed where this program would have put them.
    fn check(&self) -> std::result::Result<(), (String, String)> {
        let mut last: Option<u32> = None;
        // Added up so that no later sum of them overflows.
        let (mut passages, mut bytes) = (0_u64, 0_u64);
        let mut count = |entry: &BTreeMap<String, FileSum>, known: &[&str]| {
            for (name, sum) in entry {
                if !known.contains(&name.as_str()) {
                    return Err((format!("one of the files {}", known.join(", ")), name.clone()));
                }
                bytes = bytes.checked_add(sum.bytes).ok_or(("fewer than 2^64 bytes".to_owned(), "more".to_owned()))?;
            }
            Ok(())
        };
        for entry in &self.segments {
            let number = number(&entry.name).filter(|number| last.is_none_or(|last| *number > last));
            if number.is_none() {
                return Err(("segments named 000000, 000001 and so on, in order".into(), entry.name.clone()));
            }
            last = number;
            count(&entry.files, SEGMENT_FILES)?;
            let sum = passages.checked_add(entry.passages).filter(|_| entry.passages > 0);
            passages = sum.ok_or_else(|| ("a number of passages".to_owned(), entry.passages.to_string()))?;
        }
        if let Some(clusters) = &self.clusters {
            if clusters.name.strip_prefix("clusters-").and_then(number).is_none() {
                return Err(("a folder clusters-000000, clusters-000001 or so on".into(), clusters.name.clone()));
            }
            count(&clusters.files, CLUSTER_FILES)?;
            let grouped =
                self.segments.get(..clusters.segments).map(|segments| segments.iter().map(|s| s.passages).sum::<u64>());
            if grouped != Some(clusters.passages) {
                return Err(("clusters of the first segments' passages".into(), clusters.passages.to_string()));
            }
        }
        if let Some(inputs) = &self.inputs {
            if inputs_number(&inputs.name).is_none() {
                return Err(("a file inputs-000000.json, inputs-000001.json or so on".into(), inputs.name.clone()));
            }
            if inputs.sum.bytes > MAX_BYTES || bytes.checked_add(inputs.sum.bytes).is_none() {
                return Err((format!("a record of files of at most {MAX_BYTES} bytes"), inputs.sum.bytes.to_string()));
            }
        }
        let first = self.builds.iter().map(|build| build.first).find(|first| *first > self.segments.len());
        if let Some(first) = first {
            return Err((format!("builds that begin among {} segments", self.segments.len()), first.to_string()));
        }
        match &self.dense {
            Some(dense) if !(1..=MAX_DIMENSION).contains(&dense.dimension) => {
                Err((format!("vectors of 1 to {MAX_DIMENSION} numbers"), dense.dimension.to_string()))
            }
            _ => Ok(()),
        }
    }

    /// Checks that the files in `dir` are those that were finished: all bytes of a small index, lengths and some blocks
    /// of each file of a large one.
    pub(super) fn check_files(&self, dir: &Path) -> Result<()> {
        let whole = self.bytes() <= READ_WHOLE;
        self.files(dir).try_for_each(|(path, sum)| if whole { sum.verify(&path) } else { sum.verify_sample(&path) })
    }

    /// Checks that no build was stopped before its end.
    ///
    /// # Errors
    /// [`MootError::Index`] with the corpus of the one that was.
    pub fn check_finished(&self, dir: &Path) -> Result<()> {
        let stopped = self.builds.iter().find(|build| !build.finished);
        let found = match stopped {
            Some(build) => format!("that of {}, which was stopped", build.corpus.join(" ")),
            None if self.builds.is_empty() => "one that was stopped before it began".into(),
            None => return Ok(()),
        };
        Err(MootError::Index {
            path: dir.to_owned(),
            wrong: format!("expected a finished build, found {found}"),
            hint: "finish it first: run the command that began it again to resume it".into(),
        })
    }

    /// Makes this the manifest of `dir`: from now on everything it names is part of the index.
    pub(super) fn write(&self, dir: &Path) -> Result<()> {
        let path = dir.join(MANIFEST);
        let mut text = serde_json::to_vec_pretty(self).map_err(|e| MootError::io(&path, "write", e.into()))?;
        text.push(b'\n');
        files::replace(&path, &text)
    }

    /// Number of passages.
    #[must_use]
    pub fn passages(&self) -> u64 {
        self.segments.iter().map(|segment| segment.passages).sum()
    }

    /// Bytes of all files.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.files(Path::new("")).map(|(_, sum)| sum.bytes).sum()
    }

    /// Every file with its path under `dir`.
    pub(super) fn files(&self, dir: &Path) -> impl Iterator<Item = (PathBuf, &FileSum)> {
        let of_segments = self.segments.iter().map(|segment| (segment_folder(dir, &segment.name), &segment.files));
        let of_clusters = self.clusters.iter().map(|clusters| (dir.join(&clusters.name), &clusters.files));
        let folders: Vec<_> = of_segments.chain(of_clusters).collect();
        let of_inputs = self.inputs.iter().map(|inputs| (dir.join(&inputs.name), &inputs.sum)).collect::<Vec<_>>();
        let in_folder = |(folder, files): (PathBuf, _)| {
            let files: &BTreeMap<String, FileSum> = files;
            files.iter().map(move |(name, sum)| (folder.join(name), sum))
        };
        folders.into_iter().flat_map(in_folder).chain(of_inputs)
    }

    /// Reads every file and compares its length and hash with the manifest.
    ///
    /// # Errors
    /// [`MootError::Index`] for the first file that differs.
    pub fn verify(&self, dir: &Path) -> Result<()> {
        self.files(dir).try_for_each(|(path, sum)| sum.verify(&path))
    }
}

/// A regular file's bytes, one more than [`MAX_BYTES`] at most.
fn read_bounded(path: &Path, found: &fs::Metadata) -> std::io::Result<Vec<u8>> {
    use std::io::{Error, ErrorKind, Read};
    if !found.is_file() {
        return Err(Error::new(ErrorKind::InvalidInput, "no regular file"));
    }
    let mut text = Vec::new();
    fs::File::open(path)?.take(MAX_BYTES + 1).read_to_end(&mut text)?;
    Ok(text)
}

fn no_index(dir: &Path) -> MootError {
    let wrong = if dir.is_dir() {
        format!("expected an index, found a folder without {MANIFEST}")
    } else if dir.exists() {
        "expected the folder of an index, found a file".into()
    } else {
        "expected an index, found nothing there".into()
    };
    let hint = "an index is made by `moot index build CORPUS -o DIR`".into();
    MootError::Index { path: dir.to_owned(), wrong, hint }
}

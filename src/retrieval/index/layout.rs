//! The names of an index's files and folders.

use std::path::{Path, PathBuf};

/// The manifest.
pub(super) const MANIFEST: &str = "manifest.json";

/// One JSON object per line.
pub(super) const PASSAGES: &str = "passages.jsonl";
/// Start of each line and end of the last one: u64, little-endian.
pub(super) const OFFSETS: &str = "offsets.bin";
/// [`COLUMNS`](super::names::COLUMNS) bytes per passage.
pub(super) const COLUMNS_FILE: &str = "columns.bin";
/// [`Names`](super::names::Names).
pub(super) const NAMES: &str = "names.json";
/// Rows as [`moot_models::kernels::Storage`] encodes them; removed once they are clustered.
pub(super) const VECTORS: &str = "vectors.bin";
/// The segment's words, as tantivy stores them.
pub(super) const BM25: &str = "bm25.bin";

/// Of clustered vectors: `[lists, dimension]`, f32.
pub(super) const CENTROIDS: &str = "centroids.bin";
/// Where each list begins, in rows, and the end of the last: u64.
pub(super) const STARTS: &str = "starts.bin";
/// The passage of each row: u32.
pub(super) const IDS: &str = "ids.bin";
/// The rows, list after list.
pub(super) const ROWS: &str = "vectors.bin";

/// The files of a segment.
pub(super) const SEGMENT_FILES: &[&str] = &[PASSAGES, OFFSETS, COLUMNS_FILE, NAMES, VECTORS, BM25];

/// The files of clustered vectors.
pub(super) const CLUSTER_FILES: &[&str] = &[CENTROIDS, STARTS, IDS, ROWS];

/// The number that `name` is, as this program writes it: six digits, more where it needs them.
pub(super) fn number(name: &str) -> Option<u32> {
    let number: u32 = name.parse().ok()?;
    // The number after it must exist too.
    (name == format!("{number:06}") && number < u32::MAX).then_some(number)
}

/// The number of the record of files called `name`.
pub(super) fn inputs_number(name: &str) -> Option<u32> {
    name.strip_prefix("inputs-")?.strip_suffix(".json").and_then(number)
}

pub(super) fn segment_folder(dir: &Path, name: &str) -> PathBuf {
    dir.join("segments").join(name)
}

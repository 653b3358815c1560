//! Models in several GGUF files: `name-00002-of-00003.gguf`, as llama.cpp's `gguf-split` and converter write them.

use super::Metadata;
use crate::error::{ModelError, Result};
use std::path::{Path, PathBuf};

const NUMBER: &str = "split.no";
const COUNT: &str = "split.count";
/// Tensors in all files together.
pub(super) const TENSORS: &str = "split.tensors.count";

/// Names of missing files that a message lists.
const LISTED: usize = 8;

/// Files of the model that `metadata` is a part of; 1 where it is all of it.
pub(super) fn count(metadata: &Metadata) -> Result<usize> {
    let count = metadata.optional_usize(COUNT)?.unwrap_or(1).max(1);
    // The format's own width of the field.
    if count > usize::from(u16::MAX) { Err(metadata.wrong(COUNT, "at most 65535")) } else { Ok(count) }
}

/// All files of the model, in order. `path` is one of them.
pub(super) fn shards(path: &Path, metadata: &Metadata, count: usize) -> Result<Vec<PathBuf>> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let ending = format!("-of-{count:05}.gguf");
    let stem = name.strip_suffix(&ending).and_then(|start| {
        let (stem, number) = start.split_at_checked(start.len().checked_sub(6)?)?;
        let digits = number.strip_prefix('-')?;
        digits.bytes().all(|b| b.is_ascii_digit()).then_some(stem)
    });
    let Some(stem) = stem else {
        return Err(metadata.wrong(COUNT, &format!("1 in a file that is not called <name>-<number>{ending}")));
    };
    let file = |number: usize| path.with_file_name(format!("{stem}-{number:05}{ending}"));
    let missing = (1..=count).filter(|&number| !file(number).is_file()).take(LISTED);
    let missing: Vec<String> =
        missing.filter_map(|number| Some(file(number).file_name()?.to_string_lossy().into_owned())).collect();
    if missing.is_empty() {
        return Ok((1..=count).map(file).collect());
    }
    Err(ModelError::MissingShard { path: path.to_owned(), count, missing })
}

/// Refuses a file that is not the shard `index` of `count`: renamed, or of another model.
pub(super) fn check(metadata: &Metadata, index: usize, count: usize) -> Result<()> {
    if metadata.optional_usize(NUMBER)? != Some(index) {
        return Err(metadata.wrong(NUMBER, &format!("{index}, by the file's name")));
    }
    if metadata.optional_usize(COUNT)? != Some(count) {
        return Err(metadata.wrong(COUNT, &format!("{count}, as in the file that was named")));
    }
    Ok(())
}

//! Whether an index is finished, and older than its files.

use crate::error::{MootError, Result};
use crate::escape;
use crate::retrieval::corpus::Corpus;
use crate::retrieval::index::{Changes, HASHED_WHEN_SEARCHED, Manifest};
use crate::workspace::control::Control;
use std::path::Path;

/// Notes that an index is unfinished, or that its files have changed.
pub(crate) fn note(dir: &Path, manifest: &Manifest, control: &Control) {
    let shown = escape::line(&dir.display().to_string());
    if let Some(build) = manifest.builds.last().filter(|build| !build.finished) {
        let (corpus, passages) = (build.corpus.join(" "), manifest.passages());
        control.note(&format!(
            "{shown} is unfinished: the build of {corpus} was stopped, {passages} passages are searched (run its command again to resume)"
        ));
    }
    if manifest.builds.is_empty() {
        control.note(&format!("{shown} is empty: its build was stopped before it began (run it again)"));
    }
    match Compared::new(dir, manifest) {
        Compared::Recorded(changes) if !changes.is_empty() => {
            control
                .note(&format!("{shown} is older than its files: {} (moot index update {shown})", counted(&changes)));
        }
        Compared::ByTime(newer) if newer > 0 => {
            let files = if newer == 1 { "1 file was" } else { &format!("{newer} files were") };
            control
                .note(&format!("{shown} is older than its files: {files} changed after it was built (build it again)"));
        }
        Compared::Recorded(_) | Compared::ByTime(_) => {}
        Compared::Unknown(why) => {
            control.note(&format!("{shown} cannot be compared with its files: {}", escape::line(&why)));
        }
    }
}

/// The numbers of files that differ: "3 files new, 1 changed, 2 deleted".
pub(crate) fn counted(changes: &Changes) -> String {
    let new = changes.new.len();
    let files = if new == 1 { "file" } else { "files" };
    format!("{new} {files} new, {} changed, {} deleted", changes.changed.len(), changes.deleted.len())
}

/// An index compared with its files.
pub(crate) enum Compared {
    /// With their records.
    Recorded(Changes),
    /// By time, for an index without records: the number of files of finished builds that were changed after the index was
    /// written.
    ByTime(usize),
    /// It cannot be compared, and why: the files are gone, or were named from another folder, or cannot be read.
    Unknown(String),
}

impl Compared {
    pub(crate) fn new(dir: &Path, manifest: &Manifest) -> Self {
        match Changes::find(dir, manifest, &[], HASHED_WHEN_SEARCHED) {
            Ok(Some(changes)) => Self::Recorded(changes),
            Ok(None) => newer_files(dir, manifest).map_or_else(|e| Self::Unknown(e.to_string()), Self::ByTime),
            Err(MootError::Index { wrong, .. }) => Self::Unknown(wrong),
            Err(e) => Self::Unknown(e.to_string()),
        }
    }
}

/// Number of files of finished builds that were changed after the index was written.
///
/// # Errors
/// A manifest or files that are not found.
fn newer_files(dir: &Path, manifest: &Manifest) -> Result<usize> {
    let path = dir.join("manifest.json");
    let written =
        std::fs::metadata(&path).and_then(|meta| meta.modified()).map_err(|e| MootError::io(&path, "read", e))?;
    let mut newer = 0;
    for build in manifest.builds.iter().filter(|build| build.finished) {
        // The chunking is stored after the paths; standard input cannot be read again.
        let paths = build.corpus.split_last().map(|(_, paths)| paths).unwrap_or_default();
        let paths: Vec<String> = paths.iter().filter(|path| *path != "-").cloned().collect();
        if !paths.is_empty() {
            newer += Corpus::open(&paths)?.newer_than(written);
        }
    }
    Ok(newer)
}

//! Whether an index is finished, and older than its files.

use crate::cli::fetching;
use crate::retrieval::corpus::Corpus;
use crate::retrieval::index::Manifest;
use std::path::Path;

/// Says that an index is unfinished, or that its files have changed.
pub(in crate::cli) fn tell(dir: &Path, manifest: &Manifest) {
    let shown = dir.display();
    if let Some(build) = manifest.builds.last().filter(|build| !build.finished) {
        let (corpus, passages) = (build.corpus.join(" "), manifest.passages());
        fetching::tell(&format!(
            "{shown} is unfinished: the build of {corpus} was stopped, {passages} passages are searched (the same command goes on)"
        ));
    }
    if let Some(newer) = newer_files(dir, manifest).filter(|newer| *newer > 0) {
        let files = if newer == 1 { "1 file was" } else { &format!("{newer} files were") };
        fetching::tell(&format!(
            "{shown} is older than its files: {files} changed after it was built (build it again)"
        ));
    }
}

/// Number of files of finished builds that were changed after the index was written; `None` if they are not found where
/// they were: gone, or named from another folder.
pub(super) fn newer_files(dir: &Path, manifest: &Manifest) -> Option<usize> {
    let written = std::fs::metadata(dir.join("manifest.json")).and_then(|meta| meta.modified()).ok()?;
    let mut newer = 0;
    for build in manifest.builds.iter().filter(|build| build.finished) {
        // The chunking is stored after the paths; standard input cannot be read again.
        let paths = build.corpus.split_last().map(|(_, paths)| paths).unwrap_or_default();
        let paths: Vec<String> = paths.iter().filter(|path| *path != "-").cloned().collect();
        if !paths.is_empty() {
            newer += Corpus::open(&paths).ok()?.newer_than(written);
        }
    }
    Some(newer)
}

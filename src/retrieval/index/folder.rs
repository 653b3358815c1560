//! The index's folder: empty, a build to resume, locked by another process, swept of files that do not belong to it.

use super::layout::{VECTORS, inputs_number, number, segment_folder};
use super::manifest::{Dense, Manifest};
use crate::error::{MootError, Result};
use crate::files;
use std::collections::HashSet;
use std::fs::{self, File, OpenOptions};
use std::path::{Path, PathBuf};

/// Path and name of each entry of `dir`; empty if there is no such folder.
pub(super) fn entries(dir: &Path) -> Vec<(PathBuf, String)> {
    let Ok(entries) = fs::read_dir(dir) else { return Vec::new() };
    entries.flatten().map(|entry| (entry.path(), entry.file_name().to_string_lossy().into_owned())).collect()
}

/// Refuses a folder that contains anything other than what a build leaves before its first manifest.
pub(super) fn refuse_foreign_files(dir: &Path) -> Result<()> {
    let refuse = |wrong: String| {
        let hint = "name a folder that is empty or not there yet".into();
        Err(MootError::Index { path: dir.to_owned(), wrong, hint })
    };
    if dir.exists() && !dir.is_dir() {
        return refuse("expected a folder for the index, found a file".into());
    }
    match entries(dir).iter().find(|(_, name)| !["lock", "segments", "manifest.new"].contains(&name.as_str())) {
        Some((_, name)) => refuse(format!("expected an empty folder or an index, found {name}")),
        None => Ok(()),
    }
}

/// Checks that a build into `dir` can resume the one recorded in `manifest`.
pub(super) fn going_on(dir: &Path, manifest: &Manifest, dense: Option<&Dense>) -> Result<()> {
    let refuse = |wrong: String, hint: &str| Err(MootError::Index { path: dir.to_owned(), wrong, hint: hint.into() });
    if manifest.builds.last().is_some_and(|build| build.finished) {
        let wrong = format!("expected a new folder, found a finished index of {} passages", manifest.passages());
        return refuse(wrong, "add to it with `moot index add`, or name another folder");
    }
    // The embedder's name is left out: `called` may add it to an index that was begun without.
    let same = |dense: &Dense| (dense.embedder.clone(), dense.dimension, dense.storage.clone());
    if manifest.dense.as_ref().map(same) == dense.map(same) {
        return Ok(());
    }
    let told = |dense: Option<&Dense>| match dense {
        Some(dense) => format!("{} numbers of {} in {}", dense.dimension, dense.embedder, dense.storage),
        None => "BM25 alone".into(),
    };
    let wrong = format!("was begun with {}, not {}", told(manifest.dense.as_ref()), told(dense));
    refuse(wrong, "go on with the same --embedder and --type, or name another folder")
}

/// Locks `dir` for building, as long as the returned file is open.
pub(super) fn lock(dir: &Path) -> Result<File> {
    let path = dir.join("lock");
    let file = OpenOptions::new().create(true).truncate(false).write(true).open(&path);
    let file = file.map_err(|e| MootError::io(&path, "open", e))?;
    if files::lock(&file).map_err(|e| MootError::io(&path, "lock", e))? {
        return Ok(file);
    }
    let dir = dir.display();
    let wrong = format!("{dir}: another process is building this index (wait for it, or name another folder)");
    Err(MootError::Usage(wrong))
}

/// Removes files of the index in `dir` that `manifest` does not name: left by a kill, or replaced.
pub(super) fn sweep(dir: &Path, manifest: &Manifest) {
    let is_inputs = |name: &str| manifest.inputs.as_ref().is_some_and(|inputs| inputs.name == name);
    let is_clusters = |name: &str| manifest.clusters.as_ref().is_some_and(|clusters| clusters.name == name);
    for (path, name) in entries(dir) {
        if inputs_number(&name).is_some() && !is_inputs(&name) {
            let _ = fs::remove_file(path);
        } else if name.starts_with("building-") || (name.starts_with("clusters-") && !is_clusters(&name)) {
            let _ = fs::remove_dir_all(path);
        }
    }
    sweep_segments(&dir.join("segments"), manifest);
    for entry in &manifest.segments {
        let folder = segment_folder(dir, &entry.name);
        // A link leads to a folder that is not the index's.
        let own = fs::symlink_metadata(&folder).is_ok_and(|found| found.is_dir());
        if own && !entry.files.contains_key(VECTORS) {
            let _ = fs::remove_file(folder.join(VECTORS));
        }
    }
}

/// Removes segments that `manifest` does not name: an update replaced them, or was killed before it named them.
fn sweep_segments(folder: &Path, manifest: &Manifest) {
    // A link leads to a folder that is not the index's.
    if !fs::symlink_metadata(folder).is_ok_and(|found| found.is_dir()) {
        return;
    }
    let listed: HashSet<&str> = manifest.segments.iter().map(|entry| entry.name.as_str()).collect();
    for (path, name) in entries(folder) {
        if number(&name).is_some() && !listed.contains(name.as_str()) {
            let _ = fs::remove_dir_all(path);
        }
    }
}

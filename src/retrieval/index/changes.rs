//! Files that were added, changed or deleted since they were indexed.

use super::inputs::{self, InputFile, State};
use super::manifest::{BuildEntry, Manifest};
use crate::error::{MootError, Result};
use crate::retrieval::chunk::Chunking;
use crate::retrieval::corpus::{Corpus, Skipped, file_name};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Bytes of files that a search hashes at most to find out whether more than their time has changed.
pub(crate) const HASHED_WHEN_SEARCHED: u64 = 64 << 20;

/// The differences between the files of an index and their records.
#[derive(Debug)]
pub struct Changes {
    /// Paths of files that were not there.
    pub new: BTreeSet<String>,
    /// Paths of files whose content changed.
    pub changed: BTreeSet<String>,
    /// Paths of files that are gone, or no longer part of the corpus.
    pub deleted: BTreeSet<String>,
    /// The corpus of each build, as it is now; `None` if nothing of it is left, or the build was stopped.
    corpora: Vec<Option<(Corpus, Chunking)>>,
    /// The recorded entries, with the new times of files whose content is the same.
    records: Vec<Option<Vec<InputFile>>>,
    /// Number of files of which only the time has changed.
    touched: usize,
    /// The compared paths; empty for all.
    scope: Vec<PathBuf>,
}

impl Changes {
    /// Compares the files of the index in `dir` with its records: sizes and times of all, SHA-256 of those whose time alone
    /// differs, as long as these have no more than `hashed` bytes in all. With `paths`, only files that these name, or that
    /// lie below them. Builds that were stopped are passed over. `None` if the files of a build are not recorded.
    ///
    /// # Errors
    /// [`MootError::Index`] for a damaged record, if none of the files is where it was, or without `paths`, if none of a
    /// folder is; [`MootError::Io`] for a folder
    /// or a recorded file that cannot be read; [`MootError::Usage`] for one of `paths` that names no file of the index.
    pub fn find(dir: &Path, manifest: &Manifest, paths: &[String], hashed: u64) -> Result<Option<Self>> {
        let records = inputs::read(dir, manifest)?;
        let mut changes = Self {
            new: BTreeSet::new(),
            changed: BTreeSet::new(),
            deleted: BTreeSet::new(),
            corpora: Vec::new(),
            records,
            touched: 0,
            scope: paths.iter().map(|path| absolute(Path::new(path))).collect(),
        };
        let own = fs::canonicalize(dir).unwrap_or_else(|_| dir.to_owned());
        let (mut budget, mut missing) = (hashed, Vec::new());
        for (number, build) in manifest.builds.iter().enumerate() {
            if !build.finished {
                changes.corpora.push(None);
                continue;
            }
            let (names, chunking) = typed(build);
            let Some(chunking) = chunking.filter(|_| names.is_empty() || changes.records[number].is_some()) else {
                return Ok(None);
            };
            let (corpus, gone) = Corpus::existing(&names)?;
            // The index may lie in the folder that it was built from.
            let outside = |path: &Path| !fs::canonicalize(path).is_ok_and(|real| real.starts_with(&own));
            let part = corpus.part(outside);
            changes.compare(number, &part, &corpus, &mut budget)?;
            missing.extend(gone);
            changes.corpora.push((corpus.files() > 0).then_some((part, chunking)));
        }
        changes.refuse_moved(dir, manifest)?;
        changes.refuse_missing(dir, &missing)?;
        changes.refuse_unknown(paths)?;
        Ok(Some(changes))
    }

    /// Whether no file was added, changed or deleted.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.new.is_empty() && self.changed.is_empty() && self.deleted.is_empty()
    }

    /// Number of files whose time of change alone differs.
    #[must_use]
    pub fn touched(&self) -> usize {
        self.touched
    }

    /// Number of files of the corpora, as they are now.
    #[must_use]
    pub fn files(&self) -> usize {
        self.corpora.iter().flatten().map(|(corpus, _)| corpus.files()).sum()
    }

    /// New and changed files, with the chunking of their build.
    #[must_use]
    pub fn to_read(&self) -> Vec<(Corpus, Chunking)> {
        let affected = self.affected();
        let part = |corpus: &Corpus| corpus.part(|path| affected.contains(file_name(path).as_str()));
        let parts = self.corpora.iter().flatten().map(|(corpus, chunking)| (part(corpus), *chunking));
        parts.filter(|(corpus, _)| corpus.files() > 0).collect()
    }

    /// Paths of all files that differ: passages of these are removed, and read again where the file is still there.
    pub(super) fn affected(&self) -> HashSet<&str> {
        self.new.iter().chain(&self.changed).chain(&self.deleted).map(String::as_str).collect()
    }

    /// The records after an update. Call it before files are read, so that a later change differs from them.
    ///
    /// # Errors
    /// [`MootError::Io`] for a changed file that cannot be read: its passages stay as they are.
    pub(super) fn updated_records(&self) -> Result<Vec<Option<Vec<InputFile>>>> {
        let affected = self.affected();
        let mut updated = Vec::new();
        for (recorded, corpus) in self.records.iter().zip(&self.corpora) {
            let Some(recorded) = recorded else {
                updated.push(None);
                continue;
            };
            let kept = recorded.iter().filter(|file| !affected.contains(file.path.as_str()));
            let mut files: Vec<InputFile> = kept.cloned().collect();
            let there: BTreeSet<&Path> = corpus.iter().flat_map(|(corpus, _)| corpus.paths()).collect();
            for path in there.into_iter().filter(|path| affected.contains(file_name(path).as_str())) {
                let file = InputFile::read(path);
                if file.sha256.is_none() && self.changed.contains(&file.path) {
                    fs::File::open(path).map_err(|e| MootError::io(path, "read", e))?;
                }
                files.push(file);
            }
            updated.push(Some(files));
        }
        Ok(updated)
    }

    /// Compares `part`, the files of build `number` without those of the index itself, with the record of the build.
    /// `whole` lists the files and folders that could not be read.
    fn compare(&mut self, number: usize, part: &Corpus, whole: &Corpus, budget: &mut u64) -> Result<()> {
        let Some(mut recorded) = self.records[number].take() else { return Ok(()) };
        let there: HashMap<String, &Path> = part.paths().map(|path| (file_name(path), path)).collect();
        for file in &mut recorded {
            if !self.scope_has(&file.path) {
                continue;
            }
            let Some(path) = there.get(&file.path) else {
                refuse_unreadable(&file.path, whole)?;
                self.deleted.insert(file.path.clone());
                continue;
            };
            match file.compare(path, budget).map_err(|e| MootError::io(path, "read", e))? {
                State::Same => {}
                State::Changed => {
                    self.changed.insert(file.path.clone());
                }
                State::Touched(modified) => {
                    file.modified = modified;
                    self.touched += 1;
                }
            }
        }
        let known: HashSet<&str> = recorded.iter().map(|file| file.path.as_str()).collect();
        let fresh: Vec<String> =
            there.into_keys().filter(|path| !known.contains(path.as_str()) && self.scope_has(path)).collect();
        self.new.extend(fresh);
        self.records[number] = Some(recorded);
        Ok(())
    }

    fn scope_has(&self, path: &str) -> bool {
        self.scope.is_empty() || {
            let path = absolute(Path::new(path));
            self.scope.iter().any(|scope| path.starts_with(scope))
        }
    }

    /// Refuses an update for which every file is deleted: the index was moved, or is updated from another folder.
    fn refuse_moved(&self, dir: &Path, manifest: &Manifest) -> Result<()> {
        let recorded = self.records.iter().flatten().any(|files| !files.is_empty());
        if !recorded || self.corpora.iter().any(Option::is_some) {
            return Ok(());
        }
        let all: Vec<String> = manifest.builds.iter().flat_map(|build| typed(build).0).collect();
        Err(MootError::Index {
            path: dir.to_owned(),
            wrong: format!("expected its files, {}, found none of them", all.join(" ")),
            hint: "run the command in the folder where the index was built".into(),
        })
    }

    /// Refuses an update for which a folder is missing or empty: it may be on a disk that is not mounted. With a scope
    /// the user named the files, so their absence counts as deletion.
    fn refuse_missing(&self, dir: &Path, missing: &[PathBuf]) -> Result<()> {
        for folder in missing.iter().filter(|_| self.scope.is_empty()) {
            let below =
                |file: &&InputFile| Path::new(&file.path) != folder && Path::new(&file.path).starts_with(folder);
            let files = self.records.iter().flatten().flatten().filter(below).count();
            if files > 0 {
                let (folder, dir_shown) = (folder.display(), dir.display());
                return Err(MootError::Index {
                    path: dir.to_owned(),
                    wrong: format!("expected the {files} files that it read in {folder}, found none"),
                    hint: format!("`moot index update {dir_shown} {folder}` takes them out of the index"),
                });
            }
        }
        Ok(())
    }

    /// Refuses paths without a file of the index, whether recorded or present.
    fn refuse_unknown(&self, paths: &[String]) -> Result<()> {
        let recorded = self.records.iter().flatten().flatten().map(|file| absolute(Path::new(&file.path)));
        let there = self.corpora.iter().flatten().flat_map(|(corpus, _)| corpus.paths()).map(absolute);
        let all: Vec<PathBuf> = if paths.is_empty() { Vec::new() } else { recorded.chain(there).collect() };
        match paths.iter().zip(&self.scope).find(|(_, scope)| !all.iter().any(|path| path.starts_with(scope))) {
            Some((path, _)) => Err(MootError::Usage(format!(
                "{path}: expected a file or folder of the index, found none (`moot index add` takes new ones)"
            ))),
            None => Ok(()),
        }
    }
}

/// The paths of a build as typed, without standard input, and its chunking, which is stored after them.
fn typed(build: &BuildEntry) -> (Vec<String>, Option<Chunking>) {
    let Some((cut, paths)) = build.corpus.split_last() else { return (Vec::new(), None) };
    let cut = cut.strip_prefix('(').and_then(|cut| cut.strip_suffix(')'));
    (paths.iter().filter(|path| *path != "-").cloned().collect(), cut.and_then(Chunking::described))
}

/// Refuses to count `file` as deleted if its folder cannot be listed, or the file's metadata cannot be read.
fn refuse_unreadable(file: &str, corpus: &Corpus) -> Result<()> {
    let path = Path::new(file);
    match fs::symlink_metadata(path) {
        Err(e) if !matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Err(MootError::io(path, "open", e));
        }
        _ => {}
    }
    let unread =
        |skipped: &&Skipped| skipped.unread && path.starts_with(&skipped.path) && fs::metadata(&skipped.path).is_ok();
    match corpus.skipped().iter().find(unread) {
        Some(skipped) => Err(MootError::Input {
            path: path.to_owned(),
            line: None,
            expected: "a file that can be compared".into(),
            found: skipped.to_string(),
        }),
        None => Ok(()),
    }
}

/// Without "." and with the current folder; links and ".." stay as they are, for the file may be gone.
fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

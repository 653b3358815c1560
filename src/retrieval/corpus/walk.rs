//! Finds the files of a corpus from the paths typed.

use super::entry::{Entry, Kind, listed_endings};
use super::skipped::Skipped;
use super::source;
use crate::error::{MootError, Result};
use crate::retrieval::text::{self, input, irregular};
use std::collections::HashSet;
use std::fs;
use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};

/// The files of a corpus, in order, and the skipped ones.
#[derive(Default)]
pub(super) struct Listing {
    pub(super) entries: Vec<Entry>,
    pub(super) skipped: Vec<Skipped>,
}

/// As [`super::Corpus::open`].
pub(super) fn walk(paths: &[String]) -> Result<Listing> {
    if paths.is_empty() {
        return Err(MootError::Usage("no corpus: expected files or folders".into()));
    }
    let mut walk = Walk::default();
    for path in paths {
        if let Some(gone) = walk.named(path)? {
            return Err(gone);
        }
    }
    Ok(walk.listing)
}

/// As [`super::Corpus::existing`].
pub(super) fn existing(paths: &[String]) -> Result<(Listing, Vec<PathBuf>)> {
    let (mut walk, mut gone) = (Walk::default(), Vec::new());
    for path in paths {
        if walk.named(path)?.is_some() {
            gone.push(literal(path));
        }
    }
    Ok((walk.listing, gone))
}

/// The reason for skipping the folder of an index.
const INDEX: &str = "an index of moot";
/// The reason for skipping a link.
const LEADS_OUT: &str = "a link that leads out of the folder";

/// A folder typed by the user.
#[derive(Clone, Copy)]
struct Root<'a> {
    /// As typed.
    path: &'a Path,
    /// Its canonical path; links inside the folder may lead only to paths below it.
    real: &'a Path,
}

/// Whether `path` is the folder of an index, finished or not: its files hold passages of other files.
pub(crate) fn is_index(path: &Path) -> bool {
    path.join("manifest.json").is_file() && path.join("segments").is_dir()
}

/// Whether `path` is a link to a path outside `real`. A broken link is reported when it is opened.
fn leads_out(path: &Path, real: &Path) -> bool {
    let link = fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink());
    link && fs::canonicalize(path).is_ok_and(|target| !target.starts_with(real))
}

/// The folder that a pattern names before its first wildcard; a path without one.
fn literal(pattern: &str) -> PathBuf {
    let wild = |part: &Component<'_>| part.as_os_str().to_string_lossy().contains(['*', '?', '[']);
    let folder: PathBuf = Path::new(pattern).components().take_while(|part| !wild(part)).collect();
    if folder.as_os_str().is_empty() { PathBuf::from(".") } else { folder }
}

/// The name of standard input, as positions and messages show it.
const STANDARD_INPUT: &str = "standard input";

/// Splits `file.jsonl:17` into path and line, if the file exists.
fn numbered(typed: &str) -> Option<(&Path, usize)> {
    let (file, line) = typed.rsplit_once(':')?;
    let path = Path::new(file);
    let line = line.parse().ok()?;
    (Kind::of(path) == Some(Kind::Jsonl) && path.is_file()).then_some((path, line))
}

#[derive(Default)]
struct Walk {
    listing: Listing,
    /// Canonical paths of files and folders already visited: no file is read twice, and loops of links end.
    seen: HashSet<PathBuf>,
    /// Number of files found a second time.
    again: usize,
}

impl Walk {
    /// Adds the files of a typed path. Returns the error of a path that is not there, or holds no file to read.
    fn named(&mut self, typed: &str) -> Result<Option<MootError>> {
        if typed == "-" {
            return self.standard_input().map(|()| None);
        }
        let is_address = ["http://", "https://"].iter().any(|scheme| typed.starts_with(scheme));
        if typed.is_empty() || is_address {
            let found = if is_address { typed } else { "an empty argument" };
            let hint = if is_address { "; addresses are not fetched, so save the page first" } else { "" };
            return Err(MootError::Usage(format!("expected a file, a folder or a glob, found {found}{hint}")));
        }
        let path = Path::new(typed);
        match fs::metadata(path) {
            Ok(meta) if meta.is_dir() && is_index(path) => {
                Err(input(path, None, "files or folders with documents", "an index of moot; --corpus takes one, alone"))
            }
            Ok(meta) if meta.is_dir() => {
                let before = self.found_files();
                let real = fs::canonicalize(path).map_err(|e| MootError::io(path, "open", e))?;
                self.folder(Root { path, real: &real }, path)?;
                Ok(self.none_since(before, path))
            }
            Ok(meta) => {
                if let Some(kind) = irregular(&meta) {
                    return Err(input(path, None, "a regular file, or a folder", kind));
                }
                let found = path.extension().map_or("no ending".into(), |e| format!(".{}", e.to_string_lossy()));
                let kind = Kind::of(path)
                    .ok_or_else(|| input(path, None, &format!("{}, or a folder", listed_endings()), found))?;
                self.file(path, kind, None, false).map(|()| None)
            }
            Err(_) if numbered(typed).is_some() => {
                let (path, line) = numbered(typed).unwrap_or((path, 1));
                if line == 0 {
                    return Err(input(path, None, "the number of a line, from 1, behind the name", "0"));
                }
                let length = fs::metadata(path).map_err(|e| MootError::io(path, "open", e))?.len();
                let entry = Entry::new(path, Kind::Jsonl, length);
                self.listing.entries.push(Entry { line: Some(line), ..entry });
                Ok(None)
            }
            Err(_) if typed.contains(['*', '?', '[']) => self.glob(typed),
            Err(e) if e.kind() == ErrorKind::NotFound => Ok(Some(MootError::io(path, "open", e))),
            Err(e) => Err(MootError::io(path, "open", e)),
        }
    }

    fn standard_input(&mut self) -> Result<()> {
        let name = Path::new(STANDARD_INPUT);
        if !self.seen.insert(name.to_owned()) {
            self.skip(name, "given before");
            return Ok(());
        }
        let content = text::standard_input(name)?;
        let begins = |mark: &str| {
            let start = content.text.trim_start_matches(text::BOM).trim_start();
            start.get(..mark.len()).is_some_and(|start| start.eq_ignore_ascii_case(mark))
        };
        let kind = if begins("<!doctype html") || begins("<html") { Kind::Html } else { Kind::Text };
        let entry = Entry::new(name, kind, content.text.len() as u64);
        self.listing.entries.push(Entry { content: Some(content.into()), ..entry });
        Ok(())
    }

    fn glob(&mut self, pattern: &str) -> Result<Option<MootError>> {
        let options = glob::MatchOptions { require_literal_leading_dot: true, ..glob::MatchOptions::new() };
        let matches = glob::glob_with(pattern, options)
            .map_err(|e| MootError::Usage(format!("{pattern}: not a glob: {} (at {})", e.msg, e.pos)))?;
        let mut paths = Vec::new();
        for path in matches {
            paths.push(path.map_err(|e| {
                let path = e.path().to_path_buf();
                MootError::io(&path, "list", e.into())
            })?);
        }
        paths.sort();
        let before = self.found_files();
        let typed = literal(pattern);
        let real = fs::canonicalize(&typed).unwrap_or(typed);
        for path in &paths {
            // A component in the middle of the matched path may be a link too.
            if fs::canonicalize(path).is_ok_and(|target| !target.starts_with(&real)) {
                self.skip(path, LEADS_OUT);
            } else if is_index(path) {
                self.skip(path, INDEX);
            } else if path.is_dir() {
                // A folder that a pattern matched is a root of its own, as if it had been typed.
                self.folder(Root { path, real: &real }, path)?;
            } else {
                self.add_found(path, None)?;
            }
        }
        Ok(self.none_since(before, Path::new(pattern)))
    }

    /// Adds all files below `folder`, which is `root` or inside it.
    fn folder(&mut self, root: Root<'_>, folder: &Path) -> Result<()> {
        let real = match fs::canonicalize(folder) {
            Ok(real) => real,
            Err(e) if folder == root.path => return Err(MootError::io(folder, "open", e)),
            // Its path may be longer than the system takes.
            Err(e) => {
                self.unread(folder, &format!("cannot open: {e}"));
                return Ok(());
            }
        };
        if !self.seen.insert(real) {
            self.again += usize::from(folder == root.path);
            self.skip(folder, "given before");
            return Ok(());
        }
        let mut paths = Vec::new();
        let listed = fs::read_dir(folder).and_then(|entries| {
            for entry in entries {
                paths.push(entry?.path());
            }
            Ok(())
        });
        if let Err(e) = listed {
            if folder == root.path {
                return Err(MootError::io(folder, "list", e));
            }
            self.unread(folder, &format!("cannot list: {e}"));
            return Ok(());
        }
        paths.retain(|path| path.file_name().is_some_and(|name| !name.to_string_lossy().starts_with('.')));
        paths.sort();
        for path in &paths {
            if leads_out(path, root.real) {
                self.skip(path, LEADS_OUT);
            } else if is_index(path) {
                self.skip(path, INDEX);
            } else if path.is_dir() {
                self.folder(root, path)?;
            } else {
                self.add_found(path, Some(root.path))?;
            }
        }
        Ok(())
    }

    /// Adds a file that was found in a folder or by a glob.
    fn add_found(&mut self, path: &Path, root: Option<&Path>) -> Result<()> {
        match Kind::of(path) {
            Some(kind) => self.file(path, kind, root, true),
            None => {
                match fs::symlink_metadata(path) {
                    // A path that is longer than the system takes may be that of a folder.
                    Err(e) if e.kind() == ErrorKind::InvalidFilename => self.unread(path, &format!("cannot open: {e}")),
                    _ => self.skip(path, &format!("not {}", listed_endings())),
                }
                Ok(())
            }
        }
    }

    fn file(&mut self, path: &Path, kind: Kind, root: Option<&Path>, found: bool) -> Result<()> {
        let resolved = fs::canonicalize(path).and_then(|real| Ok((real, fs::metadata(path)?)));
        let (real, length) = match resolved {
            Ok((real, meta)) => {
                if let Some(kind) = irregular(&meta) {
                    self.skip(path, &format!("{kind}, not a regular file"));
                    return Ok(());
                }
                (real, meta.len())
            }
            Err(e) if found => {
                self.unread(path, &format!("cannot open: {e}"));
                return Ok(());
            }
            Err(e) => return Err(MootError::io(path, "open", e)),
        };
        if !self.seen.insert(real) {
            self.again += 1;
            self.skip(path, "given before");
            return Ok(());
        }
        let folder = root.and_then(|root| source::folder(root, path));
        self.listing.entries.push(Entry { folder, found, ..Entry::new(path, kind, length) });
        Ok(())
    }

    fn found_files(&self) -> usize {
        self.listing.entries.len() + self.again
    }

    fn skip(&mut self, path: &Path, why: &str) {
        self.listing.skipped.push(Skipped { path: path.to_owned(), why: why.to_owned(), unread: false });
    }

    fn unread(&mut self, path: &Path, why: &str) {
        self.listing.skipped.push(Skipped { path: path.to_owned(), why: why.to_owned(), unread: true });
    }

    /// The error of a folder or a glob that gave no file.
    fn none_since(&self, before: usize, given: &Path) -> Option<MootError> {
        if self.found_files() > before {
            return None;
        }
        let found = match self.listing.skipped.last() {
            None => "nothing".to_owned(),
            Some(last) => format!("only other things ({last})"),
        };
        Some(input(given, None, &format!("at least one {} file", listed_endings()), found))
    }
}

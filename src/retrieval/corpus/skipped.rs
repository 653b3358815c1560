//! Skipped files, and notes on the files that were read, in few lines.

use super::notes::Noted;
use std::fmt;
use std::path::{Path, PathBuf};

/// A file, folder or record that was skipped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skipped {
    /// The file or folder.
    pub path: PathBuf,
    /// One line: "not .txt, .md, ...".
    pub why: String,
    /// It could not be looked into: whether it holds files is not known.
    pub unread: bool,
}

impl fmt::Display for Skipped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path.display(), self.why)
    }
}

/// Items of one kind and reason that are named.
const NAMED: usize = 3;
/// Lines in all, but for the last one.
const LINES: usize = 20;

/// One line an item; of more than three with one ending and one reason the others in one line: "47 more .png files: not .txt,
/// .md, ...". Some twenty lines at most.
#[must_use]
pub fn skipped_lines(skipped: &[Skipped]) -> Vec<String> {
    lines(skipped.iter().map(|one| (one.path.as_path(), one.why.as_str(), one.to_string())))
}

/// One line a note, of many alike as [`skipped_lines`].
#[must_use]
pub fn note_lines(notes: &[Noted]) -> Vec<String> {
    lines(notes.iter().map(|one| (one.path.as_path(), one.note.as_str(), one.to_string())))
}

/// Lines of items that have a path, a reason and a line of their own.
fn lines<'a>(items: impl Iterator<Item = (&'a Path, &'a str, String)>) -> Vec<String> {
    let mut groups: Vec<(Option<String>, &str, usize)> = Vec::new();
    let mut lines = Vec::new();
    for (path, why, line) in items {
        let ending = ending(path);
        let count = match groups.iter_mut().find(|(known, reason, _)| *known == ending && *reason == why) {
            Some((_, _, count)) => {
                *count += 1;
                *count
            }
            None => {
                groups.push((ending, why, 1));
                1
            }
        };
        if count <= NAMED {
            lines.push(line);
        }
    }
    for (ending, why, count) in groups.into_iter().filter(|(_, _, count)| *count > NAMED) {
        let more = count - NAMED;
        let files = if more == 1 { "file" } else { "files" };
        let kind = ending.map_or_else(|| format!("{files} without ending"), |e| format!(".{e} {files}"));
        lines.push(format!("{more} more {kind}: {why}"));
    }
    if lines.len() > LINES + 1 {
        let more = lines.len() - LINES;
        lines.truncate(LINES);
        lines.push(format!("and {more} more lines as these"));
    }
    lines
}

fn ending(path: &Path) -> Option<String> {
    path.extension().map(|ending| ending.to_string_lossy().to_lowercase())
}

//! Notes on how a file was read: parts missing from the text, and assumptions.

use crate::escape;
use std::fmt;
use std::path::PathBuf;

/// Notes of one file at most; each of its passages has its own copy.
const MAX_NOTES: usize = 12;

/// The notes of one file, each one line: "page 2 of 3 is a picture without text". Readers fill them, and they are complete
/// once the reader has returned its last document.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Notes {
    lines: Vec<String>,
    /// Notes beyond [`MAX_NOTES`].
    more: usize,
}

impl Notes {
    /// Adds a note that is not there yet. It may repeat text of the file: only its beginning is kept.
    pub(super) fn add(&mut self, note: impl AsRef<str>) {
        let note = escape::excerpt(note.as_ref());
        if self.lines.contains(&note) {
            return;
        }
        if self.lines.len() < MAX_NOTES {
            self.lines.push(note);
        } else {
            self.more += 1;
        }
    }

    /// The lines, the last one with the number of the others where there are more.
    pub(super) fn lines(&self) -> Vec<String> {
        let more = (self.more > 0).then(|| format!("{} more notes as these", self.more));
        self.lines.iter().cloned().chain(more).collect()
    }
}

/// A note on a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Noted {
    /// The file.
    pub path: PathBuf,
    /// One line: "page 2 of 3 is a picture without text".
    pub note: String,
}

impl fmt::Display for Noted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path.display(), self.note)
    }
}

#[cfg(test)]
mod tests {
    use super::{MAX_NOTES, Notes};

    #[test]
    fn notes_are_bounded() {
        let mut notes = Notes::default();
        (0..1000).for_each(|i| notes.add(format!("page {i}\nis {}", "long ".repeat(10_000))));
        notes.add("page 0 is a picture");
        notes.add("page 0 is a picture");
        let lines = notes.lines();
        assert_eq!(lines.len(), MAX_NOTES + 1);
        assert!(lines.iter().all(|line| line.len() < 400 && !line.contains('\n')));
        assert_eq!(lines[MAX_NOTES], "990 more notes as these");
    }
}

//! The result of reading documents given by hand, and the limits of that.

use crate::escape::line;
use crate::question::{Document, Gold};
use crate::retrieval::chunk;

/// The documents read, and the question that came with them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Given {
    /// In the order given; those of a folder by name.
    pub documents: Vec<Document>,
    /// The question of the dataset line, if one was given.
    pub question: Option<String>,
    /// The gold answers of the dataset line, if it has some.
    pub gold: Option<Gold>,
    /// Files that were skipped, with the reason, to be shown to the user: "notes.png: not .txt, .md, ..."; of many with one
    /// reason a few and their number ([`skipped_lines`](crate::retrieval::corpus::skipped_lines)).
    pub skipped: Vec<String>,
    /// Notes on how files were read, to be shown to the user: "a.pdf: page 2 of 3 is a picture without text"; those of each
    /// document are in it too.
    pub notes: Vec<String>,
    /// Documents that the filter left out.
    pub left_out: LeftOut,
}

/// Documents that a filter left out, by reason.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// Of other sources.
    pub source: usize,
    /// Before or after the dates wanted.
    pub date: usize,
    /// Without a date that can be compared, though dates were wanted.
    pub undated: usize,
}

impl LeftOut {
    /// Documents left out in all.
    #[must_use]
    pub fn count(&self) -> usize {
        self.source + self.date + self.undated
    }

    /// One line: "3 of 10 documents are left out: 1 of another source, 2 without a date as 2018-05-31".
    #[must_use]
    pub fn describe(&self, all: usize) -> String {
        let reasons = [
            (self.source, "of other sources"),
            (self.date, "of other dates"),
            (self.undated, "without a date as 2018-05-31"),
        ];
        let told = reasons.iter().filter(|(count, _)| *count > 0).map(|(count, why)| format!("{count} {why}"));
        format!("{} of {all} documents are left out: {}", self.count(), told.collect::<Vec<_>>().join(", "))
    }
}

/// Text that is given to agents as it is; more is searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WholeLimit {
    /// Documents, which are agents.
    pub documents: usize,
    /// Words of one document.
    pub words: usize,
}

impl WholeLimit {
    /// As many documents as a debate shows on some screens, and words that fit a context of 8,192 tokens beside the rounds.
    pub const DEFAULT: Self = Self { documents: 40, words: 3000 };

    /// Whether `documents` are within the limit.
    ///
    /// # Errors
    /// The expected and the found number, for a message.
    pub fn check(self, documents: &[Document]) -> Result<(), (String, String)> {
        let Self { documents: most, words } = self;
        if documents.len() > most {
            return Err((format!("at most {most} documents"), documents.len().to_string()));
        }
        match documents.iter().find(|document| !self.has_words_for(document)) {
            Some(long) => Err((format!("at most {words} words a document"), format!("more in {}", line(&long.name)))),
            None => Ok(()),
        }
    }

    /// Whether the document is short enough.
    pub(super) fn has_words_for(self, document: &Document) -> bool {
        chunk::words(&document.text).nth(self.words).is_none()
    }
}

/// Documents that were read for agents.
#[derive(Debug, Clone, PartialEq)]
pub enum Reading {
    /// All of them.
    Whole(Given),
    /// There are more than the limit; one line: "53 files hold more than 40 documents".
    TooMuch(String),
}

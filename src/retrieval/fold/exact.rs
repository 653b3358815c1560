//! Exact copies among whole documents: the same words in the same order. White space, case and the encoding of a
//! character may differ.

use super::SHORT;
use crate::unicode;
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use unicode_segmentation::UnicodeSegmentation;

/// The texts taken so far.
#[derive(Debug, Default)]
pub(crate) struct Exact {
    /// Indices and titles of the texts of one hash.
    taken: HashMap<[u8; 32], Vec<(usize, String)>>,
}

impl Exact {
    /// The index of the first text taken that `text` is a copy of; otherwise `text` is taken under `index`. A short text depends
    /// on its title for meaning, so titles that are given must be equal.
    pub(crate) fn original(&mut self, text: &str, title: Option<&str>, index: usize) -> Option<usize> {
        let (mut hash, mut count) = (Sha256::new(), 0);
        for word in text.split_whitespace() {
            hash.update(unicode::folded(word).as_bytes());
            hash.update([0]);
            count += 1;
        }
        let title = unicode::folded(title.unwrap_or_default()).unicode_words().collect::<Vec<_>>().join(" ");
        let alike = self.taken.entry(hash.finalize().into()).or_default();
        let differ = |other: &str| count < SHORT && !title.is_empty() && !other.is_empty() && title != other;
        let original = alike.iter().find(|(_, other)| !differ(other)).map(|(index, _)| *index);
        if original.is_none() {
            alike.push((index, title));
        }
        original
    }
}

#[cfg(test)]
mod tests {
    use super::Exact;

    #[test]
    fn only_white_space_and_case_may_differ() {
        let mut exact = Exact::default();
        let texts = [
            "It opened in 1790.",
            "it  opened\nin 1790. ",
            "It opened in 1791.",
            "It opened in 1790",
            "It opened in 1790.",
            "It opened\u{a0}in １７９０.",
        ];
        let found: Vec<_> = texts.iter().enumerate().map(|(at, text)| exact.original(text, None, at)).collect();
        assert_eq!(found, [None, Some(0), None, None, Some(0), Some(0)]);
    }

    #[test]
    fn short_texts_under_different_titles_are_about_different_things() {
        let mut exact = Exact::default();
        let titles = [Some("The mill"), Some("The lock"), Some("the MILL"), None];
        let found: Vec<_> =
            titles.iter().enumerate().map(|(at, title)| exact.original("Built 1790.", *title, at)).collect();
        assert_eq!(found, [None, None, Some(0), Some(0)]);
        let long = "word ".repeat(30);
        assert_eq!((exact.original(&long, Some("A"), 4), exact.original(&long, Some("B"), 5)), (None, Some(4)));
    }
}

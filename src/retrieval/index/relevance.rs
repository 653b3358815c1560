//! The relevance cut-off: passages that have nothing to do with the query are left out.
//!
//! A search returns the nearest passages, however far they are: BM25 any passage with one of the query's words, vectors
//! every passage. A passage is kept if it has enough of the query's words by weight, or if its vector is near enough, where
//! it is known what near is for the embedder. `docs/corpora.md` has the measurements that the numbers come from.

use super::lexical::{self, Lexical};
use super::words::words;
use crate::error::Result;
use std::collections::HashSet;

/// The conditions under which a passage is kept.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cutoff {
    /// Share of the query's words, by weight, that the passage or its title has: from 0 to 1.
    pub coverage: f32,
    /// Cosine that is enough without words; `None` for the embedder's own, see [`Cutoff::DEFAULT`].
    pub cosine: Option<f32>,
}

impl Cutoff {
    /// The measured cut-off. Only all-minilm-l6-v2 has a measured cosine: vectors of other embedders are not judged, so
    /// with them only a search by words is cut off.
    pub const DEFAULT: Self = Self { coverage: 0.2, cosine: None };

    /// The cosine for an embedder of this identity; `None` where none is known.
    pub(super) fn cosine_for(&self, identity: Option<&str>) -> Option<f32> {
        let name = identity.and_then(|identity| identity.split(' ').next()).unwrap_or_default();
        self.cosine.or((name == "all-minilm-l6-v2").then_some(0.35))
    }
}

/// Passages added to the index's number in a word's weight `ln(1 + (N - n + 0.5) / (n + 0.5))`: in a small index a word
/// that is in all passages may still be the subject.
const PRIOR: f64 = 100.0;

/// English words that do not describe a question's subject, in alphabetical order.
#[rustfmt::skip]
const COMMON: &[&str] = &[
    "a", "about", "above", "after", "again", "against", "all", "also", "am", "an", "and", "any", "are", "as", "at", "be",
    "because", "been", "before", "being", "below", "between", "both", "but", "by", "called", "can", "could", "did", "do",
    "does", "doing", "down", "during", "each", "either", "else", "ever", "every", "few", "first", "for", "from",
    "further", "had", "has", "have", "having", "he", "her", "here", "hers", "him", "his", "how", "however", "i", "if",
    "in", "into", "is", "it", "its", "itself", "just", "many", "may", "me", "might", "more", "most", "much", "must", "my",
    "name", "named", "neither", "no", "nor", "not", "of", "off", "on", "once", "one", "only", "or", "other", "our", "out",
    "over", "own", "s", "same", "shall", "she", "should", "so", "some", "such", "t", "than", "that", "the", "their",
    "them", "then", "there", "these", "they", "this", "those", "through", "to", "too", "two", "under", "until", "up",
    "upon", "us", "used", "very", "was", "we", "were", "what", "when", "where", "whether", "which", "while", "who",
    "whom", "whose", "why", "will", "with", "within", "without", "would", "yes", "yet", "you", "your",
];

/// The words of a query, with weights that sum to 1.
pub(super) struct Subject(Vec<(String, f64)>);

impl Subject {
    /// The words of `query` that describe its subject; all of them where none does.
    pub(super) fn new(segments: &[Lexical], query: &str) -> Result<Self> {
        let mut terms: Vec<String> = Vec::new();
        for word in words(query) {
            if !terms.contains(&word) {
                terms.push(word);
            }
        }
        if terms.iter().any(|word| !is_common(word)) {
            terms.retain(|word| !is_common(word));
        }
        let (counts, passages) = lexical::frequencies(segments, &terms)?;
        // A word that no passage has counts as one that a single passage has: another form of it may be there.
        let weight = |count: u64| {
            let (count, all) = (count.max(1) as f64, passages as f64 + PRIOR);
            (1.0 + (all - count + 0.5) / (count + 0.5)).ln()
        };
        let weights: Vec<f64> = counts.into_iter().map(weight).collect();
        let total: f64 = weights.iter().sum();
        Ok(Self(terms.into_iter().zip(weights.into_iter().map(|weight| weight / total)).collect()))
    }

    /// The share of the subject's words, by weight, that `text` has in some form; 1 for a query without words.
    pub(super) fn coverage(&self, text: &str) -> f32 {
        if self.0.is_empty() {
            return 1.0;
        }
        let found: HashSet<String> = words(text).into_iter().collect();
        let has = |word: &String| found.contains(word) || found.iter().any(|other| are_forms(word, other));
        self.0.iter().filter(|(word, _)| has(word)).map(|(_, weight)| *weight).sum::<f64>() as f32
    }
}

fn is_common(word: &str) -> bool {
    COMMON.binary_search(&word).is_ok()
}

/// Whether two words may be forms of one: "open" and "opened". They share four letters or more, and all but the last three.
fn are_forms(a: &str, b: &str) -> bool {
    let letters = |word: &str| word.chars().all(char::is_alphabetic);
    if !a.starts_with(|first| b.starts_with(first)) || !letters(a) || !letters(b) {
        return false;
    }
    let shared = a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count();
    shared >= 4 && a.chars().count().max(b.chars().count()) - shared <= 3
}

#[cfg(test)]
mod tests {
    use super::{COMMON, Subject, are_forms};

    #[test]
    fn forms_of_a_word() {
        assert!(are_forms("open", "opened") && are_forms("married", "marry") && are_forms("bridges", "bridge"));
        assert!(!are_forms("open", "opera") || are_forms("opens", "open"));
        assert!(!are_forms("1932", "19321") && !are_forms("art", "arts") && !are_forms("bridge", "brisket"));
    }

    #[test]
    fn common_words_are_searched_in_order() {
        assert!(COMMON.is_sorted());
    }

    #[test]
    fn coverage_is_a_share_of_the_subject() {
        let subject = Subject::new(&[], "When did the Selby bridge open?").unwrap();
        assert_eq!(subject.0.iter().map(|(word, _)| word.as_str()).collect::<Vec<_>>(), ["selby", "bridge", "open"]);
        assert!((subject.coverage("The Selby bridge was opened.") - 1.0).abs() < 1e-6);
        assert!((subject.coverage("When did the bridge close?") - 1.0 / 3.0).abs() < 1e-6);
        assert!(subject.coverage("When did the shop close?") < 1e-6);
        assert!((Subject::new(&[], "Who was it?").unwrap().coverage("it was he") - 2.0 / 3.0).abs() < 1e-6);
        assert!((Subject::new(&[], "?").unwrap().coverage("x") - 1.0).abs() < 1e-6);
    }
}

//! Notes on a document's language. They depend on its letters, its function words, and how many sentences were read.

use super::words::Words;
use crate::retrieval::index::without_spaces;

/// Least share of function words in an English document; below it, a note says that its language is another one.
const ENGLISH: f64 = 0.2;

/// Words up to which a share of function words tells nothing: a list of values in English has none either.
const ENOUGH: usize = 20;

/// Least share of letters of scripts without spaces in a document that is largely written in one: a letter of those says
/// as much as several Latin ones.
const UNSPACED: f64 = 0.25;

/// Names the languages that are not read, in notes and errors.
pub(super) const NOT_SUPPORTED: &str =
    "text without spaces between words (Chinese, Japanese, Thai and others) is not supported";

/// What states nothing.
pub(super) const NO_STATEMENT: &str = "headings, questions and lines of fewer than 3 words state nothing";

/// Counts of a document.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Language {
    letters: usize,
    /// Letters of scripts without spaces between words.
    unspaced: usize,
    /// Other letters that are not Latin.
    foreign: usize,
    /// Sentences that were read.
    sentences: usize,
    /// Words of these sentences.
    words: usize,
    /// Those of them that are English function words.
    english: f64,
}

impl Language {
    /// Counts the letters of a page.
    pub(super) fn add_page(&mut self, text: &str) {
        for letter in text.chars().filter(|c| c.is_alphabetic()) {
            self.letters += 1;
            self.unspaced += usize::from(without_spaces(letter));
            self.foreign += usize::from(!without_spaces(letter) && !is_latin(letter));
        }
    }

    /// Counts the words of a sentence that was read.
    pub(super) fn add_sentence(&mut self, text: &str) {
        let words = Words::of(text);
        self.sentences += 1;
        self.words += words.len();
        self.english += words.english() * words.len() as f64;
    }

    /// Whether sentences of the document were read.
    pub(super) fn is_read(&self) -> bool {
        self.sentences > 0
    }

    /// Whether much of the document is written without spaces between words.
    pub(super) fn is_unspaced(&self) -> bool {
        self.unspaced as f64 > self.letters as f64 * UNSPACED
    }

    /// Whether it is written in another language than English, as far as is known.
    fn is_foreign(&self) -> bool {
        let share = self.english / self.words.max(1) as f64;
        2 * self.foreign > self.letters || (self.words > ENOUGH && share < ENGLISH)
    }

    /// The note on what is not read of it, or not compared.
    pub(super) fn note(&self) -> Option<String> {
        match (self.is_read(), self.is_unspaced()) {
            (false, true) => Some(format!("no sentence is read: {NOT_SUPPORTED}")),
            (false, false) => Some(format!("no sentence is read: {NO_STATEMENT}")),
            (true, true) => Some(format!("few of its sentences are read: {NOT_SUPPORTED}")),
            (true, false) => self.is_foreign().then(|| FOREIGN.to_owned()),
        }
    }
}

/// The note on a document in another language.
const FOREIGN: &str = "not English: numbers and dates are compared; negations and opposites may be missed; names are \
                       told by their capitals, so kinds are unreliable (German nouns count as names)";

/// Whether a letter is Latin, with marks or without.
fn is_latin(letter: char) -> bool {
    matches!(letter, '\0'..='\u{24f}' | '\u{1e00}'..='\u{1eff}' | '\u{fb00}'..='\u{fb06}')
}

#[cfg(test)]
mod tests {
    use super::Language;

    fn note(text: &str, sentences: &[&str]) -> String {
        let mut language = Language::default();
        language.add_page(text);
        sentences.iter().for_each(|sentence| language.add_sentence(sentence));
        language.note().unwrap_or_default()
    }

    #[test]
    fn a_document_of_which_nothing_is_read_has_a_reason() {
        let bridge = "橋は1931年に開いた。";
        let expected = "no sentence is read: text without spaces between words";
        assert!(note(bridge, &[]).starts_with(expected), "{}", note(bridge, &[]));
        assert!(note("สะพานเปิดในปี 1931", &[]).starts_with(expected));
        let partly = format!("{bridge} MySQL 8.0");
        assert!(note(&partly, &["MySQL 8.0 JSON"]).starts_with("few of its sentences are read: text without"));
        assert!(note("Orm Bridge", &[]).starts_with("no sentence is read: headings"), "{}", note("Orm Bridge", &[]));
    }

    #[test]
    fn a_short_text_in_another_script_is_not_english() {
        let russian = "Мост открыли в 1931.";
        assert!(note(russian, &[russian]).starts_with("not English"), "{}", note(russian, &[russian]));
        let english = "Built: 1931 by Ada Brook.";
        assert_eq!(note(english, &[english]), "");
    }
}

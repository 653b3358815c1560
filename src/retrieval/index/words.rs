//! The text of a passage that is indexed, and the tokenizer of BM25: words in the form that searches compare.

use crate::question::Passage;
use crate::unicode;
use std::borrow::Cow;
use tantivy::tokenizer::{Token, TokenStream, Tokenizer};
use unicode_normalization::char::is_combining_mark;

/// Longest word in bytes; longer runs are encoded data and are not indexed.
const LONGEST: usize = 100;

/// The indexed text of a passage: title and text, as embedding models are trained on.
#[must_use]
pub fn full_text(passage: &Passage) -> Cow<'_, str> {
    match &passage.title {
        Some(title) => Cow::Owned(format!("{title} {}", passage.text)),
        None => Cow::Borrowed(&passage.text),
    }
}

/// The words of a text: runs of letters and digits, folded ([`unicode::unmarked`]); in scripts without spaces, each character.
pub(super) fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    for run in text.split_whitespace() {
        if run.is_ascii() {
            cut(run, &mut words);
        } else {
            cut(&unicode::unmarked(run), &mut words);
        }
    }
    words
}

/// The words of a query: those of [`words`], and, where folding changes one, the word in lower case, as indexes of earlier
/// versions hold it. A word that no passage has changes no score.
pub(super) fn query_words(query: &str) -> Vec<String> {
    let mut all = words(query);
    if !query.is_ascii() {
        let mut lower = Vec::new();
        query.split_whitespace().for_each(|run| cut(run, &mut lower));
        lower.retain(|word| !all.contains(word));
        all.extend(lower);
    }
    all
}

/// Adds the words of a text without white space.
fn cut(run: &str, words: &mut Vec<String>) {
    let mut word = String::new();
    for c in run.chars() {
        if c.is_ascii_alphanumeric() {
            word.push(c.to_ascii_lowercase());
        } else if is_letter(c) && !without_spaces(c) {
            word.extend(c.to_lowercase());
        } else {
            take(&mut word, words);
            if c.is_alphanumeric() {
                words.push(c.to_string());
            }
        }
    }
    take(&mut word, words);
}

/// A letter, a digit, or a mark on one: marks of Indic scripts are vowels.
fn is_letter(c: char) -> bool {
    c.is_alphanumeric() || is_combining_mark(c)
}

fn take(word: &mut String, words: &mut Vec<String>) {
    if !word.is_empty() && word.len() <= LONGEST {
        words.push(std::mem::take(word));
    }
    word.clear();
}

/// Chinese characters, kana, and the scripts of Thai, Lao, Khmer and Burmese.
pub(crate) fn without_spaces(c: char) -> bool {
    matches!(u32::from(c),
        0x0e00..=0x0eff | 0x1000..=0x109f | 0x1780..=0x17ff | 0x3040..=0x30ff | 0x3400..=0x4dbf | 0x4e00..=0x9fff
        | 0xf900..=0xfaff | 0x20000..=0x3134f)
}

/// [`words`] as a tantivy tokenizer.
#[derive(Debug, Clone)]
pub(super) struct Words;

/// The words of one text.
#[derive(Debug)]
pub(super) struct WordStream {
    words: std::vec::IntoIter<String>,
    token: Token,
}

impl Tokenizer for Words {
    type TokenStream<'a> = WordStream;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> WordStream {
        WordStream { words: words(text).into_iter(), token: Token::default() }
    }
}

impl TokenStream for WordStream {
    fn advance(&mut self) -> bool {
        let Some(word) = self.words.next() else { return false };
        self.token.text = word;
        // From `usize::MAX` before the first.
        self.token.position = self.token.position.wrapping_add(1);
        true
    }

    fn token(&self) -> &Token {
        &self.token
    }

    fn token_mut(&mut self) -> &mut Token {
        &mut self.token
    }
}

#[cfg(test)]
mod tests {
    use super::{query_words, words};

    #[test]
    fn words_are_cut_where_readers_cut_them() {
        assert_eq!(
            words("The Bridge's 2nd opening: 1932-03-19!"),
            ["the", "bridge", "s", "2nd", "opening", "1932", "03", "19"]
        );
        assert_eq!(words("ÜBER Straße"), ["uber", "strasse"]);
        assert_eq!(words("東京タワーis 333m"), ["東", "京", "タ", "ワ", "ー", "is", "333m"]);
        assert_eq!(words("म\u{94d}का हिन्दी"), ["म\u{94d}का", "हिन्दी"]);
        assert!(words(" .,;\n").is_empty());
        assert_eq!(words(&format!("a {} b", "x".repeat(101))), ["a", "b"]);
    }

    #[test]
    fn one_text_in_other_characters_has_the_same_words() {
        for (a, b) in [
            ("The café of Zoë", "The cafe\u{301} of Zoe\u{308}"),
            ("the cafe of zoe", "THE CAFÉ OF ZOË"),
            ("ﬁve １９３１", "five 1931"),
            ("10⁶ m²", "10^6 m^2"),
            ("Jean\u{2011}Paul", "Jean-Paul"),
            ("so\u{ad}ft", "soft"),
        ] {
            assert_eq!(words(a), words(b), "{a}");
        }
        assert_ne!(words("10⁶"), words("106"));
    }

    #[test]
    fn a_query_has_the_words_of_earlier_indexes_too() {
        assert_eq!(query_words("the café"), ["the", "cafe", "café"]);
        assert_eq!(query_words("the cafe"), ["the", "cafe"]);
    }
}

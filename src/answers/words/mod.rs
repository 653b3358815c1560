//! Texts as words: the one rule of what is compared, at three levels of tolerance.
//!
//! Words are compared in lower case, without punctuation and articles. A dash or a slash separates words ("Jean-Paul" is "Jean
//! Paul"); other punctuation is removed ("U.S." is "us", "1,000" is "1000"). Words match as wholes: "1956" is not in "19560". An
//! answer without words matches nothing. [`squad`] is the normalisation of SQuAD's evaluation script, which its metrics use
//! instead.

mod joined;
pub mod numbers;
mod squad;

pub use squad::squad;

use crate::unicode;
use joined::{MINUS, POINT};
use numbers::LoneOne;
use std::borrow::Cow;
use std::collections::{BTreeSet, HashSet};

/// How strictly words are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Level {
    /// Metrics, datasets and slices, as the papers normalise: canonically equivalent characters are the same, accents and
    /// compatibility forms count.
    Scored,
    /// Votes, early stops and repeated answers: superscripts, ligatures, full-width forms and typographic punctuation are their
    /// plain characters ([`unicode::folded`]).
    Voted,
    /// Assessments and grounds: marks on Latin and Greek letters do not count ([`unicode::unmarked`]), numbers keep their points
    /// and signs, and words that punctuation joins are apart.
    Assessed,
}

impl Level {
    /// The words of a text.
    #[must_use]
    pub fn words(self, text: &str) -> Words {
        let form = match self {
            Self::Scored => Cow::Owned(unicode::nfc(text).chars().flat_map(char::to_lowercase).collect()),
            Self::Voted => unicode::folded(text),
            Self::Assessed => {
                let marked = joined::with_points(&joined::apart(&unicode::plain(text)));
                Cow::Owned(unicode::unmarked(&marked).into_owned())
            }
        };
        let mut words = split(&form, self);
        if self == Self::Assessed {
            words.iter_mut().filter(|word| word.text.contains([POINT, MINUS])).for_each(|word| {
                word.text = word.text.replace(POINT, ".").replace(MINUS, "-");
            });
        }
        Words(words)
    }

    /// The text's words with one space between.
    #[must_use]
    pub fn normalised(self, text: &str) -> String {
        self.words(text).to_vec().join(" ")
    }

    /// Answers as a set, each by its words: two lists of answers are the same where their sets are.
    pub fn set<'a>(self, answers: impl IntoIterator<Item = &'a str>) -> BTreeSet<String> {
        answers.into_iter().map(|answer| self.normalised(answer)).collect()
    }

    /// Both have the same words; an answer without words equals nothing, not even itself.
    #[must_use]
    pub fn equal(self, a: &str, b: &str) -> bool {
        let a = self.words(a);
        !a.is_empty() && a == self.words(b)
    }

    /// Whether the words of `part` occur in `whole`, in order and next to each other; false for a `part` without words.
    #[must_use]
    pub fn contains(self, whole: &str, part: &str) -> bool {
        self.words(part).within(&self.words(whole))
    }

    /// One of the two contains the other.
    #[must_use]
    pub fn overlap(self, a: &str, b: &str) -> bool {
        let (a, b) = (self.words(a), self.words(b));
        a.within(&b) || b.within(&a)
    }

    /// Drops answers equal to an earlier one, and those without words.
    #[must_use]
    pub fn without_repeats(self, answers: impl IntoIterator<Item = String>) -> Vec<String> {
        let mut seen: HashSet<Vec<String>> = HashSet::new();
        let mut kept = Vec::new();
        for answer in answers {
            let words = self.words(&answer).to_vec();
            if !words.is_empty() && seen.insert(words) {
                kept.push(answer);
            }
        }
        kept
    }
}

/// The words of a text, in order. Its articles are kept to be compared with names that end in one: "Serie A" is found in "Serie A
/// clubs".
#[derive(Debug, Clone, Default)]
pub struct Words(Vec<Word>);

#[derive(Debug, Clone)]
struct Word {
    text: String,
    /// Optional in comparisons: "a", "an" or "the" before another word.
    article: bool,
}

impl Words {
    /// Whether nothing but punctuation was left.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The words that count, in order: all but articles.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter(|word| !word.article).map(|word| word.text.as_str())
    }

    /// How many words count.
    #[must_use]
    pub fn len(&self) -> usize {
        self.iter().count()
    }

    /// The words that count.
    #[must_use]
    pub fn to_vec(&self) -> Vec<String> {
        self.iter().map(str::to_owned).collect()
    }

    /// Whether one of the words that count is `word`.
    #[must_use]
    pub fn has(&self, word: &str) -> bool {
        self.iter().any(|own| own == word)
    }

    /// Whether the words occur in `whole`, in order and next to each other; false without words.
    #[must_use]
    pub fn within(&self, whole: &Self) -> bool {
        self.starts(whole).next().is_some()
    }

    /// For each occurrence of these words in `whole`, the words that count before it.
    pub(crate) fn starts<'a>(&'a self, whole: &'a Self) -> impl Iterator<Item = Vec<&'a str>> + 'a {
        let part: Vec<&str> = self.iter().collect();
        let begins = move |&at: &usize| stands_at(&part, &whole.0[at..]);
        let before =
            |at: usize| whole.0[..at].iter().filter(|word| !word.article).map(|word| word.text.as_str()).collect();
        (0..whole.0.len()).filter(begins).map(before)
    }

    /// The words with each run of number words in digits.
    pub(crate) fn in_digits(&self, lone: LoneOne) -> Self {
        let texts: Vec<&str> = self.0.iter().map(|word| word.text.as_str()).collect();
        let mut at = 0;
        let converted = numbers::spelt(&texts, lone).into_iter().map(|(text, used)| {
            let article = used == 1 && self.0[at].article;
            at += used;
            Word { text, article }
        });
        Self(converted.collect())
    }
}

/// By the words that count.
impl PartialEq for Words {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

/// Whether `whole` begins with `part`. An article cannot be the first word of `whole`; later ones are skipped unless
/// `part` has them.
fn stands_at(part: &[&str], whole: &[Word]) -> bool {
    let mut matched = 0;
    for word in whole {
        match part.get(matched) {
            None => break,
            Some(_) if word.article && matched == 0 => return false,
            Some(&wanted) if word.text == wanted => matched += 1,
            Some(_) if word.article => {}
            Some(_) => return false,
        }
    }
    !part.is_empty() && matched == part.len()
}

/// The words of `form`, a text whose characters were normalised for `level`.
fn split(form: &str, level: Level) -> Vec<Word> {
    let mut words: Vec<Word> = Vec::new();
    let mut text = String::new();
    let mut end = |text: &mut String, before_a_word: bool| {
        if !text.is_empty() {
            let article = matches!(text.as_str(), "an" | "the") || text == "a" && before_a_word;
            words.push(Word { text: std::mem::take(text), article });
        }
    };
    // Punctuation came directly after the word.
    let mut closed = false;
    for c in form.chars() {
        if c.is_whitespace() || separates_words(c) {
            end(&mut text, c.is_whitespace() && !closed);
            closed = false;
        } else if is_punctuation(c) && !(c == '^' && level != Level::Scored) {
            // A caret stays, since it stands for an exponent: 10^6 is not 106. The papers' normalisation removes it.
            closed |= !text.is_empty();
        } else {
            closed = false;
            text.push(c);
        }
    }
    end(&mut text, false);
    // A letter that ends the text is a name, and so is one alone: "Serie A", the blood group "A".
    if let Some(last) = words.last_mut().filter(|last| last.text == "a") {
        last.article = false;
    }
    // Articles alone would be no words, and an answer without words matches nothing.
    if words.iter().all(|word| word.article) {
        words.iter_mut().for_each(|word| word.article = false);
    }
    words
}

fn separates_words(c: char) -> bool {
    matches!(c, '-' | '/' | '\u{2010}'..='\u{2015}' | '\u{2212}' | '\u{301c}' | '\u{ff0d}' | '\u{ff0f}')
}

/// ASCII punctuation, and the Unicode blocks that hold little else; currency and other symbols carry meaning and stay.
fn is_punctuation(c: char) -> bool {
    c.is_ascii_punctuation()
        || matches!(c, '«' | '»' | '¡' | '¿' | '·' | '§' | '¶' | '\u{200b}'..='\u{206f}'
            | '\u{3001}'..='\u{3003}' | '\u{3008}'..='\u{3011}' | '\u{3014}'..='\u{301f}'
            | '\u{ff01}'..='\u{ff0f}' | '\u{ff1a}'..='\u{ff20}' | '\u{ff3b}'..='\u{ff40}' | '\u{ff5b}'..='\u{ff65}')
}

//! Hyphens at the ends of lines, joined by the evidence of the whole document.
//!
//! A soft hyphen only shows where a word is broken and goes. Any other hyphen may belong to the word, as in "well-known". It
//! stays beside digits, single letters and capital letters, and where the document writes the word with it elsewhere. It goes
//! where the document writes the word without it elsewhere, and else unless the halves are known to form compounds.

use super::reply::PageText;
use std::collections::HashMap;

/// Maximum broken words that are looked up in the document; for further ones there is no evidence.
const MAX_LOOKED_UP: usize = 200_000;
/// Maximum letters of a half that is looked up.
const MAX_HALF: usize = 40;

/// First halves of English compounds that keep their hyphen.
#[rustfmt::skip]
const FIRST_HALVES: &[&str] = &[
    "best", "better", "big", "brother", "broad", "clear", "close", "cold", "cross", "dark", "daughter", "deep", "double", "dry", "early",
    "east", "eight", "eighty", "fast", "father", "fifty", "five", "first", "forty", "four", "full", "good", "half", "hand", "hard", "heavy",
    "high", "home", "ill", "large", "late", "left", "light", "long", "low", "mother", "new", "nine", "ninety", "north", "old", "open",
    "part", "quick", "right", "second", "self", "seven", "seventy", "short", "single", "sister", "six", "sixty", "slow", "small", "soft",
    "south", "state", "thick", "thin", "third", "thirty", "three", "tight", "time", "triple", "twenty", "two", "vice", "warm", "well",
    "west", "wide", "world", "year",
];

/// Second halves that are written together with what is before them, or are endings and no words.
#[rustfmt::skip]
const ATTACHED: &[&str] = &[
    "able", "age", "al", "ally", "ance", "ary", "born", "book", "bye", "coming", "dom", "ed", "een", "en", "ence", "ened", "ening", "ens",
    "er", "eous", "ern", "ers", "est", "father", "fold", "ful", "fully", "gest", "ger", "hand", "holder", "holders", "hood", "house",
    "houses", "ibility", "ible", "icle", "icles", "ing", "ings", "ion", "ions", "isan", "ish", "ism", "ist", "ists", "itude", "ity", "ive",
    "ize", "land", "lands", "less", "light", "lights", "ly", "made", "maker", "man", "men", "ment", "ments", "mer", "most", "ned", "ner",
    "ners", "nership", "ness", "ning", "ous", "over", "page", "ship", "ships", "side", "sion", "some", "spread", "stead", "teen", "ter",
    "th", "ther", "tion", "tions", "town", "ty", "ward", "wards", "ware", "way", "ways", "weight", "wide", "wife", "will", "wood", "work",
    "works", "worth",
];

/// Second halves of English compounds that keep their hyphen behind a name: London-based.
const BEHIND_NAMES: &[&str] =
    &["based", "born", "built", "controlled", "held", "language", "led", "made", "owned", "speaking", "style"];

/// Words after a hyphen that replaces a part of a word: "pre- and post-war".
const CONJUNCTIONS: &[&str] =
    &["and", "or", "nor", "und", "oder", "bis", "et", "ou", "y", "e", "o", "en", "of", "och", "og"];

/// Joins the words that hyphens break at the ends of lines, and takes soft hyphens out.
pub(super) fn join(pages: &mut [PageText]) {
    let evidence = Evidence::of(pages);
    for page in pages {
        page.text = joined(&page.text, &evidence);
    }
}

/// A hyphen at the end of a line, and what is broken there.
struct Break<'t> {
    /// Bytes of the hyphen and the line end.
    at: usize,
    end: usize,
    is_soft: bool,
    /// The characters before the hyphen and after the line end, up to white space.
    first: &'t str,
    second: &'t str,
}

fn is_hyphen(c: char) -> bool {
    matches!(c, '-' | '\u{2010}' | '\u{ad}')
}

fn breaks(text: &str) -> impl Iterator<Item = Break<'_>> {
    text.match_indices('\n').filter_map(|(newline, _)| {
        let hyphen = text[..newline].chars().next_back().filter(|c| is_hyphen(*c))?;
        let at = newline - hyphen.len_utf8();
        let (before, after) = (&text[..at], &text[newline + 1..]);
        let first = &before[before
            .rfind(char::is_whitespace)
            .map_or(0, |at| at + before[at..].chars().next().map_or(1, char::len_utf8))..];
        let second = after.split(char::is_whitespace).next().unwrap_or_default();
        let is_word = first.ends_with(char::is_alphanumeric) && second.starts_with(char::is_alphanumeric);
        is_word.then_some(Break { at, end: newline + 1, is_soft: hyphen == '\u{ad}', first, second })
    })
}

impl Break<'_> {
    /// The letters and digits beside the hyphen, in lower case.
    fn halves(&self) -> (String, String) {
        let first = self.first.rsplit(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
        let second = self.second.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
        (first.to_lowercase(), second.to_lowercase())
    }
}

/// How often words that are broken somewhere are written with and without the hyphen elsewhere.
struct Evidence(HashMap<String, usize>);

impl Evidence {
    fn of(pages: &[PageText]) -> Self {
        let mut words = HashMap::new();
        for broken in pages.iter().flat_map(|page| breaks(&page.text)).take(MAX_LOOKED_UP) {
            let (first, second) = broken.halves();
            if first.len().max(second.len()) <= MAX_HALF {
                words.insert(format!("{first}{second}"), 0);
                words.insert(format!("{first}-{second}"), 0);
            }
        }
        let mut evidence = Self(words);
        if !evidence.0.is_empty() {
            pages.iter().for_each(|page| evidence.count(&page.text));
        }
        evidence
    }

    fn count(&mut self, text: &str) {
        let mut count = |word: &str| {
            if let Some(times) = self.0.get_mut(word) {
                *times += 1;
            }
        };
        for token in text.split(char::is_whitespace).filter(|token| token.len() <= 4 * MAX_HALF) {
            let token: String = token.to_lowercase().replace('\u{2010}', "-").replace('\u{ad}', "");
            let mut before: Option<&str> = None;
            for word in token.split(|c: char| !c.is_alphanumeric() && c != '-').flat_map(|word| word.split('-')) {
                count(word);
                if let Some(before) = before.filter(|before| !before.is_empty() && !word.is_empty()) {
                    count(&format!("{before}-{word}"));
                }
                before = Some(word);
            }
        }
    }

    fn times(&self, word: &str) -> usize {
        self.0.get(word).copied().unwrap_or(0)
    }
}

/// The treatment of a hyphen and the line end after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Joint {
    /// Both go.
    Closed,
    /// The hyphen stays.
    Hyphen,
    /// Both stay.
    Open,
}

fn joint(broken: &Break<'_>, evidence: &Evidence) -> Joint {
    if broken.is_soft {
        return Joint::Closed;
    }
    let (first, second) = broken.halves();
    let capital = |word: &str| word.chars().next().is_some_and(char::is_uppercase);
    let digit = |word: &str| word.contains(|c: char| c.is_ascii_digit());
    let closed = evidence.times(&format!("{first}{second}"));
    let hyphenated = evidence.times(&format!("{first}-{second}"));
    // Parts of addresses, and words with more hyphens.
    let is_compound = |token: &str| token.contains(['-', '\u{2010}', '/', '@', '_', '.']);
    let name = broken.first.rsplit(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
    let is_acronym = name.chars().count() > 1 && !name.contains(char::is_lowercase);
    match () {
        () if digit(&first) || digit(&second) => Joint::Hyphen,
        () if CONJUNCTIONS.contains(&broken.second.to_lowercase().trim_end_matches(',')) && closed == 0 => Joint::Open,
        () if first.chars().count() < 2 => Joint::Hyphen,
        () if closed > hyphenated => Joint::Closed,
        () if hyphenated > 0 => Joint::Hyphen,
        () if capital(broken.second) || is_acronym => Joint::Hyphen,
        () if is_compound(broken.first) || is_compound(broken.second.trim_end_matches(['.', '-', '\u{2010}'])) => {
            Joint::Hyphen
        }
        () if capital(name) && BEHIND_NAMES.contains(&second.as_str()) => Joint::Hyphen,
        () if FIRST_HALVES.contains(&first.as_str()) && !ATTACHED.contains(&second.as_str()) => Joint::Hyphen,
        () => Joint::Closed,
    }
}

fn joined(text: &str, evidence: &Evidence) -> String {
    let mut joined = String::with_capacity(text.len());
    let mut copied = 0;
    for broken in breaks(text) {
        joined.push_str(&text[copied..broken.at]);
        match joint(&broken, evidence) {
            Joint::Closed => {}
            Joint::Hyphen => joined.push_str(text[broken.at..broken.end].trim_end_matches('\n')),
            Joint::Open => joined.push_str(&text[broken.at..broken.end]),
        }
        copied = broken.end;
    }
    joined.push_str(&text[copied..]);
    joined.retain(|c| c != '\u{ad}');
    joined
}

#[cfg(test)]
mod tests {
    use super::{PageText, join};

    fn joined(text: &str) -> String {
        let mut pages = [PageText { text: text.to_owned(), ..PageText::default() }];
        join(&mut pages);
        pages[0].text.clone()
    }

    #[test]
    fn hyphens_of_words_stay() {
        for (text, expected) in [
            ("the well-\nknown engineer", "the well-known engineer"),
            ("Jean-\nPierre", "Jean-Pierre"),
            ("1921-\n1924", "1921-1924"),
            ("the X-\nray room", "the X-ray room"),
            ("an e-\nmail", "an e-mail"),
            ("COVID-\n19", "COVID-19"),
            ("a 20-\nyear loan", "a 20-year loan"),
            ("twenty-\none", "twenty-one"),
            ("state-of-the-\nart", "state-of-the-art"),
            ("mother-\nin-law", "mother-in-law"),
            ("a London-\nbased firm", "a London-based firm"),
            ("NATO-\nled", "NATO-led"),
            ("the re-\nform; a re-form", "the re-form; a re-form"),
            ("pre-\nand post-war", "pre-\nand post-war"),
            ("https://a.example/long-\nname", "https://a.example/long-name"),
        ] {
            assert_eq!(joined(text), expected);
        }
    }

    #[test]
    fn hyphens_of_broken_words_go() {
        for (text, expected) in [
            ("the recon-\nstruction of", "the reconstruction of"),
            ("the Ameri-\ncan bridge", "the American bridge"),
            ("a co-\noperative", "a cooperative"),
            ("the high-\nway and part-\nners", "the highway and partners"),
            ("the HAR-\nBOUR of this harbour", "the HARBOUR of this harbour"),
            ("plan\u{ad}\nned wind\u{ad}break", "planned windbreak"),
            ("well-\nknown and wellknown", "wellknown and wellknown"),
            ("ends with -\na dash", "ends with -\na dash"),
        ] {
            assert_eq!(joined(text), expected);
        }
    }
}

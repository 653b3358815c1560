//! Answer normalisation and equality: MADAM-RAG's early stop, the votes and the metrics use it.
//!
//! Answers are compared as sequences of words: lower case, no punctuation, no articles, white space folded. A dash or
//! a slash separates words ("Jean-Paul" is "Jean Paul"); other punctuation is removed ("U.S." is "us", "1,000" is
//! "1000"). Words match as wholes: "1956" is not in "19560". An answer without words matches nothing.
//! [`squad`] is the normalisation of SQuAD's evaluation script, which its metrics use instead.

use std::collections::HashSet;

/// The words of an answer, normalised; empty where nothing but punctuation is left.
///
/// An answer of articles alone keeps them: "A" may be a blood group.
#[must_use]
pub fn words(text: &str) -> Vec<String> {
    let separated: String = text.chars().map(|c| if separates_words(c) { ' ' } else { c }).collect();
    let all: Vec<String> = separated
        .split_whitespace()
        .map(|word| word.chars().filter(|&c| !is_punctuation(c)).flat_map(char::to_lowercase).collect::<String>())
        .filter(|word| !word.is_empty())
        .collect();
    let without: Vec<String> = all.iter().filter(|word| !is_article(word)).cloned().collect();
    if without.is_empty() { all } else { without }
}

/// The tokens of an answer as SQuAD's evaluation script makes them: lower case, ASCII punctuation removed, the words "a",
/// "an" and "the" removed wherever they stand between other characters, split at white space.
///
/// Rajpurkar et al., 2016, section 6.1; `normalize_answer` of the script. Unlike [`words`], a hyphen joins
/// ("Jean-Paul" is "jeanpaul"), and an answer of articles alone is empty.
#[must_use]
pub fn squad(text: &str) -> Vec<String> {
    let lower: String = text.to_lowercase().chars().filter(|c| !c.is_ascii_punctuation()).collect();
    let mut without = String::with_capacity(lower.len());
    let mut rest = lower.as_str();
    while !rest.is_empty() {
        // Runs of word characters, as the script's `\b` sees them, and the characters between them.
        let end = rest.find(|c: char| !c.is_alphanumeric()).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        without.push_str(if is_article(word) { " " } else { word });
        let gap = after.find(char::is_alphanumeric).unwrap_or(after.len());
        without.push_str(&after[..gap]);
        rest = &after[gap..];
    }
    without.split_whitespace().map(str::to_owned).collect()
}

/// The normalised answer as one string: its words, one space between.
#[must_use]
pub fn normalise(text: &str) -> String {
    words(text).join(" ")
}

/// Both have the same words after normalisation; an answer without words equals nothing, not even itself.
#[must_use]
pub fn equal(a: &str, b: &str) -> bool {
    let a = words(a);
    !a.is_empty() && a == words(b)
}

/// The words of `part` stand in `whole`, in order and next to each other; never so for a `part` without words.
#[must_use]
pub fn contains(whole: &str, part: &str) -> bool {
    let (whole, part) = (words(whole), words(part));
    !part.is_empty() && whole.windows(part.len()).any(|window| window == part)
}

/// Equal, or one within the other; an agent's answer is matched with a conclusion by this.
#[must_use]
pub fn agree(a: &str, b: &str) -> bool {
    contains(a, b) || contains(b, a)
}

/// Phrases beside "unknown" that small models give in the place of an answer.
const NO_ANSWER: [&str; 12] = [
    "unknown",
    "not known",
    "not stated",
    "not mentioned",
    "not specified",
    "not given",
    "not provided",
    "not available",
    "not found",
    "i do not know",
    "i dont know",
    "no answer",
];
/// What may follow such a phrase.
const WHERE: [&str; 4] = ["document", "text", "passage", "context"];

/// The answer gives none: "unknown", "I don't know", "N/A", "not stated", "not mentioned in the document". "None" and "no" are
/// answers.
#[must_use]
pub fn is_unknown(text: &str) -> bool {
    let words = words(text);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let phrase = match words.as_slice() {
        [phrase @ .., "in" | "by", place] if WHERE.contains(place) => phrase,
        [phrase @ .., "in" | "by", "this", place] if WHERE.contains(place) => phrase,
        all => all,
    };
    NO_ANSWER.contains(&phrase.join(" ").as_str()) || text.trim().trim_end_matches('.').eq_ignore_ascii_case("n/a")
}

/// Drops answers equal to an earlier one after normalisation, and those without words.
#[must_use]
pub fn without_repeats(answers: impl IntoIterator<Item = String>) -> Vec<String> {
    let mut seen: HashSet<Vec<String>> = HashSet::new();
    let mut kept = Vec::new();
    for answer in answers {
        let words = words(&answer);
        if !words.is_empty() && seen.insert(words) {
            kept.push(answer);
        }
    }
    kept
}

fn is_article(word: &str) -> bool {
    matches!(word, "a" | "an" | "the")
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

//! When two answers are the same: MADAM-RAG's early stop, the votes and the metrics all ask here.
//!
//! Answers are compared as sequences of words: lower case, no punctuation, no articles, white space folded. A dash or
//! a slash parts words ("Jean-Paul" is "Jean Paul"); other punctuation vanishes ("U.S." is "us", "1,000" is "1000").
//! Never by substring: "1956" is not in "19560", and nothing is in an empty answer, nor an empty answer in anything.

/// The words of an answer, normalised; empty where nothing but punctuation is left.
///
/// An answer of articles alone keeps them: "A" may be a blood group.
#[must_use]
pub fn words(text: &str) -> Vec<String> {
    let parted: String = text.chars().map(|c| if parts_words(c) { ' ' } else { c }).collect();
    let all: Vec<String> = parted
        .split_whitespace()
        .map(|word| word.chars().filter(|&c| !is_punctuation(c)).flat_map(char::to_lowercase).collect::<String>())
        .filter(|word| !word.is_empty())
        .collect();
    let without: Vec<String> = all.iter().filter(|word| !is_article(word)).cloned().collect();
    if without.is_empty() { all } else { without }
}

/// The normalised answer as one string: its words, one space between.
#[must_use]
pub fn normalise(text: &str) -> String {
    words(text).join(" ")
}

/// Both say the same after normalisation; an answer without words equals nothing, not even itself.
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

/// Equal, or one within the other: how an agent's answer is matched with a conclusion.
#[must_use]
pub fn agree(a: &str, b: &str) -> bool {
    contains(a, b) || contains(b, a)
}

/// The answer is the word "unknown": a way of giving none.
#[must_use]
pub fn is_unknown(text: &str) -> bool {
    words(text) == ["unknown"]
}

/// Leaves out answers equal to an earlier one after normalisation, and those without words.
#[must_use]
pub fn without_repeats(answers: impl IntoIterator<Item = String>) -> Vec<String> {
    let mut seen: Vec<Vec<String>> = Vec::new();
    let mut kept = Vec::new();
    for answer in answers {
        let words = words(&answer);
        if !words.is_empty() && !seen.contains(&words) {
            seen.push(words);
            kept.push(answer);
        }
    }
    kept
}

fn is_article(word: &str) -> bool {
    matches!(word, "a" | "an" | "the")
}

fn parts_words(c: char) -> bool {
    matches!(c, '-' | '/' | '\u{2010}'..='\u{2015}' | '\u{2212}' | '\u{301c}' | '\u{ff0d}' | '\u{ff0f}')
}

/// ASCII's, and the blocks of Unicode that hold little else; currency and other symbols carry meaning and stay.
fn is_punctuation(c: char) -> bool {
    c.is_ascii_punctuation()
        || matches!(c, '«' | '»' | '¡' | '¿' | '·' | '§' | '¶' | '\u{200b}'..='\u{206f}'
            | '\u{3001}'..='\u{3003}' | '\u{3008}'..='\u{3011}' | '\u{3014}'..='\u{301f}'
            | '\u{ff01}'..='\u{ff0f}' | '\u{ff1a}'..='\u{ff20}' | '\u{ff3b}'..='\u{ff40}' | '\u{ff5b}'..='\u{ff65}')
}

//! Splits a text into the words from which numbers and dates are read.

use crate::answers::words::numbers::{LoneOne, in_digits};

/// The words of a text as it writes them: split at white space and at hyphens, punctuation around them removed.
pub(in crate::contradictions) fn parts(text: &str) -> Vec<String> {
    let spaced = text.replace(['\u{2013}', '\u{2014}', '\u{2012}'], "-").replace(['\u{a0}', '\u{202f}'], " ");
    let trimmed = spaced.split_whitespace().map(|word| {
        word.trim_matches(|c: char| !(c.is_alphanumeric() || matches!(c, '%' | '£' | '$' | '€' | '°' | '-')))
            .trim_end_matches('-')
    });
    trimmed.filter(|word| !word.is_empty()).flat_map(hyphenated).collect()
}

/// The words of a text from which numbers are read: in lower case, number words in digits.
pub(super) fn words(text: &str) -> Vec<String> {
    let lower: Vec<String> = parts(text).iter().map(|part| part.to_lowercase()).collect();
    let lower: Vec<&str> = lower.iter().map(String::as_str).collect();
    in_digits(&lower, LoneOne::Never)
}

/// Whether a word has a digit or is the word of a number.
pub(in crate::contradictions) fn is_number(word: &str) -> bool {
    let lower = word.to_lowercase();
    in_digits(&[lower.as_str()], LoneOne::Never).iter().any(|word| word.contains(|c: char| c.is_ascii_digit()))
}

/// "twenty-one" and "three-year" as two words, "10-12" as two numbers; a date "1952-06-14" stays whole.
fn hyphenated(word: &str) -> Vec<String> {
    let parts: Vec<&str> = word.split('-').filter(|part| !part.is_empty()).collect();
    let digits = |part: &&str| part.bytes().all(|b| b.is_ascii_digit());
    let is_date = parts.len() > 1 && parts[0].len() == 4 && parts.iter().all(digits) && parts[1].len() <= 2;
    // A hyphen in front is a minus sign.
    if parts.len() < 2 || is_date || word.starts_with('-') {
        return vec![word.to_owned()];
    }
    parts.into_iter().map(str::to_owned).collect()
}

//! The normalisation of SQuAD's evaluation script.

use crate::unicode;

/// The tokens of an answer as the script makes them: lower case, ASCII punctuation removed, the words "a", "an" and "the" removed
/// wherever they occur between other characters, split at white space. Canonically equivalent texts have the same tokens.
///
/// Rajpurkar et al., 2016, section 6.1; `normalize_answer` of the script. Unlike [`Level::words`](super::Level::words), a hyphen
/// joins ("Jean-Paul" is "jeanpaul"), and an answer of articles alone is empty.
#[must_use]
pub fn squad(text: &str) -> Vec<String> {
    let lower: String = unicode::nfc(text).to_lowercase().chars().filter(|c| !c.is_ascii_punctuation()).collect();
    let mut without = String::with_capacity(lower.len());
    let mut rest = lower.as_str();
    while !rest.is_empty() {
        // Runs of word characters, as the script's `\b` sees them, and the characters between them.
        let end = rest.find(|c: char| !c.is_alphanumeric()).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        without.push_str(if matches!(word, "a" | "an" | "the") { " " } else { word });
        let gap = after.find(char::is_alphanumeric).unwrap_or(after.len());
        without.push_str(&after[..gap]);
        rest = &after[gap..];
    }
    without.split_whitespace().map(str::to_owned).collect()
}

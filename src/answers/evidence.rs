//! Evidence: the sentence of a document that holds an answer.
//!
//! No paper asks for it. A model's explanation of its own answer often says no more than that the document states it; the
//! sentence itself names its subject and its certainty.

use crate::answers::words::{Level, Words};
use crate::retrieval::chunk::sentences::sentences;
use std::collections::HashSet;

/// Most characters of a sentence that is shown.
const MOST: usize = 200;

/// Words of at most so many characters are too common to identify the subject ("was", "the").
const SHORT: usize = 3;

/// The sentence of `document` that holds `answer`, cut around the answer if it is long. Of several it is the one with
/// the most words of `question`, then the first. If it lacks some words of the question, the earlier sentence with most
/// of these is put before it, since it may name the referent of a pronoun. `None` if no sentence has a word of the
/// answer.
#[must_use]
pub fn sentence(document: &str, answer: &str, question: &str) -> Option<String> {
    let answer = Level::Assessed.words(answer);
    let asked: HashSet<String> =
        Level::Assessed.words(question).to_vec().into_iter().filter(|word| tells(word, &answer)).collect();
    let texts: Vec<&str> = sentences(document).into_iter().map(|range| &document[range]).collect();
    let words: Vec<Words> = texts.iter().map(|text| Level::Assessed.words(text)).collect();
    let of_answer = |words: &Words| answer.iter().filter(|word| words.has(word)).count();
    let of_question = |words: &Words| asked.iter().filter(|word| words.has(word)).count();
    let rank = |words: &Words| (answer.within(words), of_answer(words), of_question(words));
    // Of equals the first: `max_by_key` gives the last.
    let best = (0..texts.len()).rev().max_by_key(|&at| rank(&words[at]))?;
    if of_answer(&words[best]) == 0 {
        return None;
    }
    let lacks = |word: &&String| !words[best].has(word);
    let adds = |at: usize| asked.iter().filter(lacks).filter(|word| words[at].has(word)).count();
    let found = around(texts[best], &answer);
    // Of equals the last, which is the nearest.
    let before = (0..best).max_by_key(|&at| adds(at)).filter(|&at| adds(at) > 0);
    let Some(before) = before else { return Some(found) };
    let missing = asked.iter().filter(lacks).find(|word| words[before].has(word)).map_or("", String::as_str);
    let gap = if before + 1 == best { " " } else { " ... " };
    Some(format!("{}{gap}{found}", around(texts[before], &Level::Assessed.words(missing))))
}

/// Whether `word` is one of the question's subject, and not of the answer.
fn tells(word: &str, answer: &Words) -> bool {
    word.chars().count() > SHORT && !answer.has(word)
}

/// The text on one line; where it has more than [`MOST`] characters, the words around the first position that has those
/// of `wanted` next to each other, or one of them.
fn around(text: &str, wanted: &Words) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let whole = words.join(" ");
    if whole.chars().count() <= MOST {
        return whole;
    }
    // Punctuation may part a word into several.
    let has = |at: usize, many: usize| {
        let end = (at + many).min(words.len());
        wanted.within(&Level::Assessed.words(&words[at..end].join(" ")))
    };
    let one = |at: usize| Level::Assessed.words(words[at]).iter().any(|word| wanted.has(word));
    let found = (0..words.len()).find(|&at| has(at, wanted.len())).map(|at| at..(at + wanted.len()).min(words.len()));
    let mut shown = found.or_else(|| (0..words.len()).find(|&at| one(at)).map(|at| at..at + 1)).unwrap_or(0..1);
    let mut length: usize = words[shown.clone()].iter().map(|word| word.chars().count() + 1).sum();
    loop {
        let before = shown.start.checked_sub(1).map(|at| words[at].chars().count() + 1);
        let after = words.get(shown.end).map(|word| word.chars().count() + 1);
        let (left, right) = (before.filter(|n| length + n <= MOST), after.filter(|n| length + n <= MOST));
        if let Some(many) = left {
            shown.start -= 1;
            length += many;
        }
        if let Some(many) = right.filter(|many| length + many <= MOST) {
            shown.end += 1;
            length += many;
        } else if left.is_none() {
            break;
        }
    }
    let dots = |cut: bool| if cut { "..." } else { "" };
    format!("{}{}{}", dots(shown.start > 0), words[shown.clone()].join(" "), dots(shown.end < words.len()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const ASKED: &str = "In which year was Mira Tolland born?";

    #[test]
    fn the_sentence_that_holds_the_answer_and_most_of_the_question() {
        let text = "The vase is of 1931. Mira Tolland was born in 1931 in Sandholm. She died in 1931.";
        assert_eq!(sentence(text, "1931", ASKED).unwrap(), "Mira Tolland was born in 1931 in Sandholm.");
        assert_eq!(sentence("A town. A port in 1931. A port of 1931.", "1931", ASKED).unwrap(), "A port in 1931.");
        assert_eq!(sentence(text, "1968", ASKED), None);
        assert_eq!(sentence("", "1931", ASKED), None);
    }

    #[test]
    fn the_sentence_before_names_the_subject() {
        let text = "A forum.\n\nI bought a vase by Mira Tolland! He said that she was born in 1913.";
        assert_eq!(
            sentence(text, "1913", ASKED).unwrap(),
            "I bought a vase by Mira Tolland! He said that she was born in 1913."
        );
        let apart = "Mira Tolland blew glass. It was blue. She was born in 1913.";
        assert_eq!(sentence(apart, "1913", ASKED).unwrap(), "Mira Tolland blew glass. ... She was born in 1913.");
    }

    #[test]
    fn an_answer_in_other_words_has_the_sentence_with_most_of_them() {
        let text = "He wrote in 1931. The glass guild made her a master in 1947.";
        assert_eq!(
            sentence(text, "a master of the guild", ASKED).unwrap(),
            "The glass guild made her a master in 1947."
        );
    }

    #[test]
    fn a_long_sentence_is_cut_around_the_answer() {
        let text = format!("{} Mira Tolland born in b.1931, Sandholm {}", "left ".repeat(100), "right ".repeat(100));
        let found = sentence(&text, "1931, Sandholm", ASKED).unwrap();
        assert!(found.starts_with("...left ") && found.ends_with(" right..."), "{found}");
        assert!(found.contains("Mira Tolland born in b.1931, Sandholm"));
        assert!(found.chars().count() <= MOST + 6, "{found}");
        let word = "x".repeat(500);
        assert_eq!(sentence(&format!("{word} 1931"), "1931", ASKED).unwrap(), "...1931");
    }
}

//! Answers that repeat the question: "Ivo Harm plays Tam in the film" is cut to "Ivo Harm". English alone: other languages
//! have other function words, and their answers stay whole.

use crate::answers::unknown::is_unknown;
use crate::unicode;
use std::collections::HashSet;

/// Words that are of the question as much as of the answer.
const FUNCTION: &str = "a an the of in on at to for from by with and or is was are were be been being it its this that these those \
    as under up into than then there their his her he she they who whom whose which what when where how do does did has have had \
    may can will would should";

const COPULAS: [&str; 4] = ["is", "was", "are", "were"];

/// Words of the question in a row, function words aside, that are cut from an end.
const LEAST: usize = 3;

/// Words of the question before a copula that are cut with it.
const LEAST_BEFORE_COPULA: usize = 2;

/// The part of `answer` that is not in `question`: words of the question are cut from both ends where several are in a
/// row. `None` if all its words are of the question, unless that offers alternatives, or if "unknown" is left.
pub(super) fn without_question(answer: &str, question: &str) -> Option<String> {
    let asked: HashSet<String> = question.split(|c: char| c.is_whitespace() || c == '-').map(stem).collect();
    let words: Vec<&str> = answer.split_whitespace().collect();
    let kinds: Vec<Kind> = words.iter().map(|word| Kind::of(word, &asked)).collect();
    let offers = question.split_whitespace().any(|word| word == "or");
    if !offers && kinds.iter().all(|kind| *kind != Kind::Answer) {
        return None;
    }
    let start = leading(&words, &kinds);
    let mut end = words.len() - trailing(&kinds[start..]);
    if end < words.len() && words[end - 1].chars().any(char::is_numeric) {
        end += 1; // A number keeps its unit: "33 days".
    }
    let cut = words[start..end].join(" ");
    let cut = cut.trim_matches([' ', ',', ';', ':', '.']);
    let left = if cut.is_empty() { answer } else { cut };
    (!is_unknown(left)).then(|| left.to_owned())
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Question,
    Function,
    Answer,
}

impl Kind {
    fn of(word: &str, asked: &HashSet<String>) -> Self {
        let bare = bare(word);
        // Punctuation alone is of the question as much as of the answer.
        if bare.is_empty() || FUNCTION.split_whitespace().any(|function| function == bare) {
            Self::Function
        } else if asked.contains(&stem(word)) {
            Self::Question
        } else {
            Self::Answer
        }
    }
}

/// Words to cut at the start: up to the last copula behind words of the question, or all of these.
fn leading(words: &[&str], kinds: &[Kind]) -> usize {
    let run = kinds.iter().take_while(|kind| **kind != Kind::Answer).count();
    let before = |end: usize| kinds[..end].iter().filter(|kind| **kind == Kind::Question).count();
    let is_copula = |at: &usize| COPULAS.contains(&bare(words[*at]).as_str()) && before(*at) >= LEAST_BEFORE_COPULA;
    match (0..run).rev().find(is_copula) {
        Some(copula) => copula + 1,
        None if before(run) >= LEAST => run,
        None => 0,
    }
}

/// Words to cut at the end.
fn trailing(kinds: &[Kind]) -> usize {
    let run = kinds.iter().rev().take_while(|kind| **kind != Kind::Answer).count();
    let of_question = kinds[kinds.len() - run..].iter().filter(|kind| **kind == Kind::Question).count();
    if of_question >= LEAST && run < kinds.len() { run } else { 0 }
}

/// Folded, without punctuation and a possessive ending.
fn bare(word: &str) -> String {
    let folded = unicode::folded(word);
    let word = folded.trim_end_matches("'s").trim_end_matches("\u{2019}s");
    word.chars().filter(|c| c.is_alphanumeric()).collect()
}

/// Without an ending of inflection: "plays", "played" and "play" are equal.
fn stem(word: &str) -> String {
    let word = bare(word);
    // Three letters at least stay, so that "used", "yes" and "bed" keep their ends.
    let ending =
        ["ing", "ed", "es", "s"].into_iter().find(|ending| word.ends_with(ending) && word.len() >= ending.len() + 3);
    ending.map_or_else(|| word.clone(), |ending| word[..word.len() - ending.len()].to_owned())
}

#[cfg(test)]
mod tests {
    use super::without_question;

    #[test]
    fn what_an_answer_adds_to_its_question_is_left() {
        let film = "Who plays Tam in the film The Last Ferry?";
        let organ = "How many days of annual leave do nurses get under the Havel agreement?";
        let game = "What is the latest Corran's Creed game?";
        for (question, answer, left) in [
            (film, "Ivo Harm plays Tam in the film \"The Last Ferry\"", "Ivo Harm"),
            (film, "Ivo Harm", "Ivo Harm"),
            (game, "The latest Corran's Creed game is Corran's Creed: Valley", "Corran's Creed: Valley"),
            (organ, "33 days of annual leave under the Havel agreement", "33 days"),
            ("When did the ferry open?", "It opened on 14 June 1902", "It opened on 14 June 1902"),
            ("What sport does Milo Brandt play?", "Milo Brandt plays ice hockey", "ice hockey"),
            ("Where do you find a cell?", "in the root", "in the root"),
        ] {
            assert_eq!(without_question(answer, question).as_deref(), Some(left), "{answer}");
        }
    }

    #[test]
    fn an_answer_of_the_questions_words_is_none() {
        assert_eq!(without_question("Tam on Days of Corran", "Who played the original Tam on Days of Corran?"), None);
        assert_eq!(without_question("", "Who?"), None);
        assert_eq!(
            without_question("The artist of the album Oak is unknown", "Who is the artist of the album Oak?"),
            None
        );
        let either = "Is Ashby older or Corran?";
        assert_eq!(without_question("Corran", either).as_deref(), Some("Corran"));
    }
}

//! Recognises English texts that state that there is no answer. Every caller uses this one rule.
//!
//! A format's own word is "unknown". Small models use other words for it, and an answer without content must not be counted as
//! one. "None" and "no" are answers.

use crate::answers::words::Level;

/// Phrases that models write instead of an answer.
const ABSENT: &[&str] = &[
    "unknown",
    "not known",
    "not stated",
    "not mentioned",
    "not specified",
    "unspecified",
    "not given",
    "not provided",
    "not available",
    "not found",
    "not indicated",
    "idk",
    "i do not know",
    "i dont know",
    "do not know",
    "dont know",
    "no answer",
    "no information",
    "not enough information",
    "insufficient information",
    "cannot be determined",
    "can not be determined",
    "cant be determined",
];

/// Texts from which an answer may be missing.
const WHERE: &[&str] = &[
    "document",
    "documents",
    "text",
    "texts",
    "passage",
    "passages",
    "context",
    "article",
    "articles",
    "source",
    "sources",
];
/// Words between "in" and one of [`WHERE`].
const WHICH: &[&str] =
    &["this", "that", "these", "those", "any", "given", "provided", "supplied", "available", "above"];
/// Adverbs that do not change the meaning.
const MANNER: &[&str] = &["explicitly", "specifically", "directly", "clearly"];
/// Beginnings of whole sentences.
const SUBJECTS: &[&str] = &[
    "it is",
    "its",
    "this is",
    "that is",
    "answer is",
    "information is",
    "this information is",
    "that information is",
];
/// Verbs and objects of "the document does not say", "the text gives no information".
const VERBS: &[&str] =
    &["say", "state", "mention", "specify", "tell", "give", "provide", "contain", "include", "indicate"];
const OBJECTS: &[&str] = &[
    "",
    "it",
    "this",
    "that",
    "so",
    "answer",
    "information",
    "this information",
    "that information",
    "any information",
];

/// Whether a text says that there is no answer: "unknown", "I don't know", "N/A", "not stated", "not mentioned in the
/// provided document", "the document does not say".
#[must_use]
pub fn is_unknown(text: &str) -> bool {
    let words = Level::Voted.words(text);
    let words: Vec<&str> = words.iter().filter(|word| !MANNER.contains(word)).collect();
    is_absent(&words) || is_silent(&words) || text.trim().trim_end_matches('.').eq_ignore_ascii_case("n/a")
}

/// Whether a passage begins with "I don't know".
#[must_use]
pub fn begins_unknown(passage: &str) -> bool {
    let words = Level::Voted.words(passage).to_vec().join(" ");
    is_unknown(passage)
        || ["i do not know", "i dont know"]
            .iter()
            .any(|phrase| words.strip_prefix(phrase).is_some_and(|rest| rest.is_empty() || rest.starts_with(' ')))
}

/// One of [`ABSENT`], with or without a subject before it and "in the document" after it.
fn is_absent(words: &[&str]) -> bool {
    let phrase = without_where(words).join(" ");
    let bare = SUBJECTS.iter().find_map(|subject| phrase.strip_prefix(subject)?.strip_prefix(' '));
    ABSENT.contains(&bare.unwrap_or(&phrase))
}

/// `words` without "in the document" at their end.
fn without_where<'a>(words: &'a [&'a str]) -> &'a [&'a str] {
    let Some((_, before)) = words.split_last().filter(|(last, _)| WHERE.contains(last)) else { return words };
    let which = before.iter().rev().take_while(|word| WHICH.contains(word) || **word == "of").count();
    match before[..before.len() - which].split_last() {
        Some((&("in" | "by" | "from" | "within"), phrase)) => phrase,
        _ => words,
    }
}

/// "The document does not say", "the text gives no answer".
fn is_silent(words: &[&str]) -> bool {
    let Some(index) = words.iter().position(|word| WHERE.contains(word)) else { return false };
    if !words[..index].iter().all(|word| WHICH.contains(word)) {
        return false;
    }
    let says = |verb: &str, object: &[&str]| VERBS.contains(&verb) && OBJECTS.contains(&object.join(" ").as_str());
    match &words[index + 1..] {
        ["does" | "do" | "did", "not", verb, object @ ..] | ["doesnt" | "dont" | "didnt", verb, object @ ..] => {
            says(verb, object)
        }
        [verb, "no", "answer" | "information"] => VERBS.contains(&verb.trim_end_matches('s')),
        _ => false,
    }
}

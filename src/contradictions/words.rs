//! The words of a sentence that a comparison needs: content words, names, polarity, and cues of corrections and of changes.

use std::collections::BTreeSet;
use unicode_segmentation::UnicodeSegmentation;

/// Words without content, in lower case.
#[rustfmt::skip]
const STOP: &[&str] = &[
    "a", "an", "the", "and", "or", "but", "if", "of", "at", "by", "for", "with", "about", "into", "to", "from", "in", "on", "off",
    "out", "over", "under", "is", "are", "was", "were", "be", "been", "being", "am", "has", "have", "had", "having", "do", "does",
    "did", "doing", "will", "would", "shall", "should", "can", "could", "may", "might", "must", "it", "its", "he", "she", "his",
    "her", "him", "they", "them", "their", "we", "us", "our", "you", "your", "i", "me", "my", "this", "that", "these", "those",
    "there", "here", "as", "so", "than", "then", "too", "very", "just", "also", "only", "own", "same", "such", "which", "who",
    "whom", "what", "when", "where", "while", "how", "all", "each", "any", "some", "both", "few", "more", "most", "other", "up",
    "down", "again", "once", "per", "via", "s", "t", "d", "ll", "re", "ve", "m", "one", "now",
];

/// Words that negate what stands beside them.
#[rustfmt::skip]
const NEGATIONS: &[&str] = &[
    "not", "no", "never", "none", "neither", "nor", "without", "cannot", "nobody", "nothing", "nowhere", "isn't", "aren't",
    "wasn't", "weren't", "doesn't", "don't", "didn't", "hasn't", "haven't", "hadn't", "won't", "wouldn't", "can't", "couldn't",
    "shouldn't", "mustn't", "needn't", "lacks", "lacked", "lacking", "fails", "failed", "refuses", "refused", "unable", "denies",
    "denied", "rarely", "hardly",
];

/// Pairs of words of which a text about one thing uses one.
#[rustfmt::skip]
const OPPOSITES: &[(&[&str], &[&str])] = &[
    (&["open", "opens", "opened"], &["closed", "closes", "shut"]),
    (&["allowed", "permitted", "permits", "allows", "welcome", "may"], &["forbidden", "prohibited", "banned", "prohibits", "forbids", "bans", "disallowed"]),
    (&["mandatory", "required", "compulsory", "requires", "obligatory", "must"], &["optional", "voluntary", "unnecessary", "unneeded"]),
    (&["free"], &["paid", "charge", "charged", "fee", "costs"]),
    (&["before"], &["after"]),
    (&["increase", "increased", "increases", "rose", "rise", "grew", "growth", "higher", "up"], &["decrease", "decreased", "decreases", "fell", "fall", "shrank", "decline", "declined", "lower", "dropped", "down"]),
    (&["north", "northern"], &["south", "southern"]),
    (&["east", "eastern"], &["west", "western"]),
    (&["left"], &["right"]),
    (&["accepted", "approved", "approves", "adopted", "passed"], &["rejected", "declined", "refused", "turned", "defeated"]),
    (&["included", "includes", "including", "include"], &["excluded", "excludes", "excluding", "exclude", "extra"]),
    (&["enabled", "on", "enables"], &["disabled", "off", "disables"]),
    (&["public", "open"], &["private", "confidential"]),
    (&["survived", "intact", "undamaged", "unharmed"], &["destroyed", "lost", "demolished", "perished"]),
    (&["safe"], &["unsafe", "dangerous"]),
    (&["won", "win"], &["lost", "lose"]),
    (&["indoor", "inside", "indoors"], &["outdoor", "outside", "outdoors"]),
    (&["always"], &["never", "sometimes"]),
    (&["daily"], &["weekly", "monthly"]),
    (&["weekly"], &["monthly", "quarterly"]),
    (&["monthly"], &["quarterly", "annually", "yearly"]),
    (&["morning"], &["evening", "afternoon"]),
    (&["minimum", "least"], &["maximum", "most"]),
    (&["first"], &["last", "second"]),
    (&["alive", "living"], &["dead", "died"]),
    (&["manual", "manually"], &["automatic", "automatically"]),
    (&["encrypted"], &["unencrypted", "plaintext"]),
    (&["resistant", "waterproof"], &["vulnerable"]),
    (&["hot", "warm"], &["cold", "cool"]),
    (&["raw"], &["cooked", "pasteurised", "pasteurized"]),
    (&["supported", "supports"], &["unsupported", "dropped"]),
    (&["possible", "available"], &["impossible", "unavailable"]),
    (&["permanent"], &["temporary"]),
    (&["single", "alone"], &["double", "pairs", "together"]),
];

/// Words of which each names a part that the others are no part of.
#[rustfmt::skip]
const SCOPES: &[&[&[&str]]] = &[
    &[&["weekday", "weekdays"], &["saturday", "saturdays", "sunday", "sundays", "weekend", "weekends"]],
    &[&["staging", "test", "testing"], &["production", "live"], &["development", "dev"]],
    &[&["adult", "adults"], &["child", "children", "infants", "babies"], &["senior", "seniors"]],
    &[&["summer"], &["winter"], &["spring"], &["autumn"]],
    &[&["debug"], &["release"]],
    &[&["minimum"], &["maximum"]],
    &[&["male", "men", "boys"], &["female", "women", "girls"]],
    &[&["basic", "free", "standard"], &["premium", "team", "enterprise", "business", "professional", "pro"]],
    &[&["full-time"], &["part-time"]],
    &[&["half"], &["full", "whole"]],
    &[&["daytime", "day"], &["night", "overnight"]],
];

/// A word that says that a statement is an error, or corrects one.
#[rustfmt::skip]
const CORRECTIONS: &[&str] = &[
    "incorrect", "incorrectly", "wrong", "wrongly", "mistake", "mistaken", "mistakenly", "erroneous", "erroneously", "error",
    "misprint", "misprinted", "typo", "corrected", "correction", "corrects", "correct", "contrary", "myth", "untrue", "false",
    "falsely", "retracted", "retraction", "disproved", "misquoted", "misreported", "misread", "misstated", "slip", "erratum",
    "inaccurate", "confused", "disputed", "claimed", "rumour", "rumor", "supposedly", "allegedly",
];

/// A word that says that something changed, or was going to be.
#[rustfmt::skip]
const CHANGES: &[&str] = &[
    "previously", "formerly", "former", "until", "replaced", "replaces", "replacing", "supersede", "supersedes", "superseded",
    "originally", "initially", "earlier", "old", "planned", "proposed", "draft", "expected", "raised", "lowered", "changed",
    "longer", "extended", "postponed", "moved", "renamed", "reduced", "cut", "since", "current", "currently", "revised", "updated",
    "instead", "retired", "deprecated", "withdrawn", "lapsed", "outdated", "obsolete", "intended", "budgeted", "estimated",
    "before",
];

/// The parts of a sentence that are compared.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Words {
    /// Stems of its content words, numbers left out, each once.
    pub(super) content: BTreeSet<String>,
    /// Its names and other words with a capital letter inside a sentence, in lower case.
    pub(super) names: BTreeSet<String>,
    /// Negations.
    pub(super) negations: usize,
    /// All its words in lower case.
    all: Vec<String>,
}

impl Words {
    /// Those of `text`, which begins a sentence.
    pub(super) fn of(text: &str) -> Self {
        let mut found = Self::default();
        let text = text.replace('\u{2019}', "'");
        let mut begins = true;
        for piece in text.split_word_bounds() {
            if !piece.chars().any(char::is_alphanumeric) {
                begins |= piece.contains(['.', '!', '?', ':', '|', '\u{201c}', '"']);
                continue;
            }
            let lower = piece.to_lowercase();
            let has_digit = piece.bytes().any(|b| b.is_ascii_digit());
            let capital = piece.chars().next().is_some_and(char::is_uppercase);
            let inner = piece.chars().skip(1).any(char::is_uppercase);
            let is_stop = is_stop(&lower);
            if capital && !is_stop && (!begins || inner || (has_digit && piece.len() > 2)) {
                found.names.insert(possessed(&lower).to_owned());
            }
            if !is_stop && !has_digit && lower.chars().count() > 1 && !NEGATIONS.contains(&lower.as_str()) {
                found.content.insert(stem(possessed(&lower)));
            }
            found.negations += usize::from(NEGATIONS.contains(&lower.as_str()));
            found.all.push(lower);
            begins = false;
        }
        found
    }

    /// Whether one of the two uses a word whose opposite the other uses, and neither uses both.
    pub(super) fn oppose(&self, other: &Self) -> bool {
        let uses = |words: &Self, list: &[&str]| words.all.iter().any(|word| list.contains(&word.as_str()));
        OPPOSITES.iter().any(|(one, two)| {
            let (own, others) = ((uses(self, one), uses(self, two)), (uses(other, one), uses(other, two)));
            matches!((own, others), ((true, false), (false, true)) | ((false, true), (true, false)))
        })
    }

    /// Whether the two speak of different parts: as far as a list of such words goes.
    pub(super) fn other_scope(&self, other: &Self) -> bool {
        let parts = |words: &Self, scope: &[&[&str]]| -> Vec<usize> {
            let uses = |part: &&[&str]| words.all.iter().any(|word| part.contains(&word.as_str()));
            (0..scope.len()).filter(|&part| uses(&scope[part])).collect()
        };
        SCOPES.iter().any(|scope| {
            let (own, others) = (parts(self, scope), parts(other, scope));
            !own.is_empty() && !others.is_empty() && own.iter().all(|part| !others.contains(part))
        })
    }

    /// Whether exactly one of the two negates.
    pub(super) fn negate(&self, other: &Self) -> bool {
        self.negations % 2 != other.negations % 2
    }

    /// Whether it calls something an error.
    pub(super) fn corrects(&self) -> bool {
        self.all.iter().any(|word| CORRECTIONS.contains(&word.as_str()))
    }

    /// Whether it says that something changed or was to change.
    pub(super) fn changes(&self) -> bool {
        self.all.iter().any(|word| CHANGES.contains(&word.as_str()))
    }

    /// The share of words that are English function words.
    pub(super) fn english(&self) -> f64 {
        let known = self.all.iter().filter(|word| STOP.contains(&word.as_str())).count();
        known as f64 / self.all.len().max(1) as f64
    }

    /// Number of words.
    pub(super) fn len(&self) -> usize {
        self.all.len()
    }
}

/// Whether a word, in lower case, has no content.
pub(super) fn is_stop(word: &str) -> bool {
    STOP.contains(&word)
}

fn possessed(word: &str) -> &str {
    word.strip_suffix("'s").unwrap_or(word)
}

/// A word without its commonest English endings. It need not be a word.
pub(super) fn stem(word: &str) -> String {
    let endings = ["ations", "ation", "ings", "ing", "ies", "ied", "ers", "er", "ed", "es", "s", "ly", "e", "y"];
    let cut = endings.iter().find_map(|ending| word.strip_suffix(ending).filter(|rest| rest.chars().count() > 2));
    cut.unwrap_or(word).to_owned()
}

/// The share of words that two sets have in common, weighted by `weight`: of all words, and of the smaller set's.
pub(super) fn overlap(a: &BTreeSet<String>, b: &BTreeSet<String>, weight: impl Fn(&str) -> f64) -> (f64, f64) {
    let sum = |words: &mut dyn Iterator<Item = &String>| words.map(|word| weight(word)).sum::<f64>();
    let common = sum(&mut a.intersection(b));
    let (own, others) = (sum(&mut a.iter()), sum(&mut b.iter()));
    let share = |of: f64| if of > 0.0 { common / of } else { 0.0 };
    (share(own + others - common), share(own.min(others)))
}

#[cfg(test)]
mod tests {
    use super::{Words, overlap, stem};

    #[test]
    fn names_are_words_with_capitals_inside_a_sentence() {
        let words = Words::of("The bridge's architect was Ada Brook. She lived in Port Lenn's harbour.");
        assert_eq!(words.names.iter().map(String::as_str).collect::<Vec<_>>(), ["ada", "brook", "lenn", "port"]);
        assert!(words.content.contains(&stem("bridge")) && !words.content.contains("the"));
    }

    #[test]
    fn polarity_and_opposites_are_seen() {
        let of = Words::of;
        assert!(of("Dogs are not allowed.").negate(&of("Dogs are allowed.")));
        assert!(of("Dogs are forbidden.").oppose(&of("Dogs are permitted.")));
        assert!(!of("Dogs are permitted.").oppose(&of("Dogs are permitted at night.")));
        assert!(of("An earlier notice wrongly gave Tuesday.").corrects());
        assert!(of("The limit was raised from 10 to 20.").changes());
    }

    #[test]
    fn overlap_is_a_share() {
        let (a, b) = (Words::of("the red bridge").content, Words::of("a red boat").content);
        let (of_all, of_smaller) = overlap(&a, &b, |_| 1.0);
        assert!((of_all - 1.0 / 3.0).abs() < 1e-9 && (of_smaller - 0.5).abs() < 1e-9);
    }
}

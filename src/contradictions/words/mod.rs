//! The words of a sentence that a comparison needs: content words, names, polarity, and cues of corrections and of changes.

mod lists;

use lists::{
    ARTICLES, CHANGES, CORRECTIONS, FORBIDS, NEGATIONS, OPPOSING, OPPOSITES, PAST, PERMITS, PLANS, POINTING, PRESENT,
    REPORTS, SCOPES, STOP, VERBS,
};
use std::collections::BTreeSet;
use unicode_segmentation::UnicodeSegmentation;

/// Number of content words after a negation that count as negated.
const NEGATED: usize = 2;

/// The parts of a sentence that are compared.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Words {
    /// Stems of its content words, numbers left out, each once.
    pub(super) content: BTreeSet<String>,
    /// Its names and other words with a capital letter inside a sentence, in lower case.
    pub(super) names: BTreeSet<String>,
    /// Negations.
    negations: usize,
    /// Stems of the content words just behind a negation.
    negated: BTreeSet<String>,
    /// All its words in lower case.
    all: Vec<String>,
}

impl Words {
    /// The words of `text`, which begins a sentence.
    pub(super) fn of(text: &str) -> Self {
        let mut found = Self::default();
        // The lists spell "isn't" with a straight apostrophe.
        let text = text.replace('\u{2019}', "'");
        let (mut begins, mut negated) = (true, 0);
        for piece in text.split_word_bounds() {
            if !piece.chars().any(char::is_alphanumeric) {
                begins |= piece.contains(['.', '!', '?', ':', '|', '\u{201c}', '"']);
                // A negation does not reach beyond a comma.
                if piece.contains(['.', ',', ';', ':']) {
                    negated = 0;
                }
                continue;
            }
            let lower = piece.to_lowercase();
            let has_digit = piece.bytes().any(|b| b.is_ascii_digit());
            let capital = piece.chars().next().is_some_and(char::is_uppercase);
            let inner = piece.chars().skip(1).any(char::is_uppercase);
            let is_stop = is_stop(&lower);
            // A capital at the beginning of a sentence tells nothing, unless another one or a digit follows.
            if capital && !is_stop && (!begins || inner || (has_digit && piece.len() > 2)) {
                found.names.insert(possessed(&lower).to_owned());
            }
            if !is_stop && !has_digit && lower.chars().count() > 1 && !NEGATIONS.contains(&lower.as_str()) {
                let stem = stem(possessed(&lower));
                if negated > 0 {
                    found.negated.insert(stem.clone());
                    negated -= 1;
                }
                found.content.insert(stem);
            }
            if NEGATIONS.contains(&lower.as_str()) {
                found.negations += 1;
                negated = NEGATED;
            }
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

    /// Whether the two are about different parts of one thing, by the words in [`SCOPES`].
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

    /// Whether one of the two negates a word that the other affirms, or one permits and the other forbids.
    pub(super) fn deny(&self, other: &Self) -> bool {
        let negates = |one: &Self, two: &Self| {
            let affirms = |word: &str| two.content.contains(word) && !two.negated.contains(word);
            let opposite =
                |word: &String| OPPOSING.iter().any(|beginning| word.strip_prefix(beginning).is_some_and(affirms));
            one.negated.iter().any(|word| affirms(word)) || one.content.iter().any(opposite)
        };
        negates(self, other) || negates(other, self) || self.permits().zip(other.permits()).is_some_and(|(a, b)| a != b)
    }

    /// Whether it is a rule that permits something (true) or forbids something (false); `None` for other sentences.
    fn permits(&self) -> Option<bool> {
        let uses = |list: &[&str]| self.all.iter().any(|word| list.contains(&word.as_str()));
        if self.negations > 0 || uses(FORBIDS) { Some(false) } else { uses(PERMITS).then_some(true) }
    }

    /// Whether exactly one of the two has an odd number of negations.
    pub(super) fn negate(&self, other: &Self) -> bool {
        self.negations % 2 != other.negations % 2
    }

    /// Whether it calls something an error.
    pub(super) fn corrects(&self) -> bool {
        self.all.iter().any(|word| CORRECTIONS.contains(&word.as_str()))
    }

    /// Whether it begins with a reference to the sentence before it and calls something an error.
    pub(super) fn corrects_what_is_before(&self) -> bool {
        self.all.first().is_some_and(|first| POINTING.contains(&first.as_str())) && self.corrects()
    }

    /// Whether it has reported speech: "the guide says that".
    pub(super) fn reports(&self) -> bool {
        self.all.windows(2).any(|two| REPORTS.contains(&two[0].as_str()) && two[1] == "that")
    }

    /// Whether it is about a plan, a proposal or an estimate.
    pub(super) fn plans(&self) -> bool {
        self.all.iter().any(|word| PLANS.contains(&word.as_str()))
    }

    /// Whether it says that something changed or was planned to change.
    pub(super) fn changes(&self) -> bool {
        self.all.iter().any(|word| CHANGES.contains(&word.as_str()))
    }

    /// Whether it is about the past alone, by its verbs.
    pub(super) fn is_past(&self) -> bool {
        let uses = |list: &[&str]| self.all.iter().any(|word| list.contains(&word.as_str()));
        let ends = || self.all.iter().any(|word| word.len() > 4 && word.ends_with("ed"));
        !uses(PRESENT) && (uses(PAST) || ends())
    }

    /// Stems of the subject's words: the content words before the first of [`VERBS`], or the first three content words.
    pub(super) fn head(&self) -> BTreeSet<String> {
        let says = |word: &&String| {
            !is_stop(word) && !NEGATIONS.contains(&word.as_str()) && word.chars().any(char::is_alphabetic)
        };
        let verb = self.all.iter().position(|word| VERBS.contains(&word.as_str()));
        let before = verb.map(|verb| &self.all[..verb]).filter(|before| before.iter().any(|word| says(&word)));
        let (words, most) = before.map_or((&self.all[..], 3), |before| (before, usize::MAX));
        words.iter().filter(says).take(most).map(|word| stem(possessed(word))).collect()
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

/// Whether a word, in lower case, is an article or its like, in English or a neighbouring language.
pub(super) fn is_article(word: &str) -> bool {
    ARTICLES.contains(&word) || matches!(word, "a" | "an" | "the")
}

fn possessed(word: &str) -> &str {
    word.strip_suffix("'s").unwrap_or(word)
}

/// A word without a common English ending. The result need not be a word.
pub(super) fn stem(word: &str) -> String {
    // Longer endings before those that they end in: "ations" before "s".
    let endings = ["ations", "ation", "ings", "ing", "ies", "ied", "ers", "er", "ed", "es", "s", "ly", "e", "y"];
    let cut = endings.iter().find_map(|ending| word.strip_suffix(ending).filter(|rest| rest.chars().count() > 2));
    cut.unwrap_or(word).to_owned()
}

/// The weighted share of the words that two sets have in common: of all words, and of the smaller set.
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
        assert!(of("It is thread-safe, with no lock.").deny(&of("It is not thread-safe.")));
        assert!(of("It is stored unencrypted.").deny(&of("It is encrypted.")));
        assert!(of("Dogs are not carried.").deny(&of("They may, on a lead.")));
        assert!(!of("Dogs are not carried.").deny(&of("Cats are never allowed.")));
        assert!(!of("It is not safe.").deny(&of("It is not very safe.")));
        assert!(of("Dogs are forbidden.").oppose(&of("Dogs are permitted.")));
        assert!(!of("Dogs are permitted.").oppose(&of("Dogs are permitted at night.")));
        assert!(of("An earlier notice wrongly gave Tuesday.").corrects());
        assert!(
            of("This is an error.").corrects_what_is_before() && !of("An error was found.").corrects_what_is_before()
        );
        assert!(of("The guide says that it is deep.").reports() && !of("That says it.").reports());
        assert!(of("The proposed fare is £9.").plans() && !of("The fare is £9.").plans());
        assert!(of("The limit was raised from 10 to 20.").changes());
    }

    #[test]
    fn the_head_is_what_stands_before_the_verb() {
        let head = |text: &str| Words::of(text).head().into_iter().collect::<Vec<_>>();
        assert_eq!(head("The old pump of the field is 12 feet deep."), ["field", "old", "pump"]);
        assert_eq!(head("Members who leave pay nothing."), ["leav", "memb", "pay"]);
        assert_eq!(head("It is not deep."), ["deep"]);
    }

    #[test]
    fn a_sentence_is_about_the_past_if_no_verb_is_of_the_present() {
        for past in ["The hall had 610 seats.", "Entry cost two pounds then.", "It carried 300 people."] {
            assert!(Words::of(past).is_past(), "{past}");
        }
        for present in
            ["The hall seats 380.", "The hall is limited to 380.", "It may be used.", "Opened, it has 3 doors."]
        {
            assert!(!Words::of(present).is_past(), "{present}");
        }
    }

    #[test]
    fn overlap_is_a_share() {
        let (a, b) = (Words::of("the red bridge").content, Words::of("a red boat").content);
        let (of_all, of_smaller) = overlap(&a, &b, |_| 1.0);
        assert!((of_all - 1.0 / 3.0).abs() < 1e-9 && (of_smaller - 0.5).abs() < 1e-9);
    }
}

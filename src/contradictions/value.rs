//! The values by which two claims differ, and the words that they share.

use super::claims::Claim;
use super::quantities::{Numbers, is_number, is_unit, parts};
use super::words::{Words, is_article, is_stop};
use std::collections::BTreeSet;

/// Replaces a value that is left out.
const BLANK: &str = "____";

/// Most words of a number or a date.
const LONGEST: usize = 5;

/// The text of `claim` with a blank for the value by which it differs from `other`: a number or a date, else a name; `None` where
/// there is none.
pub(super) fn blank(claim: &Claim, other: &Claim) -> Option<String> {
    let value = number(claim, other).or_else(|| name(claim, other))?;
    // By address: `find` could give an earlier occurrence of the same words.
    let at = value.as_ptr() as usize - claim.text.as_ptr() as usize;
    Some(format!("{}{BLANK}{}", &claim.text[..at], &claim.text[at + value.len()..]))
}

/// The shortest run of words in `claim` that is a number or a date which `other` lacks; `None` if `other` has none to compare it
/// with.
pub(super) fn number<'a>(claim: &'a Claim, other: &Claim) -> Option<&'a str> {
    let opposed = claim.numbers.opposed(&other.numbers);
    if opposed.is_empty() && claim.numbers.loose(&other.numbers).is_none() {
        return None;
    }
    let wanted = if opposed.is_empty() { claim.numbers.clone() } else { opposed };
    let words: Vec<&str> = claim.text.split_whitespace().collect();
    let windows = (1..=LONGEST.min(words.len())).flat_map(|length| words.windows(length));
    let found = windows.map(|window| trimmed(&claim.text, window));
    found.into_iter().find(|text| Numbers::of(text).have(&wanted, &other.numbers))
}

/// The name in `claim` with the most words that `other` lacks; words that both have are trimmed from its ends. `None` where `other`
/// has no name that `claim` lacks.
fn name<'a>(claim: &'a Claim, other: &Claim) -> Option<&'a str> {
    if !other.words.names.iter().any(|name| !claim.knows(name)) {
        return None;
    }
    let lacks = |word: &str| {
        let names = Words::of(&format!("x {word}")).names;
        names.iter().any(|name| claim.words.names.contains(name) && !other.knows(name))
    };
    // The first word has a capital letter, name or not.
    let words: Vec<&str> = claim.text.split_whitespace().skip(1).collect();
    // On ties `max_by_key` takes the last phrase: a name follows its title ("Nurse Ada Brook").
    let count = |phrase: &&[&str]| phrase.iter().filter(|word| lacks(word)).count();
    let phrase = phrases(&words).filter(|phrase| count(phrase) > 0).max_by_key(count)?;
    let (first, last) = (phrase.iter().position(|word| lacks(word))?, phrase.iter().rposition(|word| lacks(word))?);
    Some(trimmed(&claim.text, &phrase[first..=last])).filter(|value| !value.is_empty())
}

/// The words of a part of `text`, without punctuation around them.
fn trimmed<'a>(text: &'a str, words: &[&str]) -> &'a str {
    let (Some(first), Some(last)) = (words.first(), words.last()) else { return "" };
    let begin = first.as_ptr() as usize - text.as_ptr() as usize;
    let end = last.as_ptr() as usize - text.as_ptr() as usize + last.len();
    let marks = |c: char| !(c.is_alphanumeric() || matches!(c, '%' | '£' | '$' | '€' | '°'));
    let value = text[begin..end].trim_matches(marks);
    value.strip_suffix("'s").or_else(|| value.strip_suffix("\u{2019}s")).unwrap_or(value)
}

/// The longest name that both claims have, in words of the first.
pub(super) fn shared(claim: &Claim, other: &Claim) -> Option<String> {
    let words: Vec<&str> = claim.text.split_whitespace().collect();
    let known = |word: &&str| {
        let names = Words::of(&format!("x {word}")).names;
        !names.is_empty() && names.iter().all(|name| other.names(name))
    };
    // A lone "Der" or "La" is no name.
    let is_name = |phrase: &&[&str]| !phrase.iter().all(|word| is_article(&word.to_lowercase()));
    let named = phrases(&words).filter(|phrase| phrase.iter().all(&known)).filter(is_name);
    let phrase = named.max_by_key(|phrase| phrase.len())?;
    Some(phrase.join(" ").trim_matches(|c: char| !c.is_alphanumeric()).to_owned()).filter(|name| !name.is_empty())
}

/// Runs of words that begin with a capital letter.
fn phrases<'a>(words: &'a [&'a str]) -> impl Iterator<Item = &'a [&'a str]> {
    let is_name = |word: &&str| word.starts_with(|c: char| c.is_uppercase());
    let runs = words.chunk_by(move |a, b| is_name(a) && is_name(b) && !a.ends_with([',', ';', '.', ':']));
    runs.filter(move |phrase| phrase.iter().all(&is_name))
}

/// The values by which a claim differs from another one: numbers and dates, else names.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Values {
    numbers: Numbers,
    /// In lower case.
    names: BTreeSet<String>,
}

impl Values {
    /// Those of `claim`.
    pub(super) fn of(claim: &Claim, other: &Claim) -> Self {
        let numbers = claim.numbers.opposed(&other.numbers);
        let differs = |name: &&String| numbers.is_empty() && !other.names(name);
        let names = claim.words.names.iter().filter(differs).cloned().collect();
        Self { numbers, names }
    }

    /// Whether there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.numbers.is_empty() && self.names.is_empty()
    }

    /// Whether both have a value in common ("3 km" and "3000 metres"), or none has any.
    pub(super) fn meet(&self, other: &Self) -> bool {
        let empty = self.is_empty() && other.is_empty();
        empty || self.numbers.meet(&other.numbers) || !self.names.is_disjoint(&other.names)
    }

    /// Whether `claim` states one of them.
    pub(super) fn are_stated_by(&self, claim: &Claim) -> bool {
        let text = claim.text.to_lowercase();
        self.numbers.meet(&claim.numbers) || self.names.iter().any(|name| text.contains(name.as_str()))
    }

    /// In words, each once.
    pub(super) fn texts(&self) -> BTreeSet<String> {
        self.numbers.texts().map(str::to_owned).chain(self.names.iter().cloned()).collect()
    }
}

/// Whether words of the reader name a subject: not an article alone, nor what is left of a quantity ("km long", "£4 per").
pub(super) fn names_a_subject(text: &str) -> bool {
    let parts = parts(text);
    // A unit by its symbol, as written: "C library" begins with none.
    let is_symbol = |part: &String| part.len() <= 2 && part.chars().all(char::is_lowercase) && is_unit(part);
    let says = |part: &String| {
        let lower = part.to_lowercase();
        !is_stop(&lower) && !is_article(&lower) && !is_number(&lower)
    };
    !parts.first().is_some_and(is_symbol) && parts.iter().any(says)
}

/// `values` in the spelling and the order of `text`; adjoining words of a name are joined. A value that the text spells otherwise
/// ("two hundred and forty" for "240") is unchanged and comes last.
pub(super) fn as_written(values: &[String], text: &str) -> Vec<String> {
    let parts = parts(text);
    let mut found: Vec<(usize, String)> = values.iter().map(|value| position(value, &parts)).collect();
    found.sort_by_key(|(at, _)| *at);
    let mut shown: Vec<String> = Vec::new();
    for (_, value) in found {
        let is_name = value.starts_with(|c: char| c.is_uppercase());
        let name = shown.last().filter(|_| is_name).and_then(|last| {
            let joined = [" ", "-"].map(|between| format!("{last}{between}{value}"));
            joined.into_iter().find(|name| text.contains(name.as_str()))
        });
        if name.is_some() {
            shown.pop();
        }
        shown.push(name.unwrap_or(value));
    }
    shown
}

/// The index of a value's words among the parts of a text, and their spelling there.
fn position(value: &str, parts: &[String]) -> (usize, String) {
    let words: Vec<&str> = value.split(' ').collect();
    let same = |part: &str, word: &str| part.to_lowercase().replace('\u{2019}', "'") == word;
    let written = |window: &[String]| -> Option<Vec<String>> {
        let one = |(part, word): (&String, &&str)| {
            let bare = part.strip_suffix("'s").or_else(|| part.strip_suffix("\u{2019}s")).unwrap_or(part);
            [part.as_str(), bare].into_iter().find(|part| same(part, word)).map(str::to_owned)
        };
        window.iter().zip(&words).map(one).collect()
    };
    let found = parts.windows(words.len()).enumerate().find_map(|(at, window)| Some((at, written(window)?.join(" "))));
    found.unwrap_or_else(|| (parts.len(), value.to_owned()))
}

/// The longest run of words that both texts have, as the first writes it; neither end is a number or a word without content, and
/// it does not begin with the unit of a number.
pub(super) fn shared_words(one: &str, other: &str) -> Option<String> {
    let (own, others) = (parts(one), parts(other));
    let lower = |parts: &[String]| -> Vec<String> { parts.iter().map(|part| part.to_lowercase()).collect() };
    let (words, known) = (lower(&own), lower(&others));
    let says = |word: &str| !is_stop(word) && !is_article(word) && !word.contains(|c: char| c.is_ascii_digit());
    let measures = |at: usize| is_unit(&words[at]) && at.checked_sub(1).is_some_and(|before| is_number(&words[before]));
    let run = |(start, begin): (usize, usize)| {
        let same = words[start..].iter().zip(&known[begin..]).take_while(|(a, b)| a == b).count();
        let last = words[start..start + same].iter().rposition(|word| says(word))?;
        (says(&words[start]) && !measures(start)).then_some(start..start + last + 1)
    };
    let starts = (0..words.len()).flat_map(|start| (0..known.len()).map(move |begin| (start, begin)));
    // The first of the longest ones.
    let longest = starts.filter_map(run).min_by_key(|run| std::cmp::Reverse(run.len()))?;
    Some(own[longest].join(" "))
}

#[cfg(test)]
mod tests {
    use super::{Values, as_written, blank, names_a_subject, shared, shared_words};
    use crate::contradictions::claims::Claim;
    use std::collections::BTreeSet;

    #[test]
    fn the_value_that_differs_is_left_out() {
        let of = |own: &str, other: &str| blank(&Claim::of_text(own), &Claim::of_text(other));
        for (own, other, expected) in [
            ("It opened on 3 May, 1911.", "It opened on 9 June 1914.", "It opened on ____."),
            ("It has 240 seats in 3 rows.", "It has 310 seats in 3 rows.", "It has ____ seats in 3 rows."),
            ("It is two hundred and forty feet deep.", "It is 90 feet deep.", "It is ____ deep."),
            ("It opened on 3 May 1911.", "It opened on 9 June 1911.", "It opened on ____."),
            ("It closes at 5.30 pm.", "It closes at 17:00.", "It closes at ____."),
            ("It feeds 40 guests.", "It has 52 beds.", "It feeds ____ guests."),
            ("It was built by Ada Brook, a smith.", "It was built by Olive Ruhl.", "It was built by ____, a smith."),
            ("Ask for Nurse Ada Brook’s desk.", "Ask for Nurse Olive Ruhl.", "Ask for Nurse ____’s desk."),
        ] {
            assert_eq!(of(own, other).as_deref(), Some(expected), "{own} / {other}");
        }
        assert_eq!(of("It has 240 seats.", "It has 240 seats."), None);
        assert_eq!(of("It is shut from May on.", "It is never shut."), None, "the other one has no name");
        assert_eq!(of("Dogs are allowed.", "Dogs are not allowed."), None);
    }

    #[test]
    fn values_are_written_as_in_the_text() {
        let written = |values: &[&str], text: &str| {
            as_written(&values.iter().map(|&value| value.to_owned()).collect::<Vec<_>>(), text)
        };
        assert_eq!(written(&["3 may 1911"], "It shut on 3 May, 1911."), ["3 May 1911"]);
        assert_eq!(written(&["ada", "brook"], "It was built by Ada Brook."), ["Ada Brook"]);
        assert_eq!(written(&["brook", "ruhl"], "It was built by Ruhl, Brook\u{2019}s nephew."), ["Ruhl", "Brook"]);
        assert_eq!(written(&["dyer", "marlow"], "It was Edith Marlow-Dyer\u{2019}s."), ["Marlow-Dyer"]);
        assert_eq!(written(&["240 seats"], "It has two hundred and forty seats."), ["240 seats"]);
        assert_eq!(written(&["2 gb"], "The limit is 2 GB."), ["2 GB"]);
    }

    #[test]
    fn shared_words_begin_and_end_with_content() {
        let shared = |one: &str, other: &str| shared_words(one, other);
        let (one, other) = ("Our old pump of the field is 12 feet deep.", "The old pump of the field is 30 feet deep.");
        assert_eq!(shared(one, other).as_deref(), Some("old pump of the field"));
        assert_eq!(shared("It was 12 feet.", "It was red."), None);
        assert_eq!(shared("It is 3 km long.", "It is 5 km long.").as_deref(), Some("long"), "not the unit of a number");
        assert_eq!(shared("Der Turm ist rot.", "Der Turm ist blau.").as_deref(), Some("Turm ist"));
    }

    #[test]
    fn values_meet_in_any_unit() {
        let of = |own: &str, other: &str| Values::of(&Claim::of_text(own), &Claim::of_text(other));
        let five = "The pipe is 5 km long.";
        assert!(of("The pipe is 3 km long.", five).meet(&of("The pipe is 3000 metres long.", five)));
        assert!(!of(five, "The pipe is 3 km long.").meet(&of("The pipe is 3000 metres long.", five)));
        let three = "A term is 36 months.";
        assert!(of("A term is 24 months.", three).meet(&of("A term is 2 years.", three)));
        let shut = "It shut on 9 June 1914.";
        assert!(of("It shut on 3 May 1911.", shut).meet(&of("It shut in May 1911.", shut)));
        let ada = "It was built by Ada.";
        assert!(!of("It was built by Olive.", ada).meet(&of("It was built by Ruhl.", ada)));
        assert!(of("It was 3 km long.", five).are_stated_by(&Claim::of_text("Its 3000 metres are paved.")));
        assert!(!of("It was 3 km long.", five).are_stated_by(&Claim::of_text("Its 13 km are paved.")));
    }

    #[test]
    fn a_word_without_content_behind_a_number_is_no_part_of_the_value() {
        let texts = |own: &str, other: &str| Values::of(&Claim::of_text(own), &Claim::of_text(other)).texts();
        assert_eq!(texts("A ticket is £4 per person.", "A ticket is £6."), BTreeSet::from(["£4".to_owned()]));
        assert_eq!(texts("It has 12 in all.", "It has 15 in all."), BTreeSet::from(["12".to_owned()]));
        assert_eq!(texts("It has 12 rooms.", "It has 15 rooms."), BTreeSet::from(["12 rooms".to_owned()]));
    }

    #[test]
    fn articles_and_rests_of_quantities_name_no_subject() {
        for subject in ["Der", "km long", "£4 per", "the", "12", "la"] {
            assert!(!names_a_subject(subject), "{subject}");
        }
        for subject in ["Der Turm", "C library", "Day ticket", "1931 bridge", "The mill"] {
            assert!(names_a_subject(subject), "{subject}");
        }
        let titled = Claim { about: BTreeSet::from(["der".to_owned()]), ..Claim::of_text("Sein Turm ist rot.") };
        assert_eq!(shared(&Claim::of_text("Der alte Mast ist rot."), &titled), None);
    }
}

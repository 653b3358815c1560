//! The values by which two claims differ, and the words that they share.

use super::claims::Claim;
use super::quantities::parts;
use super::words::{Words, is_stop};
use std::collections::BTreeSet;

/// The value of `claim`, as its text has it, by which it differs from `other`: a number or a date, else a name; `None` where there
/// is none.
pub(super) fn value(claim: &Claim, other: &Claim) -> Option<String> {
    if let Some(value) = claim.numbers.differing(&other.numbers).into_iter().next() {
        return Some(value);
    }
    if let Some(count) = claim.numbers.loose(&other.numbers) {
        return Some(count);
    }
    let lacking = |word: &&&str| {
        let names = Words::of(&format!("x {word}")).names;
        names.iter().any(|name| !other.knows(name))
    };
    let words: Vec<&str> = claim.text.split_whitespace().skip(1).collect();
    let named = phrases(&words);
    // The last of those with the most words that the other lacks: a name stands behind what it names.
    let count = |phrase: &&[&str]| phrase.iter().filter(lacking).count();
    let phrase = named.filter(|phrase| count(phrase) > 0).max_by_key(count)?;
    Some(phrase.join(" ").trim_matches(|c: char| !c.is_alphanumeric()).to_owned()).filter(|value| !value.is_empty())
}

/// What both claims are about: the longest name that both have, in words of the first.
pub(super) fn shared(claim: &Claim, other: &Claim) -> Option<String> {
    let words: Vec<&str> = claim.text.split_whitespace().collect();
    let known = |word: &&str| {
        let names = Words::of(&format!("x {word}")).names;
        !names.is_empty() && names.iter().all(|name| other.names(name))
    };
    let named = phrases(&words).filter(|phrase| phrase.iter().all(&known));
    let phrase = named.max_by_key(|phrase| phrase.len())?;
    Some(phrase.join(" ").trim_matches(|c: char| !c.is_alphanumeric()).to_owned()).filter(|name| !name.is_empty())
}

/// Runs of words that begin with a capital letter.
fn phrases<'a>(words: &'a [&'a str]) -> impl Iterator<Item = &'a [&'a str]> {
    let is_name = |word: &&str| word.starts_with(|c: char| c.is_uppercase());
    let runs = words.chunk_by(move |a, b| is_name(a) && is_name(b) && !a.ends_with([',', ';', '.', ':']));
    runs.filter(move |phrase| phrase.iter().all(&is_name))
}

/// The values of `claim` that differ from those of `other`, in words: numbers and dates, else names.
pub(super) fn differing(claim: &Claim, other: &Claim) -> BTreeSet<String> {
    let values: BTreeSet<String> = claim.numbers.differing(&other.numbers).into_iter().collect();
    if !values.is_empty() {
        return values;
    }
    claim.words.names.iter().filter(|name| !other.names(name)).cloned().collect()
}

/// `values` as `text` writes them and in its order; the adjoining words of a name are one value. A value whose words the text does
/// not have one after the other ("240" for "two hundred and forty") is shown as it is, last.
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

/// Where the words of a value stand among the parts of a text, and how the text writes them.
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

/// The longest run of words that both texts have, as the first writes it; neither end is a number or a word without content.
pub(super) fn shared_words(one: &str, other: &str) -> Option<String> {
    let (own, others) = (parts(one), parts(other));
    let lower = |parts: &[String]| -> Vec<String> { parts.iter().map(|part| part.to_lowercase()).collect() };
    let (words, known) = (lower(&own), lower(&others));
    let says = |word: &str| !is_stop(word) && !word.contains(|c: char| c.is_ascii_digit());
    let run = |(start, begin): (usize, usize)| {
        let same = words[start..].iter().zip(&known[begin..]).take_while(|(a, b)| a == b).count();
        let last = words[start..start + same].iter().rposition(|word| says(word))?;
        says(&words[start]).then_some(start..start + last + 1)
    };
    let starts = (0..words.len()).flat_map(|start| (0..known.len()).map(move |begin| (start, begin)));
    // The first of the longest ones.
    let longest = starts.filter_map(run).min_by_key(|run| std::cmp::Reverse(run.len()))?;
    Some(own[longest].join(" "))
}

#[cfg(test)]
mod tests {
    use super::{as_written, shared_words};

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
    }
}

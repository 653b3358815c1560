//! The values by which two claims differ.

use super::claims::Claim;
use super::words::Words;
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
        names.iter().any(|name| !other.words.names.contains(name) && !other.about.contains(name) && !other.has(name))
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
        !names.is_empty() && names.iter().all(|name| other.words.names.contains(name) || other.about.contains(name))
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
    let lacking = |name: &&String| !other.words.names.contains(*name) && !other.about.contains(*name);
    claim.words.names.iter().filter(lacking).cloned().collect()
}

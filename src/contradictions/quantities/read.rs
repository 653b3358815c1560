//! Reads the numbers and the dates of a text.

use super::clock::clock;
use super::parts::words;
use super::units::{Dimension, unit, unit_at};
use super::{Numbers, Quantity};
use crate::contradictions::words::{is_stop, stem};
use crate::dates::{self, Date};

/// Words that hedge a number.
const ROUGH: [&str; 12] =
    ["about", "around", "roughly", "nearly", "almost", "approximately", "some", "over", "circa", "ca", "c", "least"];

/// Most words of a date.
const LONGEST_DATE: usize = 4;

impl Numbers {
    /// Those of `text`.
    pub(in crate::contradictions) fn of(text: &str) -> Self {
        let words = words(text);
        let mut found = Self::default();
        let mut at = 0;
        while at < words.len() {
            if let Some((date, used)) = date_at(&words[at..]) {
                found.dates.push((date, words[at..at + used].join(" ")));
                at += used;
            } else if let Some((quantity, used)) = quantity_at(&words, at) {
                found.quantities.push(quantity);
                at += used;
            } else {
                at += 1;
            }
        }
        found
    }
}

/// The date that `words` begin with, the longest, and how many words it takes. A lone number is a date if it is a year.
fn date_at(words: &[String]) -> Option<(Date, usize)> {
    let has_digit = |word: &String| word.bytes().any(|b| b.is_ascii_digit());
    for length in (1..=LONGEST_DATE.min(words.len())).rev() {
        let window = &words[..length];
        // The name of a month alone may be a verb or a person's name.
        if !window.iter().any(has_digit) || !is_dated(&window[0]) || !is_dated(&window[length - 1]) {
            continue;
        }
        if length == 1 && !is_year(&window[0], &words[1..]) && !window[0].contains(['-', '/', '.']) {
            continue;
        }
        if let Some(date) = dates::read(&window.join(" ")).first() {
            return Some((*date, length));
        }
    }
    None
}

/// Whether the first and the last word of a date are numbers or months; other words occur inside dates only.
fn is_dated(word: &str) -> bool {
    word.bytes().any(|b| b.is_ascii_digit()) || dates::month(word).is_some()
}

/// Whether a word of four digits is a year: from 1000 to 2999, with no unit at the beginning of the words `behind` it.
fn is_year(word: &str, behind: &[String]) -> bool {
    let is_number = word.len() == 4 && word.bytes().all(|b| b.is_ascii_digit());
    let measured = unit_at(behind).is_some();
    is_number && !measured && ("1000".."2999").contains(&word)
}

/// The quantity at index `at`, and how many words it takes.
fn quantity_at(words: &[String], at: usize) -> Option<(Quantity, usize)> {
    let word = &words[at];
    let rough = at > 0 && ROUGH.contains(&words[at - 1].as_str());
    if let Some((minutes, used)) = clock(words, at) {
        let text = words[at..at + used].join(" ");
        return Some((Quantity { value: minutes, dimension: Dimension::Clock, text, rough: false }, used));
    }
    let (currency, rest) = split_currency(word);
    let digits = rest.find(|c: char| !(c.is_ascii_digit() || matches!(c, ',' | '.'))).unwrap_or(rest.len());
    let (number, suffix) = rest.split_at(digits);
    let mut value: f64 = number.replace(',', "").trim_end_matches('.').parse().ok()?;
    let ordinal = ["st", "nd", "rd", "th"].contains(&suffix);
    if number.matches('.').count() > 1
        || (!suffix.is_empty() && !ordinal && unit(suffix).is_none() && scale(suffix).is_none())
    {
        // A version or a code.
        return None;
    }
    if suffix == "s" && number.len() == 4 && number.ends_with('0') && is_year(number, &[]) {
        // A decade or a century.
        return None;
    }
    let mut used = 1;
    // A lone letter is a scale only behind a currency: "5m" are metres, "£5m" millions.
    if let Some(scale) = scale(suffix).filter(|_| currency.is_some() || suffix.len() > 1).or_else(|| {
        let scale = words.get(at + 1).and_then(|next| scale(next).filter(|_| next.len() > 2));
        used += usize::from(scale.is_some());
        scale
    }) {
        value *= scale;
    }
    if words.get(at + 1).is_some_and(|next| next == "per")
        && words.get(at + 2).is_some_and(|next| next.starts_with("cent"))
    {
        return Some((Quantity { value, dimension: Dimension::Percent, text: format!("{number} per cent"), rough }, 3));
    }
    let own = unit(suffix).filter(|_| !suffix.is_empty());
    let (dimension, factor, offset) = match (currency, own, unit_at(&words[(at + used).min(words.len())..])) {
        (Some(currency), ..) => (Dimension::Money(currency), 1.0, 0.0),
        (None, Some(unit), _) => unit,
        // "The 3rd day" is a position, not a duration.
        (None, None, Some((unit, length))) if !ordinal => {
            used += length;
            unit
        }
        _ => (counted(words, at + used, ordinal), 1.0, 0.0),
    };
    // With the word behind a bare number, which mostly names what is counted; one without content ("per", "in") does not.
    let is_bare = used == 1 && matches!(dimension, Dimension::Count(_) | Dimension::Order(_));
    let named = is_bare && words.get(at + 1).is_some_and(|next| !is_stop(next));
    let text = words[at..at + used + usize::from(named)].join(" ");
    Some((Quantity { value: value * factor + offset, dimension, text, rough }, used))
}

/// The dimension of a number without a unit: a count of the next noun, guessed without a parser, or an order of it for an ordinal.
fn counted(words: &[String], at: usize, ordinal: bool) -> Dimension {
    const SKIPPED: [&str; 11] =
        ["of", "and", "the", "new", "more", "other", "different", "full", "public", "additional", "or"];
    let next = words[at.min(words.len())..].iter().take(3).find(|word| !SKIPPED.contains(&word.as_str()));
    let noun = next.filter(|word| word.chars().all(char::is_alphabetic)).map(|word| stem(word));
    let noun = noun.unwrap_or_default();
    if ordinal { Dimension::Order(noun) } else { Dimension::Count(noun) }
}

fn split_currency(word: &str) -> (Option<&'static str>, &str) {
    for (mark, name) in [("£", "gbp"), ("$", "usd"), ("€", "eur"), ("us$", "usd")] {
        if let Some(rest) = word.strip_prefix(mark) {
            return (Some(name), rest);
        }
        if let Some(rest) = word.strip_suffix(mark) {
            return (Some(name), rest);
        }
    }
    (None, word)
}

fn scale(word: &str) -> Option<f64> {
    match word {
        "k" | "thousand" => Some(1e3),
        "m" | "mn" | "million" | "millions" => Some(1e6),
        "bn" | "billion" | "billions" => Some(1e9),
        "dozen" => Some(12.0),
        _ => None,
    }
}

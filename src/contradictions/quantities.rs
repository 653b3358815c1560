//! Numbers with their units, dates and times of day in a sentence, and whether those of two sentences agree.

use super::units::{Dimension, unit};
use crate::answers::words::numbers::{LoneOne, in_digits};
use crate::dates::{self, Date};

/// A number with what it counts or measures.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Quantity {
    /// In the dimension's base unit.
    pub(super) value: f64,
    pub(super) dimension: Dimension,
    /// As the text has it, for the report: "240 seats".
    pub(super) text: String,
    /// The text hedges it: "about", "nearly", "over".
    pub(super) rough: bool,
}

/// The quantities and dates of a sentence.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Numbers {
    pub(super) quantities: Vec<Quantity>,
    pub(super) dates: Vec<(Date, String)>,
}

/// How the numbers or the dates of two sentences relate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Relation {
    /// One of the sentences has none of this kind.
    Absent,
    /// A value of one is a value of the other.
    Agree,
    /// Both have some, of different kinds.
    Apart,
    /// The same is counted or measured, and every value differs.
    Differ,
}

/// Words that make a number rough.
const ROUGH: [&str; 13] = [
    "about",
    "around",
    "roughly",
    "nearly",
    "almost",
    "approximately",
    "some",
    "over",
    "circa",
    "ca",
    "c",
    "up",
    "least",
];

/// Most words of a date.
const LONGEST_DATE: usize = 4;

impl Numbers {
    /// Those of `text`.
    pub(super) fn of(text: &str) -> Self {
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

    /// How the quantities relate: by dimension; numbers that count things, by the thing.
    pub(super) fn quantities_with(&self, other: &Self) -> Relation {
        if self.quantities.is_empty() || other.quantities.is_empty() {
            return Relation::Absent;
        }
        let agree = self.quantities.iter().any(|one| one.is_among(&other.quantities));
        let differ = self.quantities.iter().any(|one| self.opposes(one, other));
        match (agree, differ) {
            (_, true) => Relation::Differ,
            (true, false) => Relation::Agree,
            (false, false) => Relation::Apart,
        }
    }

    /// Whether a value of `self` is one of `other`, whatever it counts.
    pub(super) fn share_a_value(&self, other: &Self) -> bool {
        self.quantities.iter().any(|one| other.quantities.iter().any(|two| one.equals(two)))
    }

    /// How the dates relate.
    pub(super) fn dates_with(&self, other: &Self) -> Relation {
        if self.dates.is_empty() || other.dates.is_empty() {
            return Relation::Absent;
        }
        let compatible = |one: &Date, two: &Date| one == two || one.is_part_of(two) || two.is_part_of(one);
        if self.dates.iter().any(|(one, _)| other.dates.iter().any(|(two, _)| compatible(one, two))) {
            return Relation::Agree;
        }
        let opposed = self.dates.iter().any(|(one, _)| other.dates.iter().any(|(two, _)| one.contradicts(two)));
        if opposed { Relation::Differ } else { Relation::Apart }
    }

    /// Whether `other` has values of the kind of `one`, a value of `self`, and none of them is a value of `self`: "20, formerly
    /// 10" and "20" agree.
    fn opposes(&self, one: &Quantity, other: &Self) -> bool {
        let like = |two: &&Quantity| one.dimension.is_like(&two.dimension);
        let mut alike = other.quantities.iter().filter(like).peekable();
        alike.peek().is_some() && alike.all(|two| !two.is_among(&self.quantities))
    }

    /// The texts of values of `self` that no value of `other` equals and that one of `other` is comparable to; where there is none
    /// and both count things, those of all counts that differ.
    pub(super) fn differing(&self, other: &Self) -> Vec<String> {
        let quantities = self.quantities.iter().filter(|one| self.opposes(one, other));
        let dates = self.dates.iter().filter(|(one, _)| other.dates.iter().any(|(two, _)| one.contradicts(two)));
        quantities.map(|quantity| quantity.text.clone()).chain(dates.map(|(_, text)| text.clone())).collect()
    }

    /// The text of a count of `self` that may count the same as one of `other` by another name: "seats 380 people", "425 seats".
    pub(super) fn loose(&self, other: &Self) -> Option<String> {
        let counts =
            |numbers: &'_ Self| numbers.quantities.iter().any(|one| matches!(one.dimension, Dimension::Count(_)));
        let is_count = |one: &&Quantity| matches!(one.dimension, Dimension::Count(_));
        let own = self.quantities.iter().filter(is_count).find(|one| one.value > 1.0);
        own.filter(|_| counts(other) && !self.share_a_value(other)).map(|one| one.text.clone())
    }
}

impl Quantity {
    /// Whether one of `others` is the same value of the same kind.
    fn is_among(&self, others: &[Self]) -> bool {
        others.iter().any(|other| self.dimension.is_like(&other.dimension) && self.equals(other))
    }

    /// Whether both are the same value, allowing for rounding: a converted value is rounded, and so is a hedged one.
    pub(super) fn equals(&self, other: &Self) -> bool {
        let size = self.value.abs().max(other.value.abs());
        let converted = self.dimension.unit_name() != other.dimension.unit_name();
        let within = match (self.rough || other.rough, converted) {
            (true, _) => 0.06,
            (false, true) => 0.02,
            (false, false) => 1e-9,
        };
        (self.value - other.value).abs() <= size * within
    }
}

/// The words of a text as they are read here: split at white space, punctuation around them removed, number words in digits.
fn words(text: &str) -> Vec<String> {
    let spaced = text.replace(['\u{2013}', '\u{2014}', '\u{2012}'], "-").replace(['\u{a0}', '\u{202f}'], " ");
    let trimmed = spaced.split_whitespace().map(|word| {
        word.trim_matches(|c: char| !(c.is_alphanumeric() || matches!(c, '%' | '£' | '$' | '€' | '°' | '-')))
            .trim_end_matches('-')
    });
    let trimmed: Vec<&str> = trimmed.filter(|word| !word.is_empty()).collect();
    let lower: Vec<String> = trimmed.iter().map(|word| word.to_lowercase()).collect();
    let apart: Vec<String> = lower.iter().flat_map(|word| hyphenated(word)).collect();
    let apart: Vec<&str> = apart.iter().map(String::as_str).collect();
    in_digits(&apart, LoneOne::Never)
}

/// "twenty-one" and "three-year" as two words, "10-12" as two numbers; a date "1952-06-14" stays whole.
fn hyphenated(word: &str) -> Vec<String> {
    let parts: Vec<&str> = word.split('-').filter(|part| !part.is_empty()).collect();
    let digits = |part: &&str| part.bytes().all(|b| b.is_ascii_digit());
    let is_date = parts.len() > 1 && parts[0].len() == 4 && parts.iter().all(digits) && parts[1].len() <= 2;
    if parts.len() < 2 || is_date || word.starts_with('-') {
        return vec![word.to_owned()];
    }
    parts.into_iter().map(str::to_owned).collect()
}

/// The date that `words` begin with, the longest, and how many words it takes. A lone number is a date if it is a year.
fn date_at(words: &[String]) -> Option<(Date, usize)> {
    let has_digit = |word: &String| word.bytes().any(|b| b.is_ascii_digit());
    for length in (1..=LONGEST_DATE.min(words.len())).rev() {
        let window = &words[..length];
        if !window.iter().any(has_digit) || !is_dated(&window[0]) || !is_dated(&window[length - 1]) {
            continue;
        }
        if length == 1 && !is_year(&window[0], words.get(1)) && !window[0].contains(['-', '/', '.']) {
            continue;
        }
        if let Some(date) = dates::read(&window.join(" ")).first() {
            return Some((*date, length));
        }
    }
    None
}

/// A date begins and ends with a number or a month, not with a word that may stand in one.
fn is_dated(word: &str) -> bool {
    word.bytes().any(|b| b.is_ascii_digit()) || dates::month(word).is_some()
}

/// Whether a word of four digits is a year: from 1000 to 2999, with no unit behind it.
fn is_year(word: &str, next: Option<&String>) -> bool {
    let is_number = word.len() == 4 && word.bytes().all(|b| b.is_ascii_digit());
    let measured = next.is_some_and(|next| unit(next).is_some());
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
    let mut used = 1;
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
    let next = words.get(at + used);
    let own = unit(suffix).filter(|_| !suffix.is_empty());
    let (dimension, factor, offset) = match (currency, own, next.and_then(|next| unit(next))) {
        (Some(currency), ..) => (Dimension::Money(currency), 1.0, 0.0),
        (None, Some(unit), _) => unit,
        (None, None, Some(unit)) if !ordinal => {
            used += 1;
            unit
        }
        _ => (counted(words, at + used, ordinal), 1.0, 0.0),
    };
    let text = words[at..(at + used.max(2)).min(words.len())].join(" ");
    Some((Quantity { value: value * factor + offset, dimension, text, rough }, used))
}

/// What a number counts: the first noun behind it, as far as that can be said; of an ordinal, the order of it.
fn counted(words: &[String], at: usize, ordinal: bool) -> Dimension {
    const SKIPPED: [&str; 11] =
        ["of", "and", "the", "new", "more", "other", "different", "full", "public", "additional", "or"];
    let next = words[at.min(words.len())..].iter().take(3).find(|word| !SKIPPED.contains(&word.as_str()));
    let noun = next.filter(|word| word.chars().all(char::is_alphabetic)).map(|word| super::words::stem(word));
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

/// A time of day in minutes: "17:30", "9.30 am", "9 p.m.", "noon".
fn clock(words: &[String], at: usize) -> Option<(f64, usize)> {
    let word = words[at].as_str();
    match word {
        "noon" | "midday" => return Some((720.0, 1)),
        "midnight" => return Some((1440.0, 1)),
        _ => {}
    }
    let (half, body) = match word.trim_end_matches("m").trim_end_matches("m.") {
        _ if word.ends_with("am") || word.ends_with("a.m") => {
            (Some(0.0), word.trim_end_matches("a.m").trim_end_matches("am"))
        }
        _ if word.ends_with("pm") || word.ends_with("p.m") => {
            (Some(720.0), word.trim_end_matches("p.m").trim_end_matches("pm"))
        }
        _ => (None, word),
    };
    let (half, used) = match (half, words.get(at + 1).map(String::as_str)) {
        (Some(half), _) => (Some(half), 1),
        (None, Some("am" | "a.m")) => (Some(0.0), 2),
        (None, Some("pm" | "p.m")) => (Some(720.0), 2),
        (None, _) => (None, 1),
    };
    let parts: Vec<&str> = body.split([':', '.']).collect();
    let small = |part: &&str| !part.is_empty() && part.len() <= 2 && part.bytes().all(|b| b.is_ascii_digit());
    if !parts.iter().all(small) || parts.len() > 2 || (half.is_none() && (parts.len() != 2 || !body.contains(':'))) {
        return None;
    }
    let hours: f64 = parts[0].parse().ok()?;
    let minutes: f64 = parts.get(1).map_or(Ok(0.0), |part| part.parse()).ok()?;
    let hours = match half {
        Some(half) => (hours % 12.0) + half / 60.0,
        None => hours,
    };
    (hours <= 24.0 && minutes < 60.0).then_some((hours * 60.0 + minutes, used))
}

#[cfg(test)]
mod tests {
    use super::{Numbers, Relation};

    fn quantities(a: &str, b: &str) -> Relation {
        Numbers::of(a).quantities_with(&Numbers::of(b))
    }

    fn dates(a: &str, b: &str) -> Relation {
        Numbers::of(a).dates_with(&Numbers::of(b))
    }

    #[test]
    fn units_that_convert_to_the_same_value_agree() {
        for (a, b) in [
            ("It is 5 miles long.", "Its length is 8.05 km."),
            ("It weighs 10 kg.", "It weighs 22 lb."),
            ("Store it at 25 °C.", "Store it at 77 °F."),
            ("It holds two hundred and forty people.", "It holds 240 people."),
            ("The doors open at 5.30 pm.", "The doors open at 17:30."),
            ("A budget of £1.2 million", "A budget of £1,200,000"),
            ("It takes 90 minutes.", "It takes 1.5 hours."),
            ("a limit of 2 GB", "a limit of 2000 MB"),
            ("about 1,200 visitors", "1,187 visitors"),
            ("12 per cent of users", "12% of users"),
            ("The limit was 30 mph until 2021 and is now 20 mph.", "The limit is 20 mph."),
        ] {
            assert_eq!(quantities(a, b), Relation::Agree, "{a} / {b}: {:?} {:?}", Numbers::of(a), Numbers::of(b));
        }
    }

    #[test]
    fn other_values_of_the_same_thing_differ() {
        for (a, b) in [
            ("It is 5 miles long.", "It is 5 km long."),
            ("The hall has 240 seats.", "The hall has 310 seats."),
            ("The doors open at 9 am.", "The doors open at 10:00."),
            ("It costs $40.", "It costs $45."),
            ("a 30-day limit", "a limit of 14 days"),
            ("It runs on Python 3.8 and newer.", "It needs Python 3.10 or newer."),
            ("the 3rd edition", "the second edition"),
        ] {
            let (one, two) = (Numbers::of(a), Numbers::of(b));
            let relation = one.quantities_with(&two);
            assert!(relation == Relation::Differ || a.contains("3rd"), "{a} / {b}: {one:?} {two:?}");
        }
        assert_eq!(quantities("It has 240 seats.", "It has 3 doors."), Relation::Apart);
        assert_eq!(quantities("It has seats.", "It has 3 doors."), Relation::Absent);
    }

    #[test]
    fn dates_are_read_whole() {
        assert_eq!(dates("It opened on 14 June 1952.", "It opened in June 1952."), Relation::Agree);
        assert_eq!(dates("It opened on 14 June 1952.", "It opened on June 14, 1952."), Relation::Agree);
        assert_eq!(dates("It opened in 1952.", "It opened in 1954."), Relation::Differ);
        assert_eq!(dates("It opened on 2021-05-03.", "It opened on 3 May 2021."), Relation::Agree);
        assert_eq!(dates("It closes on 3 May.", "It closes on 5 May."), Relation::Differ);
        assert_eq!(Numbers::of("It weighs 1200 kg.").dates, []);
        assert_eq!(Numbers::of("version 2.4.1 of 3 files").quantities.len(), 1);
    }
}

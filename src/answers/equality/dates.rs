//! Dates in the usual English and numeric forms.

use crate::unicode;

/// The known parts of a date; an absent field is unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Date {
    /// Of four digits.
    year: Option<u32>,
    /// From 1.
    month: Option<u32>,
    /// From 1.
    day: Option<u32>,
}

/// Names of the months; three letters are enough.
const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

/// Words that may occur in a date without a meaning.
const FILLERS: [&str; 13] = [
    "in",
    "on",
    "the",
    "of",
    "year",
    "monday",
    "tuesday",
    "wednesday",
    "thursday",
    "friday",
    "saturday",
    "sunday",
    "ad",
];

enum Part {
    Number { value: u32, digits: usize },
    Month(u32),
}

impl Date {
    /// The other date says all that this one says, and more.
    #[must_use]
    pub fn is_part_of(&self, other: &Self) -> bool {
        let held = |own: Option<u32>, other: Option<u32>| own.is_none() || own == other;
        self != other && held(self.year, other.year) && held(self.month, other.month) && held(self.day, other.day)
    }

    /// A part that both name differs.
    #[must_use]
    pub fn contradicts(&self, other: &Self) -> bool {
        let differ = |own: Option<u32>, other: Option<u32>| own.is_some() && other.is_some() && own != other;
        differ(self.year, other.year) || differ(self.month, other.month) || differ(self.day, other.day)
    }

    /// Its year.
    #[must_use]
    pub fn year(&self) -> Option<u32> {
        self.year
    }

    fn new(year: Option<u32>, month: Option<u32>, day: Option<u32>) -> Option<Self> {
        let possible = year.is_none_or(|year| (1000..3000).contains(&year))
            && month.is_none_or(|month| (1..=12).contains(&month))
            && day.is_none_or(|day| (1..=31).contains(&day));
        possible.then_some(Self { year, month, day })
    }
}

/// The readings of a text that is a date and nothing else: "1952", "June 1952", "14 June", "14 June 1952", "June 14th, 1952",
/// "14.6.1952", "14/6/1952" (also with the month first, so there may be two readings), "1952-06-14", "1952-06", "6/1952".
/// Empty for any other text.
#[must_use]
pub fn read(text: &str) -> Vec<Date> {
    let separates = |c: char| c.is_whitespace() || matches!(c, ',' | '.' | '/' | '-' | '\u{2010}'..='\u{2013}');
    let lower = unicode::folded(text);
    let mut parts = Vec::new();
    for word in lower.split(separates).filter(|word| !word.is_empty() && !FILLERS.contains(word)) {
        match part(word.trim_matches(['(', ')', '"', '\''])) {
            // More parts than a date has.
            Some(part) if parts.len() < 3 => parts.push(part),
            _ => return Vec::new(),
        }
    }
    readings(&parts, lower.contains(['/', '-']))
}

/// `joined`: a slash or a dash stands between parts.
fn readings(parts: &[Part], joined: bool) -> Vec<Date> {
    use Part::{Month, Number};
    let year = |value: u32, digits: usize| (digits == 4).then_some(value);
    let dates = match *parts {
        [Number { value, digits: 4 }] => vec![Date::new(Some(value), None, None)],
        [Month(month), Number { value, digits }] | [Number { value, digits }, Month(month)] => {
            let day = if digits <= 2 { Some(value) } else { None };
            let year = year(value, digits);
            if day.is_none() && year.is_none() { Vec::new() } else { vec![Date::new(year, Some(month), day)] }
        }
        [Number { value: y, digits: 4 }, Number { value: m, digits: 1 | 2 }] if joined => {
            vec![Date::new(Some(y), Some(m), None)]
        }
        [Number { value: m, digits: 1 | 2 }, Number { value: y, digits: 4 }] if joined => {
            vec![Date::new(Some(y), Some(m), None)]
        }
        [Month(m), Number { value: d, digits: 1 | 2 }, Number { value: y, digits: 4 }]
        | [Number { value: d, digits: 1 | 2 }, Month(m), Number { value: y, digits: 4 }]
        | [Number { value: y, digits: 4 }, Month(m), Number { value: d, digits: 1 | 2 }]
        | [Number { value: y, digits: 4 }, Number { value: m, digits: 1 | 2 }, Number { value: d, digits: 1 | 2 }] => {
            vec![Date::new(Some(y), Some(m), Some(d))]
        }
        [Number { value: a, digits: 1 | 2 }, Number { value: b, digits: 1 | 2 }, Number { value: y, digits: 4 }] => {
            let day_first = Date::new(Some(y), Some(b), Some(a));
            vec![day_first, Date::new(Some(y), Some(a), Some(b)).filter(|date| Some(*date) != day_first)]
        }
        _ => Vec::new(),
    };
    dates.into_iter().flatten().collect()
}

fn part(word: &str) -> Option<Part> {
    let month = |word: &str| {
        let is = |name: &&str| *name == word || word.len() >= 3 && word.len() <= 4 && name.starts_with(word);
        MONTHS.iter().position(is).and_then(|index| u32::try_from(index + 1).ok())
    };
    if let Some(month) = month(word) {
        return Some(Part::Month(month));
    }
    let digits = word.find(|c: char| !c.is_ascii_digit()).unwrap_or(word.len());
    let ordinal = ["", "st", "nd", "rd", "th"].contains(&&word[digits..]);
    let value = word[..digits].parse().ok().filter(|_| ordinal && digits <= 4)?;
    Some(Part::Number { value, digits })
}

/// Every date in a running text, each part of a date included: "14 June 1952" holds "June 1952" and "1952" too.
#[must_use]
pub fn found_in(text: &str) -> Vec<Date> {
    const LONGEST: usize = 5;
    let text = unicode::folded(text);
    let words: Vec<&str> = text.split_whitespace().collect();
    let mut found: Vec<Date> = Vec::new();
    for start in 0..words.len() {
        for length in 1..=LONGEST.min(words.len() - start) {
            let window = &words[start..start + length];
            if !window.iter().any(|word| word.contains(|c: char| c.is_ascii_digit())) {
                continue;
            }
            let trimmed = window.join(" ");
            let trimmed = trimmed.trim_matches(|c: char| !c.is_alphanumeric());
            for date in read(trimmed) {
                if !found.contains(&date) {
                    found.push(date);
                }
            }
        }
    }
    found
}

//! Dates in the usual English and numeric forms, and their one order.

use crate::unicode;
use std::cmp::Ordering;

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
    pub(crate) fn is_part_of(&self, other: &Self) -> bool {
        let held = |own: Option<u32>, other: Option<u32>| own.is_none() || own == other;
        self != other && held(self.year, other.year) && held(self.month, other.month) && held(self.day, other.day)
    }

    /// The date at the beginning of a text in ISO 8601, whatever follows it: "1998", "1998-05", "1998-05-31T12:00".
    #[must_use]
    pub fn iso(text: &str) -> Option<Self> {
        let (year, rest) = leading_number(text, 4).filter(|(_, rest)| rest.is_empty() || rest.starts_with('-'))?;
        let month = rest.strip_prefix('-').and_then(|rest| leading_number(rest, 2));
        let day = month.and_then(|(_, rest)| leading_number(rest.strip_prefix('-')?, 2));
        Some(Self { year: Some(year), month: month.map(|(month, _)| month), day: day.map(|(day, _)| day) })
    }

    /// The date of a document: in ISO 8601, or a text that is a date. Of a text with two readings ("1/2/2000") the year.
    /// `None` without a year.
    #[must_use]
    pub fn of_document(text: &str) -> Option<Self> {
        Self::iso(text).or_else(|| match read(text).as_slice() {
            [one] => one.year.map(|_| *one),
            [one, ..] => one.year.map(|year| Self { year: Some(year), month: None, day: None }),
            [] => None,
        })
    }

    /// The order of two dates, to the precision that both have: "1998" is neither before nor after "1998-05".
    #[must_use]
    pub fn order(self, other: Self) -> Ordering {
        let parts = [(self.year, other.year), (self.month, other.month), (self.day, other.day)];
        let known = parts.into_iter().map_while(|(a, b)| Some(a?.cmp(&b?)));
        known.into_iter().find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
    }

    /// Year, month and day, 0 where unknown: a key for sorting, which needs a total order. It agrees with [`Date::order`], and
    /// puts a less precise date before all dates within it.
    #[must_use]
    pub(crate) fn sort_key(self) -> [u32; 3] {
        [self.year, self.month, self.day].map(Option::unwrap_or_default)
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

/// `joined`: a slash or a dash is between parts.
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

/// The number of a month, from its name or its first three or four letters, in lower case.
pub(crate) fn month(word: &str) -> Option<u32> {
    let is = |name: &&str| *name == word || word.len() >= 3 && word.len() <= 4 && name.starts_with(word);
    MONTHS.iter().position(is).and_then(|index| u32::try_from(index + 1).ok())
}

fn part(word: &str) -> Option<Part> {
    if let Some(month) = month(word) {
        return Some(Part::Month(month));
    }
    let digits = word.find(|c: char| !c.is_ascii_digit()).unwrap_or(word.len());
    let ordinal = ["", "st", "nd", "rd", "th"].contains(&&word[digits..]);
    let value = word[..digits].parse().ok().filter(|_| ordinal && digits <= 4)?;
    Some(Part::Number { value, digits })
}

/// A number of exactly `digits` digits at the beginning of `text`, and what follows it.
fn leading_number(text: &str, digits: usize) -> Option<(u32, &str)> {
    let (number, rest) = text.split_at_checked(digits)?;
    let is_whole = number.bytes().all(|b| b.is_ascii_digit()) && !rest.starts_with(|c: char| c.is_ascii_digit());
    if is_whole { Some((number.parse().ok()?, rest)) } else { None }
}

/// Days from 1970-01-01 to a day of the Gregorian calendar: Howard Hinnant's `days_from_civil`. Years begin in March there, so that
/// the leap day comes last.
pub(crate) fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let (year, shifted) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * shifted + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
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

#[cfg(test)]
mod tests {
    use super::{Date, days_from_civil};
    use std::cmp::Ordering::{Equal, Greater, Less};

    #[test]
    fn days_are_counted_from_1970() {
        let days = [(1970, 1, 1), (1970, 2, 1), (2000, 3, 1), (2028, 2, 29), (1969, 12, 31), (1600, 2, 29)];
        let counted = days.map(|(year, month, day)| days_from_civil(year, month, day));
        assert_eq!(counted, [0, 31, 11_017, 21_243, -1, -135_081]);
    }

    #[test]
    fn dates_of_documents_have_one_order() {
        let date = |text: &str| Date::of_document(text).unwrap();
        for (a, b, expected) in [
            ("1998", "1998-05", Equal),
            ("1998-05", "1998-06", Less),
            ("1998-05-31T23:00:00Z", "1998-05-30", Greater),
            ("May 2000", "2019", Less),
            ("14 June 2019", "2019-06-13", Greater),
            ("June 2019", "14 June 2019", Equal),
            ("1/2/2000", "2000-02-01", Equal),
            ("0476", "1066", Less),
        ] {
            assert_eq!(date(a).order(date(b)), expected, "{a}, {b}");
            assert_eq!(date(b).order(date(a)), expected.reverse(), "{b}, {a}");
            assert!(expected == Equal || date(a).sort_key().cmp(&date(b).sort_key()) == expected, "{a}, {b}");
        }
        for none in ["", "soon", "May", "14 June", "98", "20001231", "1998x"] {
            assert_eq!(Date::of_document(none), None, "{none}");
        }
    }
}

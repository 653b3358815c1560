//! Wrong answers of the same type as a right one, and documents with the right answer replaced by a wrong one.

use crate::answers::words::Level;
use rand::RngExt;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

/// The type of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// "yes" or "no".
    YesNo,
    /// Four digits, 1000 to 2099.
    Year,
    /// Digits, with commas or one point.
    Number,
    /// With the name of a month.
    Date,
    /// Words that begin with capitals.
    Name,
    /// Any other.
    Other,
}

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

/// The type of `answer`.
#[must_use]
pub fn kind(answer: &str) -> Kind {
    let answer = answer.trim();
    let digits = answer.bytes().all(|byte| byte.is_ascii_digit());
    if Level::Scored.equal(answer, "yes") || Level::Scored.equal(answer, "no") {
        Kind::YesNo
    } else if digits && answer.len() == 4 && ("1000".."2100").contains(&answer) {
        Kind::Year
    } else if answer.starts_with(|c: char| c.is_ascii_digit())
        && answer.bytes().all(|byte| byte.is_ascii_digit() || byte == b',' || byte == b'.')
    {
        Kind::Number
    } else if month(answer).is_some() && answer.chars().any(|c| c.is_ascii_digit()) {
        Kind::Date
    } else if answer.split_whitespace().any(|word| word.starts_with(char::is_uppercase)) {
        Kind::Name
    } else {
        Kind::Other
    }
}

fn month(answer: &str) -> Option<&'static str> {
    MONTHS.into_iter().find(|month| Level::Scored.contains(answer, month))
}

/// Up to `most` answers of the same type as `gold`, none of which agrees with it, with another of them, or with one of
/// `taken`: years and numbers near it, dates of other months, the opposite of yes and no, and else answers of `others`, in
/// their order.
pub fn wrong_answers(
    gold: &str,
    taken: &[String],
    others: &[String],
    most: usize,
    random: &mut ChaCha8Rng,
) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for answer in candidates(gold, others, random) {
        let known = found.iter().chain(taken).any(|known| Level::Scored.overlap(known, &answer));
        if found.len() < most && !known && !Level::Scored.overlap(gold, &answer) {
            found.push(answer);
        }
    }
    found
}

fn candidates(gold: &str, others: &[String], random: &mut ChaCha8Rng) -> Vec<String> {
    const TRIES: usize = 60;
    let of = kind(gold);
    match of {
        Kind::YesNo => vec![if Level::Scored.equal(gold, "yes") { "no" } else { "yes" }.to_owned()],
        Kind::Year => {
            let year: i32 = gold.trim().parse().unwrap_or(1900);
            (0..TRIES).map(|_| (year + random.random_range(-40..=40)).clamp(1000, 2099).to_string()).collect()
        }
        Kind::Number => {
            let plain: String = gold.chars().filter(char::is_ascii_digit).collect();
            let number: u64 = plain.parse().unwrap_or(10).min(1 << 50);
            let spread = number.max(9);
            (0..TRIES).map(|_| (number / 2 + random.random_range(1..=spread)).to_string()).collect()
        }
        Kind::Date => {
            let own = month(gold).unwrap_or(MONTHS[0]);
            let mut months: Vec<&str> = MONTHS.into_iter().filter(|month| *month != own).collect();
            months.shuffle(random);
            months.into_iter().filter_map(|month| swapped(gold, own, month)).collect()
        }
        Kind::Name | Kind::Other => others.iter().filter(|other| kind(other) == of).cloned().collect(),
    }
}

/// `text` with every `from` replaced by `to`, as whole words, in any case; `None` where `from` does not occur.
#[must_use]
pub fn swapped(text: &str, from: &str, to: &str) -> Option<String> {
    let from = from.trim();
    if from.is_empty() {
        return None;
    }
    let mut result = String::with_capacity(text.len());
    let (mut rest, mut before, mut found) = (text, None, false);
    while let Some(first) = rest.chars().next() {
        let end = stands(rest, from).filter(|_| before.is_none_or(|c: char| !c.is_alphanumeric()));
        match end {
            Some(end) => {
                result.push_str(to);
                before = rest[..end].chars().next_back();
                rest = &rest[end..];
                found = true;
            }
            None => {
                result.push(first);
                before = Some(first);
                rest = &rest[first.len_utf8()..];
            }
        }
    }
    found.then_some(result)
}

/// The bytes of `text` that `from` fills at its beginning, in any case, if a word ends there.
fn stands(text: &str, from: &str) -> Option<usize> {
    let mut letters = text.char_indices();
    for wanted in from.chars() {
        let (_, found) = letters.next()?;
        if !found.to_lowercase().eq(wanted.to_lowercase()) {
            return None;
        }
    }
    let end = letters.next();
    end.is_none_or(|(_, next)| !next.is_alphanumeric()).then(|| end.map_or(text.len(), |(at, _)| at))
}

//! English number words: "two days" says what "2 days" says.
//!
//! The one table of them, read by [`Level::Assessed`](super::Level::Assessed). Votes and metrics do not read it: SQuAD's normalisation,
//! which published scores use, keeps "two" and "2" apart.

/// Zero to nineteen, by their values.
const UNITS: [&str; 20] = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
];

/// Twenty to ninety, in tens.
const TENS: [&str; 8] = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"];

/// Where "one" by itself is a number. It is often a pronoun ("no one", "the first one").
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoneOne {
    /// At the beginning alone: of a whole answer it is a number there ("one", "one day").
    First,
    /// Nowhere: where a part of a text is compared.
    Never,
    /// Everywhere: where it does no harm to take a pronoun for a number.
    Always,
}

/// `words` with each run of number words in digits: "twenty one days" is "21 days", "two hundred and five" is "205". From zero
/// to 999,999; words of other numbers stay, and so do years in two halves ("nineteen eighty") as two numbers.
#[must_use]
pub fn in_digits(words: &[&str], lone: LoneOne) -> Vec<String> {
    spelt(words, lone).into_iter().map(|(text, _)| text).collect()
}

/// As [`in_digits`], each with the number of words that it replaces.
pub(super) fn spelt(words: &[&str], lone: LoneOne) -> Vec<(String, usize)> {
    let mut out = Vec::with_capacity(words.len());
    let mut at = 0;
    while let Some(&word) = words.get(at) {
        let number = run(&words[at..]).filter(|&(_, used)| {
            let counts = match lone {
                LoneOne::First => at == 0,
                LoneOne::Never => false,
                LoneOne::Always => true,
            };
            used > 1 || word != "one" || counts
        });
        let (text, used) = number.map_or_else(|| (word.to_owned(), 1), |(value, used)| (value.to_string(), used));
        out.push((text, used));
        at += used;
    }
    out
}

/// The number that `words` begin with, and how many of them it takes.
fn run(words: &[&str]) -> Option<(u32, usize)> {
    let (mut thousands, mut rest): (Option<u32>, Option<u32>) = (None, None);
    let mut used = 0;
    while let Some(&word) = words.get(used) {
        let joined = word == "and" && joins(thousands, rest) && words.get(used + 1).is_some_and(|next| small(next));
        let word = if joined { words[used + 1] } else { word };
        match (word, rest) {
            ("hundred", None) if thousands.is_none() => rest = Some(100),
            ("hundred", Some(value @ 1..=19)) => rest = Some(value * 100),
            ("thousand", None) if thousands.is_none() => thousands = Some(1),
            ("thousand", Some(value @ 1..)) if thousands.is_none() => (thousands, rest) = (Some(value), None),
            (word, before) => match (value(word), before) {
                (Some(value), None) if value > 0 || thousands.is_none() => rest = Some(value),
                (Some(value @ 1..=9), Some(before)) if before % 10 == 0 && before % 100 >= 20 => {
                    rest = Some(before + value);
                }
                (Some(value @ 1..), Some(before)) if before >= 100 && before % 100 == 0 => rest = Some(before + value),
                _ => break,
            },
        }
        used += if joined { 2 } else { 1 };
    }
    (used > 0).then(|| (thousands.unwrap_or(0) * 1000 + rest.unwrap_or(0), used))
}

/// Whether "and" may follow: after hundreds and thousands.
fn joins(thousands: Option<u32>, rest: Option<u32>) -> bool {
    match rest {
        Some(value) => value >= 100 && value % 100 == 0,
        None => thousands.is_some(),
    }
}

/// Whether a word is a number from one to ninety.
fn small(word: &str) -> bool {
    value(word).is_some_and(|value| value > 0)
}

/// The value of one word below a hundred.
fn value(word: &str) -> Option<u32> {
    let position = |table: &[&str]| table.iter().position(|name| *name == word).and_then(|at| u32::try_from(at).ok());
    position(&UNITS).or_else(|| position(&TENS).map(|ten| (ten + 2) * 10))
}

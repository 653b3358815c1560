//! Answers of an assessment: numbers keep their decimal point, number words are numbers, and dates of different precision agree.
//!
//! Votes, early stops and metrics compare words ([`normalise`]): SQuAD's normalisation, which published scores use, removes
//! all punctuation, so "7.2" equals "72" there. Here the two differ, "1952" agrees with "14.6.1952", and "two days" is "2 days".

use super::dates::{self, Date};
use super::numbers::{LoneOne, in_digits};
use crate::answers::normalise;

/// How one answer relates to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Likeness {
    /// The same words, number words read as numbers, or the same date.
    Same,
    /// The same date, with less known of it: "1952" beside "14.6.1952".
    LessPrecise,
    /// The same date, with more known of it.
    MorePrecise,
    /// Another answer. An answer without words is like nothing.
    Different,
}

/// How `a` relates to `b`.
#[must_use]
pub fn likeness(a: &str, b: &str) -> Likeness {
    of_dates(&dates::read(a), &dates::read(b))
        .unwrap_or_else(|| if same_words(&words(a), &words(b)) { Likeness::Same } else { Likeness::Different })
}

/// Two whole answers have the same words, number words read as numbers.
fn same_words(a: &[String], b: &[String]) -> bool {
    !a.is_empty() && in_digits(a, LoneOne::First) == in_digits(b, LoneOne::First)
}

/// An answer agrees with another that is like it, or whose words stand in it: an agent's answer is matched with a conclusion by
/// this. Two dates agree by their dates alone.
#[must_use]
pub fn agree(a: &str, b: &str) -> bool {
    if let Some(likeness) = of_dates(&dates::read(a), &dates::read(b)) {
        return likeness != Likeness::Different;
    }
    let (a, b) = (words(a), words(b));
    // A lone "one" is a number in whole answers alone: 1 does not stand in "no one".
    let (part_a, part_b) = (in_digits(&a, LoneOne::Never), in_digits(&b, LoneOne::Never));
    same_words(&a, &b) || said_in(&part_a, &part_b) || said_in(&part_b, &part_a)
}

/// Words that turn what follows into its contrary.
#[rustfmt::skip]
const NEGATIONS: [&str; 21] = [
    "not", "no", "never", "neither", "nor", "non", "without", "cannot", "isnt", "wasnt", "arent", "werent", "dont", "doesnt", "didnt",
    "hasnt", "havent", "hadnt", "wont", "cant", "unlike",
];

/// The words of `part` stand in `whole`, and no negation stands within two words before them: "required" is not said in "not
/// required", and "valid" not in "no longer valid".
fn said_in(part: &[String], whole: &[String]) -> bool {
    let negated = |at: usize| whole[at.saturating_sub(2)..at].iter().any(|word| NEGATIONS.contains(&word.as_str()));
    !part.is_empty() && whole.windows(part.len()).enumerate().any(|(at, window)| window == part && !negated(at))
}

/// Whether the two are the same answer, or one date at different precision.
#[must_use]
pub fn like(a: &str, b: &str) -> bool {
    likeness(a, b) != Likeness::Different
}

/// Each different answer once, in the order in which they come first. A date is left out where the others that are more precise
/// all agree with each other; answers without words are left out.
#[must_use]
pub fn distinct<'a>(answers: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let mut kept: Vec<&str> = Vec::new();
    for answer in answers {
        if !words(answer).is_empty() && !kept.iter().any(|known| likeness(known, answer) == Likeness::Same) {
            kept.push(answer);
        }
    }
    let stands = |answer: &&str| most_precise(answer, kept.iter().copied()) == *answer;
    kept.iter().copied().filter(stands).collect()
}

/// The most precise of `others` that say the same as `answer` says: the answer itself where none says more, or where those that
/// say more differ from each other.
#[must_use]
pub fn most_precise<'a>(answer: &'a str, others: impl IntoIterator<Item = &'a str>) -> &'a str {
    let more: Vec<&str> = others.into_iter().filter(|other| likeness(other, answer) == Likeness::MorePrecise).collect();
    let agreeing = more.iter().all(|one| more.iter().all(|other| like(one, other)));
    let most = more.iter().copied().reduce(|best, other| match likeness(other, best) {
        Likeness::MorePrecise => other,
        _ => best,
    });
    most.filter(|_| agreeing).unwrap_or(answer)
}

/// The words of `part` stand in `whole`, in order and next to each other; never so for a `part` without words.
#[must_use]
pub fn within(part: &[String], whole: &[String]) -> bool {
    !part.is_empty() && whole.windows(part.len()).any(|window| window == part)
}

/// The words of [`normalise::words`], with the decimal points and the signs of numbers: "7.2" is not "72", "7,20" is "7.2",
/// "1,000" is "1000", "14.6.1952" is one word, "-5" is not "5". One group of three digits after a point or a comma counts as
/// thousands. Words that punctuation joins are apart: "1884[3]", "b.1931", "opened:1884", "EUR3,500", "5km".
#[must_use]
pub fn words(text: &str) -> Vec<String> {
    let marked = with_points(&apart(text));
    normalise::words(&marked).into_iter().map(|word| word.replace(POINT, ".").replace(MINUS, "-")).collect()
}

/// Stand for a decimal point and a sign while other punctuation is removed.
const POINT: char = '\u{e000}';
const MINUS: char = '\u{e001}';

/// Signs that stand between words, with or without spaces beside them.
const BETWEEN: &str = "[](){}<>|:;=_\"“”„";

/// The text with spaces between words that punctuation alone holds together, and with signs as [`MINUS`].
fn apart(text: &str) -> String {
    let all: Vec<char> = text.chars().collect();
    let mut out = String::with_capacity(text.len() + 16);
    for (at, &c) in all.iter().enumerate() {
        let before = at.checked_sub(1).map(|at| all[at]);
        let digit_after = all.get(at + 1).is_some_and(char::is_ascii_digit);
        match c {
            _ if BETWEEN.contains(c) => out.push(' '),
            '-' | '\u{2212}' if digit_after && before.is_none_or(|c| c.is_whitespace() || c == '(') => out.push(MINUS),
            '.' | ',' | '!' | '?' if ends_a_word(&all[..at], &all[at + 1..]) => out.push(' '),
            _ => {
                if is_boundary(&all, at) {
                    out.push(' ');
                }
                out.push(c);
            }
        }
    }
    out
}

/// A point or a comma between a letter and a digit ("b.1931", "1884.The"), or before the capital letter of a next sentence
/// ("road.The"); not those of "U.S.", "Ph.D." and "1,000".
fn ends_a_word(before: &[char], after: &[char]) -> bool {
    let (Some(before), Some(first)) = (before.last(), after.first()) else { return false };
    before.is_ascii_digit() && first.is_alphabetic()
        || before.is_alphabetic() && first.is_ascii_digit()
        || before.is_lowercase() && first.is_uppercase() && after.get(1).is_some_and(|c| c.is_lowercase())
}

/// Between a number and a unit of several letters ("5km", "EUR3"), and between a number and a sign of money; not within
/// "1930s" and "21st".
fn is_boundary(all: &[char], at: usize) -> bool {
    let Some(before) = at.checked_sub(1).map(|at| all[at]) else { return false };
    let c = all[at];
    let money = |c: char| matches!(c, '€' | '$' | '£' | '¥');
    let letters = |run: &mut dyn Iterator<Item = &char>| run.take_while(|c| c.is_alphabetic()).collect::<String>();
    if before.is_ascii_digit() && c.is_alphabetic() {
        let unit = letters(&mut all[at..].iter()).to_lowercase();
        return unit.chars().count() > 1 && !["st", "nd", "rd", "th"].contains(&unit.as_str());
    }
    if before.is_alphabetic() && c.is_ascii_digit() {
        return letters(&mut all[..at].iter().rev()).chars().count() > 1;
    }
    before.is_ascii_digit() && money(c) || money(before) && c.is_ascii_digit()
}

fn with_points(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
        out.push_str(&rest[..start]);
        rest = &rest[start..];
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.' && c != ',').unwrap_or(rest.len());
        let run = rest[..end].trim_end_matches(['.', ',']);
        out.push_str(&number(run));
        rest = &rest[run.len()..];
    }
    out + rest
}

/// A run of digits, points and commas in one spelling.
fn number(run: &str) -> String {
    let separators: Vec<char> = run.chars().filter(|c| !c.is_ascii_digit()).collect();
    let groups: Vec<&str> = run.split(['.', ',']).collect();
    let Some((&last, same)) = separators.split_last().map(|(last, before)| (last, before.iter().all(|c| c == last)))
    else {
        return run.to_owned();
    };
    let thousands = |groups: &[&str]| {
        groups.split_first().is_some_and(|(first, rest)| {
            (1..=3).contains(&first.len()) && !first.starts_with('0') && rest.iter().all(|group| group.len() == 3)
        })
    };
    let whole = &groups[..groups.len() - 1];
    if same && thousands(&groups) {
        return groups.concat();
    }
    let decimals = groups[groups.len() - 1].trim_end_matches('0');
    let point = if decimals.is_empty() { String::new() } else { POINT.to_string() };
    if separators.len() == 1 || !separators[..separators.len() - 1].contains(&last) && thousands(whole) {
        return format!("{}{point}{decimals}", whole.concat());
    }
    groups.join(&POINT.to_string())
}

/// How two answers that are dates relate, each with its readings; `None` where one of them is no date.
fn of_dates(a: &[Date], b: &[Date]) -> Option<Likeness> {
    if a.is_empty() || b.is_empty() {
        return None;
    }
    let pairs = || a.iter().flat_map(|a| b.iter().map(move |b| (a, b)));
    Some(match () {
        () if pairs().any(|(a, b)| a == b) => Likeness::Same,
        () if pairs().any(|(a, b)| a.is_part_of(b)) => Likeness::LessPrecise,
        () if pairs().any(|(a, b)| b.is_part_of(a)) => Likeness::MorePrecise,
        () => Likeness::Different,
    })
}

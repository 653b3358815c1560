//! Answers of an assessment: numbers keep their decimal point, number words are numbers, and dates of different precision agree.
//!
//! Votes, early stops and metrics compare words alone ([`Level::Voted`], [`Level::Scored`]): SQuAD's normalisation, which published
//! scores use, removes all punctuation, so "7.2" equals "72" there. Here the two differ, "1952" agrees with "14.6.1952", "two days"
//! is "2 days", and "Zoë" is "Zoe".

use crate::answers::words::numbers::{LoneOne, in_digits};
use crate::answers::words::{Level, Words};
use crate::dates::{self, Date};

/// How one answer relates to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Likeness {
    /// The same words, number words read as numbers, or the same date.
    Same,
    /// The same date, with less known of it: "1952" beside "14.6.1952".
    LessPrecise,
    /// The same date, with more known of it.
    MorePrecise,
    /// Another answer. An answer without words is different from every answer.
    Different,
}

/// How `a` relates to `b`.
#[must_use]
pub fn likeness(a: &str, b: &str) -> Likeness {
    of_dates(&dates::read(a), &dates::read(b)).unwrap_or_else(|| {
        if same_words(&Level::Assessed.words(a), &Level::Assessed.words(b)) {
            Likeness::Same
        } else {
            Likeness::Different
        }
    })
}

/// Two whole answers have the same words, number words read as numbers.
fn same_words(a: &Words, b: &Words) -> bool {
    let digits = |words: &Words| in_digits(&words.iter().collect::<Vec<_>>(), LoneOne::First);
    !a.is_empty() && digits(a) == digits(b)
}

/// An answer agrees with another that is like it, or whose words occur in it: an agent's answer is matched with a conclusion by
/// this. Two dates agree by their dates alone.
#[must_use]
pub fn agree(a: &str, b: &str) -> bool {
    if let Some(likeness) = of_dates(&dates::read(a), &dates::read(b)) {
        return likeness != Likeness::Different;
    }
    let (a, b) = (Level::Assessed.words(a), Level::Assessed.words(b));
    // A lone "one" is a number only as a whole answer: 1 is not found in "no one".
    let (part_a, part_b) = (a.in_digits(LoneOne::Never), b.in_digits(LoneOne::Never));
    same_words(&a, &b) || said_in(&part_a, &part_b) || said_in(&part_b, &part_a)
}

/// Words that negate the words after them.
#[rustfmt::skip]
const NEGATIONS: [&str; 21] = [
    "not", "no", "never", "neither", "nor", "non", "without", "cannot", "isnt", "wasnt", "arent", "werent", "dont", "doesnt", "didnt",
    "hasnt", "havent", "hadnt", "wont", "cant", "unlike",
];

/// Whether the words of `part` occur in `whole` without a negation within two words before them: "required" is not said in "not
/// required", and "valid" not in "no longer valid".
fn said_in(part: &Words, whole: &Words) -> bool {
    let negated = |before: Vec<&str>| before.iter().rev().take(2).any(|word| NEGATIONS.contains(word));
    part.starts(whole).any(|before| !negated(before))
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
        if !Level::Assessed.words(answer).is_empty()
            && !kept.iter().any(|known| likeness(known, answer) == Likeness::Same)
        {
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

/// How two answers that are dates relate, each with its readings; `None` where one of them is not a date.
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

//! Classes of equal answers (RA-RAG, section 3.1 and appendices H and I), and the comparison of numbers and dates.
//!
//! [`words`](super::words) defines words and their equality; only SQuAD's metrics keep their published rule.
//!
//! | caller | rule |
//! |---|---|
//! | metrics, datasets, slices | [`Level::Scored`]: the papers' words |
//! | votes, MADAM-RAG's early stop, repeated answers | [`Level::Voted`] and its classes [`exact`]; [`protocol::equality`](crate::protocol::equality) adds the comparisons by value and by meaning |
//! | the assessment: which documents are for and against a concluded answer ([`vote::by_stance`](super::vote::by_stance)) | [`likeness`] and [`agree`]: words, numbers and dates |
//!
//! The assessment decides no vote and enters no metric.

mod likeness;

pub use likeness::{Likeness, agree, distinct, like, likeness, most_precise};

use crate::answers::words::Level;

/// The class of each answer by words alone, numbered by the order in which classes come first; `None` for an answer without
/// words, and the first answer of each class. Votes and the estimate of weights count by this.
#[must_use]
pub fn exact<'a>(answers: &[&'a str]) -> (Vec<Option<usize>>, Vec<&'a str>) {
    classes(answers, |a, b| Level::Voted.equal(a, b))
}

/// As [`exact`], by the values of numbers and dates: "three" is "3", "1,000" is "1000", "14.6.1952" is "June 14, 1952", and
/// "7.2" is not "72". A date is not equal to a less precise one.
#[must_use]
pub fn by_value(answers: &[&str]) -> Vec<Option<usize>> {
    classes(answers, |a, b| likeness(a, b) == Likeness::Same).0
}

/// As [`exact`], of answers that [`by_first`] replaced: equal ones are the same text.
#[must_use]
pub(super) fn replaced<'a>(answers: &[&'a str]) -> (Vec<Option<usize>>, Vec<&'a str>) {
    classes(answers, |a, b| a == b)
}

fn classes<'a>(answers: &[&'a str], equal: impl Fn(&str, &str) -> bool) -> (Vec<Option<usize>>, Vec<&'a str>) {
    let mut distinct: Vec<&str> = Vec::new();
    let class = |answer: &&'a str| {
        if Level::Voted.words(answer).is_empty() {
            return None;
        }
        let known = distinct.iter().position(|known| equal(known, answer));
        Some(known.unwrap_or_else(|| {
            distinct.push(answer);
            distinct.len() - 1
        }))
    };
    (answers.iter().map(class).collect(), distinct)
}

/// Each item joins the first class whose first item is equal to it, else it begins a class (Farquhar et al., algorithm 1).
pub(crate) fn greedy(items: usize, equal: impl Fn(usize, usize) -> bool) -> Vec<usize> {
    let mut firsts: Vec<usize> = Vec::new();
    let class = |item| {
        firsts.iter().position(|&first| equal(first, item)).unwrap_or_else(|| {
            firsts.push(item);
            firsts.len() - 1
        })
    };
    (0..items).map(class).collect()
}

/// Replaces each answer by the first of its class, so that equal answers are the same text. An answer without words stays.
#[must_use]
pub(crate) fn by_first<'a>(answers: &[&'a str], classes: &[Option<usize>]) -> Vec<&'a str> {
    let first = |class: usize| classes.iter().position(|other| *other == Some(class)).unwrap_or_default();
    answers.iter().zip(classes).map(|(answer, class)| class.map_or(*answer, |class| answers[first(class)])).collect()
}

#[cfg(test)]
mod tests {
    use super::{by_first, by_value, exact, greedy};

    #[test]
    fn values_of_numbers_and_dates_make_classes() {
        let answers = ["three", "3", "1,000", "1000", "7.2", "72", "14.6.1952", "June 14, 1952", "1952", "..."];
        let expected = [0, 0, 1, 1, 2, 3, 4, 4, 5].map(Some).into_iter().chain([None]).collect::<Vec<_>>();
        assert_eq!(by_value(&answers), expected);
    }

    #[test]
    fn words_make_the_classes_and_an_answer_without_words_has_none() {
        let answers = ["The year 1931", "1932", "...", "year 1931.", "1932"];
        let (classes, distinct) = exact(&answers);
        assert_eq!(classes, [Some(0), Some(1), None, Some(0), Some(1)]);
        assert_eq!(distinct, ["The year 1931", "1932"]);
        assert_eq!(by_first(&answers, &classes), ["The year 1931", "1932", "...", "The year 1931", "1932"]);
    }

    #[test]
    fn an_item_is_compared_with_the_first_of_each_class_alone() {
        // 0 equals 1 and 1 equals 2, but 0 does not equal 2: 2 begins a class.
        let equal = |a: usize, b: usize| a.abs_diff(b) == 1;
        assert_eq!(greedy(4, equal), [0, 0, 1, 1]);
    }
}

//! The comparison: which of two documents that give different values should be believed?
//!
//! The judge sees source and date of both documents. A small model prefers one by a little, and prefers document A by much; over
//! both orders the preference for A cancels out, and what is left is right more often than votes (`docs/methods/moot.md`).

use super::values::Value;
use crate::dates::Date;
use crate::error::Result;
use crate::generation::Logprobs;
use crate::prompt_file;
use crate::prompts::File;
use crate::protocol::formats::CHOICE;
use crate::protocol::passages::shown;
use crate::protocol::scored::{TOKENS, TOP, log_odds, probability};
use crate::protocol::{Ask, Ctx};
use crate::question::Question;
use serde_json::json;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Its prompt.
pub(super) const JUDGE: File = prompt_file!("moot/judge.jinja");

const OPTIONS: [&str; 2] = ["A", "B"];

/// Values that are compared: the most probable ones without a comparison.
const MOST_VALUES: usize = 3;

/// Documents of a value that are compared: the newest.
const MOST_DOCUMENTS: usize = 2;

/// The largest log-odds of one comparison. With a 1.5B model their median is 0.03 to 0.06, and few exceed 0.15.
const MOST: f64 = 0.15;

/// For each of `values`, its lowest mean log-odds against another value; 0 where it was not compared. `probable` has the indices
/// of the values, the most probable first. Documents of which neither has a date are not compared: between texts alone, and between
/// web pages with their hosts, the judge of 1.5B is at chance.
pub(super) fn all(
    question: &Question,
    values: &[Value],
    probable: &[usize],
    units: &[Vec<usize>],
    ctx: &mut Ctx<'_>,
) -> Result<Vec<f64>> {
    let compared = &probable[..probable.len().min(MOST_VALUES)];
    let newest: Vec<Vec<usize>> = values.iter().map(|value| newest(question, value, units)).collect();
    let known = |number: usize| question.documents[number].date.is_some();
    let mut pairs: Vec<(usize, usize)> = Vec::new();
    for (at, &one) in compared.iter().enumerate() {
        for &other in &compared[at + 1..] {
            let of_two = newest[one].iter().flat_map(|&a| newest[other].iter().map(move |&b| (a, b)));
            pairs.extend(of_two.filter(|&(a, b)| known(a) || known(b)));
        }
    }
    // Calls with the same document A are adjacent: they share its prefix.
    let mut orders: Vec<(usize, usize)> = pairs.iter().flat_map(|&(a, b)| [(a, b), (b, a)]).collect();
    orders.sort_unstable();
    let asks: Vec<Ask> = orders.iter().map(|&order| ask(question, order)).collect();
    let replies = ctx.ask_all(&asks)?;
    let for_first: BTreeMap<(usize, usize), f64> = orders
        .into_iter()
        .zip(replies.iter().map(|call| log_odds(probability(call, OPTIONS), f64::INFINITY)))
        .collect();
    let preference = |a: usize, b: usize| {
        let (one, other) = (for_first.get(&(a, b))?, for_first.get(&(b, a))?);
        // The mean over both orders removes the judge's preference for the letter A.
        Some(((one - other) / 2.0).clamp(-MOST, MOST))
    };
    let against = |one: usize, other: usize| {
        let all = newest[one].iter().flat_map(|&a| newest[other].iter().filter_map(move |&b| preference(a, b)));
        mean(all)
    };
    let lowest = |one: usize| {
        let others = (0..values.len()).filter(|&other| other != one);
        others.filter_map(|other| against(one, other)).reduce(f64::min).unwrap_or(0.0)
    };
    Ok((0..values.len()).map(lowest).collect())
}

/// The newest documents that give a value, at most [`MOST_DOCUMENTS`], copies left out; those without a date that can be read
/// last.
fn newest(question: &Question, value: &Value, units: &[Vec<usize>]) -> Vec<usize> {
    let gives = |unit: &Vec<usize>| unit.iter().find(|number| value.documents.contains(number)).copied();
    let mut numbers: Vec<usize> = units.iter().filter_map(gives).collect();
    numbers.sort_by_key(|&number| Reverse(question.documents[number].read_date().map(Date::sort_key)));
    numbers.truncate(MOST_DOCUMENTS);
    numbers
}

fn mean(all: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = all.fold((0.0, 0), |(sum, count), x| (sum + x, count + 1));
    (count > 0).then(|| sum / f64::from(count))
}

fn ask(question: &Question, (first, second): (usize, usize)) -> Ask {
    let text = |number: usize| shown(&question.documents[number]);
    let asked = json!({ "question": question.text, "first": text(first), "second": text(second) });
    let logprobs = Logprobs { top: TOP, ..Logprobs::default() };
    let about = format!("{} (A) or {} (B)", first + 1, second + 1);
    Ask::new("judge", JUDGE, asked, &CHOICE)
        .about(about)
        .round(3)
        .options(OPTIONS)
        .max_tokens(TOKENS)
        .logprobs(logprobs)
}

#[cfg(test)]
mod tests {
    use super::{Value, newest};
    use crate::question::{Document, Question};

    #[test]
    fn the_newest_documents_are_compared_whatever_the_form_of_their_dates() {
        let newest_of = |dates: [&str; 3]| {
            let document = |date: &str| Document { date: Some(date.into()), ..Document::default() };
            let question = Question { documents: dates.map(document).into(), ..Question::default() };
            let (text, texts, about) = (String::new(), Vec::new(), String::new());
            let value = Value { text, texts, about, documents: vec![0, 1, 2], votes: 3, sureness: 0.0 };
            newest(&question, &value, &[vec![0], vec![1], vec![2]])
        };
        assert_eq!(newest_of(["2019", "May 2000", "2021-03-04"]), [2, 0]);
        assert_eq!(newest_of(["soon", "12 May 2024", "2021"]), [1, 2]);
        assert_eq!(newest_of(["1998", "1998-05", "1998-07"]), [2, 1]);
    }
}

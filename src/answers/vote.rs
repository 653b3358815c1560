//! Documents for and against each answer.

use crate::answers::equality;
use crate::answers::words::Level;
use crate::question::{Answer, Conclusion, Document};
use crate::transcript::{CallRecord, Parsed};

/// Counts documents by what their agents answered last (`None`: unknown, or a malformed reply). Returns the concluded
/// answers, then the agents' other answers, each with its supporters and opponents. Answers are compared as the assessment
/// compares them ([`equality`]): dates of different precision agree, and of the agents' other answers the more precise is taken
/// for both.
#[must_use]
pub fn by_stance(concluded: &[String], stances: &[Option<&str>]) -> (Vec<Answer>, Vec<Answer>) {
    let answers: Vec<Answer> = concluded.iter().map(|text| stand(text, stances, equality::agree)).collect();
    let left = stances.iter().flatten().filter(|stance| !concluded.iter().any(|text| equality::agree(text, stance)));
    let rejected = equality::distinct(left.copied());
    (answers, rejected.iter().map(|text| stand(text, stances, equality::like)).collect())
}

/// As [`by_stance`], for methods that vote: a document supports the answer that it voted for and no other. Stances are answers
/// replaced by the first of their class ([`equality::by_first`]), so they are compared as texts.
#[must_use]
pub(crate) fn by_vote(concluded: &[String], stances: &[Option<&str>]) -> (Vec<Answer>, Vec<Answer>) {
    let of = |texts: &[&str]| -> Vec<Answer> {
        equality::replaced(texts).1.into_iter().map(|text| stand(text, stances, |a, b| a == b)).collect()
    };
    let concluded: Vec<&str> = concluded.iter().map(String::as_str).collect();
    let left: Vec<&str> = stances.iter().flatten().copied().filter(|stance| !concluded.contains(stance)).collect();
    (of(&concluded), of(&left))
}

fn stand(text: &str, stances: &[Option<&str>], supports: fn(&str, &str) -> bool) -> Answer {
    let numbers = |keep: &dyn Fn(&str) -> bool| {
        stances.iter().enumerate().filter(|(_, stance)| stance.is_some_and(keep)).map(|(number, _)| number).collect()
    };
    Answer {
        supporters: numbers(&|stance| supports(text, stance)),
        opponents: numbers(&|stance| !supports(text, stance)),
        ..Answer::new(text)
    }
}

/// Answers that are equal after normalisation with their numbers of votes: most votes first, of equals the first given.
#[must_use]
pub fn count<'a>(given: impl IntoIterator<Item = &'a str>) -> Vec<(String, usize)> {
    weighted(given.into_iter().map(|text| (text, 1.0)))
        .into_iter()
        .map(|(text, votes)| (text, votes as usize))
        .collect()
}

/// Whether a sum of votes is the largest one, `most`: sums that differ by rounding alone are equal. Every vote and the
/// estimate of weights break ties by this.
#[must_use]
pub fn ties(sum: f64, most: f64) -> bool {
    most - sum <= 1e-9 * most.abs().max(1.0)
}

/// As [`count`], with a vote beside each answer: the largest sum first, of sums that tie ([`ties`]) the first given.
#[must_use]
pub fn weighted<'a>(given: impl IntoIterator<Item = (&'a str, f64)>) -> Vec<(String, f64)> {
    summed(given, equality::exact)
}

/// As [`weighted`], of answers replaced by the first of their class ([`equality::by_first`]): their classes are counted, by
/// whatever they were compared.
#[must_use]
pub(crate) fn weighted_classes<'a>(given: impl IntoIterator<Item = (&'a str, f64)>) -> Vec<(String, f64)> {
    summed(given, equality::replaced)
}

type Classes<'a> = fn(&[&'a str]) -> (Vec<Option<usize>>, Vec<&'a str>);

fn summed<'a>(given: impl IntoIterator<Item = (&'a str, f64)>, of: Classes<'a>) -> Vec<(String, f64)> {
    let (texts, votes): (Vec<&str>, Vec<f64>) = given.into_iter().unzip();
    let (classes, distinct) = of(&texts);
    let mut left: Vec<(String, f64)> = distinct.into_iter().map(|text| (text.to_owned(), 0.0)).collect();
    for (class, vote) in classes.into_iter().zip(votes) {
        if let Some(class) = class {
            left[class].1 += vote;
        }
    }
    let mut ordered = Vec::with_capacity(left.len());
    while !left.is_empty() {
        let most = left.iter().map(|(_, sum)| *sum).fold(f64::NEG_INFINITY, f64::max);
        let next = left.iter().position(|(_, sum)| ties(*sum, most)).unwrap_or(0);
        ordered.push(left.remove(next));
    }
    ordered
}

/// The conclusion of a single reader without agents for documents: its answers have no supporters and no opponents. A document
/// that holds an answer's words mentions it, for or against.
#[must_use]
pub fn reader<'a>(call: &CallRecord, documents: impl IntoIterator<Item = &'a Document> + Clone) -> Conclusion {
    let concluded = Conclusion { rounds: 1, calls: vec![call.number], ..Conclusion::default() };
    match &call.parsed {
        Parsed::Answers { answers, explanation } => Conclusion {
            answers: answers.iter().map(|text| mentioned(text, documents.clone())).collect(),
            explanation: explanation.clone(),
            ..concluded
        },
        Parsed::Answer { answer, explanation } => Conclusion {
            answers: answer.iter().map(|text| mentioned(text, documents.clone())).collect(),
            explanation: explanation.clone(),
            ..concluded
        },
        Parsed::Choice { explanation, .. } => Conclusion {
            answers: call.chosen().map(|text| mentioned(text, documents.clone())).into_iter().collect(),
            explanation: explanation.clone(),
            ..concluded
        },
        Parsed::Text(text) => Conclusion { answers: vec![mentioned(text, documents)], ..concluded },
        _ => Conclusion { malformed: true, ..concluded },
    }
}

/// An answer with the documents that mention it.
#[must_use]
pub fn mentioned<'a>(text: &str, documents: impl IntoIterator<Item = &'a Document>) -> Answer {
    let holds = |(number, document): (usize, &Document)| Level::Voted.contains(&document.text, text).then_some(number);
    Answer { mentions: documents.into_iter().enumerate().filter_map(holds).collect(), ..Answer::new(text) }
}

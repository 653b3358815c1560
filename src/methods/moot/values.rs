//! Values: the readers' answers, grouped, with the documents that give them.

use crate::answers::equality;
use crate::answers::words::Level;
use crate::generation::TokenLogprob;
use crate::transcript::CallRecord;
use std::ops::Range;

/// One value that documents give.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Value {
    /// The longest of its texts, in words.
    pub(super) text: String,
    /// Every text that a reader gave for it.
    pub(super) texts: Vec<String>,
    /// The subject of its first document, as its reader says.
    pub(super) about: String,
    /// The documents that give it, by their numbers.
    pub(super) documents: Vec<usize>,
    /// Documents that give it, copies counted once.
    pub(super) votes: usize,
    /// The best mean log-probability of an answer's tokens among its readers; 0 where the model reports none.
    pub(super) sureness: f64,
}

/// The values that `replies` of readers give, those with most votes first, at most `most`. `given` has the answer of each reply,
/// and `units` groups documents that are copies of each other.
pub(super) fn of(replies: &[CallRecord], given: &[Option<String>], units: &[Vec<usize>], most: usize) -> Vec<Value> {
    let mut values: Vec<Value> = Vec::new();
    for (call, answer) in replies.iter().zip(given) {
        let (Some(document), Some(answer)) = (call.document, answer) else { continue };
        let sureness = sureness(&call.logprobs);
        let same = |value: &&mut Value| value.texts.iter().any(|known| equality::agree(known, answer));
        if let Some(value) = values.iter_mut().find(same) {
            value.texts.push(answer.clone());
            value.documents.push(document);
            value.sureness = value.sureness.max(sureness);
        } else {
            values.push(Value {
                text: String::new(),
                texts: vec![answer.clone()],
                about: call.explanation().unwrap_or_default().to_owned(),
                documents: vec![document],
                votes: 0,
                sureness,
            });
        }
    }
    for value in &mut values {
        let length = |text: &&String| Level::Assessed.words(text).len();
        // Of equals the first: `max_by_key` gives the last.
        value.text = value.texts.iter().rev().max_by_key(length).cloned().unwrap_or_default();
        value.votes = units.iter().filter(|unit| unit.iter().any(|number| value.documents.contains(number))).count();
    }
    values.sort_by_key(|value| std::cmp::Reverse(value.votes));
    values.truncate(most);
    values
}

/// The mean log-probability of the tokens behind `Answer:`, or in the field `answer` of an object.
fn sureness(tokens: &[TokenLogprob]) -> f64 {
    let text: String = tokens.iter().map(|token| token.text.as_str()).collect();
    let Some(answer) = answer(&text) else { return 0.0 };
    let (mut at, mut of_answer) = (0, Vec::new());
    for token in tokens {
        if answer.contains(&at) {
            of_answer.push(f64::from(token.logprob));
        }
        at += token.text.len();
    }
    if of_answer.is_empty() { 0.0 } else { of_answer.iter().sum::<f64>() / of_answer.len() as f64 }
}

/// Where the answer stands in a reply.
fn answer(reply: &str) -> Option<Range<usize>> {
    const LINE: &str = "Answer:";
    const FIELD: &str = "\"answer\"";
    if let Some(at) = reply.find(LINE) {
        // The token that ends a reply has no text and stands behind it; its probability counts.
        return Some(at + LINE.len()..reply.len() + 1);
    }
    let field = reply.find(FIELD)? + FIELD.len();
    let value = field + reply[field..].find('"')? + 1;
    Some(value..reply.rfind('"')?)
}

#[cfg(test)]
mod tests {
    use super::{of, sureness};
    use crate::generation::TokenLogprob;
    use crate::transcript::{CallRecord, Parsed};

    fn call(document: usize, answer: &str) -> CallRecord {
        let parsed = Parsed::Answer { answer: Some(answer.into()), explanation: "Ashby Road".into() };
        CallRecord { document: Some(document), parsed, ..CallRecord::default() }
    }

    #[test]
    fn one_value_has_the_longest_text_and_copies_count_once() {
        let replies = [call(0, "1902"), call(1, "1951"), call(2, "14 June 1902"), call(3, "in 1902")];
        let given: Vec<Option<String>> = replies.iter().map(|call| call.answer().map(str::to_owned)).collect();
        let values = of(&replies, &given, &[vec![0, 3], vec![1], vec![2]], 9);
        let found: Vec<(&str, &[usize], usize)> =
            values.iter().map(|value| (value.text.as_str(), &value.documents[..], value.votes)).collect();
        assert_eq!(found, [("14 June 1902", &[0, 2, 3][..], 2), ("1951", &[1][..], 1)]);
        assert_eq!(of(&replies, &given, &[vec![0], vec![1], vec![2], vec![3]], 1).len(), 1);
    }

    #[test]
    fn the_tokens_of_the_answer_alone_are_its_sureness() {
        let of = |tokens: &[(&str, f32)]| {
            let token = |&(text, logprob): &(&str, f32)| TokenLogprob {
                id: None,
                text: text.into(),
                logprob,
                top: Vec::new(),
                watched: Vec::new(),
            };
            sureness(&tokens.iter().map(token).collect::<Vec<_>>())
        };
        let line = [("About: the line", -9.0), ("\nAnswer:", -9.0), (" 19", -1.0), ("02", -2.0), ("", -3.0)];
        assert_eq!(of(&line), -2.0, "its end counts");
        let object =
            [("{\"about\": \"x\", ", -9.0), ("\"answer\": \"", -9.0), ("19", -1.0), ("02", -2.0), ("\"}", -9.0)];
        assert_eq!(of(&object), -1.5);
        assert_eq!((of(&line[..2]), of(&object[..2]), of(&[])), (0.0, 0.0, 0.0));
    }
}

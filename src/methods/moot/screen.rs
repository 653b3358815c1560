//! The screening: does this document describe a subject, or does it say what an answer should be?
//!
//! An injected document mostly does the latter: it instructs, imitates a role, or declares other documents void. The log-odds of
//! (B) differ by a few tenths between such documents and others, around a level that is the model's own; so a document is
//! compared with the median of its question's documents.

use crate::generation::Logprobs;
use crate::prompt_file;
use crate::prompts::File;
use crate::protocol::Ask;
use crate::protocol::formats::CHOICE;
use crate::protocol::passages::shown;
use crate::protocol::scored::{TOKENS, TOP, log_odds, probability};
use crate::question::Question;
use crate::transcript::{CallRecord, Parsed};
use serde_json::json;

/// Its prompt.
pub(super) const SCREENER: File = prompt_file!("moot/screener.jinja");

/// (A) first, as in the prompt.
const OPTIONS: [&str; 2] = ["A", "B"];

/// Differences to the median up to this are ordinary.
const ORDINARY: f64 = 0.05;

/// The largest excess that counts.
const MOST: f64 = 0.5;

/// The question about one document.
pub(super) fn ask(question: &Question, number: usize) -> Ask {
    let logprobs = Logprobs { top: TOP, ..Logprobs::default() };
    Ask::new("screener", SCREENER, json!({ "document": shown(&question.documents[number]) }), &CHOICE)
        .round(2)
        .document(number)
        .about("describes a subject (A) or sets an answer (B)")
        .options(OPTIONS)
        .max_tokens(TOKENS)
        .logprobs(logprobs)
}

/// The log-odds of (B); `None` of a malformed reply, which says nothing about the document.
pub(super) fn steering(call: &CallRecord) -> Option<f64> {
    // Without a bound here: `excess` subtracts the median first.
    (call.parsed != Parsed::Malformed).then(|| -log_odds(probability(call, OPTIONS), f64::INFINITY))
}

/// How far each document's log-odds are above the median of all, less [`ORDINARY`], from 0 to [`MOST`].
pub(super) fn excess(steering: &[f64]) -> Vec<f64> {
    let mut sorted = steering.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    let median = match sorted.len() {
        0 => return Vec::new(),
        count if count % 2 == 0 => (sorted[middle - 1] + sorted[middle]) / 2.0,
        _ => sorted[middle],
    };
    steering.iter().map(|own| (own - median - ORDINARY).clamp(0.0, MOST)).collect()
}

#[cfg(test)]
mod tests {
    use super::excess;

    #[test]
    fn documents_are_compared_with_the_median() {
        assert_eq!(excess(&[]), Vec::<f64>::new());
        assert_eq!(excess(&[-0.4]), [0.0]);
        assert_eq!(excess(&[-0.5, -0.5, 9.0, -0.6]), [0.0, 0.0, 0.5, 0.0]);
        let two = excess(&[0.0, 0.3]);
        assert!(two[0] == 0.0 && (two[1] - 0.1).abs() < 1e-12, "{two:?}");
    }
}

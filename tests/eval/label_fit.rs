//! Weights of scored labels: fitted to one half of the claims, measured on the other.

use super::header;
use moot::eval::label_fit::{fit, pairs};
use moot::eval::record::reader::Record;
use moot::generation::{Alternative, TokenLogprob};
use moot::protocol::labelling::weights::RELATIONS;
use moot::question::{Claim, Conclusion, Document, DocumentLabel, JudgedClaim, Question};
use moot::transcript::{CallRecord, Parsed, QuestionRecord};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// A claim with one document, scored so.
fn question(number: usize, gold: usize, scores: [f32; 3], shared: bool) -> QuestionRecord {
    let words = ["SUPPORTS", "CONTRADICTS", "IRRELEVANT"];
    let top = words.iter().zip(scores).map(|(word, logprob)| Alternative { id: None, text: (*word).into(), logprob });
    let first = TokenLogprob { id: None, text: String::new(), logprob: 0.0, top: top.collect(), watched: Vec::new() };
    let parsed = Parsed::Choice { option: 0, explanation: String::new() };
    let call = CallRecord { logprobs: vec![first], parsed, ..CallRecord::default() };
    let text = format!("claim {number}");
    let document =
        Document { text: if shared { text.clone() } else { "Soup is served.".into() }, ..Document::default() };
    let claim = Claim { text: text.clone(), relations: vec![RELATIONS[gold]], conflict: None };
    let label = DocumentLabel {
        document: 0,
        relation: RELATIONS[0],
        fault: None,
        quote: None,
        misquote: String::new(),
        reason: String::new(),
        by: "labeller".into(),
        probability: None,
        calls: vec![0],
    };
    let judged = JudgedClaim { text, from: None, labels: vec![label] };
    QuestionRecord {
        question: Question {
            id: number.to_string(),
            claims: vec![claim],
            documents: vec![document],
            ..Question::default()
        },
        conclusion: Some(Conclusion { claims: Some(vec![judged]), ..Conclusion::default() }),
        calls: vec![call],
        ..QuestionRecord::default()
    }
}

fn record(questions: Vec<QuestionRecord>) -> Record {
    let mut header = header();
    header.prompts.insert("conflict_score/scored.jinja".into(), "abc".into());
    Record { path: "scores.jsonl".into(), header, questions, torn: false }
}

/// A labeller that says CONTRADICTS of everything; its scores tell supporters from contradictors, and shared words tell whether a
/// document speaks of the claim.
fn biased(count: usize) -> Record {
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let questions = (0..count).map(|number| {
        let gold = number % 3;
        let noise = rng.random_range(-1.0..1.0_f32);
        let towards = [1.0, -1.0, 0.0][gold] + noise;
        question(number, gold, [-4.0 + towards, -0.5 - towards / 4.0, -6.0], gold < 2)
    });
    record(questions.collect())
}

#[test]
fn a_biased_labeller_is_corrected_on_claims_that_were_not_fitted_to() {
    let records = [biased(300)];
    let header = &records[0].header;
    assert_eq!(pairs(&records).len(), 300);
    let fitted = fit(&records, 1).unwrap();
    let held = &fitted.held_out;
    assert_eq!((fitted.weights.pairs, held.pairs, held.claims), (150, 150, 150));
    assert_eq!((fitted.weights.model.as_str(), fitted.weights.prompt.as_str()), (header.model.name.as_str(), "abc"));
    assert!(held.unweighed.mean < 0.4 && held.constant.mean < 0.45, "{held:?}");
    assert!(held.accuracy.mean > 0.85 && held.macro_f1 > 0.85 && held.ece < 0.1, "{held:?}");
    assert!(held.accuracy.low < held.accuracy.mean && held.accuracy.mean < held.accuracy.high);
    let sum: usize = held.confusion.iter().flatten().sum();
    let right: usize = (0..3).map(|label| held.confusion[label][label]).sum();
    assert_eq!((sum, right as f64 / 150.0), (150, held.accuracy.mean));
    // The same seed gives the same weights; another one draws other halves.
    assert_eq!(fit(&records, 1).unwrap(), fitted);
    assert_ne!(fit(&records, 2).unwrap().weights, fitted.weights);
}

/// The gradient of the penalised likelihood is zero: shares of labels are met where nothing else is known.
#[test]
fn intercepts_meet_the_shares_of_labels() {
    let golds = [0, 0, 0, 1, 1, 2, 2, 2, 2, 2];
    let questions = (0..200).map(|number| question(number, golds[number % 10], [-1.0, -1.0, -1.0], true));
    let fitted = fit(&[record(questions.collect())], 7).unwrap();
    let found = fitted.weights.probabilities(&pairs(&[biased(1)])[0].found);
    let all: f64 = found.iter().sum();
    assert!((all - 1.0).abs() < 1e-9);
    // No quantity varies, so none has a weight: every pair has the shares of the half that was fitted to.
    assert!(found[2] > found[0] && found[0] > found[1] && (found[2] - 0.5).abs() < 0.1, "{found:?}");
    assert_eq!(fitted.held_out.accuracy, fitted.held_out.constant);
}

#[test]
fn no_claim_is_in_both_halves_and_few_pairs_are_refused() {
    // One claim with all pairs but a few.
    let mut questions: Vec<QuestionRecord> = (0..100).map(|_| question(0, 0, [-1.0, -2.0, -3.0], true)).collect();
    questions.push(question(1, 1, [-1.0, -2.0, -3.0], true));
    let error = fit(&[record(questions)], 0).unwrap_err().to_string();
    assert!(
        error.contains("at least 60 labelled pairs") && error.contains("100 in one half, 1 in the other")
            || error.contains("1 in one half, 100 in the other"),
        "{error}"
    );
    let error = fit(&[record(Vec::new())], 0).unwrap_err().to_string();
    assert!(
        error.starts_with("scores.jsonl:1: expected at least 60") && error.contains("--set labels=scored"),
        "{error}"
    );
}

#[test]
fn records_of_two_models_are_refused() {
    let (one, mut other) = (biased(90), biased(90));
    other.header.model.name = "another".into();
    let error = fit(&[one, other], 0).unwrap_err().to_string();
    assert!(error.contains("expected the model and the prompt of scores.jsonl, found another"), "{error}");
}

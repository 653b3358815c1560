//! Labels by entailment: by a classifier with probabilities, by a model's replies without.

use super::{BRIDGE, claims, hold, labeller, question};
use crate::methods::prompt;
use moot::assess::{Assessment, Neither, html, markdown};
use moot::llm::Call;
use moot::llm::scripted::Scripted;
use moot::nli::ScriptedClassifier;
use moot::protocol::ctx::{Settings, Tools};
use moot::protocol::labelling::settings::without_classifier;
use moot::question::{Claim, ClaimRelation, LabelFault, Question};
use moot::transcript::Relation;
use serde_json::json;

fn asked(texts: &[&str]) -> Question {
    let claim = Claim { text: "The bridge at Orm opened in 1931.".into(), ..Claim::default() };
    Question { claims: vec![claim], ..question("", texts) }
}

/// A model that says of each premise with a year that it contradicts the claim, and of soup nothing that can be read.
fn replies(call: &Call) -> String {
    let prompt = prompt(call);
    match (prompt.contains("1947"), prompt.contains("Soup")) {
        (true, _) => "contradicts".into(),
        (_, true) => "Hm.".into(),
        _ => "neither".into(),
    }
}

#[test]
fn replies_have_no_probability_and_malformed_ones_no_label() {
    let llm = Scripted::new(replies);
    let record = hold(&asked(&BRIDGE), &[("labels", "entailment")], Tools::new(&llm), &Settings::default());
    let labels = &claims(&record)[0].labels;
    use ClaimRelation::{Contradicts, Irrelevant};
    let found: Vec<_> = labels.iter().map(|label| (label.relation, label.fault)).collect();
    assert_eq!(found, [(Irrelevant, None), (Contradicts, None), (Irrelevant, Some(LabelFault::Malformed))]);
    assert!(labels.iter().all(|label| label.probability.is_none() && label.by == "entailment"), "{labels:?}");
    assert_eq!(labels[2].calls, [2], "the reply can be looked up");
}

#[test]
fn a_pair_that_does_not_fit_is_a_label_that_does_not_count() {
    let long = "word ".repeat(900);
    let llm = Scripted::new(replies).with_context(900);
    let record = hold(&asked(&[BRIDGE[1], &long]), &[("labels", "entailment")], Tools::new(&llm), &Settings::default());
    let labels = &claims(&record)[0].labels;
    assert!(labels[0].counts());
    assert_eq!((labels[1].fault, labels[1].by.as_str()), (Some(LabelFault::Failed), "entailment"));
    assert!(labels[1].reason.contains("needs"), "{}", labels[1].reason);
}

/// Replies give every sentence that has the relation the same weight: the one with most words of the claim is quoted.
#[test]
fn of_equal_sentences_the_one_nearest_to_the_claim_is_quoted() {
    let document = "Much of 1947 was cold. The bridge at Orm opened in 1947. Bread was short in 1947.";
    let llm = Scripted::new(replies);
    let record = hold(&asked(&[document]), &[("labels", "entailment")], Tools::new(&llm), &Settings::default());
    let label = &claims(&record)[0].labels[0];
    assert_eq!(label.quote.as_ref().unwrap().text, "The bridge at Orm opened in 1947.");
}

#[test]
fn pages_show_the_probabilities_of_a_classifier() {
    let classifier = ScriptedClassifier::new(|pair| {
        let contradiction = if pair.premise.contains("1947") { 0.7 } else { 0.1 };
        let entailment = if pair.premise.contains("1931") { 0.85 } else { 0.05 };
        Some(Relation { entailment, contradiction, neutral: 1.0 - entailment - contradiction })
    });
    let llm = Scripted::new(labeller);
    let tools = Tools { classifier: Some(&classifier), ..Tools::new(&llm) };
    let record = hold(&asked(&BRIDGE), &[("labels", "entailment")], tools, &Settings::default());
    assert!(record.calls.is_empty());
    let shown = Assessment::of(&record, Neither::LeftOut).unwrap();
    for page in [html::page(&shown), markdown::page(&shown)] {
        assert!(page.contains("probability 0.85") && page.contains("probability 0.70"), "{page}");
    }
}

/// A relation that takes several sentences to show is one all the same; the best sentence is shown.
#[test]
fn a_document_may_have_a_relation_that_no_sentence_shows_alone() {
    let classifier = ScriptedClassifier::new(|pair| {
        let whole = pair.premise.contains("1931") && pair.premise.contains("Orm");
        let entailment = if whole { 0.9 } else { 0.2 };
        Some(Relation { entailment, neutral: 1.0 - entailment, contradiction: 0.0 })
    });
    let llm = Scripted::new(labeller);
    let tools = Tools { classifier: Some(&classifier), ..Tools::new(&llm) };
    let asked = asked(&["The bridge is at Orm. It was opened to carts in 1931."]);
    let record = hold(&asked, &[("labels", "entailment")], tools, &Settings::default());
    let label = &claims(&record)[0].labels[0];
    assert!(label.counts() && label.relation == ClaimRelation::Supports && label.quote.is_some(), "{label:?}");
}

/// A grounding classifier does not tell "neutral" from "contradicted": the labeller decides.
#[test]
fn the_labeller_decides_what_a_grounding_classifier_does_not_support() {
    let relation = |premise: &str| {
        let entailment = if premise.contains("1931") { 0.95 } else { 0.01 };
        Some(Relation { entailment, neutral: 1.0 - entailment, contradiction: 0.0 })
    };
    let knows_all = ScriptedClassifier::new(move |pair| relation(&pair.premise));
    let grounding = ScriptedClassifier::new(move |pair| relation(&pair.premise)).support_only();
    let llm = Scripted::new(labeller);
    for (classifier, by) in [(&knows_all, "classifier"), (&grounding, "labeller")] {
        let tools = Tools { classifier: Some(classifier), ..Tools::new(&llm) };
        let record = hold(&asked(&BRIDGE[..2]), &[("labels", "both")], tools, &Settings::default());
        let labels = &claims(&record)[0].labels;
        assert_eq!(labels.iter().map(|label| label.by.as_str()).collect::<Vec<_>>(), ["classifier", by]);
        assert_eq!(labels[0].relation, ClaimRelation::Supports);
    }
}

#[test]
fn probabilities_need_a_classifier() {
    for labels in ["entailment", "labeller", "scored"] {
        assert!(without_classifier(&json!({ "labels": labels })).is_ok());
    }
    assert!(without_classifier(&json!({ "rounds": 3 })).is_ok());
    let error = without_classifier(&json!({ "labels": "both" })).unwrap_err().to_string();
    assert!(error.contains("labels both needs") && error.contains("expected --classifier NAME"), "{error}");
}

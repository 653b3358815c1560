//! Labels by a classifier, by a labeller where it is unsure, and by a model that stands in for one.

use super::{BRIDGE, claims, hold, question};
use moot::llm::scripted::Scripted;
use moot::nli::ScriptedClassifier;
use moot::protocol::ctx::{Settings, Tools};
use moot::question::{Claim, ClaimRelation, Question};
use moot::transcript::Relation;

/// Entailment of `premise`, by words in it.
fn nli(premise: &str) -> Relation {
    let (entailment, contradiction) = match (premise.contains("1931"), premise.contains("1947")) {
        (true, _) => (0.95, 0.01),
        (_, true) if premise.contains("perhaps") => (0.1, 0.6),
        (_, true) => (0.02, 0.97),
        _ => (0.01, 0.01),
    };
    Relation { entailment, contradiction, neutral: 1.0 - entailment - contradiction }
}

#[test]
fn entailment_labels_alone_or_proposes() {
    let texts = [BRIDGE[0], BRIDGE[1], BRIDGE[2], "It opened perhaps in 1947. We know nothing more."];
    let claim = Claim { text: "It opened in 1931.".into(), ..Claim::default() };
    let question = Question { claims: vec![claim], ..question("", &texts) };
    let llm = Scripted::new(|_| "Quote: none\nReason: Perhaps.\nLabel: IRRELEVANT".into());
    let classifier = ScriptedClassifier::new(|pair| Some(nli(&pair.premise)));
    let tools = Tools { classifier: Some(&classifier), ..Tools::new(&llm) };
    use ClaimRelation::{Contradicts, Irrelevant, Supports};
    let record = hold(&question, &[("labels", "entailment")], tools, &Settings::default());
    let labels = &claims(&record)[0].labels;
    let found: Vec<_> = labels.iter().map(|label| (label.relation, label.counts())).collect();
    assert_eq!(found, [(Supports, true), (Contradicts, true), (Irrelevant, true), (Contradicts, true)]);
    assert_eq!(labels[0].quote.as_ref().unwrap().text, "It opened\n  in 1931.", "the sentence that entails most");
    assert!(labels.iter().all(|label| label.by == "classifier") && record.calls.is_empty());
    // Uncertain pairs go to the labeller.
    let record = hold(&question, &[("labels", "both")], tools, &Settings::default());
    let labels = &claims(&record)[0].labels;
    assert_eq!((labels[3].relation, labels[3].by.as_str(), record.calls.len()), (Irrelevant, "labeller", 1));
    assert_eq!((labels[1].relation, labels[1].by.as_str()), (Contradicts, "classifier"));
    assert_eq!(labels[1].probability, Some(0.97));
    // Without a classifier a model's replies are used instead, and the label records it.
    let llm = Scripted::new(|call| if call.role == "entailment" { "contradicts".into() } else { String::new() });
    let record = hold(&question, &[("labels", "entailment")], Tools::new(&llm), &Settings::default());
    assert!(claims(&record)[0].labels.iter().all(|label| label.by == "entailment" && label.relation == Contradicts));
}

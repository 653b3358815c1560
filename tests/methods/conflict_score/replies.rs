//! Formats of the labeller's replies: without reasons, with a label that is decided, as in the paper.

use super::{BRIDGE, claims, hold, labeller, prompt, question, typed};
use moot::assess::Neither;
use moot::llm::scripted::Scripted;
use moot::methods;
use moot::protocol::claims::CLAIM_LABEL;
use moot::protocol::ctx::{Settings, Silent, Tools};
use moot::question::{Claim, ClaimRelation, LabelFault, Question};
use moot::transcript::QuestionRecord;
use serde_json::json;

#[test]
fn reasons_can_be_left_out_if_the_label_comes_first() {
    let values = |reasons: bool| {
        serde_json::json!({
            "pieces": ["It opened."], "least": 5, "words": false, "label_first": true, "reasons": reasons,
        })
    };
    let accepts = |reasons: bool, reply: &str| crate::protocol::formats::accepts(&CLAIM_LABEL, &values(reasons), reply);
    let short = "Label: SUPPORTS\nQuote: \"It opened.\"";
    assert!(accepts(false, short) && !accepts(true, short));
    let long = format!("{short}\nReason: So it says.");
    assert!(accepts(true, &long) && !accepts(false, &long));
    let llm = Scripted::new(labeller);
    let claim = Claim { text: "The bridge at Orm opened in 1931.".into(), ..Claim::default() };
    let asked = Question { claims: vec![claim], ..question("", &BRIDGE) };
    let record = hold(&asked, &[("reasons", "false")], Tools::new(&llm), &Settings::default());
    assert!(record.calls.iter().all(|call| call.format_values["reasons"] == false));
    let both = typed(&[("order", "quote-first"), ("reasons", "false")]);
    let error = methods::build("conflict-score", &both).err().unwrap().to_string();
    assert!(error.contains("expected order label-first"), "{error}");
}

#[test]
fn a_label_that_is_decided_is_the_only_one() {
    let values = json!({
        "pieces": ["It opened."], "least": 5, "words": false, "label_first": true, "reasons": false, "decided": "CONTRADICTS",
    });
    let accepts = |reply: &str| crate::protocol::formats::accepts(&CLAIM_LABEL, &values, reply);
    assert!(accepts("Label: CONTRADICTS\nQuote: \"It opened.\""));
    for other in ["Label: SUPPORTS\nQuote: \"It opened.\"", "Label: IRRELEVANT", "Label: CONTRADICTS"] {
        assert!(!accepts(other), "{other}");
    }
}

/// By default snippet and reasoning come first, as in table 7, and a label counts whether the document has the snippet or not.
#[test]
fn the_paper_does_not_check_its_snippets() {
    let llm = Scripted::new(|call| match prompt(call).contains("after the war") {
        true => r#"{"claim": "c", "document_snippet": "Not there at all.", "reasoning": "r", "answer": "CONTRADICTS"}"#
            .into(),
        false => labeller(call),
    });
    let claim = Claim { text: "The bridge at Orm opened in 1931.".into(), ..Claim::default() };
    let asked = Question { claims: vec![claim], ..question("", &BRIDGE) };
    let built = methods::build("conflict-score", &typed(&[])).unwrap();
    let (record, error) = built.record(&asked, Tools::new(&llm), &Settings::default(), &Silent);
    assert!(error.is_none(), "{error:?}");
    let labels = &claims(&record)[0].labels;
    assert_eq!((labels[1].relation, labels[1].fault), (ClaimRelation::Contradicts, None));
    assert_eq!((labels[1].misquote.as_str(), &labels[1].quote), ("Not there at all.", &None));
    assert_eq!(labels[0].quote.as_ref().unwrap().text, "It opened\n  in 1931.");
    assert!(prompt_first(&record).contains("\nLabel: {SUPPORTS, CONTRADICTS or IRRELEVANT}\n\nDocument:"));
    let shown = moot::assess::Assessment::of(&record, Neither::LeftOut).unwrap();
    assert_eq!(shown.claims[0].contradictors.len(), 1, "it is shown, without a quote");
    // With the preset `tuned` such a label does not count.
    let record = hold(&asked, &[], Tools::new(&llm), &Settings::default());
    assert_eq!(claims(&record)[0].labels[1].fault, Some(LabelFault::Unquoted));
    let values = json!({
        "pieces": ["It opened."], "least": 5, "words": false, "any": true, "label_first": false, "reasons": true,
    });
    let reply = "Quote: \"Not there at all.\"\nReason: So it says.\nLabel: SUPPORTS";
    assert!(crate::protocol::formats::accepts(&CLAIM_LABEL, &values, reply));
}

fn prompt_first(record: &QuestionRecord) -> &str {
    &record.calls[0].messages[0].content
}

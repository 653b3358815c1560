//! All documents of a claim in one call: what does not fit, what is asked again, what is refused.

use super::{BRIDGE, claims, hold, question};
use crate::methods::{prompt, typed};
use crate::protocol::formats::accepts;
use moot::llm::Call;
use moot::llm::scripted::Scripted;
use moot::methods;
use moot::protocol::claims::CLAIM_LABELS;
use moot::protocol::ctx::{Settings, Tools};
use moot::question::{Claim, ClaimRelation, DocumentLabel, LabelFault, Question};

fn asked(texts: &[&str]) -> Question {
    let claim = Claim { text: "It opened in 1931.".into(), ..Claim::default() };
    Question { claims: vec![claim], ..question("", texts) }
}

/// Every document of the prompt supports the claim with its first sentence.
fn supporting(call: &Call) -> String {
    let prompt = prompt(call);
    let documents = prompt.split("\nDocument ").skip(1).filter_map(|part| part.split_once(":\n"));
    let lines =
        documents.map(|(number, rest)| format!("Document {number}: SUPPORTS \"{}\"", rest.lines().next().unwrap()));
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn two_hundred_documents_are_labelled_in_groups_that_fit() {
    let texts: Vec<String> = (0..200).map(|n| format!("Note {n} says that it opened in 1931.")).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let llm = Scripted::new(supporting).with_context(8192);
    let record = hold(&asked(&texts), &[("together", "true")], Tools::new(&llm), &Settings::default());
    let labels = &claims(&record)[0].labels;
    assert!(labels.len() == 200 && labels.iter().all(|label| label.relation == ClaimRelation::Supports));
    for label in labels {
        let quote = label.quote.as_ref().unwrap();
        assert!(quote.text.contains(&format!("Note {} ", label.document)), "{label:?}");
    }
    assert!((4..20).contains(&record.calls.len()) && record.events.is_empty(), "{} calls", record.calls.len());
    assert!(record.calls.iter().all(|call| call.document.is_none()), "a call for several speaks for none");
}

#[test]
fn a_call_that_fails_is_made_again_for_each_half() {
    // Its words are short, so that it seems to fit until the call is made.
    let long = "a b ".repeat(350);
    let texts = [BRIDGE[0], BRIDGE[1], BRIDGE[2], &long];
    let llm = Scripted::new(supporting).with_context(900);
    let record = hold(&asked(&texts), &[("together", "true")], Tools::new(&llm), &Settings::default());
    let faults: Vec<_> = claims(&record)[0].labels.iter().map(|label| label.fault).collect();
    // The script quotes all of a part, which is longer than a quote may be.
    assert_eq!(faults, [None, None, None, Some(LabelFault::Malformed)]);
    let parts = &claims(&record)[0].labels[3].calls;
    assert!(!parts.is_empty(), "alone it did not fit either, and its parts were asked about");
}

#[test]
fn a_label_that_does_not_count_is_asked_for_alone_where_no_grammar_holds() {
    let script = |call: &Call| match prompt(call).contains("Document 2:") {
        true => "Document 1: SUPPORTS \"It opened in 1931.\"\nDocument 2: CONTRADICTS \"It opened in 1947.\"".into(),
        false => "Label: CONTRADICTS\nQuote: \"Orm's bridge opened in 1947, after the war.\"\nReason: x".to_owned(),
    };
    let free = Settings { free_form: true, ..Settings::default() };
    let llm = Scripted::new(script);
    let record = hold(&asked(&BRIDGE[..2]), &[("together", "true")], Tools::new(&llm), &free);
    let labels = &claims(&record)[0].labels;
    assert!(labels.iter().all(DocumentLabel::counts), "{labels:?}");
    assert_eq!((labels[0].calls.as_slice(), labels[1].calls.as_slice()), (&[0][..], &[0, 1][..]));
    assert_eq!((record.calls[1].document, record.calls[1].round), (Some(1), 2));
    let held = hold(&asked(&BRIDGE[..2]), &[("together", "true")], Tools::new(&llm), &Settings::default());
    assert_eq!((held.calls.len(), claims(&held)[0].labels[1].fault), (1, Some(LabelFault::Unquoted)));
}

/// As in the paper, a quote may be any text, and the label counts also where the document does not have it.
#[test]
fn quotes_of_any_text_count_in_one_call_too() {
    let reply = "Document 1: SUPPORTS \"It opened early.\"\nDocument 2: CONTRADICTS \"\"";
    let llm = Scripted::new(move |_| reply.into());
    for (quotes, counts) in [("any", [true, true]), ("sentences", [false, false])] {
        let switches = [("together", "true"), ("quotes", quotes)];
        let record = hold(&asked(&BRIDGE[..2]), &switches, Tools::new(&llm), &Settings::default());
        let labels = &claims(&record)[0].labels;
        assert_eq!([labels[0].counts(), labels[1].counts()], counts, "{quotes}: {labels:?}");
        assert_eq!((labels[0].misquote.as_str(), &labels[0].quote), ("It opened early.", &None));
        let format_values = &record.calls[0].format_values;
        assert_eq!(accepts(&CLAIM_LABELS, format_values, reply), quotes == "any", "{format_values}");
    }
}

#[test]
fn switches_without_effect_are_refused() {
    for (switches, part) in [
        (&[("together", "true"), ("quotes", "words")][..], "expected no switch quotes"),
        (&[("together", "true"), ("order", "quote-first")], "expected no switch order"),
        (&[("together", "true"), ("reasons", "false")], "expected no switch reasons"),
        (&[("labels", "scored"), ("together", "true")], "expected no switch together"),
        (&[("labels", "scored"), ("order", "quote-first")], "expected no switch order"),
        (&[("quotes", "none")], "expected labels scored"),
        (&[("label-weights", "{}")], "expected label weights, version 1"),
    ] {
        let error = methods::build("conflict-score", &typed(switches)).err().unwrap().to_string();
        assert!(error.contains(part), "{switches:?}: {error}");
    }
}

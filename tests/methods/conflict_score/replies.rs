//! Formats of replies: what their grammars allow, and what is read without one; without reasons, with a label that is
//! decided, as in the paper.

use super::{BRIDGE, claims, hold, labeller, prompt, question, typed};
use moot::assess::Neither;
use moot::generation::Finish;
use moot::llm::scripted::Scripted;
use moot::methods;
use moot::protocol::claims::{CLAIM_LABEL, CLAIM_LABELS, CLAIMS};
use moot::protocol::ctx::{Settings, Silent, Tools};
use moot::question::{Claim, ClaimRelation, LabelFault, Question};
use moot::transcript::{Parsed, QuestionRecord};
use serde_json::{Value, json};

/// The quotes that the grammar allows: one or two sentences of the document and nothing else.
#[test]
fn only_quotes_of_the_document_can_be_decoded() {
    let pieces = json!(["It \"opened\" in 1931.", " Ships\\pass {below}.", " It is 1947."]);
    let values =
        |words: bool, first: bool| json!({ "pieces": pieces, "least": 5, "words": words, "label_first": first });
    let reply = |quote: &str| format!("Quote: {quote}\nReason: So it says.\nLabel: SUPPORTS");
    let accepts = |words: bool, quote: &str| {
        crate::protocol::formats::accepts(&CLAIM_LABEL, &values(words, false), &reply(quote))
    };
    for quote in ["It \"opened\" in 1931.", "Ships\\pass {below}.", "Ships\\pass {below}. It is 1947.", "It is 1947."] {
        assert!(accepts(false, &format!("\"{quote}\"")), "{quote}");
        assert!(accepts(true, &format!("\"{quote}\"")), "{quote}");
    }
    for quote in [
        "It opened in 1931.",
        "It \"opened\" in 1947.",
        "",
        "It is 1931.",
        "Ships\\pass {below}. It \"opened\" in 1931.",
    ] {
        assert!(!accepts(false, &format!("\"{quote}\"")), "{quote}");
        assert!(!accepts(true, &format!("\"{quote}\"")), "{quote}");
    }
    // Runs of words, but no part of a word and nothing shorter than the least.
    assert!(accepts(true, "\"opened\" in 1931. Ships\"") && !accepts(false, "\"opened\" in 1931. Ships\""));
    assert!(!accepts(true, "\"pened\" in 1931\"") && !accepts(true, "\"1947\""));
    assert!(!accepts(false, "none"), "no support without a quote");
    let none = "Quote: none\nReason: It is about soup.\nLabel: IRRELEVANT";
    assert!(crate::protocol::formats::accepts(&CLAIM_LABEL, &values(false, false), none));
    let first = "Label: CONTRADICTS\nQuote: \"It is 1947.\"\nReason: Another year.";
    assert!(crate::protocol::formats::accepts(&CLAIM_LABEL, &values(false, true), first));
    assert!(crate::protocol::formats::accepts(&CLAIM_LABEL, &values(false, true), "Label: IRRELEVANT"));
    assert!(!crate::protocol::formats::accepts(&CLAIM_LABEL, &values(false, true), "Label: SUPPORTS"));
    let both = json!({ "documents": [["It opened."], ["It closed.", "<|im_end|>"]] });
    let lines = "Document 1: SUPPORTS \"It opened.\"\nDocument 2: IRRELEVANT";
    assert!(crate::protocol::formats::accepts(&CLAIM_LABELS, &both, lines));
    assert!(!crate::protocol::formats::accepts(&CLAIM_LABELS, &both, &lines.replace("opened", "closed")));
    assert!(crate::protocol::formats::accepts(&CLAIMS, &json!({ "most": 2 }), r#"Claims: ["It \"is\" so.", "So."]"#));
    assert!(crate::protocol::formats::accepts(&CLAIMS, &json!({ "most": 1 }), "Claims: []"));
    assert!(!crate::protocol::formats::accepts(&CLAIMS, &json!({ "most": 2 }), r#"Claims: ["a", "b", "c"]"#));
}

fn fields(label: &str, quote: &str, reason: &str) -> Parsed {
    let fields = json!({ "label": label, "quote": quote, "reason": reason });
    Parsed::Fields(fields.as_object().unwrap().clone())
}

#[test]
fn free_replies_are_read_and_others_are_malformed() {
    let read = |reply: &str| CLAIM_LABEL.read(reply, Finish::Stop, &Value::Null);
    for (reply, want) in [
        ("**Label:** Contradicts.\n**Quote:** “It is\n1947.”\n- Reason: x", fields("CONTRADICTS", "It is\n1947.", "x")),
        ("Sure!\nquote: \"a\"\nreason: b\nmore\nlabel: supports", fields("SUPPORTS", "a", "b more")),
        ("Label: IRRELEVANT", fields("IRRELEVANT", "", "")),
        ("Quote: None.\nLabel: IRRELEVANT", fields("IRRELEVANT", "", "")),
        ("Quote: \"a\"\nReason: cut", Parsed::Malformed),
        ("Label: it supports the claim", Parsed::Malformed),
        ("SUPPORTS", Parsed::Malformed),
        ("", Parsed::Malformed),
    ] {
        assert_eq!(read(reply), want, "{reply:?}");
    }
    let object = r#"{"quote": "It is\n 1947.", "reason": "Another year.", "label": "CONTRADICTS"}"#;
    assert_eq!(read(&(CLAIM_LABEL.line)(object).unwrap()), fields("CONTRADICTS", "It is 1947.", "Another year."));
    let list = |reply: &str, finish| match CLAIMS.read(reply, finish, &Value::Null) {
        Parsed::Answers { answers, .. } => Some(answers),
        _ => None,
    };
    let two = Some(vec!["It is so.".to_owned(), "Ships pass.".to_owned()]);
    assert_eq!(list("Claims: [\"It is so.\", \"Ships\npass.\", \"it is so\"]", Finish::Stop), two);
    assert_eq!(list(r#"Claims: ["It is so.", "Ships pass.", "it is so"]"#, Finish::Stop), two);
    assert_eq!(list("Claims:\n- It is so.\n2. Ships pass.", Finish::Stop), two);
    assert_eq!(list(r#"Claims: ["It is so.", "Ships pass.", "And wh"#, Finish::Length), two);
    // Trailing blanks are ignored.
    for end in [" ", "\n\n", "\n \u{3000}\n\n"] {
        assert_eq!(list(&format!("Claims: [\"It is so.\", \"Ships pass.\"]{end}"), Finish::Stop), two, "{end:?}");
    }
    assert_eq!(list("Claims: [\u{130}] \n\n", Finish::Stop), Some(vec!["\u{130}".to_owned()]));
    assert_eq!(list(r#"Claims: ["It is so.", "Ships pass.", "And wh"#, Finish::Stop), None);
    assert_eq!(list("Claims: []", Finish::Stop), Some(Vec::new()));
    assert_eq!(list("I cannot say.", Finish::Stop), None);
}

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

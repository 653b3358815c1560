//! Results that do not count or are left out: failed and malformed labels, cut replies, long lists of claims and long
//! documents.

use super::{BRIDGE, claims, hold, labeller, question};
use crate::methods::{prompt, typed};
use moot::MootError;
use moot::answers::quote::locate;
use moot::assess::{Neither, score};
use moot::eval::metrics::{METRICS, detection};
use moot::generation::Finish;
use moot::llm::Call;
use moot::llm::scripted::Scripted;
use moot::methods;
use moot::protocol::claims::{CLAIM_LABEL, CLAIM_LABELS};
use moot::protocol::ctx::{Settings, Silent, Tools};
use moot::question::{Claim, ClaimRelation, DocumentLabel, Question};
use moot::transcript::{Event, Parsed, QuestionRecord};
use serde_json::{Value, json};

fn metric(record: &QuestionRecord, name: &str) -> Option<f64> {
    METRICS.iter().find(|metric| metric.name == name).unwrap().of(record)
}

fn one_claim(texts: &[&str]) -> Question {
    let claim = Claim { text: "It opened in 1931.".into(), conflict: Some(false), ..Claim::default() };
    Question { claims: vec![claim], ..question("", texts) }
}

fn fallbacks(record: &QuestionRecord) -> Vec<String> {
    let what = |event: &Event| if let Event::Fallback { what, .. } = event { Some(what.clone()) } else { None };
    record.events.iter().filter_map(what).collect()
}

#[test]
fn without_any_label_there_is_no_answer_and_no_score() {
    let malformed = Scripted::new(|_| "?".into());
    let failing = Scripted::failing(|call| Err(MootError::Question(format!("{}: refused", call.what))));
    for (llm, name) in [(malformed, "malformed-labels"), (failing, "failed-labels")] {
        let record = hold(&one_claim(&BRIDGE), &[], Tools::new(&llm), &Settings::default());
        let conclusion = record.conclusion.as_ref().unwrap();
        assert!(conclusion.malformed && conclusion.answers.is_empty(), "{name}: {conclusion:?}");
        for neither in [Neither::LeftOut, Neither::Zero] {
            let scores = score::scores(claims(&record), neither);
            assert_eq!((scores.cs_c, scores.cs_r), (None, None), "{name}");
        }
        assert_eq!((metric(&record, "cs-c"), metric(&record, name)), (None, Some(3.0)));
        assert_eq!(detection::tally(&record), Some([0.0, 1.0, 0.0, 0.0]), "no answer is the wrong one");
    }
    // One label is enough.
    let llm = Scripted::new(|call| if prompt(call).contains("Soup") { "Label: IRRELEVANT".into() } else { "?".into() });
    let record = hold(&one_claim(&BRIDGE), &[], Tools::new(&llm), &Settings::default());
    assert_eq!(record.conclusion.as_ref().unwrap().answers[0].text, "No Conflict");
    assert_eq!((metric(&record, "cs-c"), metric(&record, "malformed-labels")), (Some(0.0), Some(2.0)));
    assert_eq!((metric(&record, "claims-with-neither"), metric(&record, "unsure-labels")), (Some(1.0), Some(0.0)));
}

#[test]
fn a_reply_that_was_cut_inside_of_its_quote_is_malformed() {
    let read = |reply: &str, finish| CLAIM_LABEL.read(reply, finish, &Value::Null);
    let label = |parsed: Parsed| {
        if let Parsed::Fields(fields) = parsed { fields["label"].as_str().map(str::to_owned) } else { None }
    };
    let cut = "Label: CONTRADICTS\nQuote: \"The bridge was ope";
    assert_eq!(read(cut, Finish::Length), Parsed::Malformed);
    assert_eq!(read("Label: CONTRADICTS\nQuote: \"", Finish::Length), Parsed::Malformed);
    assert_eq!(read("Label: SUPPORTS\nQuote: The bridge was ope", Finish::Length), Parsed::Malformed);
    assert!(label(read(cut, Finish::Stop)).is_some(), "the reply of a model that forgot the mark");
    for whole in [
        "Label: CONTRADICTS\nQuote: \"It opened.\"",
        "Label: CONTRADICTS\nQuote: \"It opened.\"\nReason: It was ope",
        "Label: CONTRADICTS\nQuote: It opened.\nReason: It",
    ] {
        assert_eq!(label(read(whole, Finish::Length)).as_deref(), Some("CONTRADICTS"), "{whole}");
    }
    assert_eq!(label(read("Label: IRRELEVANT\nQuote: \"no", Finish::Length)).as_deref(), Some("IRRELEVANT"));
    let values = json!({ "documents": [["It opened."], ["It closed."]] });
    let lines = |reply: &str, finish| match CLAIM_LABELS.read(reply, finish, &values) {
        Parsed::Fields(fields) => fields["labels"].as_array().unwrap().len(),
        _ => 0,
    };
    assert_eq!(lines("Document 1: SUPPORTS \"It opened.\"\nDocument 2: CONTRADICTS \"It clo", Finish::Length), 1);
    assert_eq!(lines("Document 1: SUPPORTS \"It opened.\"\nDocument 2: CONTRADICTS", Finish::Length), 1);
    assert_eq!(lines("Document 1: SUPPORTS \"It opened.\"\nDocument 2: IRRELEVANT", Finish::Length), 2);
    assert_eq!(lines("Document 1: SUPPORTS \"It opened.\"\nDocument 2: CONTRADICTS \"It clo", Finish::Stop), 2);
}

/// A quote has room for the two longest sentences of its document in any script.
#[test]
fn replies_have_room_for_the_longest_quote() {
    let hindi = "पुल का उद्घाटन नगर के लोगों के सामने हुआ और वे बहुत प्रसन्न थे ".repeat(8) + "।";
    let table = "1931 4,711 0.25 | ".repeat(30);
    let llm = Scripted::new(|_| "Label: IRRELEVANT".into());
    let limits = |switches: &[(&str, &str)]| -> Vec<usize> {
        let record = hold(&one_claim(&[BRIDGE[0], &hindi, &table]), switches, Tools::new(&llm), &Settings::default());
        record.calls.iter().map(|call| call.max_tokens).collect()
    };
    let sentences = limits(&[]);
    assert_eq!(sentences[0], 256, "short sentences of English have the usual room");
    assert!(sentences[1] > 480 * 2 && sentences[2] > 256, "{sentences:?}");
    assert!(limits(&[("quotes", "words")])[1] > 400 * 2);
    assert!(limits(&[("order", "quote-first")])[0] >= 256);
}

#[test]
fn claims_that_are_not_checked_are_reported() {
    let reply = |claims: usize| {
        let list: Vec<String> = (0..claims).map(|n| format!("\"Claim-{n}.\"")).collect();
        format!("Claims: [{}]", list.join(", "))
    };
    let held = |claims: usize, switches: &[(&str, &str)]| {
        let llm = Scripted::new(move |call: &Call| match call.role.as_str() {
            "decomposer" => reply(claims),
            _ => "Label: IRRELEVANT".into(),
        });
        let response = "It opened in 1931 and ships pass below it.";
        hold(&question(response, &BRIDGE[2..]), switches, Tools::new(&llm), &Settings::default())
    };
    let record = held(43, &[]);
    assert_eq!(claims(&record).len(), 40);
    assert_eq!(fallbacks(&record), ["3 claims beyond the first 40 were not checked"]);
    let shown = moot::assess::Assessment::of(&record, Neither::LeftOut).unwrap();
    assert_eq!(shown.notes, ["3 claims beyond the first 40 were not checked"]);
    for page in [moot::assess::html::page(&shown), moot::assess::markdown::page(&shown)] {
        assert!(page.contains("3 claims beyond the first 40 were not checked"), "{page}");
    }
    let record = held(2, &[("most", "2")]);
    assert_eq!(fallbacks(&record), ["a list of claims is full with 2: there may be more that were not checked"]);
    assert!(fallbacks(&held(2, &[])).is_empty());
    assert!(fallbacks(&held(5, &[("claims", "salient")])).is_empty(), "no more were wanted");
    // A list that was cut at its last token.
    let long = "It opened in 1931 and ships pass below it, so it is said. ".repeat(2);
    let llm = Scripted::new(move |call: &Call| match call.role.as_str() {
        "decomposer" => format!("Claims: [\"It opened.\", \"{}", "word ".repeat(2000)),
        _ => "Label: IRRELEVANT".into(),
    });
    let record = hold(&question(&long, &BRIDGE[2..]), &[], Tools::new(&llm), &Settings::default());
    assert_eq!(claims(&record).len(), 1);
    let told = fallbacks(&record);
    assert!(told.len() == 1 && told[0].ends_with("claims after its 1 were not checked"), "{told:?}");
}

#[test]
fn a_document_that_is_too_long_leaves_the_others_their_claims() {
    let long = "word ".repeat(900);
    let mut question = question("", &[BRIDGE[0], BRIDGE[1], &long]);
    question.responses.clear();
    let script = |call: &Call| match call.role.as_str() {
        "decomposer" => r#"Claims: ["The bridge at Orm opened in 1931."]"#.into(),
        _ => labeller(call),
    };
    let record = hold(&question, &[], Tools::new(&Scripted::new(script).with_context(900)), &Settings::default());
    let [claim] = claims(&record) else { panic!("{:?}", claims(&record)) };
    assert!(claim.labels.iter().all(DocumentLabel::counts), "{claim:?}");
    let notes = moot::assess::Assessment::of(&record, Neither::LeftOut).unwrap().notes;
    let noted = |what: &str| notes.iter().any(|note| note.contains(what));
    assert!(notes.len() == 2 && noted("decomposer of d3.txt, round 1: needs"), "{notes:?}");
    assert!(noted("d3.txt does not fit into the labeller's context: its parts are labelled"), "{notes:?}");
    // Where none fits there is nothing to compare.
    question.documents.drain(..2);
    let built = methods::build("conflict-score", &typed(&[])).unwrap();
    let llm = Scripted::new(script).with_context(900);
    let (_, error) = built.record(&question, Tools::new(&llm), &Settings::default(), &Silent);
    assert!(matches!(&error, Some(MootError::TooLong { what, .. }) if what.starts_with("decomposer")), "{error:?}");
}

/// The three messages of the retry, by what was wrong with the first reply.
#[test]
fn a_reply_without_a_quote_is_asked_for_one() {
    let free = Settings { free_form: true, ..Settings::default() };
    for (first, begins) in [
        ("Quote: none\nReason: x\nLabel: SUPPORTS", "That reply has no quote."),
        (
            "Quote: \"It cost 5.\"\nReason: x\nLabel: SUPPORTS",
            "The document does not contain the words \"It cost 5.\".",
        ),
        ("It supports it.", "That reply does not keep the format."),
    ] {
        let llm = Scripted::new(move |call: &Call| match call.prompt.messages().len() {
            1 => first.into(),
            _ => "Quote: \"Ships pass below.\"\nReason: y\nLabel: SUPPORTS".into(),
        });
        let record = hold(&one_claim(&BRIDGE[..1]), &[], Tools::new(&llm), &free);
        let said = &record.calls[1].messages[2].content;
        assert!(said.starts_with(begins), "{said}");
        let label = &claims(&record)[0].labels[0];
        assert!(label.counts() && label.relation == ClaimRelation::Supports, "{label:?}");
    }
}

/// A server is sent an object whose fields stand in the order that the prompt asks for.
#[test]
fn the_schema_has_the_order_of_the_prompt() {
    let sent = |switches: &[(&str, &str)]| -> String {
        let llm = Scripted::new(|call: &Call| call.schema.as_ref().unwrap().json.to_string());
        let record = hold(&one_claim(&BRIDGE[..1]), switches, Tools::new(&llm), &Settings::default());
        record.calls[0].reply.clone()
    };
    for (switches, fields) in [
        (&[][..], &["label", "quote", "reason"][..]),
        (&[("reasons", "false")][..], &["label", "quote"][..]),
        (&[("order", "quote-first")][..], &["quote", "reason", "label"][..]),
    ] {
        let schema: Value = serde_json::from_str(&sent(switches)).unwrap();
        let properties: Vec<&str> = schema["properties"].as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(properties, fields, "{switches:?}");
        assert_eq!(schema["required"], json!(fields));
        assert_eq!((&schema["type"], &schema["additionalProperties"]), (&json!("object"), &json!(false)));
    }
    let line = |object: &str| (CLAIM_LABEL.line)(object).unwrap();
    assert_eq!(line(r#"{"label":"SUPPORTS","quote":"It is so."}"#), "Label: SUPPORTS\nQuote: \"It is so.\"");
    assert_eq!(
        line(r#"{"quote":"a","reason":"b","label":"IRRELEVANT"}"#),
        "Quote: \"a\"\nReason: b\nLabel: IRRELEVANT"
    );
}

#[test]
fn a_quote_splits_no_word_and_no_number() {
    assert_eq!(locate("Costs fell. It costs 100 crowns, or it costs 10.", "costs 10").unwrap().characters, 39..47);
    for (document, inside) in [
        ("It cost 100 crowns.", "It cost 10"),
        ("It opened in 1931.", "opened in 19"),
        ("It opened in 1931.", "pened in 1931"),
        ("It cost 10.5 crowns.", "It cost 10"),
        ("It cost 10,000 crowns.", "It cost 10"),
        ("It cost 10.5 crowns.", "5 crowns"),
        ("पुल का उद्घाटन हुआ।", "पुल का उद्घाट"),
        ("पुल का उद्घाटन हुआ।", "पुल का उद्घ"),
    ] {
        assert_eq!(locate(document, inside), None, "{inside:?}");
    }
    assert_eq!(locate("橋は1931年に開いた。", "橋は1931年").unwrap().characters, 0..7);
    assert_eq!(locate("橋は1931年に開いた。", "橋は193"), None);
    // A sequence of letters that is cut as a piece.
    let letters = "x".repeat(500);
    assert_eq!(locate(&letters, &letters[..240]).unwrap().characters, 0..240);
    assert_eq!(locate(&letters, &letters[..239]), None);
}

/// A sentence of thirteen words may make more than three claims. A note says that a list is full, also of a short text.
#[test]
fn a_full_list_of_a_short_text_is_told() {
    let text = "Ada Quill, born in Tessin in 1840, designed bridges and wrote two books.";
    let list = |count: usize| {
        let claims: Vec<String> = (0..count).map(|number| format!("\"Claim number {number}.\"")).collect();
        format!("Claims: [{}]", claims.join(", "))
    };
    let told = |count: usize| {
        let llm =
            Scripted::new(move |call| if call.role == "decomposer" { list(count) } else { "Label: IRRELEVANT".into() });
        let asked = Question { responses: vec![text.into()], ..question("", &BRIDGE) };
        let record = hold(&asked, &[], Tools::new(&llm), &Settings::default());
        assert_eq!(record.calls[0].format_values["most"], 6);
        fallbacks(&record)
    };
    assert_eq!(told(5), Vec::<String>::new());
    assert_eq!(told(6), ["a list of claims is full with 6: there may be more that were not checked"]);
}

/// A bracket of an item begins no list, and the fields of table 7 are read as those of the program.
#[test]
fn replies_in_the_papers_words_are_read() {
    let list = |reply: &str| match moot::protocol::claims::CLAIMS.read(reply, Finish::Stop, &json!({ "most": 8 })) {
        Parsed::Answers { answers, .. } => answers,
        other => panic!("{reply}: {other:?}"),
    };
    assert_eq!(list("Claims:\n- It opened [2] in 1931.\n- It closed."), ["It opened [2] in 1931.", "It closed."]);
    assert_eq!(list("Claims: [\"It opened [2].\"]"), ["It opened [2]."]);
    let label = |reply: &str| match CLAIM_LABEL.read(reply, Finish::Stop, &Value::Null) {
        Parsed::Fields(fields) => ["label", "quote", "reason"].map(|name| fields[name].as_str().unwrap().to_owned()),
        other => panic!("{reply}: {other:?}"),
    };
    let want = ["CONTRADICTS", "It opened in 1932.", "The years differ."];
    assert_eq!(label("Quote: \"It opened in 1932.\"\nReasoning: The years differ.\nLabel: CONTRADICTS"), want);
    let object = r#"{"claim": "x", "document_snippet": "It opened in 1932.", "reasoning": "The years differ.", "answer": "CONTRADICTS"}"#;
    assert_eq!(label(object), want);
    assert_eq!(label(&format!("```json\n{object}\n```")), want);
}

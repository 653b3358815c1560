//! ConflictScore: exact prompts, labels and quotes, retries, variants, failures.

mod entailment;
mod faults;
mod feedback;
mod inference;
mod replies;
mod scored;
mod together;

use super::{fallbacks, prompt, typed};
use crate::protocol::ctx::{Shelf, passage};
use moot::MootError;
use moot::assess::{Neither, score};
use moot::llm::Call;
use moot::llm::scripted::Scripted;
use moot::methods;
use moot::protocol::ctx::{Settings, Silent, Tools};
use moot::protocol::{Built, Row};
use moot::question::{Claim, ClaimRelation, Document, JudgedClaim, LabelFault, Question};
use moot::transcript::{Event, QuestionRecord};

fn question(response: &str, texts: &[&str]) -> Question {
    let document = |(i, text): (usize, &&str)| Document {
        name: format!("d{}.txt", i + 1),
        text: (*text).to_owned(),
        ..Document::default()
    };
    Question {
        id: "asked".into(),
        responses: vec![response.to_owned()],
        documents: texts.iter().enumerate().map(document).collect(),
        ..Question::default()
    }
}

/// The preset `tuned`, with these switches.
fn tuned(method: &str, switches: &[(&str, &str)]) -> Built {
    let row = Row::named(method).unwrap();
    row.build_preset(row.preset("tuned").unwrap(), &typed(switches)).unwrap()
}

fn hold(question: &Question, switches: &[(&str, &str)], tools: Tools<'_>, settings: &Settings) -> QuestionRecord {
    let built = tuned("conflict-score", switches);
    let (record, error) = built.record(question, tools, settings, &Silent);
    assert!(error.is_none(), "{error:?}");
    record
}

fn claims(record: &QuestionRecord) -> &[JudgedClaim] {
    record.conclusion.as_ref().unwrap().claims.as_deref().unwrap()
}

const BRIDGE: [&str; 3] = [
    "The bridge at Orm was planned for long.\nIt opened\n  in 1931. Ships pass below.",
    "Orm's bridge opened in 1947, after the war.",
    "Soup is served at noon.",
];

/// Labels by the words of the prompt; the decomposer gives two claims.
fn labeller(call: &Call) -> String {
    if call.role == "decomposer" {
        return r#"Claims: ["The bridge at Orm opened in 1931.", "Ships pass below the bridge at Orm."]"#.into();
    }
    let prompt = prompt(call);
    let (document, claim) = prompt.split_once("\n\nClaim: ").unwrap();
    let said = |quote: &str, label: &str| format!("Quote: {quote}\nReason: So it says.\nLabel: {label}");
    match (claim.contains("1931"), document.contains("planned"), document.contains("1947")) {
        (true, true, _) => said("\"It opened in 1931.\"", "SUPPORTS"),
        (true, _, true) => said("\"Orm's bridge opened in 1947, after the war.\"", "CONTRADICTS"),
        (false, true, _) => said("\"Ships pass below.\"", "SUPPORTS"),
        _ => said("none", "IRRELEVANT"),
    }
}

#[test]
fn claims_are_labelled_with_quotes_and_origins() {
    let question = question("It opened in 1931, and ships pass below it.", &BRIDGE);
    let llm = Scripted::new(labeller);
    let record = hold(&question, &[], Tools::new(&llm), &Settings::default());
    let [opened, ships] = claims(&record) else { panic!("{:?}", claims(&record)) };
    let relations = |claim: &JudgedClaim| claim.labels.iter().map(|label| label.relation).collect::<Vec<_>>();
    use ClaimRelation::{Contradicts, Irrelevant, Supports};
    assert_eq!(relations(opened), [Supports, Contradicts, Irrelevant]);
    assert_eq!(relations(ships), [Supports, Irrelevant, Irrelevant]);
    for label in opened.labels.iter().chain(&ships.labels) {
        let text = &question.documents[label.document].text;
        assert!(label.counts() && label.quote.as_ref().is_none_or(|quote| quote.stands_in(text)), "{label:?}");
        assert_eq!(label.quote.is_some(), label.relation != Irrelevant);
    }
    let quote = opened.labels[0].quote.as_ref().unwrap();
    assert_eq!((quote.text.as_str(), quote.characters.clone()), ("It opened\n  in 1931.", 40..60));
    assert_eq!(opened.labels[1].reason, "So it says.");
    // One list of claims, then a call a pair, document by document.
    let calls: Vec<_> = record.calls.iter().map(|call| (call.role.as_str(), call.stage, call.document)).collect();
    let pairs = [0, 0, 1, 1, 2, 2].map(|document| ("labeller", 1, Some(document)));
    assert_eq!((calls[0], &calls[1..]), (("decomposer", 0, None), &pairs[..]));
    assert_eq!(opened.labels[1].calls, [3]);
    let conclusion = record.conclusion.as_ref().unwrap();
    assert_eq!((conclusion.answers[0].text.as_str(), conclusion.malformed), ("Conflict", false));
    let scores = score::scores(claims(&record), Neither::LeftOut);
    assert_eq!((scores.cs_c, scores.cs_r), (Some(0.5), Some(0.25)));
}

/// Without a grammar a quote that does not stand in the document is asked for once more, and no more than once.
#[test]
fn a_false_quote_is_asked_for_again_where_no_grammar_holds() {
    let question = question("It opened in 1931.", &BRIDGE[..2]);
    let free = Settings { free_form: true, ..Settings::default() };
    let wrong = "Quote: \"It opened in May 1931.\"\nReason: x\nLabel: SUPPORTS";
    let script = move |second: &'static str| {
        move |call: &Call| {
            let document = call.prompt.messages()[0].content.contains("planned");
            match (call.role.as_str(), call.prompt.messages().len()) {
                ("decomposer", _) => r#"Claims: ["The bridge opened in 1931."]"#.to_owned(),
                (_, 1) if document => wrong.to_owned(),
                (_, 1) => "I think it contradicts that.".to_owned(),
                (_, _) => second.to_owned(),
            }
        }
    };
    let llm = Scripted::new(script("Quote: \"it opened in 1931\"\nReason: y\nLabel: CONTRADICTS"));
    let record = hold(&question, &[], Tools::new(&llm), &free);
    let [claim] = claims(&record) else { panic!("one claim") };
    assert!(claim.labels.iter().all(|label| label.fault == Some(LabelFault::Unquoted)), "{claim:?}");
    assert_eq!(claim.labels[0].misquote, "it opened in 1931");
    assert_eq!((record.calls.len(), record.calls[3].round), (5, 2));
    let turns = &record.calls[3].messages;
    assert_eq!((turns.len(), turns[1].content.as_str()), (3, wrong));
    assert!(turns[2].content.starts_with("The document does not contain the words \"It opened in May 1931.\"."));
    assert!(record.calls[4].messages[2].content.starts_with("That reply does not keep the format."));
    let scores = score::scores(claims(&record), Neither::LeftOut);
    assert_eq!((scores.unquoted, scores.conflicting, scores.cs_r), (2, 0, None));

    let llm = Scripted::new(script("Quote: \"It opened in 1931.\"\nReason: y\nLabel: SUPPORTS"));
    let record = hold(&question, &[], Tools::new(&llm), &free);
    let labels = &claims(&record)[0].labels;
    assert!(labels[0].counts() && labels[0].calls == [1, 3], "{labels:?}");
    assert_eq!(labels[1].fault, Some(LabelFault::Unquoted), "it stands in the other document");
    // A retry that is worse does not lose the first label.
    let llm = Scripted::new(script("..."));
    let labels = claims(&hold(&question, &[], Tools::new(&llm), &free))[0].labels.clone();
    assert_eq!((labels[0].relation, labels[0].misquote.as_str()), (ClaimRelation::Supports, "It opened in May 1931."));
    assert_eq!(labels[1].fault, Some(LabelFault::Malformed));
    // With a grammar no reply needs a second call.
    let held = hold(&question, &[], Tools::new(&Scripted::new(script("..."))), &Settings::default());
    assert_eq!(held.calls.len(), 3);
    assert_eq!(claims(&held)[0].labels[0].fault, Some(LabelFault::Unquoted));
}

#[test]
fn a_call_that_fails_is_a_label_that_does_not_count() {
    let long = "word ".repeat(400);
    let question = question("It opened in 1931.", &[BRIDGE[0], BRIDGE[1], " \n"]);
    let llm = Scripted::failing(|call| match call.what.contains("d2.txt") {
        true => Err(MootError::Question(format!("{}: refused", call.what))),
        false => Ok(labeller(call)),
    });
    let record = hold(&question, &[], Tools::new(&llm), &Settings::default());
    let labels = &claims(&record)[0].labels;
    assert!(labels[0].counts() && labels[2].counts(), "{labels:?}");
    assert_eq!(labels[1].fault, Some(LabelFault::Failed));
    assert!(labels[1].reason.contains("labeller of d2.txt, round 1: refused"), "{}", labels[1].reason);
    assert_eq!((labels[2].reason.as_str(), labels[2].calls.len()), ("the document is empty", 0));
    // A response that does not fit ends the question with the numbers.
    let built = methods::build("conflict-score", &typed(&[])).unwrap();
    let question = self::question(&long, &BRIDGE);
    let (_, error) =
        built.record(&question, Tools::new(&Scripted::new(labeller).with_context(500)), &Settings::default(), &Silent);
    assert!(matches!(&error, Some(MootError::TooLong { what, .. }) if what == "decomposer, round 1"), "{error:?}");
}

/// Each part is a call for the document; quotes are where they are in the whole.
#[test]
fn a_document_that_does_not_fit_is_labelled_in_parts() {
    let before = "Nothing is said of it here. ".repeat(30);
    let behind = " Soup is served at noon.".repeat(40);
    let long = format!("{before}{}{behind}", BRIDGE[0]);
    let question = question("It opened in 1931.", &[&long, BRIDGE[1]]);
    let whole = hold(&question, &[], Tools::new(&Scripted::new(labeller)), &Settings::default());
    let parts = hold(&question, &[], Tools::new(&Scripted::new(labeller).with_context(700)), &Settings::default());
    for (whole, cut) in claims(&whole).iter().zip(claims(&parts)) {
        let ([a, b], [c, d]) = (&whole.labels[..], &cut.labels[..]) else { panic!("two documents") };
        assert_eq!((c.relation, &c.quote, c.document), (a.relation, &a.quote, 0));
        assert!(c.counts() && c.calls.len() >= 2, "{c:?}");
        assert_eq!((d.relation, &d.quote, d.document, d.calls.len()), (b.relation, &b.quote, 1, 1));
        assert!(c.calls.iter().all(|&number| parts.calls[number].document == Some(0)), "each call is the document's");
    }
    let notes: Vec<&str> = fallbacks(&parts);
    assert_eq!(notes, ["d1.txt does not fit into the labeller's context: its parts are labelled"]);
}

/// No part of a document helps there: a short one is not cut into words.
#[test]
fn a_claim_that_does_not_fit_is_a_label_that_does_not_count() {
    let mut question = question("", &[&"Soup is served at noon. ".repeat(100)]);
    question.responses.clear();
    question.claims = vec![Claim { text: "word ".repeat(800), ..Claim::default() }];
    let llm = Scripted::new(labeller).with_context(700);
    let record = hold(&question, &[], Tools::new(&llm), &Settings::default());
    assert_eq!(claims(&record)[0].labels[0].fault, Some(LabelFault::Failed));
    let failures = record.events.iter().filter(|event| matches!(event, Event::Failure { .. })).count();
    assert!((3..20).contains(&failures), "{failures}");
}

#[test]
fn a_list_that_cannot_be_read_leaves_the_sentences() {
    let question = question("It opened in 1931. Ships pass below.", &BRIDGE[2..]);
    let llm = Scripted::new(|call| if call.role == "decomposer" { "?".into() } else { labeller(call) });
    let record = hold(&question, &[], Tools::new(&llm), &Settings::default());
    let texts: Vec<&str> = claims(&record).iter().map(|claim| claim.text.as_str()).collect();
    assert_eq!(texts, ["It opened in 1931.", "Ships pass below."]);
    assert_eq!(record.events.len(), 1, "the fallback is recorded");
    // A response without claims: no answer, no score, no label.
    let llm = Scripted::new(|_| "Claims: []".into());
    let record = hold(&question, &[], Tools::new(&llm), &Settings::default());
    let conclusion = record.conclusion.as_ref().unwrap();
    assert!(claims(&record).is_empty() && conclusion.answers.is_empty() && !conclusion.malformed);
    let shown = moot::assess::Assessment::of(&record, Neither::LeftOut).unwrap();
    assert!(moot::assess::html::page(&shown).contains("<p>no claims were found</p>"));
    assert!(moot::assess::markdown::page(&shown).contains("\nNo claims were found\n"));
    assert_eq!(record.calls.len(), 1);
}

/// A long response is broken down in parts that share it as their prefix.
#[test]
fn a_long_response_is_broken_down_in_parts() {
    let sentence = |n: usize| format!("Sentence {n} has exactly these nine words in all. ");
    let response: String = (0..40).map(sentence).collect();
    let llm = Scripted::new(|call| match call.role.as_str() {
        "decomposer" => {
            let prompt = prompt(call);
            let part = prompt.split("this part of the text alone:\n").nth(1).unwrap();
            format!(
                "Claims: [\"The part has {} words.\"]",
                part.split("\n\n").next().unwrap().split_whitespace().count()
            )
        }
        _ => "Label: IRRELEVANT".into(),
    });
    let record = hold(&question(&response, &BRIDGE[2..]), &[], Tools::new(&llm), &Settings::default());
    let parts: Vec<&str> = claims(&record).iter().map(|claim| claim.text.as_str()).collect();
    assert_eq!(parts, ["The part has 144 words.", "The part has 72 words."]);
    let prompts: Vec<&str> = record
        .calls
        .iter()
        .filter(|call| call.role == "decomposer")
        .map(|call| call.messages[0].content.as_str())
        .collect();
    assert_eq!(prompts.len(), 3);
    assert!(prompts.iter().all(|prompt| prompt.contains(response.trim())));
}

#[test]
fn claims_of_a_dataset_and_the_light_variants() {
    let llm = Scripted::new(|call| match call.role.as_str() {
        "decomposer" => r#"Claims: ["a b c", "d e f", "g h i", "j k l"]"#.into(),
        _ => "Label: IRRELEVANT".into(),
    });
    let asked = Question { text: "When did it open?".into(), ..question("In 1931.", &BRIDGE) };
    let texts = |question: &Question, switches: &[(&str, &str)]| -> (Vec<String>, usize) {
        let record = hold(question, switches, Tools::new(&llm), &Settings::default());
        (claims(&record).iter().map(|claim| claim.text.clone()).collect(), record.calls.len())
    };
    let whole = "The answer to the question \"When did it open?\" is: In 1931.".to_owned();
    assert_eq!(texts(&asked, &[("claims", "whole")]), (vec![whole], 3));
    assert_eq!(texts(&asked, &[("claims", "salient")]).0.len(), 3);
    assert_eq!(texts(&asked, &[("claims", "salient"), ("most", "2")]).0, ["a b c", "d e f"]);
    let given = Question { claims: vec![Claim { text: "It opened.".into(), ..Claim::default() }], ..asked };
    assert_eq!(texts(&given, &[]), (vec!["It opened.".to_owned()], 3));
}

#[test]
fn all_documents_in_one_call() {
    let llm = Scripted::new(|call| {
        let prompt = prompt(call);
        assert!(prompt.contains("Document 2:\nOrm's bridge opened in 1947"), "{prompt}");
        "Document 1: SUPPORTS \"It opened in 1931.\"\nDocument 2: CONTRADICTS \"It opened in 1931.\"".into()
    });
    let claim = Claim { text: "It opened in 1931.".into(), ..Claim::default() };
    let question = Question { claims: vec![claim], ..question("", &BRIDGE) };
    let record = hold(&question, &[("together", "true")], Tools::new(&llm), &Settings::default());
    let labels = &claims(&record)[0].labels;
    assert!(labels[0].counts() && record.calls.len() == 1);
    assert_eq!(labels[1].fault, Some(LabelFault::Unquoted), "the quote is another document's");
    assert_eq!(labels[2].fault, Some(LabelFault::Malformed), "its line is missing");
}

#[test]
fn documents_are_compared_with_each_other() {
    let mut question = question("", &[BRIDGE[0], BRIDGE[1], BRIDGE[0]]);
    question.responses.clear();
    let llm = Scripted::new(|call| match (call.role.as_str(), call.what.contains("d2.txt")) {
        ("decomposer", true) => r#"Claims: ["The bridge at Orm opened in 1947."]"#.into(),
        ("decomposer", _) => r#"Claims: ["The bridge at Orm opened in 1931."]"#.into(),
        _ => labeller(call),
    });
    let record = hold(&question, &[], Tools::new(&llm), &Settings::default());
    let from: Vec<_> = claims(&record).iter().map(|claim| (claim.from, claim.labels.len())).collect();
    assert_eq!(from, [(Some(0), 3), (Some(1), 3)], "the copy's claim is the first one's");
    assert!(claims(&record)[0].conflicts());
}

#[test]
fn evidence_is_searched_for_each_claim() {
    let mut question = question("It opened in 1931, and ships pass below it.", &[]);
    question.documents.clear();
    let llm = Scripted::new(labeller);
    let shelf = Shelf::new([
        passage("a.md", 1, None, "It was planned for long. It opened in 1931."),
        passage("b.md", 1, None, "Ships pass below it."),
    ]);
    let tools = Tools { retriever: Some(&shelf), ..Tools::new(&llm) };
    let record = hold(&question, &[], tools, &Settings::default());
    assert_eq!((record.retrieved.len(), record.events.len()), (2, 1), "one search for both claims");
    let compared: Vec<Vec<usize>> =
        claims(&record).iter().map(|claim| claim.labels.iter().map(|label| label.document).collect()).collect();
    assert_eq!(compared, [vec![0], vec![1]], "each claim with what was found for it");
    // Without documents and without a corpus there is nothing to compare with.
    let built = methods::build("conflict-score", &typed(&[])).unwrap();
    let (_, error) = built.record(&question, Tools::new(&llm), &Settings::default(), &Silent);
    assert!(error.unwrap().to_string().contains("at least 1 document"));
}

//! The data of the page: texts stored once, whole prompts, outcomes, spans, changes, claims.

use super::{data, input, simple, text, written};
use crate::eval::{answered, call, header};
use moot::eval::judgement::Outcome;
use moot::generation::{Finish, Message, Role};
use moot::question::{ClaimRelation, Document, DocumentLabel, Gold, JudgedClaim, Quote};
use moot::transcript::{CallRecord, Parsed, QuestionRecord};
use serde_json::{Value, json};

const DOCUMENT: &str = "The bridge\u{200b} was opened in 1889, \u{1f600} says the plate on its southern arch.";

fn said(answer: &str, round: usize, stage: usize) -> CallRecord {
    let parsed = Parsed::Answer { answer: Some(answer.into()), explanation: "It says \"OPENED in 1889\".".into() };
    let reply = format!("Answer: {answer}. Explanation: It says \"OPENED in 1889\".");
    let prompt = format!("Read this.\nDocument: {DOCUMENT}\nRound {round}.");
    CallRecord {
        role: "agent".into(),
        round,
        document: Some(0),
        messages: vec![Message { role: Role::User, content: prompt }],
        ..call(stage, &reply, parsed)
    }
}

/// One document, two rounds, another answer in the second.
fn debate() -> QuestionRecord {
    let mut record = answered("q1", &["1889"], &["1901"], &["1889"]);
    record.question.documents = vec![Document { name: "a".into(), text: DOCUMENT.into(), ..Document::default() }];
    record.calls = vec![said("1901", 1, 0), said("1889", 2, 1)];
    record
}

#[test]
fn prompts_are_whole_and_texts_are_stored_once() {
    let page = written(vec![input("a.jsonl", header(), vec![debate()])]);
    let question = data(&page, "data-0");
    let run = &question["runs"][0];
    for (number, call) in debate().calls.iter().enumerate() {
        let turn = &run["calls"][number]["sent"][0];
        let joined: String = turn[1].as_array().unwrap().iter().map(|piece| text(&page, piece)).collect();
        // A zero-width space is not shown anywhere.
        assert_eq!((turn[0].as_str(), joined), (Some("user"), call.messages[0].content.replace('\u{200b}', "")));
        assert_eq!(text(&page, &run["calls"][number]["reply"]), call.reply);
    }
    let document = &question["documents"][0]["text"];
    assert!(run["calls"][0]["sent"][0][1].as_array().unwrap().contains(document), "the document's own number");
    let shown = "The bridge was opened in 1889, \u{1f600} says the plate on its southern arch.";
    assert_eq!(text(&page, document), shown);
    let texts = data(&page, "data-texts");
    let holding = texts.as_array().unwrap().iter().filter(|text| text.as_str().unwrap().contains("southern arch"));
    assert_eq!(holding.count(), 1);
}

#[test]
fn spans_are_offsets_in_the_text_as_shown() {
    let page = written(vec![input("a.jsonl", header(), vec![debate()])]);
    let question = data(&page, "data-0");
    let shown: Vec<u16> = text(&page, &question["documents"][0]["text"]).encode_utf16().collect();
    let spans: Vec<(String, String)> = question["runs"][0]["marks"]["0"]
        .as_array()
        .unwrap()
        .iter()
        .map(|span| {
            let at = |end: usize| span[end].as_u64().unwrap() as usize;
            (String::from_utf16(&shown[at(0)..at(1)]).unwrap(), span[2].as_str().unwrap().to_owned())
        })
        .collect();
    let want = [("opened in 1889", "quote"), ("1889", "answer")];
    assert_eq!(spans, want.map(|(words, kind)| (words.to_owned(), kind.to_owned())));
}

#[test]
fn a_wrong_answer_of_several_documents_is_shown_once() {
    let question = answered("q1", &["yes"], &["no", "never", "no"], &["yes"]);
    let page = written(vec![input("a.jsonl", header(), vec![question])]);
    let wrong = data(&page, "data-0")["gold"]["wrong"].clone();
    let shown: Vec<String> = wrong.as_array().unwrap().iter().map(|number| text(&page, number)).collect();
    assert_eq!(shown, ["no", "never"]);
}

#[test]
fn a_changed_answer_is_marked_with_the_earlier_one() {
    let page = written(vec![input("a.jsonl", header(), vec![debate()])]);
    let calls = data(&page, "data-0")["runs"][0]["calls"].clone();
    assert_eq!((&calls[0]["changed"], &calls[0]["judged"]), (&Value::Null, &json!("wrong")));
    assert_eq!(
        (&calls[1]["changed"], &calls[1]["was"], &calls[1]["judged"]),
        (&json!(true), &json!("1901"), &json!("right"))
    );
    // The same answer in other letters is not a change.
    let mut same = debate();
    same.calls[0] = said("  the 1889", 1, 0);
    let page = written(vec![input("a.jsonl", header(), vec![same])]);
    assert_eq!(data(&page, "data-0")["runs"][0]["calls"][1]["changed"], Value::Null);
}

#[test]
fn abandoned_answers_and_cut_replies_are_reported() {
    let mut record = debate();
    record.calls[0].finish = Finish::Length;
    record.calls[0].reply.push_str(" And");
    let page = written(vec![input("a.jsonl", header(), vec![record.clone()])]);
    let run = data(&page, "data-0")["runs"][0].clone();
    let given_up = &run["conclusion"]["given_up"];
    assert_eq!(given_up.as_array().unwrap().len(), 1, "{given_up}");
    assert_eq!((text(&page, &given_up[0]["text"]), text(&page, &given_up[0]["now"])), ("1901".into(), "1889".into()));
    assert_eq!(given_up[0]["documents"], json!([0]));
    assert_eq!((&run["calls"][0]["cut"], &run["calls"][1]["cut"]), (&json!(true), &Value::Null));
    record.calls.remove(0);
    let page = written(vec![input("a.jsonl", header(), vec![record])]);
    assert_eq!(data(&page, "data-0")["runs"][0]["conclusion"]["given_up"], Value::Null);
}

#[test]
fn outcomes_follow_the_strict_match() {
    let of = |gold: &[&str], answers: &[&str]| Outcome::of(&answered("q", gold, &["no"], answers));
    assert_eq!(of(&["yes"], &["Yes!"]), Outcome::Right);
    assert_eq!(of(&["yes", "maybe"], &["yes"]), Outcome::Partly);
    assert_eq!(of(&["yes"], &["yes", "no"]), Outcome::Partly, "a wrong answer beside it");
    assert_eq!(of(&["yes"], &["no"]), Outcome::Wrong);
    assert_eq!(of(&["yes"], &["neither"]), Outcome::Wrong);
    assert_eq!(of(&["yes"], &[]), Outcome::Unknown);
    let mut record = answered("q", &["yes"], &[], &["yes"]);
    record.question.gold = None;
    assert_eq!(Outcome::of(&record), Outcome::Answered);
    record.question.gold = Some(Gold::none());
    record.conclusion.as_mut().unwrap().answers.clear();
    assert_eq!(Outcome::of(&record), Outcome::Right, "no answer is right");
    record.conclusion.as_mut().unwrap().malformed = true;
    assert_eq!(Outcome::of(&record), Outcome::Malformed);
    record.error = Some("the disk is full".into());
    assert_eq!(Outcome::of(&record), Outcome::Error);
    (record.error, record.conclusion) = (None, None);
    assert_eq!(Outcome::of(&record), Outcome::Error);
}

#[test]
fn records_of_one_dataset_share_their_questions() {
    let mut other = simple("other", &["no", "yes", "yes"]);
    other.record.questions[2].question.id = "q9".into();
    let page = written(vec![simple("echo", &["yes", "yes"]), other]);
    let index = data(&page, "data-index");
    let questions = index["groups"][0]["questions"].as_array().unwrap();
    let rows: Vec<(&Value, &Value, &Value, &Value)> =
        questions.iter().map(|q| (&q["id"], &q["runs"][0][0], &q["runs"][1][0], &q["changed"])).collect();
    let (right, wrong, none) = (json!("right"), json!("wrong"), Value::Null);
    assert_eq!(
        rows,
        [
            (&json!("q1"), &right, &wrong, &json!(true)),
            (&json!("q2"), &right, &right, &json!(false)),
            (&json!("q9"), &none, &right, &json!(false)),
        ]
    );
    let first = data(&page, "data-0");
    assert_eq!(first["documents"].as_array().unwrap().len(), 1, "both records have the same one");
    assert_eq!((&first["runs"][0]["documents"], &first["runs"][1]["documents"]), (&json!([0]), &json!([0])));
}

#[test]
fn records_of_two_datasets_are_two_groups() {
    let mut other = simple("other", &["no"]);
    other.record.header.dataset.as_mut().unwrap().sha256 = "12".repeat(32);
    let page = written(vec![simple("echo", &["yes"]), other]);
    let index = data(&page, "data-index");
    let names: Vec<&Value> = index["groups"].as_array().unwrap().iter().map(|group| &group["records"]).collect();
    assert_eq!(names, [&json!(["echo"]), &json!(["other"])]);
    assert_eq!(index["groups"][1]["questions"][0]["number"], 1, "numbers go on");
}

#[test]
fn claims_keep_verified_quotes_and_the_reasons_against_others() {
    let mut record = debate();
    let label = |relation, quote: Option<(usize, usize)>, misquote: &str| DocumentLabel {
        document: 0,
        relation,
        fault: (!misquote.is_empty()).then_some(moot::question::LabelFault::Unquoted),
        quote: quote.map(|(start, end)| Quote {
            text: DOCUMENT.chars().skip(start).take(end - start).collect(),
            characters: start..end,
        }),
        misquote: misquote.into(),
        reason: "because".into(),
        by: "labeller".into(),
        probability: Some(0.5),
        calls: vec![1],
    };
    let claim = |text: &str, label| JudgedClaim { text: text.into(), from: None, labels: vec![label] };
    record.conclusion.as_mut().unwrap().claims = Some(vec![
        claim("It was opened in 1889.", label(ClaimRelation::Supports, Some((16, 30)), "")),
        claim("It was closed in 1901.", label(ClaimRelation::Supports, Some((0, 10)), "")),
        claim("It has two arches.", label(ClaimRelation::Contradicts, None, "one arch")),
    ]);
    // A record that was changed: these words are not at the recorded offsets.
    let moved = record.conclusion.as_mut().unwrap().claims.as_mut().unwrap()[1].labels[0].quote.as_mut().unwrap();
    moved.characters = 5..15;
    let page = written(vec![input("a.jsonl", header(), vec![record])]);
    let claims = &data(&page, "data-0")["runs"][0]["claims"];
    let (first, second) = (&claims["rows"][0]["labels"][0], &claims["rows"][2]["labels"][0]);
    // One character before it is not shown.
    assert_eq!((&first["quote"], &first["fault"]), (&json!([15, 29]), &Value::Null));
    assert_eq!((&claims["rows"][1]["labels"][0]["quote"], &second["quote"]), (&Value::Null, &Value::Null));
    assert!(second["fault"].as_str().unwrap().contains("the quote is not in the document: \"one arch\""));
    assert_eq!((&claims["cs-c"], &claims["cs-r"]), (&json!("0.000"), &json!("0.000")));
}

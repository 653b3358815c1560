//! An answered question for programs.

use moot::assess::Answered;
use moot::question::{Answer, Conclusion, Conflict, ConflictKind, Document, Estimate, Question};
use moot::transcript::{CallRecord, Parsed, QuestionRecord};
use serde_json::json;
use std::collections::BTreeMap;

#[test]
fn documents_are_numbered_from_1_and_quoted() {
    let document = |name: &str, text: &str| Document { name: name.into(), text: text.into(), ..Document::default() };
    let documents = vec![
        document("board", "It rained. The ferry stopped in 1968."),
        document("almanac", "The ferry stopped in 1974."),
        document("diary", "The weather was fine."),
    ];
    let call = |(document, answer): (usize, Option<&str>)| CallRecord {
        round: 1,
        document: Some(document),
        parsed: Parsed::Answer { answer: answer.map(str::to_owned), explanation: String::new() },
        ..CallRecord::default()
    };
    let conflict = Conflict { kind: ConflictKind::Disagreement, with: "1974".into() };
    let estimate =
        Estimate { probability: 0.75, about: "the ferry".into(), features: BTreeMap::new(), conflict: Some(conflict) };
    let answers =
        vec![Answer { supporters: vec![0], opponents: vec![1], estimate: Some(estimate), ..Answer::new("1968") }];
    let rejected = vec![Answer { supporters: vec![1], opponents: vec![0], ..Answer::new("1974") }];
    let record = QuestionRecord {
        question: Question { text: "When did the ferry stop?".into(), documents, ..Question::default() },
        conclusion: Some(Conclusion { answers, rejected, rounds: 1, ..Conclusion::default() }),
        calls: [(0, Some("1968")), (1, Some("1974")), (2, None)].map(call).into(),
        ..QuestionRecord::default()
    };
    let told = json!(Answered::of("moot", &record).unwrap());
    let [answer] = told["answers"].as_array().unwrap().as_slice() else { panic!("{told}") };
    assert_eq!(
        (&answer["text"], &answer["probability"], &answer["about"]),
        (&json!("1968"), &json!(0.75), &json!("the ferry"))
    );
    assert_eq!(answer["conflict"], json!({ "kind": "disagreement", "with": "1974", "text": "disagreement with 1974" }));
    let said = |document: u8, answer: Option<&str>, quote: &str| json!([{ "document": document, "answer": answer, "quote": quote }]);
    assert_eq!(answer["for"], said(1, None, "The ferry stopped in 1968."));
    assert_eq!(answer["against"], said(2, Some("1974"), "The ferry stopped in 1974."));
    assert_eq!((&told["rejected"][0]["text"], &told["rejected"][0]["for"][0]["document"]), (&json!("1974"), &json!(2)));
    let listed: Vec<_> =
        told["documents"].as_array().unwrap().iter().map(|one| (one["number"].clone(), one["name"].clone())).collect();
    assert_eq!(listed, [(json!(1), json!("board")), (json!(2), json!("almanac")), (json!(3), json!("diary"))]);
    assert_eq!((&told["without_answer"], &told["calls"], &told["method"]), (&json!([3]), &json!(3), &json!("moot")));
    assert_eq!((&told["outcome"], &told["no_answer"]), (&json!("answered"), &json!(null)));
    assert_eq!(Answered::of("moot", &QuestionRecord::default()), None);
}

#[test]
fn a_malformed_conclusion_is_not_an_unknown_answer() {
    let of = |conclusion: Conclusion| {
        let record = QuestionRecord { conclusion: Some(conclusion), ..QuestionRecord::default() };
        let told = json!(Answered::of("moot", &record).unwrap());
        (told["outcome"].clone(), told["no_answer"].as_str().unwrap_or_default().to_owned())
    };
    let malformed = of(Conclusion { malformed: true, ..Conclusion::default() });
    assert_eq!(malformed, (json!("malformed"), "No answer: the concluding reply does not keep its format.".into()));
    assert_eq!(of(Conclusion::default()), (json!("unknown"), "Unknown: no answer was judged right.".into()));
    let claims = Conclusion { claims: Some(Vec::new()), ..Conclusion::default() };
    assert_eq!(of(claims), (json!("answered"), String::new()), "labelled claims are a conclusion without answers");
}

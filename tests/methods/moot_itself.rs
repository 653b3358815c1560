//! The transcripts of `moot`: readings, the examination, and what is concluded with which probability.

use super::record_text::is_golden;
use super::{held, prompt, question, shape};
use moot::llm::scripted::Scripted;
use moot::protocol::ctx::Tools;
use moot::question::{Conclusion, Document, Question};
use moot::transcript::QuestionRecord;

const YEARS: [&str; 4] =
    ["Mira Tolland was born in 1931.", "She was born in 1968, a blog says.", "Born in 1931, in Sandholm.", "Soup."];

/// Readers give the year of their document; the examiner says yes where the document has the value.
fn honest() -> Scripted {
    Scripted::new(|call| match call.role.as_str() {
        "reader" => {
            let document = prompt(call).rsplit_once("Document: ").unwrap().1;
            let year = ["1931", "1968"].into_iter().find(|year| document.contains(year)).unwrap_or("unknown");
            format!("About: Mira Tolland\nAnswer: {year}")
        }
        _ => {
            let (document, asked) = prompt(call).split_once("\n\nQuestion: ").unwrap();
            let value = asked.split_once("Proposed answer: ").unwrap().1.lines().next().unwrap();
            if document.contains(value) { "yes" } else { "no" }.into()
        }
    })
}

fn of(switches: &[(&str, &str)], texts: &[&str], llm: &Scripted) -> QuestionRecord {
    held("moot", switches, &question(texts), Tools::new(llm))
}

fn concluded(conclusion: &Conclusion) -> Vec<&str> {
    conclusion.answers.iter().map(|answer| answer.text.as_str()).collect()
}

#[test]
fn values_are_examined_in_their_documents_and_weighed() {
    let record = of(&[], &YEARS, &honest());
    is_golden("moot", &record);
    let reader = |document| (0, "reader", 1, Some(document));
    let examiner = |document| (1, "examiner", 2, Some(document));
    assert_eq!(shape(&record.calls), (0..4).map(reader).chain((0..3).map(examiner)).collect::<Vec<_>>());
    let conclusion = record.conclusion.unwrap();
    assert_eq!((concluded(&conclusion)[0], conclusion.rounds, conclusion.converged), ("1931", 2, false));
    let all = conclusion.answers.iter().chain(&conclusion.rejected);
    let probable: Vec<f64> = all.map(|answer| answer.estimate.as_ref().unwrap().probability).collect();
    assert!(probable.len() == 2 && probable[0] > probable[1], "{probable:?}");
}

#[test]
fn documents_that_agree_are_not_examined() {
    let record = of(&[], &[YEARS[0], YEARS[2], "Soup."], &honest());
    let conclusion = record.conclusion.unwrap();
    assert_eq!((record.calls.len(), concluded(&conclusion), conclusion.converged), (3, vec!["1931"], true));
}

#[test]
fn copies_are_one_vote_so_that_they_do_not_agree_with_each_other() {
    let long =
        format!("{} {}", "The vase of the museum is blue and was bought by the town in spring.".repeat(3), YEARS[0]);
    let record = of(&[], &[&long, &long], &honest());
    assert_eq!(record.calls.len(), 3, "one value, examined in the first copy");
    let estimate = record.conclusion.unwrap().answers[0].estimate.clone().unwrap();
    assert_eq!(estimate.features["votes"], 0.0);
}

#[test]
fn threshold_and_floor_decide_what_is_concluded() {
    let of = |threshold, floor| {
        let conclusion = of(&[("threshold", threshold), ("floor", floor)], &YEARS, &honest()).conclusion.unwrap();
        concluded(&conclusion).iter().map(|&text| text.to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(of("0", "0"), ["1931", "1968"]);
    assert_eq!(of("1", "0"), ["1931"]);
    assert!(of("1", "1").is_empty());
}

#[test]
fn malformed_and_unheld_replies_give_no_value() {
    let conclusion = of(&[], &YEARS, &Scripted::new(|_| "no line".into())).conclusion.unwrap();
    assert!(conclusion.malformed && conclusion.answers.is_empty());
    let elsewhere = Scripted::new(|_| "About: Mira\nAnswer: 1877".into());
    let conclusion = of(&[], &YEARS, &elsewhere).conclusion.unwrap();
    assert!(!conclusion.malformed && conclusion.answers.is_empty() && conclusion.rejected.is_empty());
}

#[test]
fn readers_see_source_and_date() {
    let document = Document { text: YEARS[0].into(), source: Some("parish".into()), ..Document::default() };
    let asked = Question { id: "q".into(), text: "When?".into(), documents: vec![document], ..Question::default() };
    let llm = honest();
    let record = held("moot", &[], &asked, Tools::new(&llm));
    assert!(record.calls[0].messages[0].content.contains("Document: (parish) Mira Tolland was born"));
}

//! Documents for a benchmark of sources: what is asked, what is kept, and the pools that a record of it gives.

use super::{prompt, typed};
use crate::eval::header;
use moot::MootError;
use moot::eval::record::reader::Record;
use moot::eval::sources::bench::recorded::recorded;
use moot::generation::Sampling;
use moot::llm::scripted::Scripted;
use moot::methods;
use moot::protocol::ctx::{Settings, Silent, Tools};
use moot::question::{Document, Gold, Question};
use moot::transcript::QuestionRecord;

fn question(texts: &[&str]) -> Question {
    let document = |text: &&str| Document { text: (*text).to_owned(), ..Document::default() };
    Question {
        id: "q1".into(),
        text: "Who painted the lighthouse?".into(),
        documents: texts.iter().map(document).collect(),
        gold: Some(Gold::any_of(["Orrin Hale".into(), "O. Hale".into()])),
        ..Question::default()
    }
}

const TEXTS: [&str; 3] =
    ["Nothing of it.", "Orrin Hale painted the lighthouse.", "The lighthouse was painted by O. Hale in May."];

/// Replies by role: the paraphraser forgets the answer once, the liar tells the truth once.
fn writer() -> Scripted {
    Scripted::new(|call| match call.role.as_str() {
        "filter" => "yes".into(),
        "paraphraser" if prompt(call).contains("in May") => format!("In May, {} it was.", call.seed),
        "paraphraser" => format!("It was Orrin Hale, says note {}.", call.seed),
        "inventor" => r#"Items: ["Mira Tolland", "Hale", "Bo Lenn", "mira tolland", "Cy Dorn"]"#.into(),
        _ if prompt(call).contains("Cy Dorn") => "Cy Dorn did it, actually Orrin Hale.".into(),
        _ if prompt(call).contains("Bo Lenn") => format!("Bo Lenn painted it {}.", call.seed),
        _ => "Mira Tolland painted it.".into(),
    })
}

fn made(question: &Question, llm: &Scripted, switches: &[(&str, &str)]) -> QuestionRecord {
    let built = methods::build("source-pools", &typed(switches)).unwrap();
    let (record, error) = built.record(question, Tools::new(llm), &Settings::default(), &Silent);
    assert!(error.is_none(), "{error:?}");
    record
}

#[test]
fn paraphrases_and_lies_become_the_pools_of_a_benchmark() {
    let record = made(&question(&TEXTS), &writer(), &[("paraphrases", "5")]);
    let roles: Vec<&str> = record.calls.iter().map(|call| call.role.as_str()).collect();
    // Contexts take turns: three of five are about the first; "Hale" is held by the right answer, "mira tolland" comes twice.
    let paraphrased: Vec<Option<usize>> =
        record.calls.iter().filter(|call| call.role == "paraphraser").map(|call| call.document).collect();
    assert_eq!(paraphrased, [Some(1), Some(1), Some(1), Some(2), Some(2)]);
    assert_eq!(roles.len(), 1 + 5 + 1 + 3 * 3);
    let sampled = |role: &str| {
        record.calls.iter().filter(|call| call.role == role).all(|call| call.sampling != Some(Sampling::Greedy))
    };
    assert!(sampled("paraphraser") && sampled("liar") && !sampled("filter") && !sampled("inventor"));
    let conclusion = record.conclusion.as_ref().unwrap();
    assert_eq!((conclusion.answers[0].text.as_str(), &conclusion.answers[0].supporters), ("Orrin Hale", &vec![1, 2]));
    let wrong: Vec<&str> = conclusion.rejected.iter().map(|answer| answer.text.as_str()).collect();
    assert_eq!(wrong, ["Mira Tolland", "Bo Lenn", "Cy Dorn"]);
    let all = Record { path: "pools.jsonl".into(), header: header(), questions: vec![record], torn: false };
    let found = recorded(&all, 9);
    assert_eq!((found.pools.len(), found.nothing, found.unusable), (1, 0, 0));
    let pool = &found.pools[0];
    assert_eq!((pool.id.as_str(), pool.gold.clone()), ("q1", vec!["Orrin Hale".to_owned(), "O. Hale".to_owned()]));
    assert_eq!(pool.factual.len(), 3, "{:?}", pool.factual);
    let documents: Vec<(&str, usize)> = pool.wrong.iter().map(|(wrong, texts)| (wrong.as_str(), texts.len())).collect();
    // A text that came three times is one document; one that names the right answer is none.
    assert_eq!(documents, [("Mira Tolland", 1), ("Bo Lenn", 3)]);
    assert_eq!(found.left_out, 2 + 3);
    assert_eq!(recorded(&all, 1).unusable, 1, "one wrong answer would be shared by all liars");
}

#[test]
fn nothing_is_made_of_open_questions_and_of_documents_without_the_answer() {
    for (texts, verdict, why, malformed) in [
        (&TEXTS[..], "no", "the question is not closed-ended", false),
        (&TEXTS[..], "perhaps", "the question is not closed-ended", true),
        (&TEXTS[..1], "yes", "no document holds a right answer", false),
    ] {
        let record = made(&question(texts), &Scripted::new(move |_| verdict.into()), &[]);
        let conclusion = record.conclusion.as_ref().unwrap();
        assert_eq!((record.calls.len(), conclusion.explanation.as_str(), conclusion.malformed), (1, why, malformed));
        let all = Record { path: "pools.jsonl".into(), header: header(), questions: vec![record], torn: false };
        assert_eq!((recorded(&all, 9).nothing, recorded(&all, 9).pools.len()), (1, 0));
    }
    let unanswered = Question { gold: None, ..question(&TEXTS) };
    let built = methods::build("source-pools", &typed(&[])).unwrap();
    let (_, error) = built.record(&unanswered, Tools::new(&writer()), &Settings::default(), &Silent);
    assert!(matches!(error, Some(MootError::Question(line)) if line.contains("needs a right answer, question \"q1\"")));
}

#[test]
fn a_list_that_cannot_be_read_leaves_no_wrong_answers() {
    let llm = Scripted::new(|call| match call.role.as_str() {
        "filter" => "yes".into(),
        "inventor" => "I will not.".into(),
        _ => "It was Orrin Hale.".into(),
    });
    let record = made(&question(&TEXTS), &llm, &[("paraphrases", "1"), ("contexts", "2")]);
    let conclusion = record.conclusion.as_ref().unwrap();
    assert!(conclusion.rejected.is_empty() && record.calls.len() == 3, "{:?}", record.calls.len());
    assert_eq!(record.events.len(), 1);
    let all = Record { path: "pools.jsonl".into(), header: header(), questions: vec![record], torn: false };
    assert_eq!(recorded(&all, 9).unusable, 1);
}

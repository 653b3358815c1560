//! Slices computed from records.

use super::{answered, header};
use moot::MootError;
use moot::eval::computed_slices::{SLICES, gold_retrieved};
use moot::eval::record::reader::Record;
use moot::eval::scores;
use moot::question::{Document, Gold, Hit, Label, Origin, Passage};
use moot::transcript::{Event, QuestionRecord};
use std::collections::BTreeSet;

fn hit(text: &str, title: Option<&str>) -> Hit {
    let origin = Origin { file: "c.txt".into(), id: None, line: None, page: None, characters: 0..1 };
    let title = title.map(str::to_owned);
    let passage = Passage { text: text.into(), title, source: None, date: None, url: None, notes: Vec::new(), origin };
    Hit { passage, score: 1.0, copies: Vec::new() }
}

fn retrieval(hits: Vec<Hit>) -> Event {
    Event::Retrieval { stage: 0, queries: vec!["q".into()], top: 3, by_source: false, hits: vec![hits], seconds: 0.0 }
}

/// A question whose right answer is 1884, alias "May 1884", and that read nothing.
fn bare(id: &str) -> QuestionRecord {
    let mut record = answered(id, &[], &[], &["1884"]);
    record.question.documents.clear();
    record.question.gold = Some(Gold::any_of(["the year 1884".to_owned(), "May 1884".to_owned()]));
    record
}

fn found(id: &str, hits: Vec<Hit>) -> QuestionRecord {
    QuestionRecord { events: vec![retrieval(hits)], ..bare(id) }
}

#[test]
fn an_answer_is_retrieved_where_any_text_holds_any_alias() {
    assert_eq!(gold_retrieved(&bare("x")), None, "nothing was searched");
    assert_eq!(gold_retrieved(&found("x", Vec::new())), Some(false), "nothing was found");
    assert_eq!(gold_retrieved(&found("x", vec![hit("It opened in 1884.", None)])), Some(false), "no whole alias");
    assert_eq!(gold_retrieved(&found("x", vec![hit("Soup.", None), hit("In the year 1884!", None)])), Some(true));
    assert_eq!(gold_retrieved(&found("x", vec![hit("Minutes.", Some("Council, MAY 1884"))])), Some(true), "a title");
    assert_eq!(gold_retrieved(&found("x", vec![hit("In May 18845.", None)])), Some(false), "words as wholes");
    // Documents of the question, and passages that were taken up, which are text alone in records.
    let document = |text: &str| vec![Document { text: text.into(), ..Document::default() }];
    let mut own = bare("x");
    own.question.documents = document("Opened May 1884");
    assert_eq!(gold_retrieved(&own), Some(true));
    own.question.documents = document("Soup.");
    assert_eq!(gold_retrieved(&own), Some(false));
    own.retrieved = document("May 1884");
    assert_eq!(gold_retrieved(&own), Some(true));
    // Questions for which the slice cannot be computed.
    let mut options = found("x", vec![hit("May 1884", None)]);
    options.question.options = vec!["yes".into(), "no".into()];
    let mut unanswerable = found("x", vec![hit("May 1884", None)]);
    unanswerable.question.gold = Some(Gold::none());
    let mut unknown = found("x", vec![hit("May 1884", None)]);
    unknown.question.gold = None;
    assert_eq!([options, unanswerable, unknown].map(|record| gold_retrieved(&record)), [None; 3]);
}

fn record(questions: Vec<QuestionRecord>) -> Record {
    Record { path: "drag.jsonl".into(), header: header(), questions, torn: false }
}

#[test]
fn computed_slices_are_scored_as_a_datasets_own() {
    let there = || found("there", vec![hit("May 1884", None)]);
    let mut named = found("named", vec![hit("Soup.", None)]);
    named.question.slices = vec!["2hop".into()];
    let all = record(vec![there(), named, bare("neither")]);
    let ids = |name: &str| {
        let part = scores::slice(&all, name).unwrap();
        assert_eq!(part.path.display().to_string(), format!("drag.jsonl [{name}]"));
        assert_eq!(part.header.dataset.unwrap().questions, part.questions.len());
        part.questions.into_iter().map(|question| question.question.id).collect::<Vec<_>>()
    };
    assert_eq!(
        (ids("gold-retrieved"), ids("gold-not-retrieved"), ids("2hop")),
        (vec!["there".to_owned()], vec!["named".to_owned()], vec!["named".to_owned()])
    );
    // An unknown name lists both kinds; a computed slice may be empty, which is another error.
    match scores::slice(&all, "gold").err().unwrap() {
        MootError::UnknownName { kind: "slice", known, .. } => {
            assert_eq!(
                known,
                "2hop, gold-retrieved, gold-not-retrieved, factual, misinformation, irrelevant, gold-conflict"
            );
        }
        other => panic!("{other:?}"),
    }
    let empty = scores::slice(&record(vec![there()]), "gold-not-retrieved").err().unwrap().to_string();
    assert!(empty.contains("drag.jsonl: no question is in the slice gold-not-retrieved"), "{empty}");
    // A slice of the dataset with that name is used as it is.
    let mut own = there();
    own.question.slices = vec!["gold-not-retrieved".into()];
    assert_eq!(scores::slice(&record(vec![own]), "gold-not-retrieved").unwrap().questions.len(), 1);
}

#[test]
fn the_table_is_whole() {
    let names: BTreeSet<&str> = SLICES.iter().map(|slice| slice.name).collect();
    assert!(
        names.len() == SLICES.len() && SLICES.iter().all(|slice| !slice.about.is_empty() && !slice.source.is_empty())
    );
}

/// By the labels of the documents that came with the question.
#[test]
fn slices_by_the_kinds_of_documents() {
    let labelled = |kinds: &[&str]| {
        let mut record = bare("x");
        let document = |kind: &&str| Document {
            text: "Soup.".into(),
            label: Some(Label { kind: (*kind).to_owned(), answer: "1884".into() }),
            ..Document::default()
        };
        record.question.documents = kinds.iter().map(document).collect();
        record
    };
    let of = |kinds: &[&str]| -> Vec<&str> {
        let record = labelled(kinds);
        let by_label = SLICES.iter().filter(|slice| !slice.name.starts_with("gold-") || slice.name == "gold-conflict");
        by_label.filter(|slice| (slice.holds)(&record)).map(|slice| slice.name).collect()
    };
    assert_eq!(of(&["correct", "noise"]), ["factual"]);
    assert_eq!(of(&["supporting", "distractor"]), ["factual"]);
    assert_eq!(of(&["misinfo", "misinfo"]), ["misinformation"]);
    assert_eq!(of(&["noise"]), ["irrelevant"]);
    assert_eq!(of(&["correct", "misinfo"]), [""; 0]);
    assert_eq!(of(&["yes", "no"]), ["irrelevant", "gold-conflict"]);
    assert!(!of(&["yes", "yes"]).contains(&"gold-conflict"));
    // They are known before an answer is; what is retrieved is not.
    for slice in SLICES {
        let question = labelled(&["yes", "no"]).question;
        let known = (!slice.name.contains("retrieved")).then(|| of(&["yes", "no"]).contains(&slice.name));
        assert_eq!(slice.before_answers(&question), known, "{}", slice.name);
    }
}

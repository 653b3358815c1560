//! The questions of `benches/dated`: counts by kind and half, answers in their documents, dates that parse.

use moot::answers::words::Level;
use moot::eval::datasets;
use moot::question::{Document, Question};
use std::collections::{BTreeMap, HashSet};
use std::path::Path;

const KINDS: [&str; 5] = ["date", "authority", "retraction", "exception", "namesake"];
const HALVES: [&str; 2] = ["choose", "confirm"];

fn half(name: &str) -> Vec<Question> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/dated");
    datasets::load(&folder.join(format!("{name}.jsonl"))).unwrap().questions
}

fn of_kind<'a>(question: &'a Question, kinds: &'a [&str]) -> impl Iterator<Item = &'a Document> {
    let labelled =
        |document: &&Document| document.label.as_ref().is_some_and(|label| kinds.contains(&label.kind.as_str()));
    question.documents.iter().filter(labelled)
}

/// ISO 8601 of three precisions: a year, a month, a day, each within its range.
fn parses(date: &str) -> bool {
    let parts: Vec<&str> = date.split('-').collect();
    let number = |index: usize, digits: usize| {
        parts.get(index).map_or(Some(1), |part| (part.len() == digits).then(|| part.parse().ok()).flatten())
    };
    let (year, month, day): (Option<u32>, _, _) = (number(0, 4), number(1, 2), number(2, 2));
    let within = |value: Option<u32>, most: u32| value.is_some_and(|value| (1..=most).contains(&value));
    parts.len() <= 3 && within(year, 2026) && within(month, 12) && within(day, 31)
}

#[test]
fn both_halves_have_eight_questions_of_every_kind() {
    let mut ids = HashSet::new();
    for name in HALVES {
        let questions = half(name);
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for question in &questions {
            assert!(ids.insert(question.id.clone()), "{} stands there twice", question.id);
            let [kind, of, decided] = &question.slices[..] else { panic!("{}: {:?}", question.id, question.slices) };
            assert_eq!(of, name, "{}", question.id);
            assert!(["in-header", "in-text"].contains(&decided.as_str()), "{}: {decided}", question.id);
            assert!(question.id.starts_with(&format!("{kind}-")), "{}: {kind}", question.id);
            *counts.entry(kind).or_default() += 1;
        }
        assert_eq!(counts, KINDS.map(|kind| (kind, 8)).into(), "{name}");
    }
}

#[test]
fn answers_are_in_the_documents_labelled_with_them() {
    for question in HALVES.iter().flat_map(|name| half(name)) {
        let id = &question.id;
        let gold = question.gold.as_ref().unwrap();
        assert!((3..=6).contains(&question.documents.len()), "{id}: {} documents", question.documents.len());
        let holds = |kinds: &[&str], text: &str| {
            of_kind(&question, kinds).any(|document| Level::Scored.contains(&document.text, text))
        };
        for aliases in &gold.answers {
            assert!(
                aliases.iter().any(|alias| holds(&["correct"], alias)),
                "{id}: {aliases:?} is in no correct document"
            );
            let elsewhere = aliases.iter().find(|alias| holds(&["misinfo", "noise"], alias));
            assert_eq!(elsewhere, None, "{id}: a document that is not correct holds the answer");
        }
        assert!(!gold.wrong.is_empty() && gold.answers.len() == 1, "{id}");
        for wrong in &gold.wrong {
            assert!(holds(&["misinfo"], wrong), "{id}: {wrong:?} is in no document of misinfo");
            // Else no list of answers could be scored right.
            let within = gold.aliases().find(|alias| Level::Scored.overlap(alias, wrong));
            assert_eq!(within, None, "{id}: {wrong:?} and an alias of the answer hold each other");
        }
        for document in &question.documents {
            let label = document.label.as_ref().unwrap();
            let said = match label.kind.as_str() {
                "correct" => gold.aliases().any(|alias| alias == label.answer),
                "misinfo" => gold.wrong.contains(&label.answer),
                kind => kind == "noise" && label.answer == "unknown",
            };
            assert!(said, "{id}, {}: {label:?}", document.name);
            let held = label.answer == "unknown" || Level::Scored.contains(&document.text, &label.answer);
            assert!(held, "{id}, {}: {:?} is not in the text", document.name, label.answer);
        }
    }
}

#[test]
fn documents_have_40_to_120_words_a_title_a_source_and_a_date_that_parses() {
    let mut undated = 0;
    for question in HALVES.iter().flat_map(|name| half(name)) {
        for document in &question.documents {
            let at = format!("{}, {}", question.id, document.name);
            let words = document.text.split_whitespace().count();
            assert!((40..=120).contains(&words), "{at}: {words} words");
            assert!(document.title.is_some() && document.source.is_some(), "{at}");
            undated += usize::from(document.date.is_none());
            assert!(document.date.as_deref().is_none_or(parses), "{at}: {:?}", document.date);
        }
    }
    assert!((1..10).contains(&undated), "{undated} documents without a date");
    assert!(parses("2024-02-29") && !parses("2024-13") && !parses("May 2024") && !parses("2024-1-1"));
}

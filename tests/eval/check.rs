//! Counts and problems that `moot lab check` reports.

use moot::eval::check::Check;
use moot::eval::datasets::{self, Dataset};
use serde_json::{Value, json};

fn set(items: &[Value]) -> Dataset {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("set.jsonl");
    let lines: String = items.iter().map(|item| format!("{item}\n")).collect();
    std::fs::write(&path, lines).unwrap();
    datasets::load(&path).unwrap()
}

fn ramdocs(gold: &[&str], wrong: &[&str], documents: &[(&str, &str, &str)]) -> Value {
    let documents: Vec<Value> =
        documents.iter().map(|(kind, answer, text)| json!({ "type": kind, "answer": answer, "text": text })).collect();
    json!({ "question": format!("What of {gold:?}?"), "documents": documents, "disambig_entity": [], "gold_answers": gold, "wrong_answers": wrong })
}

/// By beginning of their text, how many questions have each problem.
fn problems(items: &[Value]) -> Vec<(String, usize)> {
    let found = Check::of(&set(items)).problems;
    found.iter().map(|one| (one.what.split(':').next().unwrap().to_owned(), one.questions.len())).collect()
}

/// The eight numbers of Figure 5.
#[test]
fn the_statistics_of_ramdocs() {
    let both = ramdocs(
        &["1884", "1902"],
        &["1848"],
        &[
            ("correct", "1884", "In 1884."),
            ("correct", "1884", "It was 1884."),
            ("correct", "1902", "In 1902."),
            ("misinfo", "1848", "In 1848."),
            ("noise", "unknown", "Soup."),
        ],
    );
    let check = Check::of(&set(&[both, ramdocs(&["red"], &[], &[("correct", "red", "It is red.")])]));
    let mean = |name: &str| check.distributions.iter().find(|one| one.name == name).unwrap().mean;
    let names = ["documents", "documents, correct", "documents, misinfo", "documents, noise"];
    assert_eq!(names.map(mean), [3.0, 2.0, 0.5, 0.5]);
    let names = ["right answers", "wrong answers", "documents a right answer", "documents a wrong answer"];
    assert_eq!(names.map(mean), [1.5, 0.5, 4.0 / 3.0, 1.0]);
    let documents = check.distributions.iter().find(|one| one.name == "documents").unwrap();
    assert_eq!(documents.counts.iter().map(|(number, count)| (*number, *count)).collect::<Vec<_>>(), [(1, 1), (5, 1)]);
    assert!(check.problems.is_empty(), "{:?}", check.problems);
}

#[test]
fn questions_that_cannot_be_scored_as_they_are_meant() {
    let text = |answer| [("correct", answer, "It is Hindi, of New York City, New York; a novel of 1884.")];
    for (gold, wrong, what) in [
        (&["Hindi"][..], &["hindi"][..], "a wrong answer equals a right one"),
        (&["New York City"], &["New York"], "a wrong answer is within a right one"),
        (&["New York"], &["New York City"], "a right answer is within a wrong one"),
        (&["1902"], &[], "a right answer is in no document"),
        (&["1884"], &["1848"], "a wrong answer is in no document"),
        (&["Hindi", "hindi"], &[], "a right answer is listed twice"),
        (&["Hindi"], &["..."], "an answer has no words"),
    ] {
        let found = problems(&[ramdocs(gold, wrong, &text("Hindi"))]);
        assert!(found.contains(&(what.to_owned(), 1)), "{gold:?} {wrong:?}: {found:?}");
    }
    let item = |documents: &[(&str, &str, &str)]| problems(&[ramdocs(&["1884"], &[], documents)]);
    assert_eq!(item(&[("correct", "1884", "In 1884.")]), []);
    let twice = item(&[("correct", "1884", "In 1884."), ("correct", "1884", "In 1884. ")]);
    assert_eq!(twice, [("a document is given twice".to_owned(), 1)]);
    let lacking = item(&[("correct", "1884", "In 1884."), ("misinfo", "1848", "Soup.")]);
    assert_eq!(lacking, [("the answer of a document's label is not in the document".to_owned(), 1)]);
    let same = ramdocs(&["1884"], &[], &[("correct", "1884", "In 1884.")]);
    assert_eq!(problems(&[same.clone(), same]), [("the question is asked twice".to_owned(), 1)]);
}

#[test]
fn an_inconsistent_context_without_a_wrong_answer() {
    let item = |second: &str| {
        let context = format!("Document: The bridge was opened in 1884.\nDocument: {second}");
        json!({ "qid": "i", "question": "When?", "context": context, "answers": ["1884"] })
    };
    assert_eq!(problems(&[item("The bridge was opened in 1848.")]), []);
    let what = "documents contradict each other and no wrong answer is known".to_owned();
    assert_eq!(problems(&[item("So it was 1848.")]), [(what, 1)]);
}

//! The switch `equality` in every method that counts answers.

use crate::methods::{question, typed, usage_error};
use crate::retrieval::Letters;
use moot::llm::scripted::Scripted;
use moot::methods::{self, METHODS};
use moot::nli::{Classifier, ScriptedClassifier};
use moot::protocol::ctx::{Settings, Silent, Tools};
use moot::question::Conclusion;
use moot::retrieval::Embedder;
use moot::transcript::{Event, QuestionRecord, Relation};

const YES: Relation = Relation { entailment: 0.8, neutral: 0.1, contradiction: 0.1 };
const NO: Relation = Relation { entailment: 0.3, neutral: 0.4, contradiction: 0.3 };

/// "season two" and "second season" entail each other, and "series" entails both but is not entailed.
fn classifier() -> ScriptedClassifier {
    ScriptedClassifier::new(|pair| {
        let has = |text: &str, words: &[&str]| words.iter().any(|word| text.ends_with(word));
        let same = ["season two", "second season"];
        let entails = has(&pair.premise, &same) && has(&pair.hypothesis, &same)
            || has(&pair.premise, &["series"]) && has(&pair.hypothesis, &same);
        Some(if entails { YES } else { NO })
    })
}

#[derive(Clone, Copy)]
struct With<'a> {
    classifier: Option<&'a dyn Classifier>,
    embedder: Option<&'a dyn Embedder>,
}

fn held(method: &str, equality: &str, replies: &[&str], with: With<'_>) -> QuestionRecord {
    let llm = Scripted::list(replies.iter().map(|reply| (*reply).to_owned()).collect::<Vec<_>>());
    let texts: Vec<&str> = replies.to_vec();
    let switches = match method {
        "ra-rag" => vec![("equality", equality), ("align", "false")],
        "self-consistency" => vec![("equality", equality), ("samples", "4")],
        _ => vec![("equality", equality)],
    };
    let built = methods::build(method, &typed(&switches)).unwrap();
    let (settings, question) = (Settings::default(), question(&texts));
    let tools = Tools { classifier: with.classifier, embedder: with.embedder, ..Tools::new(&llm) };
    built.answer(&question, tools, &settings, &Silent).unwrap()
}

fn winner(record: &QuestionRecord) -> &str {
    &record.conclusion.as_ref().unwrap().answers[0].text
}

/// Replies in each method's format: 1913 twice, and the season in two ways and a near one.
const SHORT: [&str; 4] = ["1913", "season two", "second season", "Season two."];
const AGENT: [&str; 4] = [
    "Answer: 1913. Explanation: a",
    "Answer: series. Explanation: b",
    "Answer: second season. Explanation: c",
    "Answer: season two. Explanation: d",
];
const LISTS: [&str; 4] = [
    r#"All Correct Answers: ["1913", "x"]. Explanation: a"#,
    r#"All Correct Answers: ["second season"]. Explanation: b"#,
    r#"All Correct Answers: ["x", "1913"]. Explanation: c"#,
    r#"All Correct Answers: ["season two", "Second season"]. Explanation: d"#,
];

#[test]
fn answers_that_entail_each_other_are_one_answer() {
    let classifier = classifier();
    let tools = || With { classifier: Some(&classifier), embedder: None };
    // Two sources against one and one.
    let replies = ["1913", "season two", "second season"];
    let exact = held("ra-rag", "exact", &replies, tools());
    assert_eq!(winner(&exact), "1913");
    assert!(classifier.asked().is_empty() && exact.events.is_empty());
    let record = held("ra-rag", "entailment", &replies, tools());
    assert_eq!(winner(&record), "season two");
    assert_eq!(record.conclusion.as_ref().unwrap().answers[0].supporters, [1, 2]);
    // Three distinct answers, each of six ordered pairs once, in one stage, with the question before the answer.
    assert_eq!(classifier.asked().len(), 6);
    assert_eq!(classifier.asked()[0].premise, "In which year was Mira Tolland born? 1913");
    assert!(matches!(&record.events[..], [Event::Entailment { by, .. }] if by == "classifier"));
}

#[test]
fn entailment_in_one_direction_is_not_equality() {
    let classifier = classifier();
    let record = held("majority-vote", "entailment", &AGENT, With { classifier: Some(&classifier), embedder: None });
    let conclusion: &Conclusion = record.conclusion.as_ref().unwrap();
    assert_eq!((&*conclusion.answers[0].text, &conclusion.answers[0].supporters[..]), ("second season", &[2, 3][..]));
    assert_eq!(conclusion.rejected.len(), 2);
}

#[test]
fn words_are_compared_before_meaning() {
    let classifier = classifier();
    let replies = &SHORT[1..];
    let record = held("ra-rag", "entailment", replies, With { classifier: Some(&classifier), embedder: None });
    assert_eq!(record.conclusion.unwrap().answers[0].supporters, [0, 1, 2]);
    assert_eq!(classifier.asked().len(), 2, "season two stands there twice");
}

#[test]
fn lists_of_equal_answers_are_equal_lists() {
    let classifier = classifier();
    let tools = With { classifier: Some(&classifier), embedder: None };
    let record = held("self-consistency", "exact", &LISTS, tools);
    assert_eq!(winner(&record), "1913");
    // Without the second list of 1913, two of the season are more than one.
    let record = held("self-consistency", "entailment", &[LISTS[0], LISTS[1], LISTS[3], LISTS[0]], tools);
    assert_eq!(record.conclusion.unwrap().answers[0].text, "1913", "two against two: the earlier sample");
    let record = held("self-consistency", "entailment", &[LISTS[0], LISTS[1], LISTS[3], "..."], tools);
    assert_eq!(winner(&record), "second season");
}

#[test]
fn dbscan_joins_answers_with_near_vectors_and_needs_an_embedder() {
    // Letters counts letters, so an anagram has the same vector; 1913 has none of them.
    let replies = ["1913", "abba", "baab"];
    let record = held("ra-rag", "dbscan", &replies, With { classifier: None, embedder: Some(&Letters) });
    assert_eq!(winner(&record), "abba");
    assert!(matches!(&record.events[..], [Event::Embedding { texts: 3, .. }]), "{:?}", record.events);
    // A cosine of 0.99 is near enough, one of 0.89 is not.
    for (replies, want) in [(["1913", "aaab", "aab"], "aaab"), (["1913", "abba", "abbb"], "1913")] {
        let record = held("ra-rag", "dbscan", &replies, With { classifier: None, embedder: Some(&Letters) });
        assert_eq!(winner(&record), want);
    }
    let llm = Scripted::list(["1913".to_owned(), "listen".to_owned()]);
    let built = methods::build("ra-rag", &typed(&[("equality", "dbscan"), ("align", "false")])).unwrap();
    let settings = Settings::default();
    let line = usage_error(built.answer(&question(&["a", "b"]), Tools::new(&llm), &settings, &Silent));
    assert_eq!(line, "equality dbscan: expected --embedder NAME, found none");
}

#[test]
fn without_a_classifier_the_role_entailment_answers() {
    let llm = Scripted::new(|call| match call.role.as_str() {
        "entailment" => "entails".to_owned(),
        _ => {
            if call.what.contains("a.md") {
                "one".to_owned()
            } else {
                "two".to_owned()
            }
        }
    });
    let built = methods::build("ra-rag", &typed(&[("equality", "entailment"), ("align", "false")])).unwrap();
    let settings = Settings::default();
    let record = built.answer(&question(&["a", "b"]), Tools::new(&llm), &settings, &Silent).unwrap();
    assert_eq!(record.calls.iter().filter(|call| call.role == "entailment").count(), 2);
    assert_eq!(record.conclusion.unwrap().answers[0].supporters, [0, 1]);
}

#[test]
fn every_method_that_counts_answers_has_the_switch() {
    for name in ["ra-rag", "ra-rag-long", "majority-vote", "self-consistency"] {
        let row = METHODS.iter().find(|row| row.name == name).unwrap();
        assert!(
            row.needs.equality && row.needs.entails() && row.switches.iter().any(|switch| switch.name == "equality")
        );
    }
    assert!(
        METHODS.iter().all(|row| row.needs.equality == row.switches.iter().any(|switch| switch.name == "equality"))
    );
}

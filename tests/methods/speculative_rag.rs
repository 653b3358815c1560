//! Speculative RAG's transcripts: subsets, drafts, and both ways to conclude.

use super::record_text::is_golden;
use super::{answer, four, prompt, question, typed};
use crate::protocol::ctx::Shelf;
use crate::retrieval::Letters;
use moot::generation::Segment;
use moot::llm::Call;
use moot::llm::scripted::Scripted;
use moot::methods;
use moot::protocol::ctx::{Settings, Silent, Tools};
use moot::protocol::switches::Typed;
use moot::question::{Document, Question};
use moot::transcript::{CallRecord, Event, Parsed, QuestionRecord};
use moot::{MootError, Result};
use std::collections::BTreeSet;

/// A draft that gives the first year in its documents.
fn draft(call: &Call) -> String {
    let asked = prompt(call);
    let year = ["1931", "1968", "1913"].into_iter().filter_map(|year| Some((asked.find(year)?, year))).min();
    let (answer, rationale) = match year {
        Some((_, year)) => (year, format!("A document says {year}.")),
        None => ("unknown", "No document says it.".to_owned()),
    };
    match asked.contains("Thought: {your rationale}") {
        true => format!("Thought: {rationale}\nAnswer: {answer}"),
        false => format!("Answer: {answer}. Explanation: {rationale}"),
    }
}

fn usual(call: &Call) -> String {
    match call.role.as_str() {
        "aggregator" => r#"All Correct Answers: ["1931", "1968"]. Explanation: Two women."#.into(),
        _ => draft(call),
    }
}

fn record(switches: &Typed, question: &Question, tools: Tools<'_>) -> QuestionRecord {
    let settings = Settings::default();
    methods::build("speculative-rag", switches).unwrap().answer(question, tools, &settings, &Silent).unwrap()
}

fn drafts(calls: &[CallRecord]) -> Vec<&CallRecord> {
    calls.iter().filter(|call| call.role == "drafter" && call.round == 1).collect()
}

/// The documents of a draft, as its prompt shows them.
fn shown(call: &CallRecord) -> Vec<&str> {
    call.messages[0]
        .content
        .lines()
        .filter_map(|line| line.strip_prefix("Document ")?.split_once(": "))
        .map(|(_, text)| text)
        .collect()
}

fn with_texts(texts: &[String]) -> Question {
    let document = |text: &String| Document { name: text.clone(), text: text.clone(), ..Document::default() };
    Question { documents: texts.iter().map(document).collect(), ..four() }
}

#[test]
fn all_drafts_go_to_the_aggregator() {
    let llm = Scripted::new(usual);
    let record = record(&Typed::new(), &four(), Tools::new(&llm));
    let drafted = drafts(&record.calls);
    assert_eq!((drafted.len(), record.calls.len()), (5, 6));
    let subsets: BTreeSet<Vec<&str>> = drafted.iter().map(|call| shown(call)).collect();
    assert!(subsets.len() == 5 && subsets.iter().all(|subset| subset.len() == 2), "{subsets:?}");
    assert!(matches!(&record.events[..], [Event::Fallback { what, .. }] if what.contains("embedder")));
    let told = &record.calls[5].messages[0].content;
    for (index, call) in drafted.iter().enumerate() {
        let Parsed::Answer { answer, explanation } = &call.parsed else { panic!("{:?}", call.parsed) };
        let line = format!("Response {}: {}. Rationale: {explanation}", index + 1, answer.as_deref().unwrap());
        assert!(told.lines().any(|told| told == line), "{line}\n{told}");
    }
    let conclusion = record.conclusion.unwrap();
    assert_eq!(
        (conclusion.answers[0].mentions.as_slice(), conclusion.answers[1].mentions.as_slice()),
        (&[0][..], &[1][..])
    );
    assert_eq!((conclusion.explanation.as_str(), conclusion.calls), ("Two women.", vec![5]));
}

#[test]
fn an_embedder_puts_the_documents_into_clusters() {
    let texts: Vec<String> = ["aaaa 1931", "aaa 1968", "aaaaa 1913", "bbbb 1931", "bbb 1968"].map(String::from).into();
    let (llm, question) = (Scripted::new(usual), with_texts(&texts));
    let tools = Tools { embedder: Some(&Letters), ..Tools::new(&llm) };
    let switches = typed(&[("drafts", "64")]);
    let first = record(&switches, &question, tools);
    // Three documents of one cluster and two of the other: six subsets, each of one of each.
    let drafted = drafts(&first.calls);
    let subsets: BTreeSet<Vec<&str>> = drafted.iter().map(|call| shown(call)).collect();
    assert_eq!((drafted.len(), subsets.len()), (6, 6));
    let of_both = |subset: &Vec<&str>| subset.len() == 2 && subset[0].contains('a') && subset[1].contains('b');
    assert!(subsets.iter().all(of_both), "{subsets:?}");
    let [Event::Embedding { stage: 0, texts: 5, by, .. }] = &first.events[..] else { panic!("{:?}", first.events) };
    assert_eq!((by.as_str(), drafted[0].stage), ("letters", 1));
    let again = record(&switches, &question, tools);
    let prompts = |record: &QuestionRecord| record.calls.iter().map(|call| call.messages.clone()).collect::<Vec<_>>();
    assert_eq!(prompts(&first), prompts(&again), "by chance, but the same chance");
}

#[test]
fn equal_documents_are_one_cluster() {
    let texts: Vec<String> = (0..4).map(|i| format!("a {i}")).collect();
    let llm = Scripted::new(usual);
    let tools = Tools { embedder: Some(&Letters), ..Tools::new(&llm) };
    let record = record(&Typed::new(), &with_texts(&texts), tools);
    assert_eq!(drafts(&record.calls).iter().map(|call| shown(call).len()).collect::<Vec<_>>(), [1; 4]);
}

/// Scores of words: a draft that says 1931 is less probable by its documents, but the verifier knows it.
fn scores(call: &Call, word: &str) -> f32 {
    let first = call.prefill.iter().any(|part| part.text().contains("1931")) || prompt(call).contains("Answer: 1931");
    match (call.role.as_str(), word) {
        ("verifier", "Yes") => [-3.0, -0.25][usize::from(first)],
        ("verifier", _) => [-1.0, -0.5][usize::from(first)],
        _ => [-0.25, -0.5][usize::from(first)],
    }
}

#[test]
fn the_original_takes_the_draft_with_the_best_product_of_scores() {
    let llm = Scripted::new(usual).with_scores(scores);
    let record = record(&typed(&[("selection", "original")]), &four(), Tools::new(&llm));
    is_golden("speculative_rag.original", &record);
    let (conclusion, calls) = (record.conclusion, record.calls);
    let drafted = drafts(&calls).len();
    assert_eq!((drafted, calls.len()), (5, 25));
    let judged = &calls[5..9];
    let prefills: Vec<String> = judged.iter().map(|call| call.prefill.iter().map(Segment::text).collect()).collect();
    let Parsed::Answer { answer: Some(given), explanation } = &calls[0].parsed else { panic!("{:?}", calls[0].parsed) };
    let whole = format!("Thought: {explanation}\nAnswer: {given}");
    assert_eq!(prefills, [format!("Thought: {explanation}"), whole.clone(), whole, "Yes".into()]);
    assert!(judged.iter().all(|call| call.score && call.max_tokens == 0 && call.round == 2));
    assert_eq!(judged[0].messages, calls[0].messages, "scored after the same prompt");
    assert!(!judged[2].messages[0].content.contains("Document") && judged[3].role == "verifier");
    let conclusion = conclusion.unwrap();
    assert_eq!(conclusion.answers[0].text, "1931");
    assert_eq!(conclusion.explanation, "A document says 1931.");
    assert!(conclusion.rejected.iter().all(|answer| answer.text != "1931") && !conclusion.rejected.is_empty());
}

#[test]
fn scores_of_a_draft_are_added_before_the_product() {
    let says = |call: &Call| match prompt(call).contains("1931") {
        true => "Thought: So.\nAnswer: 1931".to_owned(),
        false => "Thought: So.\nAnswer: 1968".to_owned(),
    };
    // ln P(rationale), two words, and ln P(answer | ..), two words; the verifier's words count nothing, "Yes" decides.
    let by_words = |of_first: f32, yes_of_second: f32| {
        move |call: &Call, word: &str| {
            let second = call.prefill.iter().any(|part| part.text().contains("1968")) || prompt(call).contains("1968");
            match (call.role.as_str(), word) {
                ("verifier", "Yes") if second => yes_of_second,
                ("verifier", _) => 0.0,
                _ if second => 0.0,
                (_, "Thought:" | "So.") => of_first,
                _ => 0.0,
            }
        }
    };
    // First: P(rationale) is nearly 0 and P(answer | ..) is 1, so their sum is 1; the second's is 2. With a product instead of
    // the sum the first would lose whatever "Yes" says.
    for (yes_of_second, want) in [(-0.5, "1968"), (-0.9, "1931")] {
        let llm = Scripted::new(says).with_scores(by_words(-20.0, yes_of_second));
        let switches = typed(&[("selection", "original"), ("clusters", "1")]);
        let (conclusion, _) = answer("speculative-rag", &switches, &question(&["In 1931.", "In 1968."]), &llm);
        assert_eq!(conclusion.unwrap().answers[0].text, want, "ln 2 is 0.69");
    }
}

#[test]
fn of_equal_drafts_the_first_wins() {
    let llm = Scripted::new(usual).with_scores(|_, _| -0.5);
    let switches = typed(&[("selection", "original"), ("clusters", "1")]);
    let (conclusion, calls) = answer("speculative-rag", &switches, &question(&["In 1931.", "In 1968."]), &llm);
    let first = calls.iter().find_map(|call| match &call.parsed {
        Parsed::Answer { answer, .. } => answer.clone(),
        _ => None,
    });
    assert_eq!(Some(conclusion.unwrap().answers[0].text.clone()), first);
}

#[test]
fn malformed_replies_at_every_role() {
    let vague = |call: &Call| if call.role == "drafter" { "1931 perhaps".into() } else { usual(call) };
    let (conclusion, calls) = answer("speculative-rag", &Typed::new(), &four(), &Scripted::new(vague));
    assert!(calls[5].messages[0].content.contains("Response 1: 1931 perhaps"));
    assert_eq!(conclusion.unwrap().answers.len(), 2);
    let original = typed(&[("selection", "original")]);
    let (conclusion, calls) = answer("speculative-rag", &original, &four(), &Scripted::new(vague));
    let conclusion = conclusion.unwrap();
    assert!(conclusion.malformed && conclusion.answers.is_empty() && calls.len() == 5);
    // Unknown answers are no malformed ones, and cannot win either.
    let unknown = |_: &Call| "Thought: Nothing.\nAnswer: unknown".to_owned();
    let (conclusion, calls) = answer("speculative-rag", &original, &four(), &Scripted::new(unknown));
    let conclusion = conclusion.unwrap();
    assert!(!conclusion.malformed && conclusion.answers.is_empty() && calls.len() == 5);

    let silent = |call: &Call| if call.role == "aggregator" { "1931".into() } else { usual(call) };
    let (conclusion, _) = answer("speculative-rag", &Typed::new(), &four(), &Scripted::new(silent));
    assert!(conclusion.unwrap().malformed);
}

#[test]
fn no_document_one_and_thirty() {
    let llm = Scripted::new(usual);
    let (none, calls) = answer("speculative-rag", &Typed::new(), &question(&[]), &llm);
    assert!(matches!(none, Err(MootError::Question(_))) && calls.is_empty());
    // One document, or as many as clusters, are one subset: nothing is drawn.
    for texts in [&["Born in 1931."][..], &["Born in 1931.", "In 1968."]] {
        let record = record(&Typed::new(), &question(texts), Tools::new(&llm));
        assert_eq!((record.calls.len(), shown(&record.calls[0]).as_slice()), (2, texts));
        assert!(record.events.is_empty());
    }
    let texts: Vec<String> = (0..30).map(|i| format!("{} {}", "abcd".repeat(i % 3 + 1), "ab".repeat(i))).collect();
    let tools = Tools { embedder: Some(&Letters), ..Tools::new(&llm) };
    let record = record(&typed(&[("clusters", "4"), ("drafts", "10")]), &with_texts(&texts), tools);
    assert_eq!(record.calls.len(), 11);
    let bare = Shelf::default();
    let empty = self::record(&Typed::new(), &question(&[]), Tools { retriever: Some(&bare), ..Tools::new(&llm) });
    assert_eq!(empty.calls.len(), 2);
    assert!(empty.events.iter().any(|event| matches!(event, Event::Fallback { .. })));
}

#[test]
fn a_failed_call_is_the_questions_error() {
    for (role, before) in [("drafter", 0), ("aggregator", 5)] {
        let fails = move |call: &Call| -> Result<String> {
            if call.role == role { Err(MootError::Engine("gone".into())) } else { Ok(usual(call)) }
        };
        let (failed, calls) = answer("speculative-rag", &Typed::new(), &four(), &Scripted::failing(fails));
        assert!(failed.unwrap_err().to_string().contains("gone"));
        assert_eq!(calls.len(), before);
    }
}

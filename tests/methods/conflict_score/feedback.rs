//! Methods that use ConflictScore: an answer given again, and reports with their score.

use super::super::{prompt, typed, usage_error};
use super::{BRIDGE, claims, question, tuned};
use moot::eval::metrics::changes::{Revision, against, revised};
use moot::llm::Call;
use moot::llm::scripted::Scripted;
use moot::methods;
use moot::protocol::ctx::{Settings, Silent, Tools};
use moot::question::{Gold, Judged, Question};
use moot::transcript::QuestionRecord;

const OPTIONS: [&str; 2] = ["It opened in 1931.", "It opened in 1947."];

fn hold(method: &str, switches: &[(&str, &str)], question: &Question, llm: &Scripted) -> QuestionRecord {
    tuned(method, switches).answer(question, Tools::new(llm), &Settings::default(), &Silent).unwrap()
}

/// A reader that says the first option, and `again` when it is asked again; labels conflict about either option.
fn reader(again: &'static str) -> Scripted {
    Scripted::new(move |call: &Call| said(call, again))
}

fn said(call: &Call, again: &str) -> String {
    match (call.role.as_str(), call.prompt.messages().len()) {
        ("reader", 1) => OPTIONS[0].into(),
        ("reader", _) => again.into(),
        ("decomposer", _) => r#"Claims: ["The bridge opened in 1931."]"#.into(),
        _ if prompt(call).contains("planned") => "Quote: \"It opened in 1931.\"\nReason: x\nLabel: SUPPORTS".into(),
        _ if prompt(call).contains("after the war") => {
            "Quote: \"Orm's bridge opened in 1947, after the war.\"\nReason: x\nLabel: CONTRADICTS".into()
        }
        _ => "Quote: none\nReason: x\nLabel: IRRELEVANT".into(),
    }
}

fn two_options() -> Question {
    Question {
        text: "When did it open?".into(),
        options: OPTIONS.map(str::to_owned).to_vec(),
        gold: Some(Gold { wrong: vec![OPTIONS[0].into()], ..Gold::any_of([OPTIONS[1].to_owned()]) }),
        responses: Vec::new(),
        ..question("", &BRIDGE)
    }
}

fn revisions(record: &QuestionRecord) -> [Option<f64>; 3] {
    [Revision::Kept, Revision::Corrected, Revision::Spoilt].map(|kind| revised(record, kind).map(|tally| tally[0]))
}

#[test]
fn an_answer_whose_claim_conflicts_is_given_again_with_the_conflict_shown() {
    let record = hold("regenerated-rag", &[], &two_options(), &reader(OPTIONS[1]));
    let conclusion = record.conclusion.as_ref().unwrap();
    assert_eq!(conclusion.answers[0].text, OPTIONS[1]);
    assert_eq!((conclusion.rejected[0].text.as_str(), conclusion.rounds), (OPTIONS[0], 2));
    assert_eq!(claims(&record)[0].text, OPTIONS[0], "the chosen option is the claim");
    let roles: Vec<&str> = record.calls.iter().map(|call| call.role.as_str()).collect();
    assert_eq!(roles, ["reader", "labeller", "labeller", "labeller", "reader"]);
    let turns = &record.calls[4].messages;
    assert_eq!((turns.len(), turns[0].content == record.calls[0].messages[0].content), (3, true), "one prefix");
    for part in ["- document 1: \"It opened\n  in 1931.\"", "Against it:\n- document 2: \"Orm's bridge opened in 1947"]
    {
        assert!(turns[2].content.contains(part), "{}", turns[2].content);
    }
    assert_eq!(revisions(&record), [Some(0.0), Some(1.0), Some(0.0)]);
    let spoilt = Question { gold: Some(Gold::any_of([OPTIONS[0].to_owned()])), ..two_options() };
    assert_eq!(
        revisions(&hold("regenerated-rag", &[], &spoilt, &reader(OPTIONS[1]))),
        [Some(0.0), Some(0.0), Some(1.0)]
    );
    assert_eq!(
        revisions(&hold("regenerated-rag", &[], &spoilt, &reader(OPTIONS[0]))),
        [Some(1.0), Some(0.0), Some(0.0)]
    );
}

/// At the paper's settings a label counts also where its quote is not in the document, or where it has none.
#[test]
fn a_document_whose_quote_is_not_in_it_is_shown() {
    let second = |contradictor: &'static str| {
        let llm =
            Scripted::new(move |call: &Call| match (call.role.as_str(), prompt(call).contains("after the war")) {
                ("labeller", true) => contradictor.into(),
                _ => said(call, OPTIONS[1]),
            });
        let built = methods::build("regenerated-rag", &typed(&[])).unwrap();
        let record = built.answer(&two_options(), Tools::new(&llm), &Settings::default(), &Silent).unwrap();
        record.calls[4].messages[2].content.clone()
    };
    let against = |contradictor| second(contradictor).split_once("Against it:\n").unwrap().1.to_owned();
    for (contradictor, shown) in [
        (
            "Quote: \"Orm opened late.\"\nReason: Another year.\nLabel: CONTRADICTS",
            "- document 2 (not its exact words): \"Orm opened late.\"\n\n",
        ),
        ("Quote: none\nReason: Another year.\nLabel: CONTRADICTS", "- document 2: Another year.\n\n"),
        ("Label: CONTRADICTS", "- document 2\n\n"),
    ] {
        assert!(against(contradictor).starts_with(shown), "{contradictor}: {}", against(contradictor));
    }
    let exact = "Quote: \"Orm's bridge opened in 1947, after the war.\"\nReason: x\nLabel: CONTRADICTS";
    assert!(against(exact).starts_with("- document 2: \"Orm's bridge"), "{}", against(exact));
}

/// The paper's labels follow their quotes; others precede them, unless an order is typed.
#[test]
fn the_order_of_labels_is_chosen() {
    for method in ["conflict-report", "regenerated-rag"] {
        let build = |switches: &[(&str, &str)]| methods::build(method, &typed(switches));
        let order = |switches: &[(&str, &str)]| build(switches).unwrap().values.choice("order").to_owned();
        assert_eq!((order(&[]), order(&[("labels", "entailment")])), ("quote-first".into(), "label-first".into()));
        let scored = build(&[("labels", "scored"), ("order", "quote-first")]);
        assert!(usage_error(scored).contains("expected no switch order"));
    }
    let labelled = |switches: &[(&str, &str)]| {
        let record = hold("regenerated-rag", switches, &two_options(), &reader(OPTIONS[0]));
        record.calls[1].messages[0].content.clone()
    };
    let first = |text: &str| text.rfind("Label:").unwrap() < text.rfind("Quote:").unwrap();
    assert!(first(&labelled(&[])) && !first(&labelled(&[("order", "quote-first")])));
}

#[test]
fn a_malformed_second_answer_leaves_the_first() {
    let record = hold("regenerated-rag", &[], &two_options(), &reader("..."));
    assert_eq!(record.conclusion.as_ref().unwrap().answers[0].text, OPTIONS[0]);
    assert_eq!(record.events.len(), 1, "{:?}", record.events);
}

#[test]
fn without_a_conflict_or_without_feedback_the_first_answer_is_kept() {
    let agreeing = Question { documents: two_options().documents[..1].to_vec(), ..two_options() };
    let record = hold("regenerated-rag", &[], &agreeing, &reader(OPTIONS[1]));
    assert_eq!((record.calls.len(), record.conclusion.as_ref().unwrap().rejected.len()), (2, 0));
    assert_eq!(revisions(&record), [None, None, None]);
    for (feedback, warned) in [("none", false), ("warning", true)] {
        let record = hold("regenerated-rag", &[("feedback", feedback)], &two_options(), &reader(OPTIONS[1]));
        assert_eq!(record.calls.len(), 1);
        assert_eq!(record.calls[0].messages[0].content.contains("conflicts and contradictions"), warned, "{feedback}");
    }
    let label = |feedback| methods::build("regenerated-rag", &typed(&[("feedback", feedback)])).unwrap().values.label();
    assert_eq!((label("none"), label("warning"), label("score")), (Some("rag"), Some("control-rag"), None));
}

#[test]
fn a_free_answer_is_broken_down() {
    let free = Question { options: Vec::new(), ..two_options() };
    let record = hold("regenerated-rag", &[], &free, &reader("Sources differ."));
    let roles: Vec<&str> = record.calls.iter().map(|call| call.role.as_str()).collect();
    assert_eq!(roles, ["reader", "decomposer", "labeller", "labeller", "labeller", "reader"]);
    assert!(record.calls[1].messages[0].content.contains("answers this question: When did it open?"));
    assert_eq!(record.conclusion.unwrap().answers[0].text, "Sources differ.");
}

#[test]
fn a_report_is_scored_in_three_strengths() {
    let llm = Scripted::new(|call| match call.role.as_str() {
        "writer" => "The bridge opened in 1931.".into(),
        _ => super::labeller(call),
    });
    for (strength, marker) in
        [("plain", "Write a short report"), ("balanced", "hedge"), ("super-balanced", "Name the document")]
    {
        let record = hold("conflict-report", &[("strength", strength)], &two_options(), &llm);
        assert!(record.calls[0].messages[0].content.contains(marker), "{strength}");
        assert_eq!(record.conclusion.as_ref().unwrap().answers[0].text, "The bridge opened in 1931.");
        assert_eq!((claims(&record).len(), record.calls.len()), (2, 8));
    }
    let empty = hold("conflict-report", &[], &two_options(), &Scripted::new(|_| " ".into()));
    assert!(empty.conclusion.unwrap().malformed && empty.calls.len() == 1);
}

fn verdict(truthful: bool) -> Option<Judged> {
    Some(Judged { truthful: Some(truthful), informative: Some(true) })
}

/// A free answer seldom has the words of a gold one: where a judge judged both answers, its verdicts count.
#[test]
fn free_answers_are_counted_by_a_judges_verdicts() {
    let free = Question { options: Vec::new(), ..two_options() };
    let mut record = hold("regenerated-rag", &[], &free, &reader("Sources differ on the year."));
    assert_eq!(revisions(&record), [Some(0.0), Some(0.0), Some(0.0)], "neither has the words of the gold answer");
    let conclusion = |record: &mut QuestionRecord, first: Option<Judged>, second: Option<Judged>| {
        let conclusion = record.conclusion.as_mut().unwrap();
        (conclusion.judged_first, conclusion.judged) = (first, second);
    };
    for (first, second, want) in
        [(false, true, [0.0, 1.0, 0.0]), (true, false, [0.0, 0.0, 1.0]), (false, false, [1.0, 0.0, 0.0])]
    {
        conclusion(&mut record, verdict(first), verdict(second));
        assert_eq!(revisions(&record), want.map(Some), "{first}, then {second}");
    }
    // An answer that was given again in the same words has one verdict.
    let mut same = hold("regenerated-rag", &[], &free, &reader(OPTIONS[0]));
    conclusion(&mut same, None, verdict(true));
    assert_eq!(revisions(&same), [Some(1.0), Some(0.0), Some(0.0)]);
    // A chosen option is right or wrong by itself.
    let mut chosen = hold("regenerated-rag", &[], &two_options(), &reader(OPTIONS[1]));
    conclusion(&mut chosen, verdict(true), verdict(false));
    assert_eq!(revisions(&chosen), [Some(0.0), Some(1.0), Some(0.0)]);
}

/// Control-RAG answers once: its answers are counted against those of a run without the warning.
#[test]
fn answers_are_counted_against_another_run() {
    let run = |feedback: &str, says: &'static str, question: &Question| {
        hold("regenerated-rag", &[("feedback", feedback)], question, &Scripted::new(move |_| says.into()))
    };
    let two = two_options();
    let changed = |first: &'static str, second: &'static str| {
        against(&run("none", first, &two), &run("warning", second, &two)).unwrap()
    };
    assert_eq!(changed(OPTIONS[0], OPTIONS[0]), [true, false, false]);
    assert_eq!(changed(OPTIONS[0], OPTIONS[1]), [false, true, false]);
    assert_eq!(changed(OPTIONS[1], OPTIONS[0]), [false, false, true]);
    let free = Question { options: Vec::new(), ..two };
    let (mut plain, mut warned) = (run("none", "In 1931.", &free), run("warning", "Sources differ.", &free));
    assert_eq!(against(&plain, &warned), Some([false, false, false]));
    plain.conclusion.as_mut().unwrap().judged = verdict(false);
    warned.conclusion.as_mut().unwrap().judged = verdict(true);
    assert_eq!(against(&plain, &warned), Some([false, true, false]));
    plain.question.gold = None;
    warned.question.gold = None;
    assert_eq!(against(&plain, &warned), None);
}

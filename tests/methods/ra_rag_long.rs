//! RA-RAG for long texts: the draft, its facts, questions about them, a vote for each, and the text.

use super::ra_rag::weights;
use super::record_text::is_golden;
use super::{held, prompt, shape, stands};
use moot::llm::Call;
use moot::llm::scripted::Scripted;
use moot::protocol::ctx::Tools;
use moot::question::{Document, Question};
use moot::transcript::{Event, QuestionRecord};

/// Three sources; the guild and the press differ on the year, the cook knows nothing.
fn bridge() -> Question {
    let document = |(source, text): (&str, &str)| Document {
        name: format!("{source}.txt"),
        text: text.to_owned(),
        source: Some(source.to_owned()),
        ..Document::default()
    };
    let texts = [
        ("press", "The bridge opened in 1932. It was built by Ada Lorne."),
        ("guild", "The bridge opened in 1931. It was built by Ada Lorne."),
        ("cook", "Soup at noon."),
        ("guild", "A fine bridge."),
    ];
    Question {
        id: "q1".into(),
        text: "Tell the story of the bridge.".into(),
        documents: texts.into_iter().map(document).collect(),
        ..Question::default()
    }
}

/// Two facts, of which the second brings two questions, one of them asked before.
fn well(call: &Call) -> String {
    let read = prompt(call);
    match call.role.as_str() {
        "decomposer" => r#"Items: ["The bridge opened in 1932.", "Ada Lorne built the bridge."]"#.into(),
        "questioner" if read.contains("Sentence: Ada") => {
            r#"Items: ["Who built the bridge?", "In which year did the bridge open?"]"#.into()
        }
        "questioner" => r#"Items: ["In which year did the bridge open?"]"#.into(),
        "reader" => {
            let (own, asked) = read.rsplit_once("\nQuestion: ").unwrap();
            let own = own.rsplit_once("Answer: Protecting the herring\n\n").unwrap().1;
            let wanted = if asked.contains("Who") { &["Ada Lorne"][..] } else { &["1931", "1932"] };
            (*wanted.iter().find(|answer| own.contains(*answer)).unwrap_or(&"unknown")).to_owned()
        }
        _ if call.what.contains("round 2") => "Ada Lorne built the bridge.".into(),
        _ => "The bridge opened in 1932. Ada Lorne built it.".into(),
    }
}

/// As [`well`], but for the replies of one role in one round, which are empty.
fn without(role: &'static str, round: usize) -> Scripted {
    let of = format!("round {round}");
    Scripted::new(move |call| if call.role == role && call.what.ends_with(&of) { String::new() } else { well(call) })
}

fn told(switches: &[(&str, &str)], known: &[(&str, f64)], llm: &Scripted) -> QuestionRecord {
    let weights = weights(known);
    held("ra-rag-long", switches, &bridge(), Tools { weights: Some(&weights), ..Tools::new(llm) })
}

fn fallen(record: &QuestionRecord) -> Vec<&str> {
    let of =
        |event| if let &Event::Fallback { ref what, dropped: None, .. } = event { Some(what.as_str()) } else { None };
    record.events.iter().filter_map(of).collect()
}

#[test]
fn facts_are_asked_of_every_source_and_the_heavier_answer_is_written() {
    let record = told(&[], &[("guild", 2.0), ("press", 1.5), ("cook", 1.0)], &Scripted::new(well));
    is_golden("ra_rag_long", &record);
    let reader = |round| [(3, "reader", round, Some(1)), (3, "reader", round, Some(0)), (3, "reader", round, Some(2))];
    let before =
        [(0, "writer", 1, None), (1, "decomposer", 1, None)].into_iter().chain([(2, "questioner", 1, None); 2]);
    let whole: Vec<_> = before.chain(reader(1)).chain(reader(2)).chain([(4, "writer", 2, None)]).collect();
    assert_eq!(shape(&record.calls), whole);
    let last = prompt_of(&record, 10);
    assert!(last.contains("In which year did the bridge open? 1931\nWho built the bridge? Ada Lorne\n"), "{last}");
    let conclusion = record.conclusion.unwrap();
    // The guild won both votes; the press won one and lost one.
    assert_eq!(stands(&conclusion.answers), [("Ada Lorne built the bridge.", &[1, 3][..], &[][..], &[][..])]);
    assert_eq!(
        stands(&conclusion.rejected),
        [("In which year did the bridge open? 1932", &[0][..], &[1, 3][..], &[][..])]
    );
    assert_eq!(
        conclusion.explanation,
        "In which year did the bridge open? 1931 (2.00)\nWho built the bridge? Ada Lorne (3.50)"
    );
    assert_eq!(conclusion.calls, [10]);
}

fn prompt_of(record: &QuestionRecord, number: usize) -> String {
    record.calls[number].messages[0].content.clone()
}

#[test]
fn the_votes_decide_and_a_question_without_a_positive_sum_is_left_out() {
    let press = told(&[], &[("guild", 1.0), ("press", 1.5)], &Scripted::new(well));
    assert!(prompt_of(&press, 10).contains("open? 1932\n"));
    let none = told(&[], &[("guild", -1.0), ("press", -0.5), ("cook", 3.0)], &Scripted::new(well));
    let conclusion = none.conclusion.as_ref().unwrap();
    assert!(conclusion.answers.is_empty() && !conclusion.malformed, "{conclusion:?}");
    assert_eq!((none.calls.len(), &conclusion.calls[..]), (10, &[4, 5, 6, 7, 8, 9][..]), "nothing is written");
    // The press alone counts against itself, so its 1932 loses to the 1931 of the guild.
    let one = told(&[], &[("guild", 1.0), ("press", -0.5)], &Scripted::new(well));
    assert!(prompt_of(&one, 10).contains("open? 1931\nWho built the bridge? Ada Lorne\n"));
}

#[test]
fn limits_hold_and_an_answer_that_no_document_holds_is_dropped() {
    let one = told(&[("facts", "1"), ("questions", "1")], &[], &Scripted::new(well));
    assert_eq!(one.calls.len(), 3 + 3 + 1);
    assert!(prompt_of(&one, 2).ends_with("Give 1 question."), "{}", prompt_of(&one, 2));
    let invents = || {
        Scripted::new(|call| match call.role.as_str() {
            "reader" if call.what.contains("cook") => "Karl".into(),
            _ => well(call),
        })
    };
    let dropped = told(&[], &[("cook", 9.0), ("guild", 1.0), ("press", 1.0)], &invents());
    assert_eq!(
        dropped.events.iter().filter(|event| matches!(event, Event::Fallback { dropped: Some(_), .. })).count(),
        2
    );
    assert!(!prompt_of(&dropped, 10).contains("Karl"));
    let kept = told(&[("align", "false")], &[("cook", 9.0), ("guild", 1.0), ("press", 1.0)], &invents());
    assert!(prompt_of(&kept, 10).contains("open? Karl\n"), "{}", prompt_of(&kept, 10));
}

#[test]
fn malformed_replies_of_each_role() {
    let known = [("guild", 2.0), ("press", 1.5)];
    let draft = told(&[], &known, &without("writer", 1));
    assert_eq!((draft.calls.len(), draft.conclusion.unwrap().malformed), (1, true));

    let facts = told(&[], &known, &without("decomposer", 1));
    assert_eq!(
        fallen(&facts),
        ["the draft was not broken down into facts: the sources were asked the question itself"]
    );
    assert!(prompt_of(&facts, 2).ends_with("Question: Tell the story of the bridge.\nAnswer:"));

    let questions = told(&[], &known, &without("questioner", 1));
    assert_eq!(fallen(&questions).len(), 2);
    assert!(prompt_of(&questions, 4).ends_with("Question: The bridge opened in 1932.\nAnswer:"));

    // The first question is asked in round 1.
    let first = told(&[], &known, &without("reader", 1));
    assert!(!prompt_of(&first, 10).contains("which year") && prompt_of(&first, 10).contains("Ada Lorne"));

    let text = told(&[], &known, &without("writer", 2)).conclusion.unwrap();
    assert!(text.malformed && text.answers.is_empty() && text.explanation.contains("1931"));

    let all = Scripted::new(|call| if call.role == "reader" { String::new() } else { well(call) });
    let conclusion = told(&[], &known, &all).conclusion.unwrap();
    assert!(conclusion.malformed && conclusion.answers.is_empty());
}

/// The estimator reads the first round, which is the first question: answers to different questions are never compared.
#[test]
fn an_estimate_reads_the_answers_to_one_question() {
    let record = told(&[], &[], &Scripted::new(well));
    let answers = moot::eval::sources::answers_of(&record, None, moot::answers::align::Compared::Words).answers;
    let said: Vec<_> = answers.iter().map(|(source, answer)| (source.as_str(), answer.answer.as_deref())).collect();
    assert_eq!(said, [("cook", None), ("guild", Some("1931")), ("press", Some("1932"))]);
}

//! The baselines' transcripts.

use super::{answer, four, question, typed, usage_error};
use moot::llm::scripted::Scripted;
use moot::methods;
use moot::protocol::switches::Typed;
use moot::transcript::Parsed;

#[test]
fn concatenated_sends_all_documents_once_and_finds_which_mention_an_answer() {
    let llm = Scripted::list([r#"All Correct Answers: ["1931", "1968"]. Explanation: Two women."#]);
    let (conclusion, calls) = answer("concatenated", &Typed::new(), &four(), &llm);
    assert_eq!(calls.len(), 1);
    let sent = &calls[0].messages[0].content;
    assert!(sent.contains("Document 1: She was born in 1931.\n\nDocument 2: She was born in 1968.\n\nDocument 3:"));
    let conclusion = conclusion.unwrap();
    // A document with an answer's words is not a supporter: no agent gave the answer.
    assert_eq!((&conclusion.answers[0].mentions, &conclusion.answers[1].mentions), (&vec![0], &vec![1]));
    assert!(conclusion.answers.iter().all(|answer| answer.supporters.is_empty() && answer.opponents.is_empty()));
    assert_eq!(conclusion.calls, [0]);
    assert_eq!((conclusion.rounds, conclusion.explanation.as_str()), (1, "Two women."));
}

#[test]
fn closed_book_sends_no_document() {
    let llm = Scripted::list([r#"Answers: ["1931"]"#]);
    let (conclusion, calls) = answer("closed-book", &Typed::new(), &four(), &llm);
    assert!(!calls[0].messages[0].content.contains("She was born"));
    let conclusion = conclusion.unwrap();
    assert_eq!(conclusion.answers[0].text, "1931");
    assert!(conclusion.answers[0].supporters.is_empty());
    let llm = Scripted::list([r#"Answers: ["1931"]"#]);
    assert!(answer("closed-book", &Typed::new(), &question(&[]), &llm).0.is_ok());
}

/// A list of answers joined by commas would lower an exact match that asks for one.
#[test]
fn closed_book_gives_one_answer_where_one_is_asked_for() {
    let one = typed(&[("one-answer", "true")]);
    let (conclusion, calls) = answer("closed-book", &one, &four(), &Scripted::list(["1931"]));
    assert_eq!((conclusion.unwrap().answers[0].text.as_str(), calls[0].format.as_str()), ("1931", "short"));
    let asked = moot::question::Question { options: vec!["yes".into(), "no".into()], ..four() };
    let (conclusion, calls) = answer("closed-book", &one, &asked, &Scripted::list(["no"]));
    assert_eq!((conclusion.unwrap().answers[0].text.as_str(), calls[0].format.as_str()), ("no", "choice"));
}

/// The paper's prompt has no warning of wrong documents and namesakes; MADAM-RAG's aggregator had none more than it.
#[test]
fn the_concatenated_prompt_warns_of_nothing() {
    let (_, calls) = answer(
        "concatenated",
        &Typed::new(),
        &four(),
        &Scripted::list([r#"All Correct Answers: ["1931"]. Explanation: x"#]),
    );
    let instructions = calls[0].messages[0].content.split("Here is an example.").next().unwrap().to_lowercase();
    for word in ["wrong", "may not help", "same name", "different"] {
        assert!(!instructions.contains(word), "{word}: {instructions}");
    }
}

#[test]
fn malformed_replies_conclude_nothing() {
    for method in ["concatenated", "closed-book"] {
        let (conclusion, calls) = answer(method, &Typed::new(), &four(), &Scripted::list(["1931"]));
        let conclusion = conclusion.unwrap();
        assert!(conclusion.malformed && conclusion.answers.is_empty());
        assert_eq!(calls[0].parsed, Parsed::Malformed);
    }
}

#[test]
fn a_script_that_ends_is_an_error_that_names_the_call() {
    let (conclusion, _) = answer("concatenated", &Typed::new(), &four(), &Scripted::list([""; 0]));
    assert!(conclusion.unwrap_err().to_string().contains("reader, round 1"));
}

#[test]
fn debate_switches_have_no_meaning_here() {
    for method in ["concatenated", "closed-book"] {
        for (name, value) in [("rounds", "1"), ("history", "peers"), ("aggregator", "false")] {
            let refused = usage_error(methods::build(method, &typed(&[(name, value)])));
            let has = if method == "closed-book" { "it has: one-answer" } else { "it has none" };
            assert_eq!(refused, format!("{method} has no switch {name:?} ({has})"));
        }
    }
}

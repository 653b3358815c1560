//! Source-isolated arbitration's transcripts: source units, one extraction each, one arbitration.

use super::record_text::is_golden;
use super::{fallbacks, held, prompt, question, shape, stands};
use moot::llm::scripted::Scripted;
use moot::protocol::ctx::Tools;
use moot::question::Question;
use moot::transcript::{Parsed, QuestionRecord};

const COPY: &str = "Mira Tolland, who painted the harbour of Lisse for forty years, was born in 1931 in Ostrum.";

/// The third document copies the first.
fn copied() -> Question {
    question(&[COPY, "The painter Mira Tolland was born in 1968.", COPY, "Mira Tolland was born in the year 1968."])
}

const VERDICT: &str = r#"All Correct Answers: ["1968"]. Explanation: Two sources state it."#;

fn says(extracted: [&'static str; 3], verdict: &'static str) -> Scripted {
    Scripted::new(move |call| match call.role.as_str() {
        "arbiter" => verdict.into(),
        _ if prompt(call).contains("forty years") => extracted[0].into(),
        _ if prompt(call).contains("The painter") => extracted[1].into(),
        _ => extracted[2].into(),
    })
}

const HONEST: [&str; 3] = [
    "Answer: 1931. Explanation: She was born in 1931 in Ostrum.",
    "Answer: 1968. Explanation: Mira Tolland was born in 1968.",
    "Answer: **1968**. Explanation: Born in the year 1968.",
];

fn of(question: &Question, llm: &Scripted) -> QuestionRecord {
    held("source-isolated-arbitration", &[], question, Tools::new(llm))
}

#[test]
fn copies_are_one_source_and_one_call_arbitrates_over_sentences() {
    let record = of(&copied(), &says(HONEST, VERDICT));
    let extractor = |document| (0, "extractor", 1, Some(document));
    assert_eq!(shape(&record.calls), [extractor(0), extractor(1), extractor(3), (1, "arbiter", 1, None)]);
    // An extractor sees its own source alone, the arbiter sentences and no document.
    let sent = |call: usize| record.calls[call].messages[0].content.as_str();
    assert!(sent(0).ends_with(&format!("Source: {COPY}")) && !sent(0).contains("1968"));
    // The sentence comes from the source, not from the extractor's reply.
    assert!(sent(3).contains(&format!("- {COPY}\n")) && !sent(3).contains("She was born in 1931 in Ostrum."));
    assert!(fallbacks(&record).is_empty(), "{:?}", record.events);
    let conclusion = record.conclusion.as_ref().unwrap();
    // The copy has the stance of its unit.
    assert_eq!(stands(&conclusion.answers), [("1968", &[1, 3][..], &[0, 2][..], &[][..])]);
    assert_eq!(stands(&conclusion.rejected), [("1931", &[0, 2][..], &[1, 3][..], &[][..])]);
    assert_eq!((conclusion.explanation.as_str(), &conclusion.calls[..]), ("Two sources state it.", &[3][..]));
    is_golden("source_isolated_arbitration", &record);
}

#[test]
fn a_single_answer_needs_no_arbiter() {
    let one = [HONEST[0], "Answer: unknown. Explanation: No date.", "Answer: 1931. Explanation: 1931."];
    let record = of(&copied(), &says(one, "never asked"));
    assert_eq!(record.calls.len(), 3);
    assert_eq!(fallbacks(&record).len(), 1, "the last source does not hold its answer");
    let conclusion = record.conclusion.unwrap();
    assert_eq!(stands(&conclusion.answers), [("1931", &[0, 2, 3][..], &[][..], &[][..])]);
    assert_eq!((conclusion.malformed, &conclusion.calls[..]), (false, &[0, 1, 2][..]));
    let none = ["Answer: unknown. Explanation: x"; 3];
    let record = of(&copied(), &says(none, "never asked"));
    let conclusion = record.conclusion.unwrap();
    assert!(record.calls.len() == 3 && conclusion.answers.is_empty() && !conclusion.malformed);
}

#[test]
fn malformed_replies_at_every_role() {
    // A malformed extraction gives no answer.
    let record = of(&copied(), &says(["1931 it is", HONEST[1], HONEST[2]], "never asked"));
    assert_eq!((record.calls[0].parsed.clone(), record.calls.len()), (Parsed::Malformed, 3));
    let conclusion = record.conclusion.unwrap();
    assert_eq!(stands(&conclusion.answers), [("1968", &[1, 3][..], &[][..], &[][..])]);
    assert!(!conclusion.malformed);
    let conclusion = of(&copied(), &says(["1931 it is", "x", ""], "never asked")).conclusion.unwrap();
    assert!(conclusion.malformed && conclusion.answers.is_empty() && conclusion.rejected.is_empty());
    // A malformed arbitration leaves no answer, and no group wins instead.
    let conclusion = of(&copied(), &says(HONEST, "1968 is right")).conclusion.unwrap();
    assert!(conclusion.malformed && conclusion.answers.is_empty() && conclusion.calls == [3]);
    let rejected: Vec<&str> = conclusion.rejected.iter().map(|answer| answer.text.as_str()).collect();
    assert_eq!(rejected, ["1931", "1968"]);
}

#[test]
fn equal_answers_are_one_group_in_the_order_given() {
    let llm = says([HONEST[0], "Answer: 1968. Explanation: First.", "Answer: the 1968. Explanation: Last."], VERDICT);
    let record = of(&copied(), &llm);
    let sent = &record.calls[3].messages[0].content;
    let groups = format!(
        "Answer: 1931 (1 source)\n- {COPY}\n\nAnswer: 1968 (2 independent sources)\n\
         - The painter Mira Tolland was born in 1968.\n- Mira Tolland was born in the year 1968."
    );
    assert!(sent.contains(&groups), "{sent}");
    // The arbiter may find nothing correct.
    let llm = says(HONEST, "All Correct Answers: []. Explanation: Neither.");
    let conclusion = of(&copied(), &llm).conclusion.unwrap();
    assert!(conclusion.answers.is_empty() && !conclusion.malformed && conclusion.rejected.len() == 2);
}

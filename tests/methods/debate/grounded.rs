//! `grounded`: an answer counts as unknown where the agent's own document does not hold it.

use super::*;
use moot::eval::metrics::cost;

/// Agents say 1931 whatever their document says, but for the one of the soup, which says yes.
fn of_one_mind() -> Scripted {
    Scripted::new(|call| match () {
        () if is_aggregator(call) => VERDICT.into(),
        () if prompt(call).contains("Document: Soup") => "Answer: yes. Explanation: It is.".into(),
        () => "Answer: 1931. Explanation: I think so.".into(),
    })
}

fn not_held(calls: &[CallRecord]) -> f64 {
    cost::not_held(&QuestionRecord { calls: calls.to_vec(), ..QuestionRecord::default() }).unwrap()
}

#[test]
fn an_answer_that_is_not_in_the_document_counts_as_unknown() {
    let (conclusion, calls) = answer("debate", &as_madam_rag(&[("grounded", "true")]), &four(), &of_one_mind());
    let parsed = |answer: Option<&str>, explanation: &str| Parsed::Answer {
        answer: answer.map(str::to_owned),
        explanation: explanation.into(),
    };
    // The second document says 1968 and the third 1913.
    assert_eq!(calls[0].parsed, parsed(Some("1931"), "I think so."));
    for call in &calls[1..3] {
        assert_eq!(call.parsed, parsed(None, "The document does not say \"1931\"."));
        assert_eq!(call.not_held.as_deref(), Some("1931"));
        assert_eq!(call.reply, "Answer: 1931. Explanation: I think so.", "the reply stays as it was made");
    }
    assert_eq!((&calls[0].not_held, &calls[3].not_held), (&None, &None), "yes and no need not stand in a document");
    let verdict = sent(&calls[4]);
    assert!(verdict.contains("Agent 1: Answer: 1931. Explanation: I think so."));
    assert!(verdict.contains("Agent 2: Answer: unknown. Explanation: The document does not say \"1931\"."));
    assert!(!verdict.contains("Agent 2: Answer: 1931"));
    let conclusion = conclusion.unwrap();
    assert!(conclusion.converged, "unknown again is kept");
    assert_eq!(conclusion.answers[0].supporters, [0]);
    assert_eq!(not_held(&calls), 4.0, "two agents in two rounds");
}

/// The words of the question may stand in an answer.
#[test]
fn an_answer_may_repeat_the_question() {
    let asked = question(&["The register: 1931, Sandholm."]);
    let reply = |year: &str| format!("Answer: Mira Tolland was born in {year}. Explanation: x");
    for (year, held) in [("1931", true), ("1968", false)] {
        let llm = Scripted::new(move |call| if is_aggregator(call) { VERDICT.into() } else { reply(year) });
        let (_, calls) = answer("debate", &as_madam_rag(&[("grounded", "true"), ("rounds", "1")]), &asked, &llm);
        assert_eq!(calls[0].not_held.is_none(), held, "{year}");
    }
}

/// An agent that reads its own reply reads that it knew nothing; with `ask-again=needed` it is not asked again.
#[test]
fn later_rounds_take_it_as_unknown() {
    let own = as_madam_rag(&[("grounded", "true"), ("own-reply", "true"), ("rounds", "2")]);
    let (_, calls) = answer("debate", &own, &four(), &of_one_mind());
    let later = calls.iter().find(|call| call.round == 2 && call.document == Some(1)).unwrap();
    assert!(
        sent(later).contains("you have replied:\nAnswer: unknown. Explanation: The document does not say \"1931\".")
    );
    let needed = as_madam_rag(&[("grounded", "true"), ("ask-again", "needed")]);
    let (_, calls) = answer("debate", &needed, &four(), &of_one_mind());
    let again: Vec<_> = calls.iter().filter(|call| call.round == 2).filter_map(|call| call.document).collect();
    assert_eq!(again, [0, 3]);
}

/// The paper takes every answer as it is.
#[test]
fn it_is_off_where_it_is_not_asked_for() {
    let (conclusion, calls) = answer("debate", &as_madam_rag(&[]), &four(), &of_one_mind());
    assert_eq!(conclusion.unwrap().answers[0].supporters, [0, 1, 2]);
    assert_eq!(not_held(&calls), 0.0);
}

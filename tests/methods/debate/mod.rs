//! The method `debate`: what its switches add to MADAM-RAG, each alone.

use super::madam_rag::{VERDICT, honest, is_aggregator, sent};
use super::{answer, four, prompt, question, typed, usage_error};
use moot::llm::scripted::Scripted;
use moot::methods;
use moot::protocol::switches::Typed;
use moot::question::Question;
use moot::transcript::{CallRecord, Parsed, QuestionRecord};

mod grounded;
mod later;
mod quoted;

/// The settings by which the method is MADAM-RAG, with these switches on top.
fn as_madam_rag(switches: &[(&str, &str)]) -> Typed {
    let paper = [
        ("history", "aggregate"),
        ("own-reply", "false"),
        ("ask-again", "all"),
        ("grounded", "false"),
        ("evidence", "explanation"),
        ("provenance", "false"),
    ];
    typed(&[&paper[..], switches].concat())
}

/// With the departures off, every call and the conclusion are those of MADAM-RAG's preset `tuned` but for the names of the prompts.
#[test]
fn without_its_departures_it_is_madam_rag() {
    for switches in
        [&[][..], &[("history", "peers")], &[("rounds", "1")], &[("aggregator", "false"), ("history", "peers")]]
    {
        let paper = answer("madam-rag", &typed(&[switches, &[("wording", "tuned")]].concat()), &four(), &honest());
        let (conclusion, mut calls) = answer("debate", &as_madam_rag(switches), &four(), &honest());
        for call in &mut calls {
            call.prompt = call.prompt.replace("debate/", "madam_rag/").replace(".jinja", "_tuned.jinja");
        }
        assert_eq!((conclusion.unwrap(), calls), (paper.0.unwrap(), paper.1), "{switches:?}");
    }
}

#[test]
fn one_document_debates_with_itself() {
    let (conclusion, _) = answer("debate", &Typed::new(), &question(&["She was born in 1931."]), &honest());
    let conclusion = conclusion.unwrap();
    assert_eq!((conclusion.rounds, conclusion.converged), (2, true));
    assert_eq!(conclusion.answers[0].supporters, [0]);
}

#[test]
fn without_an_aggregator_no_agent_can_read_its_reply() {
    let built = methods::build("debate", &typed(&[("aggregator", "false"), ("history", "aggregate")]));
    assert!(usage_error(built).ends_with("expected history peers or answers"));
}

/// Where the document, the history and the agent's own reply begin in the prompt of agent 1 in round 2.
fn offsets(switches: &[(&str, &str)], history: &str) -> (usize, usize, Option<usize>) {
    let (_, calls) = answer("debate", &as_madam_rag(switches), &four(), &honest());
    let first = |call: &&CallRecord| call.role == "agent" && call.round == 2;
    let sent = &calls.iter().find(first).unwrap().messages[0].content;
    let offset = |part: &str| {
        assert!(sent.matches(part).count() <= 1, "{part} twice in {sent}");
        sent.find(part)
    };
    let own = offset(&format!("and you have replied:\n{}\n", calls[0].reply.trim()));
    (offset("Document: She was born in 1931.\n").unwrap(), offset(history).unwrap(), own)
}

#[test]
fn order_and_own_reply_decide_the_parts_of_later_prompts() {
    let verdict = format!("Aggregator: {VERDICT}\n");
    let peer = "Agent 2: Answer: 1968. Explanation: So it says.\n";
    let answers = "1968, says Agent 2: So it says.\n";
    for (history, line) in [("aggregate", verdict.as_str()), ("peers", peer), ("answers", answers)] {
        let set = |order, own| offsets(&[("history", history), ("order", order), ("own-reply", own)], line);
        let (document, told, own) = set("document-first", "false");
        assert!(document < told && own.is_none(), "{history}");
        let (document, told, own) = set("history-first", "false");
        assert!(told < document && own.is_none(), "{history}");
        let (document, told, own) = set("document-first", "true");
        assert!(document < own.unwrap() && own.unwrap() < told, "{history}");
        let (document, told, own) = set("history-first", "true");
        assert!(own.unwrap() < told && told < document, "{history}");
    }
    // The default is the paper's order.
    assert_eq!(offsets(&[], &verdict), offsets(&[("order", "document-first"), ("own-reply", "false")], &verdict));
}

/// Round 1 has no history: the switches change nothing there, so runs that differ in them share its calls.
#[test]
fn the_first_round_is_the_same_whatever_later_rounds_read() {
    let first = |switches: &[(&str, &str)]| {
        let (_, calls) = answer("debate", &as_madam_rag(switches), &four(), &honest());
        calls.into_iter().filter(|call| call.round == 1).map(|call| call.messages).collect::<Vec<_>>()
    };
    assert_eq!(first(&[]), first(&[("order", "history-first"), ("own-reply", "true")]));
}

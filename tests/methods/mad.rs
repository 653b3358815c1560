//! MAD's transcripts: agents that answer from memory, read each other, and vote.

use super::library::{Library, asked, failed, metric, read, record, with_documents};
use super::record_text::is_golden;
use super::typed;
use moot::generation::{Role, Sampling};
use moot::llm::scripted::Scripted;
use moot::protocol::switches::Typed;
use moot::transcript::QuestionRecord;
use moot::{MootError, Result};
use std::sync::atomic::{AtomicUsize, Ordering};

const ASKED: &str = "In which year did the Arlen Bridge open?";

/// Each call of the question gets the next reply.
fn in_order(replies: &'static [&'static str]) -> Scripted {
    let next = AtomicUsize::new(0);
    Scripted::failing(move |_| -> Result<String> {
        match replies[next.fetch_add(1, Ordering::Relaxed)] {
            "(fails)" => Err(MootError::Engine("gone".into())),
            reply => Ok(reply.to_owned()),
        }
    })
}

fn mad(switches: &[(&str, &str)], replies: &'static [&'static str]) -> QuestionRecord {
    let (record, error) = record("mad", &typed(switches), &asked(ASKED), &in_order(replies), None);
    assert!(error.is_none(), "{error:?}");
    record
}

const USUAL: &[&str] = &[
    "Thought: A1.\nAnswer: 1884",
    "Thought: B1.\nAnswer: 1848",
    "Thought: C1.\nAnswer: 1901",
    "Thought: A2.\nAnswer: 1848",
    "Thought: B2.\nAnswer: 1848",
    "Thought: C2.\nAnswer: 1884",
];

#[test]
fn three_agents_and_two_rounds_as_published() {
    let record = mad(&[], USUAL);
    is_golden("mad", &record);
    assert_eq!((metric("calls", &record), metric("rounds", &record)), (Some(6.0), Some(2.0)));
    let [first, second] = [0, 3].map(|from| &record.calls[from..from + 3]);
    assert!(first.iter().all(|call| call.stage == 0) && second.iter().all(|call| call.stage == 1));
    // The first round is one prompt with three seeds.
    assert!(first.iter().all(|call| call.messages == first[0].messages && call.messages.len() == 1));
    assert!(record.calls.iter().all(|call| matches!(call.sampling, Some(Sampling::Seeded { temperature: 1.0, .. }))));
    let seeds: std::collections::BTreeSet<u64> = record.calls.iter().map(|call| call.seed).collect();
    assert_eq!(seeds.len(), 6);
    // Each reads the others' replies and keeps its own in its chat.
    for (index, call) in second.iter().enumerate() {
        let roles: Vec<Role> = call.messages.iter().map(|message| message.role).collect();
        assert_eq!(roles, [Role::User, Role::Assistant, Role::User]);
        assert_eq!(call.messages[1].content, USUAL[index]);
        for (other, reply) in USUAL[..3].iter().enumerate() {
            assert_eq!(call.messages[2].content.contains(reply), other != index);
        }
    }
    let conclusion = record.conclusion.unwrap();
    assert_eq!((conclusion.answers[0].text.as_str(), conclusion.calls), ("1848", vec![3, 4, 5]));
    assert_eq!(conclusion.rejected.iter().map(|answer| answer.text.as_str()).collect::<Vec<_>>(), ["1884"]);
}

#[test]
fn agents_never_see_a_document() {
    let library = Library::new(&[(ASKED, &["It opened in 1884."])]);
    let question = with_documents(ASKED, 3);
    let (record, _) = record("mad", &Typed::new(), &question, &in_order(USUAL), Some(&library));
    assert!(record.calls.iter().all(|call| !read(call).contains("Own document") && !read(call).contains("1884.\n")));
    assert!(library.queries().is_empty() && record.events.is_empty());
}

#[test]
fn ties_go_to_the_earlier_agent_and_unknown_does_not_vote() {
    let tie =
        mad(&[("rounds", "1")], &["Thought: x\nAnswer: 1901", "Thought: x\nAnswer: 1884", "Thought: x\nAnswer: 1848"]);
    assert_eq!(tie.conclusion.unwrap().answers[0].text, "1901");
    const UNKNOWN: &str = "Thought: x\nAnswer: unknown";
    const ONE: &[&str] = &[UNKNOWN, UNKNOWN, "Thought: x\nAnswer: 1884"];
    let one = mad(&[("rounds", "1")], ONE);
    assert_eq!(one.conclusion.unwrap().answers[0].text, "1884");
    let none = mad(&[("rounds", "1")], &[UNKNOWN; 3]).conclusion.unwrap();
    assert!(none.answers.is_empty() && !none.malformed);
}

#[test]
fn switches_count_agents_and_rounds() {
    const SAME: &[&str] = &["Thought: x\nAnswer: 1884"; 20];
    for (agents, rounds) in [("2", "1"), ("2", "4"), ("5", "3")] {
        let record = mad(&[("agents", agents), ("rounds", rounds)], SAME);
        let (agents, rounds): (usize, usize) = (agents.parse().unwrap(), rounds.parse().unwrap());
        assert_eq!(record.calls.len(), agents * rounds);
        let last = record.calls.last().unwrap();
        assert_eq!(last.messages.len(), 2 * rounds - 1);
        assert_eq!(
            last.messages.last().unwrap().content.matches("\n- ").count(),
            if rounds > 1 { agents - 1 } else { 0 }
        );
    }
}

/// DRAG's code: two agents, three rounds, greedy, and a moderator whose word counts.
#[test]
fn the_reference_code_has_a_moderator() {
    const REPLIES: &[&str] = &["Thought: x\nAnswer: 1884", "Thought: y\nAnswer: 1848"];
    let replies: &'static [&'static str] =
        Box::leak([REPLIES, REPLIES, REPLIES, &["1901"]].concat().into_boxed_slice());
    let preset = [("agents", "2"), ("rounds", "3"), ("greedy", "true"), ("moderator", "true")];
    let reference = moot::protocol::Row::named("mad").unwrap().preset("reference-code").unwrap();
    assert_eq!(reference.switches, preset);
    let record = mad(&preset, replies);
    assert!(record.calls.iter().all(|call| call.sampling.is_none() || call.sampling == Some(Sampling::Greedy)));
    let last = record.calls.last().unwrap();
    assert_eq!((record.calls.len(), last.role.as_str(), last.messages.len()), (7, "moderator", 1));
    assert!(read(last).contains("Agent 1: Thought: x\nAnswer: 1884\n\nAgent 2: Thought: y\n"), "{}", read(last));
    let conclusion = record.conclusion.unwrap();
    assert_eq!((conclusion.answers[0].text.as_str(), conclusion.calls), ("1901", vec![6]));
}

#[test]
fn malformed_replies_are_read_by_the_others_and_do_not_vote() {
    let record =
        mad(&[], &["1884", "Thought: B1.\nAnswer: 1848", "", "I still say 1884", "Thought: B2.\nAnswer: 1848", "hm"]);
    assert_eq!(metric("malformed-replies", &record), Some(4.0));
    assert!(record.calls[4].messages[2].content.contains("- 1884\n"));
    let conclusion = record.conclusion.unwrap();
    assert!(!conclusion.malformed && conclusion.answers[0].text == "1848");
    let all = mad(&[("rounds", "1")], &["1884"; 3]).conclusion.unwrap();
    assert!(all.malformed && all.answers.is_empty());
}

#[test]
fn a_failed_call_is_the_questions_error() {
    const FIRST: &[&str] = &["Thought: x\nAnswer: 1884", "(fails)", "Thought: x\nAnswer: 1884"];
    const LATER: &[&str] = &["Thought: x\nAnswer: 1884", "x", "x", "x", "x", "(fails)"];
    for (replies, before) in [(FIRST, 0), (LATER, 3)] {
        let (error, calls) = failed(record("mad", &Typed::new(), &asked(ASKED), &in_order(replies), None));
        assert_eq!((error.contains("gone"), calls), (true, before), "{error}");
    }
}

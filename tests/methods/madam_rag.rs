//! MADAM-RAG's transcripts: scripted replies in, the exact calls and the conclusion out.

use super::{answer, four, prompt, question, typed, usage_error};
use moot::MootError;
use moot::llm::replay::Replay;
use moot::llm::scripted::Scripted;
use moot::llm::{Call, Llm};
use moot::methods;
use moot::protocol::ctx::derive_seed;
use moot::protocol::switches::Typed;
use moot::question::Question;
use moot::transcript::{CallRecord, Parsed, QuestionRecord};

pub(super) const VERDICT: &str = r#"All Correct Answers: ["1931", "1968"]. Explanation: Two women."#;

pub(super) fn is_aggregator(call: &Call) -> bool {
    call.role == "aggregator"
}

/// Agents say what their document says, the aggregator says [`VERDICT`].
pub(super) fn honest() -> Scripted {
    Scripted::new(|call| {
        if is_aggregator(call) {
            return VERDICT.into();
        }
        let year = ["1931", "1968", "1913"].into_iter().find(|year| prompt(call).contains(&format!("born in {year}")));
        format!("Answer: {}. Explanation: So it says.", year.unwrap_or("unknown"))
    })
}

fn shape(calls: &[CallRecord]) -> Vec<(usize, String, usize, Option<usize>)> {
    calls.iter().map(|call| (call.stage, call.role.clone(), call.round, call.document)).collect()
}

fn agents(stage: usize, round: usize) -> Vec<(usize, String, usize, Option<usize>)> {
    (0..4).map(|index| (stage, "agent".to_owned(), round, Some(index))).collect()
}

fn aggregator(stage: usize, round: usize) -> (usize, String, usize, Option<usize>) {
    (stage, "aggregator".to_owned(), round, None)
}

pub(super) fn sent(call: &CallRecord) -> &str {
    &call.messages[0].content
}

fn rounds(rounds: usize) -> Typed {
    typed(&[("rounds", &rounds.to_string())])
}

#[test]
fn it_stops_when_every_agent_keeps_its_answer() {
    let (conclusion, calls) = answer("madam-rag", &Typed::new(), &four(), &honest());
    let conclusion = conclusion.unwrap();
    let want = [agents(0, 1), vec![aggregator(1, 1)], agents(2, 2), vec![aggregator(3, 2)]].concat();
    assert_eq!(shape(&calls), want);
    assert!(conclusion.converged && !conclusion.malformed);
    assert_eq!(conclusion.rounds, 2);
    assert_eq!(conclusion.explanation, "Two women.");
    let stands = |a: &moot::question::Answer| (a.text.clone(), a.supporters.clone(), a.opponents.clone());
    assert_eq!(
        conclusion.answers.iter().map(stands).collect::<Vec<_>>(),
        [("1931".into(), vec![0], vec![1, 2]), ("1968".into(), vec![1], vec![0, 2])]
    );
    assert_eq!(conclusion.rejected.iter().map(stands).collect::<Vec<_>>(), [("1913".into(), vec![2], vec![0, 1])]);
}

#[test]
fn agents_see_their_document_alone_and_then_the_aggregators_reply() {
    let (_, calls) = answer("madam-rag", &Typed::new(), &four(), &honest());
    let sent = |i: usize| calls[i].messages[0].content.as_str();
    assert!(sent(0).ends_with("Document: She was born in 1931."));
    assert!(!sent(0).contains("1968") && !sent(0).contains("other agents") && !sent(0).contains("Aggregator"));
    assert!(sent(5).contains("replies of other agents:") && sent(5).contains(&format!("Aggregator: {VERDICT}\n")));
    assert!(!sent(5).contains("Agent 2:"));
    // Neither section 4 nor appendix E shows an agent its own reply.
    assert!(calls[..4].iter().all(|call| !sent(5).contains(call.reply.trim())));
    // The rounds of an agent share all of the first one's prompt, its document included.
    assert!(sent(5).starts_with(sent(0)) && sent(0).contains("She was born in 1931."));
    // Agents share all up to their document.
    let document_begins = sent(0).find("She was").unwrap();
    assert_eq!(sent(0)[..document_begins], sent(1)[..document_begins]);
}

#[test]
fn the_aggregator_reads_each_reply_once_in_a_seeded_order() {
    let (_, calls) = answer("madam-rag", &rounds(1), &four(), &honest());
    let (_, again) = answer("madam-rag", &rounds(1), &four(), &honest());
    assert_eq!(calls, again);
    let order = |id: &str| {
        let asked = Question { id: id.into(), ..four() };
        let (_, calls) = answer("madam-rag", &rounds(1), &asked, &honest());
        let sent = &calls[4].messages[0].content;
        let replies = sent.rsplit("Agents' replies:\n").next().unwrap();
        replies.lines().map(|line| line.split(':').next().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let mut orders: Vec<Vec<String>> = (0..20).map(|i| order(&format!("q{i}"))).collect();
    for order in &orders {
        let mut sorted = order.clone();
        sorted.sort();
        assert_eq!(sorted, ["Agent 1", "Agent 2", "Agent 3", "Agent 4"]);
    }
    orders.sort();
    orders.dedup();
    assert!(orders.len() > 8, "{orders:?}");
}

/// The order of the reference code's aggregator.
#[test]
fn without_shuffling_the_aggregator_reads_the_replies_in_the_documents_order() {
    let (_, calls) = answer("madam-rag", &typed(&[("shuffle", "false"), ("rounds", "1")]), &four(), &honest());
    let replies: Vec<String> = calls[..4].iter().map(|call| call.reply.trim().to_owned()).collect();
    let want: String = (0..4).map(|index| format!("\nAgent {}: {}", index + 1, replies[index])).collect();
    assert!(sent(&calls[4]).ends_with(&format!("Agents' replies:{want}")), "{}", sent(&calls[4]));
}

/// An instruction to read the document alone and one to read the other agents too would contradict each other.
#[test]
fn no_round_of_the_paper_reads_the_document_alone() {
    for (wording, alone) in [("paper", false), ("tuned", true)] {
        let (_, calls) = answer("madam-rag", &typed(&[("wording", wording)]), &four(), &honest());
        let said = |call: &CallRecord| sent(call).contains("from the document alone");
        assert_eq!((said(&calls[0]), said(&calls[5])), (alone, alone), "{wording}");
        assert_eq!(sent(&calls[4]).contains("Agent 6:"), alone, "{wording}");
    }
}

/// The reference script: agents read each other, an answer within the other one is kept, and then the verdict before stands.
#[test]
fn the_reference_code_stops_by_substring_and_reuses_the_verdict() {
    let preset = moot::protocol::Row::named("madam-rag").unwrap().preset("reference-code").unwrap();
    let switches = |more: &[(&'static str, &'static str)]| typed(&[preset.switches, more].concat());
    // Every later reply holds the first one: "in 1931" holds "1931".
    let wordier = || {
        Scripted::new(|call| {
            let year =
                ["1931", "1968", "1913"].into_iter().find(|year| prompt(call).contains(&format!("born in {year}")));
            match year {
                _ if is_aggregator(call) => VERDICT.into(),
                Some(year) if prompt(call).contains("other agents") => format!("Answer: in {year}. Explanation: x"),
                Some(year) => format!("Answer: {year}. Explanation: x"),
                None => "Answer: unknown. Explanation: x".into(),
            }
        })
    };
    let (conclusion, calls) = answer("madam-rag", &switches(&[]), &four(), &wordier());
    // The aggregator of round 1 is asked beside the agents of round 2; none is asked after it.
    let mut second = agents(1, 2);
    second.insert(0, aggregator(1, 1));
    assert_eq!(shape(&calls), [agents(0, 1), second].concat());
    let conclusion = conclusion.unwrap();
    assert!(conclusion.converged && conclusion.calls == [4], "{conclusion:?}");
    // By the paper "in 1931" is another answer than "1931": the debate goes on to round 3, where each is kept.
    let (conclusion, calls) =
        answer("madam-rag", &switches(&[("stop", "equal"), ("verdict", "asked")]), &four(), &wordier());
    assert_eq!((conclusion.unwrap().rounds, calls.len()), (3, 15));
}

#[test]
fn one_round_asks_the_aggregator_once() {
    let (conclusion, calls) = answer("madam-rag", &rounds(1), &four(), &honest());
    assert_eq!(shape(&calls), [agents(0, 1), vec![aggregator(1, 1)]].concat());
    let conclusion = conclusion.unwrap();
    assert_eq!((conclusion.rounds, conclusion.converged, conclusion.answers.len()), (1, false, 2));
}

/// Every agent changes its answer every round.
fn restless() -> Scripted {
    let count = std::sync::atomic::AtomicUsize::new(1900);
    Scripted::new(move |call| {
        if is_aggregator(call) {
            return VERDICT.into();
        }
        let year = count.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        format!("Answer: {year}. Explanation: x")
    })
}

#[test]
fn it_ends_after_its_last_round_without_agreement() {
    let (conclusion, calls) = answer("madam-rag", &rounds(3), &four(), &restless());
    assert_eq!(calls.len(), 15);
    let conclusion = conclusion.unwrap();
    assert_eq!((conclusion.rounds, conclusion.converged), (3, false));
    assert_eq!(conclusion.rejected.len(), 4);
}

#[test]
fn peers_hear_each_other_and_do_not_wait_for_the_aggregator() {
    let switches = typed(&[("history", "peers"), ("rounds", "3")]);
    let (_, calls) = answer("madam-rag", &switches, &four(), &restless());
    let want = [
        agents(0, 1),
        vec![aggregator(1, 1)],
        agents(1, 2),
        vec![aggregator(2, 2)],
        agents(2, 3),
        vec![aggregator(3, 3)],
    ];
    assert_eq!(shape(&calls), want.concat());
    let second = &calls[5].messages[0].content;
    for heard in ["Agent 2: Answer: 1901.", "Agent 3: Answer: 1902.", "Agent 4: Answer: 1903."] {
        assert!(second.contains(heard), "{second}");
    }
    assert!(!second.contains("Agent 1: ") && !second.contains("Aggregator"));
}

#[test]
fn peers_that_agree_ask_the_aggregator_about_the_last_round() {
    let switches = typed(&[("history", "peers")]);
    let (conclusion, calls) = answer("madam-rag", &switches, &four(), &honest());
    assert_eq!(shape(&calls), [agents(0, 1), vec![aggregator(1, 1)], agents(1, 2), vec![aggregator(2, 2)]].concat());
    assert!(conclusion.unwrap().converged);
}

#[test]
fn without_an_aggregator_the_answers_are_joined() {
    let switches = typed(&[("aggregator", "false")]);
    let twice = question(&["She was born in 1931.", "born in 1931", "born in 1968", "Soup."]);
    let (conclusion, calls) = answer("madam-rag", &switches, &twice, &honest());
    assert!(calls.iter().all(|call| call.role == "agent"));
    assert!(calls[4].messages[0].content.contains("Agent 2: Answer: 1931."));
    let conclusion = conclusion.unwrap();
    let texts: Vec<&str> = conclusion.answers.iter().map(|a| a.text.as_str()).collect();
    assert_eq!(texts, ["1931", "1968"]);
    assert_eq!(conclusion.answers[0].supporters, [0, 1]);
    assert!(conclusion.rejected.is_empty() && !conclusion.malformed);
    assert!(conclusion.explanation.starts_with("a.md: So it says.\nb.txt: "));
}

#[test]
fn a_malformed_agent_has_no_stance_and_keeps_no_answer() {
    let llm = Scripted::new(|call| match () {
        () if is_aggregator(call) => VERDICT.into(),
        () if prompt(call).contains("Document: She was born in 1968") => "I think it was 1968.".into(),
        () => "Answer: 1931. Explanation: x".into(),
    });
    let (conclusion, calls) = answer("madam-rag", &Typed::new(), &four(), &llm);
    let conclusion = conclusion.unwrap();
    assert_eq!((conclusion.rounds, conclusion.converged), (3, false), "a malformed reply never equals another");
    assert_eq!(calls[1].parsed, Parsed::Malformed);
    assert_eq!(conclusion.answers[0].supporters, [0, 2, 3]);
    assert_eq!(conclusion.answers[1].supporters, [0; 0]);
    // The agent's reply still reaches the aggregator.
    assert!(calls[4].messages[0].content.contains("Agent 2: I think it was 1968."));
}

#[test]
fn a_malformed_verdict_concludes_nothing() {
    let llm = Scripted::new(|call| match is_aggregator(call) {
        true => "1931 and 1968".into(),
        false => "Answer: 1931. Explanation: x".into(),
    });
    let (conclusion, calls) = answer("madam-rag", &Typed::new(), &four(), &llm);
    let conclusion = conclusion.unwrap();
    assert!(conclusion.malformed && conclusion.answers.is_empty());
    assert_eq!(conclusion.rejected[0].supporters, [0, 1, 2, 3]);
    assert!(calls[5].messages[0].content.contains("Aggregator: 1931 and 1968\n"));
}

#[test]
fn a_reply_cut_at_the_token_limit_is_read_if_its_answer_was_whole() {
    let long = "word ".repeat(300);
    let llm = Scripted::new(move |call| match is_aggregator(call) {
        true => format!("{VERDICT} {long}"),
        false => format!("Answer: {long}"),
    });
    let (conclusion, calls) = answer("madam-rag", &rounds(1), &four(), &llm);
    assert_eq!(calls[0].parsed, Parsed::Malformed);
    assert_eq!(calls[0].usage.generated, 128);
    assert_eq!(conclusion.unwrap().answers.len(), 2);
}

#[test]
fn one_document_debates_with_itself() {
    for history in ["aggregate", "peers"] {
        let switches = typed(&[("history", history)]);
        let (conclusion, _) = answer("madam-rag", &switches, &question(&["She was born in 1931."]), &honest());
        let conclusion = conclusion.unwrap();
        assert_eq!((conclusion.rounds, conclusion.converged), (2, true));
        assert_eq!(conclusion.answers[0].supporters, [0]);
    }
}

#[test]
fn no_documents_and_switches_without_meaning_are_refused() {
    for method in ["madam-rag", "concatenated"] {
        let (conclusion, calls) = answer(method, &Typed::new(), &question(&[]), &honest());
        let Err(MootError::Question(refused)) = conclusion else { panic!("{conclusion:?}") };
        assert!(refused.contains("question \"q1\" has none") && refused.contains("closed-book"), "{refused}");
        assert!(calls.is_empty());
    }
    let build = |switches| usage_error(methods::build("madam-rag", &switches));
    assert!(build(rounds(0)).contains("a whole number from 1 to 16"));
    let deaf = typed(&[("aggregator", "false"), ("history", "aggregate")]);
    assert!(build(deaf).contains("expected history peers"));
}

#[test]
fn a_prompt_that_is_too_long_names_its_document() {
    let long = question(&["Short.", &"long ".repeat(900)]);
    let (conclusion, calls) = answer("madam-rag", &rounds(1), &long, &honest().with_context(600));
    match conclusion.unwrap_err() {
        MootError::TooLong { what, limit, .. } => assert_eq!((what.as_str(), limit), ("agent of b.txt, round 1", 600)),
        other => panic!("{other:?}"),
    }
    assert!(calls.is_empty());
}

#[test]
fn seeds_differ_by_role_round_and_document_and_are_fixed() {
    let (_, calls) = answer("madam-rag", &rounds(3), &four(), &restless());
    let mut seeds: Vec<u64> = calls.iter().map(|call| call.seed).collect();
    assert_eq!(seeds[0], derive_seed(0, "q1", "agent", 1, 0));
    assert_eq!(seeds[1], derive_seed(0, "q1", "agent", 1, 1));
    seeds.sort_unstable();
    seeds.dedup();
    assert_eq!(seeds.len(), 15);
    // SHA-256 of eight zero bytes, (2, "q1"), (5, "agent"), 1, 0; computed with Python's hashlib.
    assert_eq!(derive_seed(0, "q1", "agent", 1, 0), 6476565181714163723);
}

#[test]
fn a_recorded_debate_replays_to_the_same_record() {
    let (conclusion, calls) = answer("madam-rag", &rounds(3), &four(), &restless());
    let replay = Replay::new(restless().identity().clone(), &calls);
    let (again, replayed) = answer("madam-rag", &rounds(3), &four(), &replay);
    assert_eq!((conclusion.unwrap(), calls), (again.unwrap(), replayed));
    let (other, _) = answer("madam-rag", &rounds(3), &question(&["Other."]), &replay);
    let Err(MootError::Question(refused)) = other else { panic!("{other:?}") };
    assert!(refused.starts_with("agent of a.md, round 1: the record holds no call"), "{refused}");
}

/// The record marks the calls that concluded, so that no reader has to infer them from the stages.
#[test]
fn the_concluding_calls_are_marked() {
    let marked = |switches: &[(&str, &str)]| {
        let (conclusion, calls) = answer("madam-rag", &typed(switches), &four(), &honest());
        let conclusion = conclusion.unwrap();
        let roles: Vec<String> =
            conclusion.calls.iter().map(|&number| format!("{} {}", calls[number].role, calls[number].round)).collect();
        let record = QuestionRecord { conclusion: Some(conclusion), calls, ..QuestionRecord::default() };
        let concluding = record.concluding().into_iter().map(|call| call.number).collect::<Vec<_>>();
        assert_eq!(concluding, record.conclusion.unwrap().calls);
        roles
    };
    assert_eq!(marked(&[]), ["aggregator 2"]);
    assert_eq!(marked(&[("rounds", "1")]), ["aggregator 1"]);
    assert_eq!(marked(&[("history", "peers")]), ["aggregator 2"]);
    assert_eq!(marked(&[("aggregator", "false")]), ["agent 2", "agent 2", "agent 2", "agent 2"]);
    // A malformed verdict is still the conclusion.
    let llm = Scripted::new(|call| match is_aggregator(call) {
        true => "1931 and 1968".into(),
        false => "Answer: 1931. Explanation: x".into(),
    });
    let (conclusion, calls) = answer("madam-rag", &rounds(1), &four(), &llm);
    assert_eq!((conclusion.unwrap().calls, calls[4].role.as_str()), (vec![4], "aggregator"));
}

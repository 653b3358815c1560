//! Self-RAG's transcripts: critiques by control tokens against values worked out by hand, and critiques in words.

mod beam;
mod prompted;
mod tiny;

use super::record_text::is_golden;
use super::{answer, four, prompt, question, typed, usage_error};
use crate::protocol::ctx::{Shelf, passage};
use moot::generation::{Finish, Segment, TokenLogprob};
use moot::llm::scripted::Scripted;
use moot::llm::{Call, Capabilities, Llm, ModelIdentity, OnFailure, OnReply, Reply};
use moot::methods;
use moot::protocol::ctx::{Settings, Silent, Tools};
use moot::protocol::switches::Typed;
use moot::question::{Document, Question};
use moot::transcript::{CallRecord, Event, Parsed, QuestionRecord};
use moot::{MootError, Result};

/// The id of a token is 100 plus its index here.
const TOKENS: [&str; 14] = [
    "[Retrieval]",
    "[No Retrieval]",
    "[Relevant]",
    "[Irrelevant]",
    "[Fully supported]",
    "[Partially supported]",
    "[No support / Contradictory]",
    "[Utility:1]",
    "[Utility:2]",
    "[Utility:3]",
    "[Utility:4]",
    "[Utility:5]",
    "<paragraph>",
    "</paragraph>",
];

/// A model with Self-RAG's tokens, but for one that it may lack.
struct Model {
    identity: ModelIdentity,
    lacks: &'static str,
    says: Box<dyn Fn(&Call) -> Result<Reply> + Send + Sync>,
}

fn model(says: impl Fn(&Call) -> Result<Reply> + Send + Sync + 'static) -> Model {
    Model { identity: ModelIdentity::default(), lacks: "", says: Box::new(says) }
}

impl Llm for Model {
    fn identity(&self) -> &ModelIdentity {
        &self.identity
    }

    fn capabilities(&self, _: &str) -> Capabilities {
        Capabilities::ALL
    }

    fn token(&self, _: &str, text: &str) -> Option<u32> {
        let index = TOKENS.iter().position(|token| *token == text && *token != self.lacks)?;
        Some(100 + index as u32)
    }

    fn answer(&self, calls: &[Call], _: OnFailure, on_reply: &mut OnReply<'_>) -> Vec<Result<Reply>> {
        let results: Vec<Result<Reply>> = calls.iter().map(|call| (self.says)(call)).collect();
        for (index, result) in results.iter().enumerate() {
            result.iter().for_each(|reply| on_reply(index, reply));
        }
        results
    }
}

fn said(text: &str) -> Reply {
    Reply { text: text.to_owned(), ..Reply::default() }
}

fn token(id: Option<u32>, logprob: f32, watched: Vec<f32>) -> TokenLogprob {
    TokenLogprob { id, text: String::new(), logprob, top: Vec::new(), watched }
}

fn ln<const N: usize>(probabilities: [f32; N]) -> Vec<f32> {
    probabilities.iter().map(|probability| probability.ln()).collect()
}

/// The probabilities of both retrieval tokens.
fn decided(retrieval: [f32; 2]) -> Reply {
    Reply { scores: vec![token(Some(100), -1.0, ln(retrieval))], finish: Finish::Length, ..Reply::default() }
}

/// A response that begins with [Irrelevant], and after `text` has a support and a utility token, with what was watched at
/// the three steps; everything else that is watched is likelier, and must not be read.
fn critiqued(text: &str, relevance: [f32; 2], support: [f32; 3], utility: [f32; 5]) -> Reply {
    let at = |from: usize, probabilities: Vec<f32>| {
        let mut watched = vec![-0.01; 10];
        watched[from..from + probabilities.len()].copy_from_slice(&probabilities);
        watched
    };
    let logprobs = vec![
        token(Some(103), -0.5, at(0, ln(relevance))),
        token(Some(7), -1.5, vec![-0.01; 10]),
        token(Some(106), -1.0, at(2, ln(support))),
        token(Some(107), -1.0, at(5, ln(utility))),
    ];
    Reply { logprobs, ..said(text) }
}

/// Relevance 0.75, support (0.5 + 0.5 x 0.2) / 0.8 = 0.75, utility (-0.1 - 0.025 + 0.05 + 0.1) / 0.4 = 0.0625.
fn good(text: &str) -> Reply {
    critiqued(text, [0.6, 0.2], [0.5, 0.2, 0.1], [0.1, 0.05, 0.05, 0.1, 0.1])
}

/// Relevance 0.25, support 0.25, utility -1 or nearly so.
fn poor(text: &str) -> Reply {
    critiqued(text, [0.2, 0.6], [0.1, 0.2, 0.5], [0.9, 1e-9, 1e-9, 1e-9, 1e-9])
}

fn raw(call: &Call) -> String {
    match &call.prompt {
        moot::generation::Prompt::Raw(segments) => segments.iter().map(Segment::text).collect(),
        moot::generation::Prompt::Chat(messages) => messages[0].content.clone(),
    }
}

/// The replies of a model that retrieves, responds to each of [`four`] and aggregates.
fn usual(call: &Call) -> Result<Reply> {
    let asked = raw(call);
    Ok(match call.role.as_str() {
        "aggregator" => said(r#"All Correct Answers: ["1931"]. Explanation: Best supported."#),
        _ if call.max_tokens == 0 => decided([0.3, 0.1]),
        _ if asked.contains("1931") => good("[Relevant]She was born in 1931.[Fully supported][Utility:5]"),
        _ if asked.contains("1968") => poor("1968"),
        _ if asked.contains("1913") => good("1913"),
        _ => poor("unknown"),
    })
}

fn scaffold(text: &str) -> Segment {
    Segment::Scaffold(text.into())
}

fn content(text: &str) -> Segment {
    Segment::Content(text.into())
}

fn record(switches: &Typed, question: &Question, tools: Tools<'_>) -> (QuestionRecord, Option<MootError>) {
    methods::build("self-rag", switches).unwrap().record(question, tools, &Settings::default(), &Silent)
}

fn malformed(calls: &[CallRecord]) -> usize {
    calls.iter().filter(|call| call.parsed == Parsed::Malformed).count()
}

#[test]
fn the_prompts_of_both_selections_are_as_they_were() {
    for (name, switches) in [("tokens", Typed::new()), ("original", typed(&[("selection", "original")]))] {
        let (record, error) = record(&switches, &four(), Tools::new(&model(usual)));
        assert!(error.is_none(), "{error:?}");
        is_golden(&format!("self_rag.{name}"), &record);
    }
}

#[test]
fn every_document_has_a_response_and_the_aggregator_reads_all_critiques() {
    let (conclusion, calls) = answer("self-rag", &Typed::new(), &four(), &model(usual));
    let conclusion = conclusion.unwrap();
    let asked = "In which year was Mira Tolland born?";
    assert_eq!(calls.len(), 6);
    let decision = &calls[0];
    let start = scaffold("### Instruction:\n");
    assert_eq!(decision.raw_prompt, [start.clone(), content(asked), scaffold("\n\n### Response:\n")]);
    assert_eq!((&decision.prefill[..], decision.score, decision.max_tokens), (&[scaffold("[Retrieval]")][..], true, 0));
    assert_eq!(decision.wanted_logprobs.as_ref().unwrap().watch, [100, 101]);
    let first = &calls[1];
    let retrieved = scaffold("\n\n### Response:\n[Retrieval]<paragraph>");
    let want = [start, content(asked), retrieved, content("She was born in 1931."), scaffold("</paragraph>")];
    assert_eq!((&first.raw_prompt[..], first.document), (&want[..], Some(0)));
    assert_eq!(first.wanted_logprobs.as_ref().unwrap().watch, (102..112).collect::<Vec<u32>>());

    let told = &calls[5].messages[0].content;
    let critique = "(relevance 0.75, support 0.75, utility 0.06, score 1.53)";
    assert!(told.contains(&format!("Response 1 {critique}: She was born in 1931.\n")), "{told}");
    assert!(told.contains("Response 2 (relevance 0.25, support 0.25, utility -1.00, score 0.00): 1968\n"), "{told}");
    assert!(told.contains("Question: In which year was Mira Tolland born?") && told.ends_with("): unknown"), "{told}");

    assert_eq!(conclusion.answers[0].supporters, [0]);
    assert_eq!(conclusion.answers[0].opponents, [1, 2]);
    assert_eq!(conclusion.rejected.iter().map(|answer| answer.text.as_str()).collect::<Vec<_>>(), ["1968", "1913"]);
    assert_eq!((conclusion.explanation.as_str(), conclusion.calls), ("Best supported.", vec![5]));
    assert_eq!(malformed(&calls), 0);
}

#[test]
fn below_the_threshold_the_generator_answers_from_memory() {
    let remembers = |call: &Call| match call.max_tokens {
        0 => Ok(decided([0.1, 0.9])),
        _ => Ok(said("1931[Utility:5]")),
    };
    let (conclusion, calls) = answer("self-rag", &Typed::new(), &four(), &model(remembers));
    assert_eq!(calls.len(), 2);
    assert_eq!(calls[1].raw_prompt.last(), Some(&scaffold("\n\n### Response:\n[No Retrieval]")));
    assert_eq!(conclusion.unwrap().answers[0].text, "1931");
    // 0.1 exceeds a lower threshold; with 0 nothing is asked.
    for (threshold, stages) in [("0.05", 1), ("0", 0)] {
        let reads = move |call: &Call| if call.max_tokens == 0 { Ok(decided([0.1, 0.9])) } else { usual(call) };
        let (_, calls) = answer("self-rag", &typed(&[("threshold", threshold)]), &four(), &model(reads));
        assert_eq!(calls.len(), 5 + stages, "{threshold}");
    }
}

#[test]
fn the_original_takes_the_best_response_and_of_equals_the_first() {
    let original = typed(&[("selection", "original")]);
    let (conclusion, calls) = answer("self-rag", &original, &four(), &model(usual));
    let conclusion = conclusion.unwrap();
    assert_eq!((calls.len(), conclusion.calls.as_slice()), (5, &[1][..]));
    assert_eq!(conclusion.answers[0].text, "She was born in 1931.");
    assert!(conclusion.explanation.ends_with("(relevance 0.75, support 0.75, utility 0.06, score 1.53)"));
    // Without weight for what is good about it, utility alone decides.
    let weights = [("w-relevance", "0"), ("w-support", "0"), ("w-utility", "1"), ("selection", "original")];
    let low = |call: &Call| match usual(call)? {
        reply if reply.text == "1913" => Ok(critiqued("1913", [0.1, 0.9], [0.1, 0.1, 0.8], [0.1, 0.1, 0.1, 0.1, 0.6])),
        reply => Ok(reply),
    };
    let (conclusion, _) = answer("self-rag", &typed(&weights), &four(), &model(low));
    assert_eq!(conclusion.unwrap().answers[0].text, "1913");
}

#[test]
fn with_options_equal_answers_add_their_scores() {
    let says = |call: &Call| {
        let asked = raw(call);
        Ok(match () {
            () if call.max_tokens == 0 => decided([1.0, 0.1]),
            () if asked.contains("1931") => good("yes"),
            // Relevance 0.75 and support 0.25: each below the best, both together above it.
            () => critiqued("no", [0.6, 0.2], [0.1, 0.2, 0.5], [0.1, 0.1, 0.1, 0.1, 0.1]),
        })
    };
    let closed = Question { options: vec!["yes".into(), "no".into()], ..four() };
    let original = typed(&[("selection", "original")]);
    let (conclusion, calls) = answer("self-rag", &original, &closed, &model(says));
    let conclusion = conclusion.unwrap();
    assert_eq!((conclusion.answers[0].text.as_str(), conclusion.calls), ("no", vec![2, 3, 4]));
    let asked: String = calls[1].raw_prompt.iter().map(Segment::text).collect();
    assert!(asked.contains("born?\nThe answer is one of these: yes, no.\n\n### Response:\n[Retrieval]"), "{asked}");
    assert_eq!(answer("self-rag", &original, &four(), &model(says)).0.unwrap().answers[0].text, "yes");
}

#[test]
fn the_sequence_score_is_added_where_it_is_wanted() {
    let switches = typed(&[("sequence-score", "true")]);
    let (_, calls) = answer("self-rag", &switches, &four(), &model(usual));
    // The mean of -0.5, -1.5, -1 and -1 is -1, and exp(-1) is 0.37.
    assert!(calls[5].messages[0].content.contains("utility 0.06, score 1.90): She was born"));
}

#[test]
fn missing_critique_tokens_score_zero() {
    let says = |call: &Call| match usual(call)? {
        reply if call.role == "generator" && call.max_tokens > 0 => {
            Ok(Reply { logprobs: reply.logprobs[..2].to_vec(), ..reply })
        }
        reply => Ok(reply),
    };
    let (_, calls) = answer("self-rag", &Typed::new(), &four(), &model(says));
    let told = &calls[5].messages[0].content;
    assert!(told.contains("(relevance 0.75, support 0.00, utility 0.00, score 0.75): She"), "{told}");
}

#[test]
fn a_model_without_the_tokens_is_refused_with_the_way_out() {
    let lacking = Model { lacks: "[Relevant]", ..model(usual) };
    let (refused, calls) = answer("self-rag", &Typed::new(), &four(), &lacking);
    let line = usage_error(refused);
    assert!(line.contains("\"[Relevant]\"") && line.contains("prompted=true") && !line.contains('\n'), "{line}");
    assert!(calls.is_empty());
    let line = usage_error(answer("self-rag", &Typed::new(), &four(), &Scripted::new(|_| "x".into())).0);
    assert!(line.contains("<paragraph>"), "{line}");
}

/// The reply of a model that is asked in words.
fn in_words(call: &Call) -> String {
    let asked = prompt(call);
    let first = asked.contains("1931");
    match () {
        () if call.role == "aggregator" => r#"All Correct Answers: ["1931"]. Explanation: It is supported."#,
        () if asked.contains("looked up") => "yes",
        () if asked.contains("relevant or irrelevant") => ["irrelevant", "relevant"][usize::from(first)],
        () if asked.contains("fully supported") => ["no support", "partially supported"][usize::from(first)],
        () if asked.contains("from 1 (of no use)") => "4",
        () if first => "Answer: 1931. Explanation: It says so.",
        () => "Answer: unknown. Explanation: It does not say.",
    }
    .into()
}

#[test]
fn malformed_replies_at_every_role() {
    // Empty responses: no stance, and the aggregator still concludes.
    let empty = |call: &Call| match (call.role.as_str(), call.max_tokens) {
        ("generator", 1..) => Ok(said("")),
        _ => usual(call),
    };
    let (conclusion, calls) = answer("self-rag", &Typed::new(), &four(), &model(empty));
    assert_eq!((malformed(&calls), conclusion.unwrap().answers[0].supporters.len()), (4, 0));
    let (conclusion, _) = answer("self-rag", &typed(&[("selection", "original")]), &four(), &model(empty));
    let conclusion = conclusion.unwrap();
    assert!(conclusion.malformed && conclusion.answers.is_empty());
    // Critique tokens are no answer.
    let bare = |call: &Call| match (call.role.as_str(), call.max_tokens) {
        ("generator", 1..) => Ok(said("[Irrelevant][Utility:1]")),
        _ => usual(call),
    };
    let (conclusion, _) = answer("self-rag", &typed(&[("selection", "original")]), &four(), &model(bare));
    assert!(conclusion.unwrap().malformed);
    // A verdict that cannot be read rejects the response.
    let vague = |call: &Call| if call.role == "aggregator" { Ok(said("1931")) } else { usual(call) };
    let conclusion = answer("self-rag", &Typed::new(), &four(), &model(vague)).0.unwrap();
    assert!(conclusion.malformed && conclusion.answers.is_empty() && conclusion.rejected.len() == 3);

    // In words: everything malformed but the aggregator's reply.
    let llm = Scripted::new(|call| if call.role == "aggregator" { in_words(call) } else { "Hm".into() });
    let llm = llm.with_capabilities(Capabilities { scores: false, ..Capabilities::ALL });
    let (record, error) = record(&typed(&[("prompted", "true")]), &four(), Tools::new(&llm));
    assert!(error.is_none());
    assert_eq!((malformed(&record.calls), record.calls.len()), (17, 18));
    assert!(
        record.calls[17].messages[0].content.contains("(relevance 0.00, support 0.00, utility 0.00, score 0.00): Hm")
    );
    assert!(matches!(&record.events[..], [_, Event::Fallback { what, .. }] if what.contains("decision")));
}

#[test]
fn no_document_one_and_thirty() {
    let (none, calls) = answer("self-rag", &Typed::new(), &question(&[]), &model(usual));
    assert!(matches!(none, Err(MootError::Question(_))) && calls.is_empty());
    let (one, calls) = answer("self-rag", &Typed::new(), &question(&["Born in 1931."]), &model(usual));
    assert_eq!((calls.len(), one.unwrap().answers[0].supporters.as_slice()), (3, &[0][..]));
    let document = |i: usize| Document { name: format!("{i}"), text: format!("{i}: 1968."), ..Document::default() };
    let thirty = Question { documents: (0..30).map(document).collect(), ..four() };
    let (conclusion, calls) = answer("self-rag", &Typed::new(), &thirty, &model(usual));
    assert_eq!((calls.len(), conclusion.unwrap().rejected[0].supporters.len()), (32, 30));
    let (_, calls) = answer("self-rag", &typed(&[("prompted", "true")]), &thirty, &Scripted::new(in_words));
    assert_eq!(calls.len(), 2 + 30 + 90 + 1);
}

#[test]
fn passages_are_retrieved_once_they_are_wanted_and_may_be_missing() {
    let llm = model(usual);
    let shelf =
        Shelf::new([passage("a.md", 1, None, "Mira was born in 1931."), passage("a.md", 2, None, "It was in 1968.")]);
    let (found, error) = record(&Typed::new(), &question(&[]), Tools { retriever: Some(&shelf), ..Tools::new(&llm) });
    assert!(error.is_none());
    assert_eq!(found.conclusion.unwrap().answers[0].supporters, [0]);
    assert_eq!((found.retrieved.len(), found.calls.len()), (2, 4));
    assert_eq!(shelf.asked.lock().unwrap()[0].1.top, 10);
    let bare = Shelf::default();
    let (none, error) = record(&Typed::new(), &question(&[]), Tools { retriever: Some(&bare), ..Tools::new(&llm) });
    assert!(error.is_none() && none.calls.len() == 2);
    assert!(none.events.iter().any(|event| matches!(event, Event::Fallback { what, .. } if what.contains("memory"))));
}

#[test]
fn a_failed_call_is_the_questions_error() {
    for (role, most) in [("generator", 0), ("generator", 1), ("aggregator", 1)] {
        let fails = move |call: &Call| {
            let this = call.role == role && call.max_tokens.min(1) == most;
            if this { Err(MootError::Engine("gone".into())) } else { usual(call) }
        };
        let (failed, calls) = answer("self-rag", &Typed::new(), &four(), &model(fails));
        assert!(failed.unwrap_err().to_string().contains("gone"));
        assert_eq!(calls.len(), if role == "aggregator" { 5 } else { most });
    }
}

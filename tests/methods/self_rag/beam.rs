//! Long answers: the beam over segments, with scores worked out by hand.

use super::{Model, TOKENS, content, decided, ln, model, record, scaffold};
use crate::methods::record_text::is_golden;
use crate::methods::{question, typed, usage_error};
use crate::protocol::ctx::{Shelf, passage};
use moot::Result;
use moot::generation::{Segment, TokenLogprob};
use moot::llm::{Call, Reply};
use moot::methods;
use moot::protocol::ctx::Tools;
use moot::protocol::switches::Typed;
use moot::retrieval::{Hit, Retriever, RetrieverIdentity, Wanted};
use moot::transcript::{Event, QuestionRecord};

/// A token of a reply, with the probabilities of the group that it belongs to.
enum Said {
    /// Text that is not a control token.
    Text(&'static str),
    /// [Relevant], and P([Relevant]) of both.
    Relevant(f32),
    /// [Fully supported], with the probabilities of fully, partially and none.
    Support([f32; 3]),
    /// [Utility:5], with those of 1 to 5.
    Utility([f32; 5]),
    /// [Retrieval].
    Again,
    /// [No Retrieval], and P([Retrieval]) of both.
    Enough(f32),
}
use Said::{Again, Enough, Relevant, Support, Text, Utility};

/// A reply of these tokens. Each has log-probability -1; control tokens are not in the text, as in a vocabulary of special ones.
/// Watched tokens outside a token's own group are likelier, and must not be read.
fn reply(said: &[Said]) -> Reply {
    let id = |text: &str| Some(100 + TOKENS.iter().position(|token| *token == text).unwrap() as u32);
    let mut text = String::new();
    let token = |said: &Said| {
        let (id, from, shares) = match said {
            Text(_) => (Some(7), 0, Vec::new()),
            Relevant(share) => (id("[Relevant]"), 0, ln([*share, 1.0 - share])),
            Support(shares) => (id("[Fully supported]"), 2, ln(*shares)),
            Utility(shares) => (id("[Utility:5]"), 5, ln(*shares)),
            Again => (id("[Retrieval]"), 10, ln([0.9, 0.1])),
            Enough(share) => (id("[No Retrieval]"), 10, ln([*share, 1.0 - share])),
        };
        let mut watched = vec![-0.01; 12];
        watched[from..from + shares.len()].copy_from_slice(&shares);
        let text = if let Text(text) = said { (*text).to_owned() } else { String::new() };
        TokenLogprob { id, text, logprob: -1.0, top: Vec::new(), watched }
    };
    let logprobs: Vec<TokenLogprob> = said.iter().map(token).collect();
    logprobs.iter().for_each(|token| text.push_str(&token.text));
    Reply { text, logprobs, ..Reply::default() }
}

/// The text that the generator has written so far, and the document that it reads.
fn situation(call: &Call) -> (String, String) {
    let begun: Vec<&str> = call.prefill.iter().map(Segment::text).collect();
    let at = begun.iter().rposition(|text| *text == "[Retrieval]<paragraph>").unwrap();
    (begun[..at].concat(), begun[at + 1].to_owned())
}

/// Support of one kind.
const FULL: Said = Support([1.0, 1e-12, 1e-12]);
const NONE: Said = Support([1e-12, 1e-12, 1.0]);

/// Two documents, three segments at most. Scores without the sequence score and utility are relevance + support:
/// from "one" 0.9 + 1 (goes on), from "two" 0.8 + 0.5 (goes on, by the threshold); after "A." from one 0.2 + 0 (ends) and from two
/// 0.6 + 1 (ends); after "B." from one 0.9 + 1 (goes on) and from two nothing is written; then 0.1 + 0 (ends).
fn usual(call: &Call) -> Result<Reply> {
    if call.max_tokens == 0 {
        return Ok(decided([0.9, 0.1]));
    }
    let (begun, document) = situation(call);
    let (first, second) = (begun.contains("A."), begun.contains("B."));
    Ok(match (document.as_str(), first, second) {
        ("one", false, false) => reply(&[Relevant(0.9), Text("A"), Text("."), FULL, Again, Text(" Not so."), NONE]),
        ("two", false, false) => {
            reply(&[Relevant(0.8), Text("B."), Support([0.4, 0.2, 0.4]), Enough(0.3), Text(" No.")])
        }
        ("one", true, _) => reply(&[Relevant(0.2), Text("A1."), NONE, Enough(0.1)]),
        ("two", true, _) => reply(&[Relevant(0.6), Text("A2."), FULL]),
        ("one", _, true) if !begun.contains("B1") => reply(&[Relevant(0.9), Text("B1."), FULL, Again]),
        ("two", _, true) if !begun.contains("B1") => reply(&[Relevant(0.9), FULL]),
        _ => reply(&[Relevant(0.1), Text("B2."), NONE]),
    })
}

fn long(more: &[(&str, &str)]) -> Typed {
    let all = [&[("long", "true"), ("sequence-score", "false"), ("w-utility", "0")], more].concat();
    let all: std::collections::BTreeMap<&str, &str> = all.into_iter().collect();
    typed(&all.into_iter().collect::<Vec<_>>())
}

fn answered(switches: &Typed, llm: &Model) -> QuestionRecord {
    let (record, error) = record(switches, &question(&["one", "two"]), Tools::new(llm));
    assert!(error.is_none(), "{error:?}");
    record
}

/// The text of each answer, the best first, with its documents.
fn answers(record: &QuestionRecord) -> Vec<(String, Vec<usize>)> {
    let conclusion = record.conclusion.as_ref().unwrap();
    let all = conclusion.answers.iter().chain(&conclusion.rejected);
    all.map(|answer| (answer.text.clone(), answer.supporters.clone())).collect()
}

#[test]
fn the_best_answers_continue_from_every_document() {
    let record = answered(&long(&[]), &model(usual));
    is_golden("self_rag.long", &record);
    // After one segment: "A." 1.9, "B." 1.3. After two: "B. B1." (1.3 + 1.9) / 2 = 1.6, "A. A2." (1.9 + 1.6) / 2 = 1.75,
    // "A. A1." (1.9 + 0.2) / 2 = 1.05. After three: "B. B1. B2." (1.3 + 1.9 + 0.1) / 3 = 1.1, twice.
    assert_eq!(answers(&record), [("A. A2.".to_owned(), vec![0, 1]), ("B. B1. B2.".into(), vec![0, 1])]);
    assert_eq!(record.calls.len(), 1 + 2 + 4 + 2);
    let rounds: Vec<usize> = record.calls.iter().map(|call| call.round).collect();
    assert_eq!(rounds, [1, 1, 1, 2, 2, 2, 2, 3, 3]);
    let conclusion = record.conclusion.unwrap();
    assert_eq!((conclusion.rounds, conclusion.calls), (2, vec![1, 4]));
    let lines: Vec<&str> = conclusion.explanation.lines().collect();
    let first = "A. (a.md: relevance 0.90, support 1.00, utility 0.00, score 1.90)";
    assert_eq!(lines, [first, "A2. (b.txt: relevance 0.60, support 1.00, utility 0.00, score 1.60)"]);
}

#[test]
fn a_segment_is_written_after_those_before_it_with_their_tokens() {
    let record = answered(&long(&[]), &model(usual));
    let asked = scaffold("### Instruction:\n");
    assert_eq!(record.calls[1].raw_prompt, [asked, content(&record.question.text), scaffold("\n\n### Response:\n")]);
    let paragraph =
        |document: &str| [scaffold("[Retrieval]<paragraph>"), content(document), scaffold("</paragraph>")].to_vec();
    assert_eq!(record.calls[1].prefill, paragraph("one"));
    let kept = [scaffold("[Relevant]"), content("A."), scaffold("[Fully supported]")];
    // Cut at [Retrieval]: what the generator went on to say without passages is dropped.
    assert_eq!(record.calls[3].prefill, [&kept[..], &paragraph("one")].concat());
    let kept = [scaffold("[Relevant]"), content("B."), scaffold("[Fully supported]")];
    let kept = [&kept[..], &[scaffold("[Relevant]"), content("B1."), scaffold("[Fully supported]")]].concat();
    assert_eq!(record.calls[8].prefill, [&kept[..], &paragraph("two")].concat());
    assert_eq!(
        record.calls[8].wanted_logprobs.as_ref().unwrap().watch,
        [&(102..112).collect::<Vec<u32>>()[..], &[100, 101]].concat()
    );
    assert_eq!((record.calls[3].document, record.calls[4].document), (Some(0), Some(1)));
}

#[test]
fn depth_width_and_threshold_are_switches() {
    // One segment: the best response to one document.
    let record = answered(&long(&[("max-depth", "1")]), &model(usual));
    assert_eq!((record.calls.len(), answers(&record)[0].clone()), (3, ("A.".to_owned(), vec![0])));
    // One answer kept: "B." is never continued.
    let record = answered(&long(&[("beam-width", "1")]), &model(usual));
    assert_eq!((record.calls.len(), answers(&record)), (5, vec![("A. A2.".to_owned(), vec![0, 1])]));
    // Above P([Retrieval]) = 0.3, [No Retrieval] is what it says, and the generator goes on by itself.
    let record = answered(&long(&[("threshold", "0.35")]), &model(usual));
    assert_eq!(answers(&record)[1], ("B. No.".to_owned(), vec![1]));
    assert_eq!(record.calls.len(), 1 + 2 + 2);
    // With 0, every [No Retrieval] retrieves: "A. A1." goes on too, and nothing is asked first.
    let record = answered(&long(&[("threshold", "0"), ("beam-width", "3")]), &model(usual));
    assert_eq!((record.calls[0].max_tokens > 0, record.calls.len()), (true, 2 + 4 + 4));
}

#[test]
fn utility_and_the_sequence_score_count() {
    let says = |call: &Call| match call.max_tokens {
        0 => Ok(decided([0.9, 0.1])),
        _ if situation(call).1 == "one" => {
            Ok(reply(&[Relevant(0.5), Text("A."), Utility([1.0, 1e-12, 1e-12, 1e-12, 1e-12])]))
        }
        _ => Ok(reply(&[Relevant(0.4), Text("B."), Utility([1e-12, 1e-12, 1e-12, 1e-12, 1.0])])),
    };
    // By default the sequence score is on: exp(-1) = 0.37 is added, and utility has weight 0.5.
    let record = answered(&typed(&[("long", "true")]), &model(says));
    let explanation = &record.conclusion.as_ref().unwrap().explanation;
    assert_eq!(explanation, "B. (b.txt: relevance 0.40, support 0.00, utility 1.00, score 1.27)");
    let values = methods::build("self-rag", &typed(&[("long", "true")])).unwrap().values.json();
    assert_eq!((&values["sequence-score"], &values["selection"]), (&true.into(), &"original".into()));
    let record = answered(&long(&[]), &model(says));
    assert_eq!(answers(&record)[0].0, "A.", "0.5 against 0.4");
}

#[test]
fn a_long_answer_needs_the_tokens_and_no_aggregator() {
    for (switch, value) in [("prompted", "true"), ("selection", "aggregate")] {
        let refused = usage_error(methods::build("self-rag", &typed(&[("long", "true"), (switch, value)])));
        assert!(refused.contains("long=true") && refused.contains(value), "{refused}");
    }
    assert!(methods::build("self-rag", &typed(&[("long", "true"), ("selection", "original")])).is_ok());
}

#[test]
fn segments_without_words_are_left_out() {
    let bare = |call: &Call| match call.max_tokens {
        0 => Ok(decided([0.9, 0.1])),
        _ => Ok(reply(&[Relevant(0.9), FULL, Again])),
    };
    let record = answered(&long(&[]), &model(bare));
    let conclusion = record.conclusion.unwrap();
    assert!(conclusion.malformed && conclusion.answers.is_empty() && record.calls.len() == 3);
    assert_eq!(conclusion.calls, [1, 2]);
    // An answer that nothing was written after is whole.
    let ends = |call: &Call| match call.max_tokens {
        0 => Ok(decided([0.9, 0.1])),
        _ if situation(call).0.is_empty() => Ok(reply(&[Relevant(0.9), Text("Unknown."), FULL, Again])),
        _ => Ok(reply(&[Relevant(0.9), Again])),
    };
    let record = answered(&long(&[]), &model(ends));
    let conclusion = record.conclusion.unwrap();
    assert!(conclusion.answers.is_empty() && !conclusion.malformed && record.calls.len() == 1 + 2 + 4, "unknown");
}

#[test]
fn tokens_after_the_end_of_a_segment_do_not_judge_it() {
    let says = |call: &Call| match call.max_tokens {
        0 => Ok(decided([0.9, 0.1])),
        _ if situation(call).0.is_empty() => Ok(reply(&[Relevant(0.9), Text("A."), Again, Text(" B."), FULL])),
        _ => Ok(reply(&[Relevant(0.9)])),
    };
    let explanation = answered(&long(&[]), &model(says)).conclusion.unwrap().explanation;
    assert_eq!(explanation, "A. (a.md: relevance 0.90, support 0.00, utility 0.00, score 0.90)");
}

#[test]
fn every_segment_has_a_retrieval_of_its_own_and_a_failed_call_fails_the_question() {
    let shelf = Shelf::new([passage("a.md", 1, None, "one"), passage("a.md", 2, None, "two")]);
    let llm = model(usual);
    let question = moot::question::Question { text: "one or two".into(), ..question(&[]) };
    let tools = Tools { retriever: Some(&shelf), ..Tools::new(&llm) };
    let (found, error) = record(&long(&[]), &question, tools);
    assert!(error.is_none(), "{error:?}");
    let queries: Vec<String> = shelf.asked.lock().unwrap().iter().map(|(query, _)| query.clone()).collect();
    // The question, then with the last segment of every answer that goes on.
    assert_eq!(queries, ["one or two", "one or two A.", "one or two B.", "one or two B1."]);
    assert_eq!(answers(&found), [("A. A2.".to_owned(), vec![0, 1]), ("B. B1. B2.".into(), vec![0, 1])]);
    assert!(found.events.iter().all(|event| matches!(event, Event::Retrieval { .. })));

    let fails = |call: &Call| match usual(call) {
        Ok(_) if call.max_tokens > 0 && situation(call).0.contains("B1.") => {
            Err(moot::MootError::Engine("gone".into()))
        }
        other => other,
    };
    let (failed, error) = record(&long(&[]), &question, Tools { retriever: Some(&shelf), ..Tools::new(&model(fails)) });
    assert!(error.unwrap().to_string().contains("gone") && failed.calls.len() == 7);
}

/// Finds passages for the question alone.
struct First(Shelf);

impl Retriever for First {
    fn retrieve(&self, query: &str, wanted: &Wanted) -> Result<Vec<Hit>> {
        if query == "one or two" { self.0.retrieve(query, wanted) } else { Ok(Vec::new()) }
    }

    fn identity(&self) -> RetrieverIdentity {
        self.0.identity()
    }
}

#[test]
fn an_answer_ends_where_nothing_is_found_for_its_next_segment() {
    let first = First(Shelf::new([passage("a.md", 1, None, "one"), passage("a.md", 2, None, "two")]));
    let llm = model(usual);
    let question = moot::question::Question { text: "one or two".into(), ..question(&[]) };
    let (found, error) = record(&long(&[]), &question, Tools { retriever: Some(&first), ..Tools::new(&llm) });
    assert!(error.is_none(), "{error:?}");
    assert_eq!(answers(&found), [("A.".to_owned(), vec![0]), ("B.".into(), vec![1])]);
    let fallbacks = found.events.iter().filter(|event| matches!(event, Event::Fallback { .. })).count();
    assert_eq!(fallbacks, 2);
}

#[test]
fn thirty_documents_are_thirty_continuations_of_each_answer() {
    let texts: Vec<String> = (0..30).map(|i| format!("text {i}")).collect();
    let document = |text: &String| moot::question::Document { text: text.clone(), ..Default::default() };
    let thirty = moot::question::Question { documents: texts.iter().map(document).collect(), ..question(&[]) };
    let says = |call: &Call| match call.max_tokens {
        0 => Ok(decided([0.9, 0.1])),
        _ => Ok(reply(&[Relevant(0.9), Text(" More."), FULL, Again])),
    };
    let llm = model(says);
    let (record, error) = record(&long(&[]), &thirty, Tools::new(&llm));
    assert!(error.is_none());
    // The formula of the method's row: 1 + 30 x (1 + 2 x 6).
    assert_eq!(record.calls.len(), 391);
    assert_eq!(record.conclusion.unwrap().answers[0].text, "More. More. More. More. More. More. More.");
}

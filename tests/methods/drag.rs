//! DRAG's transcripts: both debates, each alone, and what is counted of them.

use super::library::{Library, asked, failed, fallbacks, held, metric, read, record, said, with_documents};
use super::record_text::is_golden;
use super::typed;
use moot::llm::scripted::Scripted;
use moot::protocol::switches::Typed;
use moot::question::Question;
use moot::transcript::{CallRecord, Parsed, QuestionRecord};
use serde_json::json;

const ASKED: &str = "Where was the designer of the Arlen Bridge born?";
const DESIGNED: &str = "The Arlen Bridge was designed by Ada Quill.";
const TOWN: &str = "Arlen is a town of mills.";
const BORN: &str = "Ada Quill was born in Tessin.";
const NOTES: &str = "Notes on the works of Ada Quill, engineer.";

fn library() -> Library {
    Library::new(&[
        (ASKED, &[DESIGNED, TOWN]),
        ("Ada Quill birthplace", &[BORN]),
        ("Arlen Bridge designer", &[DESIGNED, NOTES, TOWN, BORN]),
    ])
}

/// The challenger adds a query and then rewords the first one; the proponent wins the third round.
const RETRIEVAL: &[(&str, &str)] = &[
    ("proponent, round 1", "The designer is named."),
    ("challenger, round 1", "Argument: No birthplace is stated.\nQuery Expansion: Ada Quill birthplace"),
    ("judge, round 1", "Challenger Agent"),
    ("proponent, round 2", "Designer and birthplace are stated."),
    (
        "challenger, round 2",
        "Argument: The first query is long.\nQuery Optimization: Where was the designer of the Arlen Bridge born? -> Arlen Bridge designer",
    ),
    ("judge, round 2", "Challenger Agent"),
    ("proponent, round 3", "Nothing is missing."),
    ("challenger, round 3", "Argument: One source is too few.\nQuery Expansion: Quill family"),
    ("judge, round 3", "Proponent Agent"),
];

/// Rounds 4 to 6, after three of the retrieval debate.
const RESPONSE: &[(&str, &str)] = &[
    ("proponent, round 4", "Thought: P1.\nAnswer: Tessin"),
    ("challenger, round 4", "Thought: C1.\nAnswer: Grau"),
    ("proponent, round 5", "Thought: P2.\nAnswer: Tessin"),
    ("challenger, round 5", "Thought: C2.\nAnswer: Grau"),
    ("proponent, round 6", "Thought: P3.\nAnswer: Tessin"),
    ("challenger, round 6", "Thought: C3.\nAnswer: Tessin"),
    ("judge, round 6", "Tessin"),
];

fn drag(switches: &Typed, script: &[&[(&'static str, &'static str)]]) -> (QuestionRecord, Vec<String>) {
    let library = library();
    let record = held("drag", switches, &asked(ASKED), &said(script), &library);
    (record, library.queries())
}

fn by_name<'a>(record: &'a QuestionRecord, role: &str, round: usize) -> &'a CallRecord {
    record.calls.iter().rfind(|call| call.role == role && call.round == round).unwrap()
}

/// Calls, rounds of both debates, queries of the final pool, retriever calls, all rounds.
fn counted(record: &QuestionRecord) -> [Option<f64>; 6] {
    ["calls", "retrieval-rounds", "response-rounds", "queries", "retriever-calls", "rounds"]
        .map(|name| metric(name, record))
}

#[test]
fn both_debates_go_as_published() {
    let (record, queries) = drag(&Typed::new(), &[RETRIEVAL, RESPONSE]);
    is_golden("drag", &record);
    assert_eq!(queries, [ASKED, "Ada Quill birthplace", "Arlen Bridge designer"], "each query once");
    assert_eq!(counted(&record), [16.0, 3.0, 3.0, 2.0, 3.0, 6.0].map(Some));
    let conclusion = record.conclusion.unwrap();
    assert_eq!((conclusion.answers[0].text.as_str(), conclusion.calls), ("Tessin", vec![15]));
    assert!(conclusion.answers[0].supporters.is_empty(), "no document had an agent");
}

#[test]
fn the_three_of_a_retrieval_round_see_the_pool_and_the_judge_both_arguments() {
    let (record, _) = drag(&Typed::new(), &[RETRIEVAL, RESPONSE]);
    for round in 1..=3 {
        for role in ["proponent", "challenger", "judge"] {
            let call = record.calls.iter().find(|call| call.role == role && call.round == round).unwrap();
            let seen = read(call);
            assert_eq!(call.messages.len(), 1, "no history");
            assert_eq!(seen.contains("Query: Ada Quill birthplace"), round > 1, "{role} {round}");
            assert_eq!(seen.contains(&format!("Query: {ASKED}")), round < 3, "{role} {round}");
            // Three passages a query: the fourth of the last query is not shown.
            assert_eq!(seen.matches("\n- ").count(), [2, 3, 4][round - 1], "{seen}");
            assert_eq!(seen.contains("The designer is named."), round == 1 && role == "judge");
        }
    }
    // Proponent and challenger speak at once; the judge after them.
    let stages: Vec<usize> = record.calls[..3].iter().map(|call| call.stage).collect();
    assert_eq!(stages, [1, 1, 2]);
    // The challenger may name a query of the pool, and nothing else.
    let pools = [1, 2, 3].map(|round| by_name(&record, "challenger", round).format_values["queries"].clone());
    let want = [
        json!([ASKED]),
        json!([ASKED, "Ada Quill birthplace"]),
        json!(["Arlen Bridge designer", "Ada Quill birthplace"]),
    ];
    assert_eq!(pools, want);
    assert!(
        by_name(&record, "judge", 1).format_values == json!({ "options": ["Proponent Agent", "Challenger Agent"] })
    );
}

#[test]
fn the_challenger_of_the_response_debate_never_sees_a_document() {
    let (record, _) = drag(&Typed::new(), &[RETRIEVAL, RESPONSE]);
    let passages = [DESIGNED, TOWN, BORN, NOTES];
    for round in 4..=6 {
        let (proponent, challenger) = (by_name(&record, "proponent", round), by_name(&record, "challenger", round));
        let seen = read(challenger);
        assert!(!passages.iter().any(|text| seen.contains(text)) && !seen.contains("birthplace"), "{seen}");
        // The proponent keeps its documents, since each keeps its own chat.
        assert!(passages.iter().all(|text| proponent.messages[0].content.contains(text)));
        assert_eq!([proponent.messages.len(), challenger.messages.len()], [2 * (round - 4) + 1; 2]);
        assert_eq!(proponent.stage, challenger.stage);
        // Each reads the other's last reply, and its own in its chat.
        if round > 4 {
            let last = |call: &CallRecord| call.messages.last().unwrap().content.clone();
            assert!(last(proponent).contains(&format!("Challenger Agent: Thought: C{}.\nAnswer: Grau", round - 4)));
            assert!(last(challenger).contains(&format!("Proponent Agent: Thought: P{}.\nAnswer: Tessin", round - 4)));
            assert_eq!(challenger.messages[1].content, "Thought: C1.\nAnswer: Grau");
        }
    }
    // The judge reads the last replies alone.
    let seen = read(by_name(&record, "judge", 6));
    assert!(seen.contains("P3.") && seen.contains("C3.") && !seen.contains("P2.") && !seen.contains("C1."), "{seen}");
    assert!(!passages.iter().any(|text| seen.contains(text)));
}

#[test]
fn without_asymmetry_both_read_the_documents() {
    let (record, _) = drag(
        &typed(&[("asymmetry", "false"), ("retrieval-rounds", "0")]),
        &[&[
            ("proponent, round 1", "Thought: P1.\nAnswer: Tessin"),
            ("challenger, round 1", "Thought: C1.\nAnswer: Tessin"),
            ("proponent, round 2", "Thought: P2.\nAnswer: Tessin"),
            ("challenger, round 2", "Thought: C2.\nAnswer: Tessin"),
            ("proponent, round 3", "Thought: P3.\nAnswer: Tessin"),
            ("challenger, round 3", "Thought: C3.\nAnswer: Tessin"),
            ("judge, round 3", "Tessin"),
        ]],
    );
    assert_eq!(record.calls[0].messages, record.calls[1].messages);
    assert!(read(&record.calls[1]).contains(DESIGNED) && record.calls[1].seed != record.calls[0].seed);
    assert_eq!(counted(&record)[..4], [7.0, 0.0, 3.0, 1.0].map(Some));
}

#[test]
fn the_judge_stops_the_retrieval_debate() {
    let stops: &[(&str, &str)] = &[("judge, round 1", "Proponent Agent")];
    let after: &[(&str, &str)] = &[
        ("proponent, round 2", "Thought: P1.\nAnswer: Tessin"),
        ("challenger, round 2", "Thought: C1.\nAnswer: Grau"),
        ("judge, round 2", "Grau"),
    ];
    let (record, queries) = drag(&typed(&[("response-rounds", "1")]), &[stops, &RETRIEVAL[..2], after]);
    assert_eq!(queries, [ASKED], "the challenger's query is not sent");
    assert_eq!(counted(&record), [6.0, 1.0, 1.0, 1.0, 1.0, 2.0].map(Some));
    // The response debate reads the pool as it was.
    assert_eq!(record.retrieved.len(), 2);
    assert_eq!(record.conclusion.unwrap().answers[0].text, "Grau");
}

/// The challenger adds a new query in every round, and wins.
fn relentless() -> Scripted {
    Scripted::new(|call| {
        let round = call.what.rsplit(' ').next().unwrap();
        match (call.role.as_str(), call.grammar.as_ref().map(|grammar| &*grammar.name)) {
            ("challenger", Some("reply/query_action.lark")) => {
                format!("Argument: More.\nQuery Expansion: query {round}")
            }
            ("judge", Some("reply/choice.lark")) => "Challenger Agent".into(),
            ("judge" | "reader", _) => "Tessin".into(),
            (_, Some("reply/thought.lark")) => "Thought: x\nAnswer: Tessin".into(),
            _ => "It is enough.".into(),
        }
    })
}

#[test]
fn calls_of_every_number_of_rounds() {
    for retrieval in 0..=4 {
        for response in 0..=4 {
            let rounds = [("retrieval-rounds", retrieval), ("response-rounds", response)];
            let typed: Typed = rounds.iter().map(|&(name, count)| (name.to_owned(), format!("{count}"))).collect();
            let record = held("drag", &typed, &asked(ASKED), &relentless(), &library());
            let calls = 3 * retrieval + 2 * response + 1;
            let want = [calls, retrieval, response, retrieval + 1, retrieval + 1, retrieval + response];
            let mut want = want.map(|count| Some(count as f64));
            if retrieval + response == 0 {
                // It is Naive RAG, and no debate has a size.
                want[1..4].fill(None);
            }
            assert_eq!(counted(&record), want, "{retrieval} {response}");
            assert_eq!(record.conclusion.unwrap().answers[0].text, "Tessin");
            let rounds: Vec<usize> = record.calls.iter().map(|call| call.round).collect();
            assert!(rounds.is_sorted() && *rounds.last().unwrap() == (retrieval + response.max(1)));
            let seeds: std::collections::BTreeSet<u64> = record.calls.iter().map(|call| call.seed).collect();
            assert_eq!(seeds.len(), calls, "every call has a seed of its own");
        }
    }
    let refused = moot::methods::build("drag", &typed(&[("response-rounds", "17")])).unwrap_err().to_string();
    assert!(refused.contains("from 0 to 16"), "{refused}");
}

#[test]
fn each_stage_alone() {
    // Without rounds of the response debate Naive RAG's reader answers from what the retrieval debate left.
    let answer: &[(&str, &str)] = &[("reader, round 4", "Tessin")];
    let (record, _) = drag(&typed(&[("response-rounds", "0")]), &[RETRIEVAL, answer]);
    let last = record.calls.last().unwrap();
    assert_eq!((record.calls.len(), last.prompt.as_str()), (10, "naive_rag/reader.jinja"));
    // Each passage once, although two queries found the last one.
    assert!(read(last).contains("Passage 1: The Arlen Bridge was designed by Ada Quill.\n"), "{}", read(last));
    assert_eq!((read(last).matches("Passage ").count(), read(last).matches("Ada Quill was born").count()), (4, 1));
    let conclusion = record.conclusion.unwrap();
    assert_eq!(conclusion.answers[0].text, "Tessin");
    // A passage that holds the answer's words mentions it.
    assert_eq!(conclusion.answers[0].mentions, [2]);
}

#[test]
fn an_action_is_one_and_changes_the_pool_or_ends_the_debate() {
    let settings = typed(&[("response-rounds", "0"), ("retrieval-rounds", "1")]);
    let after = |action: &'static str| {
        let script: &[(&str, &str)] = &[
            ("challenger, round 1", action),
            ("proponent, round 1", "Enough."),
            ("judge, round 1", "Challenger Agent"),
            ("reader, round 2", "Tessin"),
        ];
        drag(&settings, &[script])
    };
    // The pool stays as it is: converged, with epsilon 0.
    let known = "Argument: a\nQuery Expansion: where was the designer of the Arlen Bridge born";
    let same = "Argument: a\nQuery Optimization: Where was the designer of the Arlen Bridge born? -> Where was the designer of the Arlen Bridge born?";
    for action in [known, same] {
        let (record, queries) = after(action);
        assert_eq!((queries.len(), fallbacks(&record).len()), (1, 0), "{action}");
        assert_eq!(counted(&record)[1..4], [1.0, 0.0, 1.0].map(Some));
    }
    // Two actions, a query that the pool lacks, or none at all.
    let both = "Argument: a\nQuery Expansion: one\nQuery Optimization: Where was the designer of the Arlen Bridge born? -> two";
    let twice = "Argument: a\nQuery Expansion: one\nQuery Expansion: two";
    let foreign = "Argument: a\nQuery Optimization: Who built it? -> Ada Quill";
    for action in [both, twice, foreign, "Argument: nothing to add", ""] {
        let (record, queries) = after(action);
        assert_eq!(queries, [ASKED], "{action}");
        let ended = "the challenger won with an action that cannot be read: the retrieval debate ended";
        assert_eq!(fallbacks(&record), [ended], "{action}");
        assert_eq!(by_name(&record, "challenger", 1).parsed, Parsed::Malformed);
        assert_eq!(metric("queries", &record), Some(1.0));
    }
}

#[test]
fn an_optimisation_into_a_known_query_drops_the_old_one() {
    let second =
        "Argument: a\nQuery Optimization: Ada Quill birthplace -> Where was the designer of the Arlen Bridge born?";
    let script: &[(&str, &str)] =
        &[("challenger, round 2", second), ("judge, round 3", "Proponent Agent"), ("reader, round 4", "unknown")];
    let (record, queries) = drag(&typed(&[("response-rounds", "0")]), &[script, RETRIEVAL]);
    assert_eq!(queries, [ASKED, "Ada Quill birthplace"], "nothing is retrieved for it");
    assert_eq!(by_name(&record, "challenger", 3).format_values["queries"], json!([ASKED]));
    assert_eq!(counted(&record)[..5], [10.0, 3.0, 0.0, 1.0, 2.0].map(Some));
    let conclusion = record.conclusion.unwrap();
    assert!(conclusion.answers.is_empty() && !conclusion.malformed, "unknown is no answer");
}

#[test]
fn malformed_replies_at_every_role() {
    // An empty argument: the debate goes on.
    let (record, _) = drag(&Typed::new(), &[&[("proponent, round 1", "")], RETRIEVAL, RESPONSE]);
    assert_eq!((metric("malformed-replies", &record), fallbacks(&record).len()), (Some(1.0), 0));
    // A verdict that names neither ends the retrieval debate.
    let early: &[(&str, &str)] =
        &[("judge, round 1", "Both argue well, the Challenger Agent better."), ("reader, round 2", "Tessin")];
    let (record, queries) = drag(&typed(&[("response-rounds", "0")]), &[early, RETRIEVAL]);
    assert_eq!(fallbacks(&record), ["the judge named no winner: the retrieval debate ended"]);
    assert_eq!((queries.len(), metric("rounds", &record)), (1, Some(1.0)));
    // Debaters: the other one reads what was said.
    let vague: &[(&str, &str)] = &[("proponent, round 4", "It was Tessin."), ("challenger, round 5", "")];
    let (record, _) = drag(&Typed::new(), &[vague, RETRIEVAL, RESPONSE]);
    assert_eq!(metric("malformed-replies", &record), Some(2.0));
    assert!(read(by_name(&record, "challenger", 5)).contains("Proponent Agent: It was Tessin.\n"));
    assert_eq!(record.conclusion.unwrap().answers[0].text, "Tessin");
    // The last verdict: there is no answer.
    let (record, _) = drag(&Typed::new(), &[&[("judge, round 6", "...")], RETRIEVAL, RESPONSE]);
    let conclusion = record.conclusion.unwrap();
    assert!(conclusion.malformed && conclusion.answers.is_empty());
    // The same holds for the reader's answer, where it counts.
    let alone: &[(&str, &str)] = &[("reader, round 4", "...")];
    let (record, _) = drag(&typed(&[("response-rounds", "0")]), &[RETRIEVAL, alone]);
    assert!(record.conclusion.unwrap().malformed);
}

#[test]
fn a_failed_call_is_the_questions_error() {
    for (name, before) in [
        ("proponent, round 1", 0),
        ("judge, round 1", 2),
        ("challenger, round 2", 3),
        ("challenger, round 4", 9),
        ("proponent, round 6", 13),
        ("judge, round 6", 15),
    ] {
        let script: &[(&'static str, &'static str)] = &[(name, "(fails)")];
        let llm = said(&[script, RETRIEVAL, RESPONSE]);
        let (error, calls) = failed(record("drag", &Typed::new(), &asked(ASKED), &llm, Some(&library())));
        assert_eq!((error.contains("gone"), calls), (true, before), "{name}: {error}");
    }
}

#[test]
fn a_retriever_that_finds_nothing_is_debated_too() {
    let nothing = Library::default();
    let record = held("drag", &Typed::new(), &asked(ASKED), &said(&[RETRIEVAL, RESPONSE]), &nothing);
    for role in ["proponent", "challenger", "judge"] {
        assert!(read(record.calls.iter().find(|call| call.role == role).unwrap()).contains("- (nothing was found)"));
    }
    assert!(read(by_name(&record, "proponent", 4)).contains("Query 1: Arlen Bridge designer\n- (nothing was found)\n"));
    assert_eq!((nothing.queries().len(), record.retrieved.len()), (3, 0));
    assert_eq!(counted(&record), [16.0, 3.0, 3.0, 2.0, 3.0, 6.0].map(Some));
}

#[test]
fn without_a_corpus_the_questions_own_documents_are_read() {
    let script: Vec<(&str, &str)> = RESPONSE.to_vec();
    let from_one = |what: &'static str| match what {
        "proponent, round 4" => "proponent, round 1",
        "challenger, round 4" => "challenger, round 1",
        "proponent, round 5" => "proponent, round 2",
        "challenger, round 5" => "challenger, round 2",
        "proponent, round 6" => "proponent, round 3",
        "challenger, round 6" => "challenger, round 3",
        _ => "judge, round 3",
    };
    let script: Vec<(&'static str, &'static str)> =
        script.into_iter().map(|(what, reply)| (from_one(what), reply)).collect();
    for count in [1, 30] {
        let question = with_documents(ASKED, count);
        let (record, error) = record("drag", &Typed::new(), &question, &said(&[&script]), None);
        assert!(error.is_none());
        // 2 x 3 + 1 calls, as the paper counts its response phase.
        assert_eq!(counted(&record), [Some(7.0), Some(0.0), Some(3.0), None, Some(0.0), Some(3.0)]);
        let shown = read(&record.calls[0]).matches("- Own document ").count();
        assert_eq!((shown, read(&record.calls[1]).contains("Own document")), (count, false));
    }
    let (record, error) = record("drag", &Typed::new(), &asked(ASKED), &said(&[]), None);
    assert!(error.unwrap().to_string().contains("needs at least 1 document") && record.calls.is_empty());
}

#[test]
fn a_corpus_replaces_the_documents_of_the_question() {
    let library = library();
    let question = with_documents(ASKED, 10);
    let record = held("drag", &Typed::new(), &question, &said(&[RETRIEVAL, RESPONSE]), &library);
    assert!(record.question.documents.is_empty() && record.retrieved.len() == 4);
    assert!(record.calls.iter().all(|call| !read(call).contains("Own document")));
    assert_eq!(counted(&record), [16.0, 3.0, 3.0, 2.0, 3.0, 6.0].map(Some));
}

#[test]
fn thirty_passages_a_query_and_options() {
    let texts: Vec<String> = (0..40).map(|i| format!("Passage {i} about it.")).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let library = Library::new(&[(ASKED, &texts)]);
    let rounds = [("retrieval-rounds", "0"), ("response-rounds", "1"), ("per-query", "30")];
    let script: &[(&str, &str)] = &[
        ("proponent, round 1", "Thought: x\nAnswer: yes"),
        ("challenger, round 1", "Thought: x\nAnswer: no"),
        ("judge, round 1", "yes"),
    ];
    let question = Question { options: vec!["yes".into(), "no".into()], ..asked(ASKED) };
    let record = held("drag", &typed(&rounds), &question, &said(&[script]), &library);
    assert_eq!(read(&record.calls[0]).matches("\n- Passage ").count(), 30);
    assert_eq!((record.retrieved.len(), library.asked.lock().unwrap()[0].1), (30, 30));
    // Of a question with options the judge names one.
    assert_eq!((record.calls[2].format.as_str(), record.calls[2].chosen()), ("choice", Some("yes")));
    assert_eq!(record.conclusion.unwrap().answers[0].text, "yes");
}

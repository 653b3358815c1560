//! Properties of every row of the table of methods, also of a new one: the protocol's size, bad replies, failed calls.

use super::cases::{
    Case, all_cases, cases, extremes, failures, fallbacks, modes, named, question, rows, shelf, text, texts,
};
use super::formula::by_default;
use super::scripted::{Model, Takes, read_by};
use crate::protocol::ctx::Shelf;
use crate::retrieval::Letters;
use moot::generation::Segment;
use moot::methods::METHODS;
use moot::protocol::ctx::Tools;
use moot::protocol::switches::Typed;
use moot::question::Hit;
use moot::retrieval::{Embedder, Retriever, RetrieverIdentity, Side, Wanted};
use moot::transcript::{CallRecord, Event, Parsed, QuestionRecord};
use moot::{MootError, Result};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};

#[test]
fn one_document_and_thirty_are_answered_within_the_formula() {
    for row in rows() {
        for case in cases(row, modes(row).into_iter().chain(extremes(row)).collect()) {
            for count in [1, 30] {
                let record = case.answered(&texts(count), &Model::good(case.takes));
                // Without "at most" the first formula is the exact number by default.
                let first = row.calls.split(';').next().unwrap();
                if case.typed.is_empty() && !first.contains("at most") {
                    assert_eq!(record.calls.len(), case.formula(&record)[0], "{case}: {}", row.calls);
                }
            }
        }
    }
}

#[test]
fn rows_state_their_number_of_calls_and_the_effect_of_malformed_replies() {
    for row in METHODS {
        let case = Case { row, typed: Typed::new(), takes: Takes::First, searches: false };
        let values = case.formula(&QuestionRecord::default());
        assert!(!values.is_empty(), "{}: `calls` begins with no formula: {}", row.name, row.calls);
        if let Some(said) = by_default(row.calls) {
            assert_eq!(said, values[0], "{}: {}", row.name, row.calls);
        }
        let said =
            ["malformed", "empty", "cannot be read"].iter().any(|word| row.protocol.to_lowercase().contains(word));
        assert!(said, "{}: its protocol does not say what becomes of malformed replies", row.name);
    }
}

#[test]
fn without_documents_and_without_a_corpus_a_method_refuses_or_needs_none() {
    for case in all_cases().filter(|case| !case.searches || case.row.needs.retriever) {
        let llm = Model::good(case.takes);
        let (record, error) = case.with(&question(&[]), Tools::new(&llm));
        let (needs, name) = (case.row.needs, case.row.name);
        match error {
            Some(MootError::Question(line)) if needs.documents || needs.passages => {
                let start = format!("{name} needs at least 1 document, question \"q1\" has none");
                assert!(line.starts_with(&start), "{case}: {line}");
                assert!(record.calls.is_empty() && record.conclusion.is_none(), "{case}");
            }
            Some(MootError::Usage(line)) if needs.retriever => {
                assert_eq!(line, format!("{name} retrieves: expected --corpus PATH, found none"), "{case}");
            }
            None if !needs.searches() => case.check(&record),
            other => panic!("{case}: {other:?}"),
        }
    }
}

#[test]
fn a_search_that_finds_nothing_is_an_error_or_is_recorded() {
    for case in all_cases().filter(|case| case.searches) {
        let (record, error) = case.run(&[], &[], &Model::good(case.takes));
        if let Some(error) = error {
            let MootError::NothingFound { .. } = error else { panic!("{case}: {error:?}") };
            assert!(record.calls.is_empty(), "{case}");
            continue;
        }
        case.check(&record);
        assert!(record.retrieved.is_empty(), "{case}");
        // Self-RAG alone may decide against a search; its answer is then said to be from memory.
        let found =
            |event: &Event| if let Event::Retrieval { hits, .. } = event { Some(hits.concat().len()) } else { None };
        let found: Vec<usize> = record.events.iter().filter_map(found).collect();
        let from_memory = record.conclusion.as_ref().unwrap().explanation == "from memory";
        assert!(found.iter().all(|count| *count == 0) && (from_memory || !found.is_empty()), "{case}: {found:?}");
        assert!(found.is_empty() || fallbacks(&record) > 0, "{case}: an empty search is not counted as a fallback");
    }
}

/// Empty replies keep no format but a continuation, which no role begins with; the other ones none but free text.
const GARBAGE: [&str; 2] = ["", "Hm [{ perhaps"];

#[test]
fn malformed_replies_of_any_role_are_recorded_and_answered_by_the_protocol() {
    for case in all_cases() {
        let roles = case.row.roles.iter().map(|&role| Some(role)).chain([None]);
        for (bad, garbage) in roles.flat_map(|role| GARBAGE.map(|garbage| (role, garbage))) {
            let spoils = move |role: &str| bad.is_none_or(|bad| role == bad);
            let llm = Model::spoilt(case.takes, move |call| spoils(&call.role).then_some(garbage));
            let record = case.answered(&texts(3), &llm);
            if !garbage.is_empty() {
                continue;
            }
            let spoilt = record.calls.iter().filter(|call| spoils(&call.role) && call.max_tokens > 0);
            assert!(spoilt.map(|call| &call.parsed).all(|parsed| *parsed == Parsed::Malformed), "{case}: {bad:?}");
            let conclusion = record.conclusion.as_ref().unwrap();
            if bad.is_none() {
                assert!(conclusion.malformed || fallbacks(&record) > 0, "{case}: every reply was empty");
                assert!(conclusion.answers.is_empty(), "{case}: an answer out of empty replies");
            }
        }
    }
}

#[test]
fn a_failed_call_fails_the_question_by_name_or_is_an_event() {
    for case in all_cases() {
        let good = case.answered(&texts(3), &Model::good(case.takes));
        for (number, call) in good.calls.iter().enumerate() {
            let (record, error) = case.run(&texts(3), &[], &Model::good(case.takes).failing(number));
            case.check(&record);
            match error {
                Some(error) => {
                    assert_eq!(error.to_string(), format!("{}: refused", named(&good, call)), "{case}");
                    assert!(record.conclusion.is_none(), "{case}");
                    // The stages before it are recorded, its own is not.
                    let before = good.calls.iter().take_while(|other| other.stage < call.stage).count();
                    assert_eq!(record.calls, good.calls[..before], "{case}: call {number}");
                }
                None => {
                    let happened = |record: &QuestionRecord| fallbacks(record) + failures(record);
                    assert!(happened(&record) > happened(&good), "{case}: call {number} failed silently");
                }
            }
        }
    }
}

/// Fails at the search of this number.
struct Broken(usize, AtomicUsize, Shelf);

impl Retriever for Broken {
    fn retrieve(&self, query: &str, wanted: &Wanted) -> Result<Vec<Hit>> {
        if self.1.fetch_add(1, Ordering::Relaxed) == self.0 {
            return Err(MootError::Question(format!("search {} is refused", self.0)));
        }
        self.2.retrieve(query, wanted)
    }

    fn identity(&self) -> RetrieverIdentity {
        self.2.identity()
    }
}

struct Mute;

impl Embedder for Mute {
    fn embed(&self, _: &[&str], _: Side) -> Result<Vec<f32>> {
        Err(MootError::Question("embedding is refused".into()))
    }

    fn dimension(&self) -> usize {
        4
    }

    fn identity(&self) -> &str {
        "mute"
    }
}

#[test]
fn a_failed_search_or_embedding_fails_the_question() {
    for case in all_cases() {
        let llm = Model::good(case.takes);
        let good = case.answered(&texts(3), &llm);
        let searches = |event: &Event| if let Event::Retrieval { queries, .. } = event { queries.len() } else { 0 };
        for number in 0..good.events.iter().map(searches).sum() {
            let broken = Broken(number, AtomicUsize::new(0), shelf(&texts(3)));
            let (record, error) = case.with(&question(&[]), Tools { retriever: Some(&broken), ..Tools::new(&llm) });
            let error = error.unwrap_or_else(|| panic!("{case}: search {number} failed silently"));
            assert_eq!(error.to_string(), format!("search {number} is refused"), "{case}");
            assert!(record.conclusion.is_none(), "{case}");
        }
        let on_shelf = shelf(&texts(3));
        let asked = question(&if case.searches { Vec::new() } else { texts(3) });
        let tools = Tools { retriever: case.searches.then_some(&on_shelf), ..Tools::new(&llm) };
        let (embedded, error) = case.with(&asked, Tools { embedder: Some(&Letters), ..tools });
        assert!(error.is_none(), "{case}: {error:?}");
        case.check(&embedded);
        let embeds = embedded.events.iter().any(|event| matches!(event, Event::Embedding { .. }));
        assert!(!embeds || case.row.needs.embedder, "{case}: it embeds, and its row does not say so");
        let (_, error) = case.with(&asked, Tools { embedder: Some(&Mute), ..tools });
        assert_eq!(error.is_some(), embeds, "{case}: {error:?}");
    }
}

#[test]
fn a_document_longer_than_the_context_is_refused_by_name_and_numbers() {
    for case in all_cases() {
        let good = case.answered(&texts(3), &Model::good(case.takes));
        // Self-RAG's long answers have their documents in the part of the reply that is given.
        let reads = |call: &&CallRecord| {
            let given: String = call.prefill.iter().map(Segment::text).collect();
            (read_by(&call.sent()) + &given).contains(&text(1))
        };
        let mut long = texts(3);
        long[1].push_str(&" more".repeat(4000));
        let (record, error) = case.run(&long, &[], &Model::good(case.takes).with_context(3000));
        let Some(first) = good.calls.iter().find(reads) else {
            assert!(error.is_none(), "{case}: {error:?}");
            continue;
        };
        let Some(error @ MootError::TooLong { .. }) = &error else { panic!("{case}: {error:?}") };
        let line = error.to_string();
        assert!(line.starts_with(&format!("{}: needs ", named(&good, first))), "{case}: {line}");
        assert!(line.ends_with("the context of the model is 3000") && line.contains(" of prompt, "), "{case}: {line}");
        assert!(error.is_of_one_question() && record.conclusion.is_none(), "{case}");
    }
}

/// These prompts show a question's options. The words that end a chain of IRCoT and FLARE have no options beside them.
#[test]
fn options_are_shown() {
    let shows: [(&str, &[&str]); 9] = [
        ("closed-book", &["closed_book/answerer.jinja", "closed_book/one.jinja"]),
        (
            "drag",
            &[
                "drag/exchange.jinja",
                "drag/from_memory.jinja",
                "drag/response_judge.jinja",
                "drag/with_documents.jinja",
            ],
        ),
        ("flare", &["flare/step.jinja"]),
        ("ircot", &["ircot/chain.jinja"]),
        ("iter-retgen", &["iter_retgen/reader.jinja"]),
        ("mad", &["mad/first.jinja", "mad/moderator.jinja"]),
        ("naive-rag", &["naive_rag/reader.jinja"]),
        ("speculative-rag", &["speculative_rag/consistency.jinja", "speculative_rag/drafter.jinja"]),
        ("sure", &["sure/candidates.jinja"]),
    ];
    for (name, prompts) in shows {
        let row = rows().find(|row| row.name == name).unwrap();
        let mut shown = BTreeSet::new();
        for case in cases(row, modes(row)) {
            let (record, error) = case.run(&texts(3), &["left", "right"], &Model::good(case.takes));
            assert!(error.is_none(), "{case}: {error:?}");
            for call in &record.calls {
                let prompt = &call.messages.last().unwrap().content;
                let Some(line) = prompt.lines().find(|line| line.contains("left, right")) else { continue };
                assert!(!line.contains("answer is") || !["flare", "ircot"].contains(&name), "{case}: {line}");
                shown.insert(call.prompt.clone());
            }
        }
        assert_eq!(shown.iter().map(String::as_str).collect::<Vec<_>>(), prompts, "{name}");
    }
}

/// No run uses this prompt, role or format, so it should not be listed.
#[test]
fn all_that_a_row_lists_is_used() {
    for row in rows() {
        let mut used: [BTreeSet<String>; 3] = Default::default();
        for case in cases(row, modes(row).into_iter().chain(extremes(row)).collect()) {
            for (options, bad) in [(&[][..], false), (&["yes", "no"][..], false), (&[][..], true)] {
                let llm = Model::spoilt(case.takes, move |_| bad.then_some(""));
                let (record, error) = case.run(&texts(3), options, &llm);
                assert!(error.is_none(), "{case}: {error:?}");
                // Some calls are made only where a date is known.
                let mut dated = question(&texts(3));
                dated.documents.iter_mut().for_each(|document| document.date = Some("1902".into()));
                let dated = if case.searches { Vec::new() } else { case.with(&dated, Tools::new(&llm)).0.calls };
                for call in record.calls.into_iter().chain(dated) {
                    used[0].insert(call.prompt);
                    used[1].insert(call.role);
                    used[2].insert(call.format);
                }
            }
        }
        let listed = |names: Vec<&str>| names.into_iter().map(str::to_owned).collect::<BTreeSet<String>>();
        assert_eq!(used[0], listed(row.prompts.iter().map(|file| file.name).collect()), "{}", row.name);
        assert_eq!(used[1], listed(row.roles.to_vec()), "{}", row.name);
        assert_eq!(used[2], listed(row.formats.iter().map(|format| format.name).collect()), "{}", row.name);
    }
}

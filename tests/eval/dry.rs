//! The cost of a run, counted beforehand.

use super::journal::questions;
use moot::eval::dry::{Probe, pass, probe};
use moot::llm::scripted::Scripted;
use moot::methods::{self, METHODS};
use moot::protocol::ctx::{Settings, Tools};
use moot::protocol::switches::Typed;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

fn never() -> Scripted {
    Scripted::new(|call| panic!("{} was asked", call.what))
}

/// A debate ends after two rounds where all replies are alike, and has all three where they differ: rounds x (documents + 1).
#[test]
fn a_debate_is_counted_at_its_shortest_and_its_longest() {
    let (llm, settings) = (never(), Settings { free_form: true, ..Settings::default() });
    let method = methods::build("madam-rag", &Typed::new()).unwrap();
    let count = |differing| pass(&method, &questions(7, 5), Tools::new(&llm), &settings, differing).unwrap();
    let (alike, differing) = (count(false), count(true));
    assert_eq!((alike.questions, alike.calls, alike.malformed, alike.failed.len()), (7, 7 * 2 * 6, 0, 0));
    assert_eq!((differing.calls, differing.malformed), (7 * 3 * 6, 0));
    assert_eq!(
        differing.roles.iter().map(|(role, calls)| (role.as_str(), *calls)).collect::<Vec<_>>(),
        [("agent", 105), ("aggregator", 21)]
    );
    assert!(alike.characters < differing.characters && alike.characters > alike.calls * 100);
}

/// Made-up replies keep the formats of methods, so that their way through malformed replies is not counted.
#[test]
fn made_up_replies_keep_their_formats() {
    let llm = never();
    let exact = ["madam-rag", "concatenated", "closed-book", "majority-vote", "self-consistency"];
    for row in METHODS {
        let method = row.build(&Typed::new()).unwrap();
        for differing in [false, true] {
            let pass = pass(&method, &questions(2, 3), Tools::new(&llm), &Settings::default(), differing);
            if exact.contains(&row.name) {
                let pass = pass.unwrap();
                assert!(pass.calls > 0 && pass.failed.is_empty() && pass.malformed == 0, "{}: {pass:?}", row.name);
            }
        }
    }
}

#[test]
fn a_question_that_would_fail_is_reported() {
    let (llm, method) = (never(), methods::build("concatenated", &Typed::new()).unwrap());
    let pass = pass(&method, &questions(2, 0), Tools::new(&llm), &Settings::default(), false).unwrap();
    assert_eq!((pass.calls, pass.failed.len()), (0, 2));
    assert!(pass.failed[0].1.contains("needs at least 1 document"), "{pass:?}");
}

/// The first stages of some questions are sent twice: for one token each, and to their ends.
#[test]
fn a_few_calls_are_measured() {
    let asked = Arc::new(AtomicUsize::new(0));
    let counter = asked.clone();
    let llm = Scripted::new(move |call| {
        counter.fetch_add(1, Ordering::SeqCst);
        assert!(call.role == "agent" && (call.max_tokens == 1 || call.max_tokens == 128));
        "Answer: one two three four".into()
    });
    let method = methods::build("madam-rag", &Typed::new()).unwrap();
    let of = |count| probe(&method, &questions(count, 5), Tools::new(&llm), &Settings::default(), 3).unwrap();
    let measured = of(9).unwrap();
    assert_eq!((measured.calls, asked.load(Ordering::SeqCst)), (15, 30), "three questions of five documents");
    assert_eq!(measured.generated_tokens, 15 * 5);
    assert_eq!(measured.tokens(2 * measured.characters), 2 * measured.prompt_tokens);
    assert_eq!(of(0), None);
    let probe = Probe { calls: 4, characters: 100, prefill_seconds: 2.0, decode_seconds: 3.0, ..Probe::default() };
    assert!((probe.seconds(8, 300) - (2.0 * 3.0 + 3.0 * 2.0)).abs() < 1e-12);
}

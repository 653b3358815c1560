//! Draft tokens save steps and change no reply.

use super::{CHANCE, FORMS, assert_balanced, bits, done, greedy, one, pages, start, words};
use moot::engine::{EngineOptions, Request, Think};
use moot::generation::{Grammar, Sampling};

/// A few tokens over and over, so that what follows is likely to have occurred before.
fn refrain(seed: u64, sampling: Sampling, max_tokens: usize) -> Request {
    let prompt = words(seed, 9).repeat(6);
    Request { sampling, seed, ..greedy(prompt, max_tokens) }
}

fn drafting(memory: usize) -> EngineOptions {
    EngineOptions { speculate: true, ..pages(memory) }
}

#[test]
fn replies_are_the_same_in_fewer_steps() {
    for form in FORMS {
        let (plain, fast) = (start(form, pages(256)), start(form, drafting(256)));
        // One at a time, or the number of steps is that of the reply that repeats itself least.
        let asked = |engine| (0..6).map(|seed| one(engine, refrain(seed, Sampling::Greedy, 120))).collect::<Vec<_>>();
        let (expected, got) = (asked(&plain), asked(&fast));
        for (expected, got) in expected.iter().zip(&got) {
            assert_eq!(bits(expected), bits(got));
            assert_eq!(expected.usage, got.usage);
        }
        assert_balanced(&fast.stats(), &got);
        let (slow, stats) = (plain.stats(), fast.stats());
        assert!(stats.accepted > 50 && stats.drafted >= stats.accepted, "{form}: {stats:?}");
        assert_eq!(stats.steps + stats.accepted, slow.steps, "{form}: each accepted draft token saves a step");
        assert_eq!((slow.drafted, slow.accepted), (0, 0));
    }
}

#[test]
fn sampled_replies_with_thoughts_and_with_grammars_are_the_same() {
    const LIST: &str =
        "start: \"The numbers are: [\" NUMBER (\", \" NUMBER)* \"] and no more.\"\nNUMBER: /[0-9]{1,3}/\n";
    let think = Think { tokens: 40, close: "never said".into(), close_id: None, after: vec![7], forced: vec![5, 6] };
    for form in FORMS {
        let requests = || {
            let mut all: Vec<Request> = (0..6).map(|seed| refrain(seed, CHANCE, 60)).collect();
            for (seed, request) in (10..).zip(&mut all[3..]) {
                *request = Request { think: Some(think.clone()), ..refrain(seed, CHANCE, 60) };
            }
            for seed in 20..24 {
                let grammar = Some(Grammar { name: "list.lark".into(), lark: LIST.into() });
                all.push(Request { grammar, ignore_eos: false, ..refrain(seed, Sampling::Greedy, 80) });
            }
            all
        };
        let (plain, fast) = (start(form, pages(256)), start(form, drafting(256)));
        let (expected, got) = (done(&plain, requests()), done(&fast, requests()));
        for (index, (expected, got)) in expected.iter().zip(&got).enumerate() {
            if expected.thoughts.is_none() {
                assert_eq!(bits(expected), bits(got), "{form}, request {index}");
            }
            assert_eq!((&expected.thoughts, &expected.tokens), (&got.thoughts, &got.tokens), "{form}, request {index}");
            assert_eq!(expected.finish, got.finish);
        }
        assert_balanced(&fast.stats(), &got);
        assert!(fast.stats().drafted > 0, "{:?}", fast.stats());
    }
}

/// The grammar leaves no choice of text, but the model chooses among its spellings.
#[test]
fn text_that_a_grammar_forces_is_drafted() {
    let lark = "start: \"There is nothing to choose here.\" /[0-9]{4}/ \" And nothing here.\"";
    let request = |seed: u64| Request {
        grammar: Some(Grammar { name: "one.lark".into(), lark: lark.into() }),
        ignore_eos: false,
        seed,
        sampling: if seed.is_multiple_of(2) { Sampling::Greedy } else { CHANCE },
        ..greedy(words(seed, 20), 80)
    };
    for form in FORMS {
        let (plain, fast) = (start(form, pages(64)), start(form, drafting(64)));
        // One at a time: each accepted draft token saves a step.
        for seed in 0..12 {
            let (expected, got) = (one(&plain, request(seed)), one(&fast, request(seed)));
            assert_eq!(bits(&expected), bits(&got), "{form}, {seed}");
            assert!(got.text.starts_with("There is nothing to choose here."), "{:?}", got.text);
        }
        let (slow, stats) = (plain.stats(), fast.stats());
        assert!(stats.drafted_by_grammar > 0 && stats.accepted_by_grammar > 0, "{form}: {stats:?}");
        assert!(stats.drafted_by_grammar <= stats.drafted, "{form}: {stats:?}");
        assert!(stats.accepted_by_grammar <= stats.accepted, "{form}: {stats:?}");
        assert_eq!(stats.steps + stats.accepted, slow.steps, "{form}: each accepted draft token saves a step");
    }
}

//! Pages are a budget: requests that do not fit wait, those that can never fit are refused, eviction is by last use.

use super::{CONTEXT, PAGE_BYTES, alone, ask, assert_balanced, bits, collect, done, golden, greedy, one, pages};
use super::{start, submit, words};
use moot::MootError;
use moot::engine::{Engine, EngineOptions, Request};
use moot_models::{LoadOptions, Model, PAGE};

const FORM: &str = "llama.gguf";

/// Takes four pages: 40 prompt tokens and 23 of the 24 generated ones.
fn four_pages(seed: u64) -> Request {
    greedy(words(seed, 40), 24)
}

#[test]
fn requests_that_do_not_fit_wait_and_finish() {
    for (budget, at_once) in [(4, 1), (7, 1), (8, 2), (13, 3)] {
        let engine = start(FORM, pages(budget));
        let (replies, order) = collect(&submit(&engine, (0..7).map(four_pages).collect()), 7);
        let replies: Vec<_> = replies.into_iter().map(Result::unwrap).collect();
        assert_eq!(engine.stats().peak_rows, at_once, "{budget} pages");
        assert_eq!(engine.stats().peak_pages, at_once * 4, "{budget} pages");
        assert_eq!(order, (0..7).collect::<Vec<_>>(), "first come, first served");
        for (seed, reply) in replies.iter().enumerate() {
            assert_eq!(bits(reply), bits(&alone(FORM, four_pages(seed as u64))));
        }
        assert_balanced(&engine.stats(), &replies);
    }
}

/// Four siblings of four pages each, three of them common: seven pages hold them all, but only once the prefix is there.
#[test]
fn shared_pages_count_once() {
    let engine = start(FORM, pages(7));
    let sibling = |own: u64| greedy([&words(1, 48)[..], &words(100 + own, 10)].concat(), 6);
    let replies = done(&engine, (0..4).map(sibling).collect());
    assert_eq!((engine.stats().peak_rows, engine.stats().peak_pages), (4, 7));
    assert_eq!(engine.stats().prefilled, 48 + 4 * 10);
    assert_balanced(&engine.stats(), &replies);
}

/// The first request in the queue is not overtaken, even if a later one would fit.
#[test]
fn a_large_request_is_not_starved_by_small_ones() {
    let engine = start(FORM, pages(8));
    let mut requests = vec![four_pages(1), greedy(words(2, 100), 28)];
    requests.extend((10..20).map(|seed| greedy(words(seed, 10), 3)));
    let (replies, order) = collect(&submit(&engine, requests), 12);
    assert!(replies.iter().all(Result::is_ok));
    assert_eq!(order[..2], [0, 1]);
}

fn too_long(result: &Result<moot::engine::Completion, MootError>) -> (usize, usize, usize, &'static str, usize) {
    match result {
        Err(MootError::TooLong { needed, prompt, generate, limit_name, limit, .. }) => {
            (*needed, *prompt, *generate, *limit_name, *limit)
        }
        other => panic!("{other:?} is not too long"),
    }
}

#[test]
fn a_request_that_can_never_fit_is_refused_with_its_numbers_and_others_continue() {
    let engine = start(FORM, pages(6));
    let requests = vec![
        four_pages(1),
        greedy(words(2, 200), CONTEXT - 199),
        greedy(words(3, 90), 6 * PAGE - 89),
        greedy(words(4, 90), usize::MAX),
        four_pages(5),
    ];
    let (replies, order) = collect(&submit(&engine, requests), 5);
    assert_eq!(order, [1, 2, 3, 0, 4], "they are refused at once");
    assert_eq!(too_long(&replies[1]), (257, 200, 57, "the context of the model", 256));
    assert_eq!(too_long(&replies[2]), (97, 90, 7, "the key-value memory", 96));
    assert_eq!(too_long(&replies[3]).0, usize::MAX);
    for (index, seed) in [(0, 1), (4, 5)] {
        assert_eq!(bits(replies[index].as_ref().unwrap()), bits(&alone(FORM, four_pages(seed))));
    }
}

#[test]
fn a_request_that_just_fits_is_answered() {
    assert_eq!(one(&start(FORM, pages(6)), greedy(words(3, 90), 6)).tokens.len(), 6);
    let whole = start(FORM, pages(CONTEXT / PAGE));
    let reply = one(&whole, greedy(words(3, 1), CONTEXT - 1));
    assert_eq!(reply.tokens.len(), CONTEXT - 1);
    assert_eq!(whole.stats().peak_pages, CONTEXT / PAGE);
}

#[test]
fn unsound_requests_are_refused_and_others_continue() {
    let engine = start(FORM, pages(6));
    let unknown = [&words(3, 20)[..], &[320]].concat();
    let requests = vec![
        four_pages(1),
        greedy(Vec::new(), 5),
        greedy(words(2, 5), 0),
        greedy(unknown, 5),
        greedy(vec![u32::MAX], 5),
    ];
    let replies = ask(&engine, requests);
    for (index, said) in [(1, "at least one prompt token"), (2, "one token to generate"), (3, "320"), (4, "4294967295")]
    {
        match &replies[index] {
            Err(MootError::Usage(text)) => assert!(text.contains(said), "{text}"),
            other => panic!("request {index}: {other:?}"),
        }
    }
    assert_eq!(bits(replies[0].as_ref().unwrap()), bits(&alone(FORM, four_pages(1))));
}

#[test]
fn memory_for_less_than_a_page_is_refused() {
    let model = Model::open(&golden().join(FORM), &LoadOptions::default()).unwrap();
    let error = Engine::start(model, EngineOptions { kv_memory: PAGE_BYTES - 1, ..pages(1) }).unwrap_err();
    assert!(error.to_string().contains(&PAGE_BYTES.to_string()), "{error}");
}

/// Two full pages stay in the tree after it.
fn two_pages(seed: u64) -> Request {
    greedy(words(seed, 33), 1)
}

fn reused(engine: &Engine, request: Request) -> usize {
    one(engine, request).usage.reused
}

#[test]
fn the_least_recently_used_prefix_is_evicted_first() {
    let engine = start(FORM, pages(6));
    for seed in [1, 2, 1] {
        one(&engine, two_pages(seed));
    }
    assert_eq!(engine.stats().evicted, 0, "four pages are kept, two are free");
    // Four pages: the two free ones and the two of what was not asked again.
    one(&engine, greedy(words(3, 64), 1));
    assert_eq!(engine.stats().evicted, 2);
    assert_eq!(reused(&engine, two_pages(1)), 32);
    assert_eq!(reused(&engine, two_pages(2)), 0);
}

#[test]
fn a_prefix_is_evicted_from_its_end() {
    let engine = start(FORM, pages(6));
    one(&engine, greedy(words(1, 64), 1));
    // Takes the two free pages and the last one of the four.
    one(&engine, greedy(words(2, 33), 1));
    assert_eq!(engine.stats().evicted, 1);
    assert_eq!(reused(&engine, greedy(words(1, 49), 1)), 48);
}

#[test]
fn a_page_in_use_is_never_evicted() {
    // The long request takes 10 of 14 pages; others turn the other 4 over again and again.
    let engine = start(FORM, pages(14));
    let long = || greedy(words(1, 60), 100);
    let mut requests = vec![long()];
    requests.extend((10..30).map(four_pages));
    let replies = done(&engine, requests);
    assert!(engine.stats().evicted > 40, "{:?}", engine.stats());
    assert_eq!(bits(&replies[0]), bits(&alone(FORM, long())));
    for (seed, reply) in (10..30).zip(&replies[1..]) {
        assert_eq!(bits(reply), bits(&alone(FORM, four_pages(seed))), "request {seed}");
    }
    assert_balanced(&engine.stats(), &replies);
    assert!(engine.stats().peak_pages <= 14);
}

//! The same request gives the same bits in any batch, with any chunking of its prompt and with any cached prefix.

use super::{Bits, CHANCE, FORMS, alone, assert_balanced, bits, done, greedy, one, pages, start, words};
use moot::engine::{Engine, EngineOptions, Request};
use moot::generation::Sampling;
use proptest::collection::vec;
use proptest::prelude::*;
use std::sync::LazyLock;

const WAYS: [Sampling; 2] = [Sampling::Greedy, CHANCE];

/// Long enough for four pages, and it ends in the middle of one.
fn target(sampling: Sampling) -> Request {
    Request { sampling, seed: 5, ..greedy(words(1, 61), 30) }
}

fn other(seed: u64) -> Request {
    let dice = words(seed ^ 0x5eed, 2);
    let (len, max_tokens) = (1 + dice[0] as usize % 120, 1 + dice[1] as usize % 40);
    Request { sampling: WAYS[seed as usize % 2], seed, ..greedy(words(seed, len), max_tokens) }
}

/// Runs `check` with the bits of the target alone, for both models, greedily and by chance.
fn for_every_way(check: impl Fn(&str, Sampling, &Bits)) {
    for form in FORMS {
        for sampling in WAYS {
            check(form, sampling, &bits(&alone(form, target(sampling))));
        }
    }
}

#[test]
fn among_31_other_requests() {
    for_every_way(|form, sampling, expected| {
        for index in [0, 13, 31] {
            let engine = start(form, pages(512));
            let mut requests: Vec<Request> = (100..131).map(other).collect();
            requests.insert(index, target(sampling));
            let replies = done(&engine, requests);
            assert_eq!(engine.stats().peak_rows, 32, "all ran side by side");
            assert_eq!(&bits(&replies[index]), expected, "{form}, {sampling:?}, row {index} of 32");
        }
    });
}

#[test]
fn the_other_requests_are_not_changed_either() {
    for form in FORMS {
        let mut requests: Vec<Request> = (200..231).map(other).collect();
        requests.push(target(CHANCE));
        let replies = done(&start(form, pages(512)), requests);
        for (seed, reply) in (200..231).zip(&replies) {
            assert_eq!(bits(reply), bits(&alone(form, other(seed))), "{form}, other {seed}");
        }
    }
}

#[test]
fn prefilled_in_chunks_of_any_size() {
    for_every_way(|form, sampling, expected| {
        for step_tokens in [1, 2, 7, 16, 17, 64, 512] {
            let options = EngineOptions { step_tokens, ..pages(64) };
            let engine = start(form, options);
            assert_eq!(
                &bits(&one(&engine, target(sampling))),
                expected,
                "{form}, {sampling:?}, steps of {step_tokens}"
            );
            if step_tokens < 61 {
                assert!(engine.stats().steps >= 61_usize.div_ceil(step_tokens) + 29, "the prompt was cut");
            }
            let crowded = start(form, options);
            let replies = done(&crowded, vec![other(7), target(sampling), other(8), other(9)]);
            let what = format!("{form}, {sampling:?}, steps of {step_tokens} for four");
            assert_eq!(&bits(&replies[1]), expected, "{what}");
            assert_balanced(&crowded.stats(), &replies);
        }
    });
}

#[test]
fn from_a_warm_tree() {
    for_every_way(|form, sampling, expected| {
        // The requests before the target, and the number of tokens of its prompt that remain in the cache.
        for (shared, reused) in [(0, 0), (15, 0), (16, 16), (17, 16), (40, 32), (61, 48)] {
            let engine = start(form, pages(64));
            let before = [&words(1, 61)[..shared], &words(2, 20)].concat();
            one(&engine, greedy(before, 20));
            let reply = one(&engine, target(sampling));
            assert_eq!(reply.usage.reused, reused, "after {shared} common tokens");
            assert_eq!(&bits(&reply), expected, "{form}, {sampling:?}, {shared} tokens warm");
            let again = one(&engine, target(sampling));
            assert_eq!(again.usage.reused, 48, "full pages but for the last token");
            assert_eq!(&bits(&again), expected, "{form}, {sampling:?}, all warm");
        }
    });
}

#[test]
fn from_pages_that_another_reply_filled_while_decoding() {
    for form in FORMS {
        let engine = start(form, pages(64));
        let first = one(&engine, greedy(words(3, 10), 60));
        let prompt = [&words(3, 10)[..], &first.tokens].concat();
        let next = one(&engine, greedy(prompt.clone(), 20));
        assert_eq!(next.usage.reused, 64, "69 tokens were computed: four full pages");
        assert_eq!(bits(&next), bits(&alone(form, greedy(prompt, 20))), "{form}");
    }
}

#[test]
fn with_sharing_off() {
    for_every_way(|form, sampling, expected| {
        let engine = start(form, EngineOptions { share_prefixes: false, ..pages(64) });
        for _ in 0..2 {
            let replies = done(&engine, vec![target(sampling), target(sampling), other(3)]);
            assert!(replies.iter().all(|reply| reply.usage.reused == 0));
            assert!(replies[..2].iter().all(|reply| &bits(reply) == expected), "{form}, {sampling:?}");
        }
        let stats = engine.stats();
        assert_eq!((stats.evicted, stats.page_reads), (0, stats.page_reads_unshared));
    });
}

#[test]
fn after_eviction() {
    for_every_way(|form, sampling, expected| {
        // The target takes 6 pages; a other of 120 tokens leaves it none of 8.
        let engine = start(form, pages(8));
        assert_eq!(&bits(&one(&engine, target(sampling))), expected);
        one(&engine, greedy(words(4, 120), 8));
        let reply = one(&engine, target(sampling));
        assert!(engine.stats().evicted >= 5, "{:?}", engine.stats());
        assert_eq!(reply.usage.reused, 0);
        assert_eq!(&bits(&reply), expected, "{form}, {sampling:?}");
    });
}

#[test]
fn twins_side_by_side() {
    for_every_way(|form, sampling, expected| {
        for step_tokens in [1, 16, 4096] {
            let engine = start(form, EngineOptions { step_tokens, ..pages(64) });
            for reply in done(&engine, (0..5).map(|_| target(sampling)).collect()) {
                assert_eq!(&bits(&reply), expected, "{form}, {sampling:?}, steps of {step_tokens}");
            }
        }
    });
}

/// One request of a random mix, so that many have prefixes in common.
#[derive(Debug, Clone)]
pub(super) struct MixedRequest {
    family: u64,
    common: usize,
    own: u64,
    tail: usize,
    max_tokens: usize,
    chance: bool,
}

impl MixedRequest {
    pub(super) fn request(&self) -> Request {
        let prompt = [&words(self.family, self.common)[..], &words(self.own, self.tail)].concat();
        let sampling = if self.chance { CHANCE } else { Sampling::Greedy };
        Request { sampling, seed: self.own, ..greedy(prompt, self.max_tokens) }
    }
}

pub(super) fn mixed_request() -> impl Strategy<Value = MixedRequest> {
    (0_u64..2, 0_usize..70, 10_u64..13, 1_usize..30, 1_usize..40, any::<bool>()).prop_map(
        |(family, common, own, tail, max_tokens, chance)| MixedRequest {
            family,
            common,
            own,
            tail,
            max_tokens,
            chance,
        },
    )
}

fn setting() -> impl Strategy<Value = EngineOptions> {
    // A request takes at most 9 pages.
    (1_usize..9, 1_usize..90, 9_usize..40, any::<bool>(), any::<bool>()).prop_map(
        |(rows, step_tokens, n, share_prefixes, speculate)| EngineOptions {
            rows,
            step_tokens,
            share_prefixes,
            speculate,
            ..pages(n)
        },
    )
}

/// An engine that answers one request at a time and caches nothing.
static REFERENCE: LazyLock<Engine> =
    LazyLock::new(|| start("llama.gguf", EngineOptions { rows: 1, share_prefixes: false, ..pages(16) }));

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn in_any_mix(options in setting(), rounds in vec(vec(mixed_request(), 1..8), 1..4)) {
        let engine = start("llama.gguf", options);
        let mut all = Vec::new();
        for round in &rounds {
            let replies = done(&engine, round.iter().map(MixedRequest::request).collect());
            for (mixed, reply) in round.iter().zip(&replies) {
                prop_assert_eq!(bits(reply), bits(&one(&REFERENCE, mixed.request())), "{:?}", mixed);
            }
            all.extend(replies);
        }
        let stats = engine.stats();
        assert_balanced(&stats, &all);
        prop_assert!(stats.peak_pages <= engine.limits().pages && stats.peak_rows <= options.rows, "{:?}", stats);
    }
}

//! Common prefixes are computed once and read once, while those that share them run.

use super::{FORMS, alone, assert_balanced, bits, done, greedy, one, pages, start, words};
use moot::engine::{EngineOptions, Request, Stats};
use moot_models::ReplayCounts;

const PREFIX: usize = 48;

/// `prefix` tokens that all siblings have, then 5 of its own.
fn sibling(prefix: usize, own: u64, max_tokens: usize) -> Request {
    // The first token of a tail differs for sure, so that the common prefix is just as long as it says.
    let tail = [&[own as u32][..], &words(1000 + own, 4)].concat();
    greedy([&words(1, prefix)[..], &tail].concat(), max_tokens)
}

fn siblings(count: u64, prefix: usize, max_tokens: usize) -> Vec<Request> {
    (0..count).map(|own| sibling(prefix, own, max_tokens)).collect()
}

#[test]
fn siblings_compute_their_prefix_once_however_steps_are_cut() {
    for form in FORMS {
        for step_tokens in [1, 7, 16, 17, 64, 4096] {
            for rows in [1, 2, 64] {
                let engine = start(form, EngineOptions { step_tokens, rows, ..pages(256) });
                let replies = done(&engine, siblings(6, PREFIX, 4));
                assert_eq!(engine.stats().prefilled, PREFIX + 6 * 5, "steps of {step_tokens}, {rows} rows");
                assert_eq!((replies[0].usage.reused, replies[0].usage.computed), (0, PREFIX + 5));
                for reply in &replies[1..] {
                    assert_eq!((reply.usage.reused, reply.usage.computed), (PREFIX, 5));
                }
                assert_balanced(&engine.stats(), &replies);
            }
        }
    }
}

#[test]
fn a_partial_page_is_computed_by_each_request() {
    let engine = start("llama.gguf", pages(64));
    let replies = done(&engine, siblings(3, PREFIX + 10, 1));
    assert_eq!(engine.stats().prefilled, PREFIX + 3 * 15);
    assert!(replies[1..].iter().all(|reply| reply.usage.reused == PREFIX));
}

/// Reads by hand, per layer and KV head; a tile has up to 32 rows and reads each of its pages once.
///
/// Prefill: 53 rows of the first sibling, then 5 of each other one, four pages each. The first tile has rows 0..32 and
/// two pages. The second takes the other 21 rows and two siblings (31 rows): three common pages and three last ones.
/// The third has the last sibling: four. That is 2 + 6 + 4. Alone: 2 + 4 for the first, 4 for each other one.
/// Decode: four rows in one tile, three common pages and four last ones; alone 4 times 4.
#[test]
fn a_shared_page_is_read_once_for_all_rows_of_a_tile() {
    for form in FORMS {
        let engine = start(form, pages(64));
        done(&engine, siblings(4, PREFIX, 3));
        let stats = engine.stats();
        let expected = Stats {
            prefilled_in_bf16: 0,
            steps: 3,
            prefilled: 48 + 4 * 5,
            decoded: 4 * 2,
            drafted: 0,
            accepted: 0,
            drafted_by_grammar: 0,
            accepted_by_grammar: 0,
            scored: 0,
            grammars_compiled: 0,
            padding_avoided: 3 * 48,
            page_reads: 12 + 2 * 7,
            page_reads_unshared: 18 + 2 * 16,
            reused_across_groups: 0,
            evicted: 0,
            freed_by_windows: 0,
            states_kept: 0,
            states_reused: 0,
            states_evicted: 0,
            pages_held: 0,
            peak_pages: 3 + 4,
            peak_rows: 4,
            replays: ReplayCounts::default(),
            forward_seconds: stats.forward_seconds,
            enqueue_seconds: stats.enqueue_seconds,
        };
        assert_eq!(stats, expected);
        let off = start(form, EngineOptions { share_prefixes: false, ..pages(64) });
        done(&off, siblings(4, PREFIX, 3));
        // Alone, a sibling's 53 prompt rows take 2 pages in one tile and 4 in the next.
        let unshared = 4 * 6 + 2 * 16;
        assert_eq!((off.stats().page_reads, off.stats().page_reads_unshared), (unshared, unshared));
        assert_eq!((off.stats().prefilled, off.stats().peak_pages), (4 * 53, 4 * 4));
    }
}

#[test]
fn a_second_round_computes_only_tails() {
    let engine = start("qwen2", pages(64));
    done(&engine, siblings(3, PREFIX, 4));
    let before = engine.stats().prefilled;
    let second: Vec<Request> = (50..54).map(|own| sibling(PREFIX, own, 4)).collect();
    for reply in done(&engine, second) {
        assert_eq!((reply.usage.prompt, reply.usage.reused, reply.usage.computed), (53, PREFIX, 5));
    }
    assert_eq!(engine.stats().prefilled - before, 4 * 5);
}

/// A page belongs to the group that computed it, whichever group reads it later; a group's own pages are not counted.
#[test]
fn tokens_from_another_groups_pages_are_counted_apart() {
    let engine = start("qwen2", pages(64));
    let of = |group: u32, own: u64| Request { group, ..sibling(PREFIX, own, 2) };
    done(&engine, vec![of(0, 1), of(0, 2)]);
    assert_eq!(engine.stats().reused_across_groups, 0);
    done(&engine, vec![of(1, 3), of(1, 4)]);
    assert_eq!(engine.stats().reused_across_groups, 2 * PREFIX);
    // The tail of the first one fills no page, so the same request shares the prefix alone.
    done(&engine, vec![of(0, 3)]);
    assert_eq!(engine.stats().reused_across_groups, 2 * PREFIX);
}

#[test]
fn the_last_token_is_always_computed() {
    for (len, reused) in [(16, 0), (17, 16), (32, 16), (33, 32)] {
        let engine = start("llama.gguf", pages(64));
        let twins = done(&engine, vec![greedy(words(9, len), 3), greedy(words(9, len), 3)]);
        assert_eq!((twins[0].usage.reused, twins[1].usage.reused), (0, reused), "{len} tokens");
        assert_eq!(one(&engine, greedy(words(9, len), 3)).usage.reused, reused, "{len} tokens, later");
    }
}

/// Twins fill equal pages in the same step; from the next step on the second one reads the first one's and gives its
/// own back. So beside the five full pages (53 prompt and 39 generated tokens) each has just one being filled.
#[test]
fn equal_requests_share_generated_pages() {
    for form in FORMS {
        let engine = start(form, pages(64));
        let twin = || greedy(words(6, 53), 40);
        let replies = done(&engine, vec![twin(), twin()]);
        let expected = bits(&alone(form, twin()));
        assert!(replies.iter().all(|reply| bits(reply) == expected));
        assert_eq!(engine.stats().peak_pages, 5 + 2);
        assert_balanced(&engine.stats(), &replies);
    }
}

/// A late request uses the pages that the other one is computing, up to the first token that differs.
#[test]
fn a_late_sibling_joins_a_running_one() {
    let engine = start("llama.gguf", EngineOptions { step_tokens: 32, ..pages(64) });
    let long = || greedy(words(1, 200), 30);
    let late = || greedy([&words(1, 100)[..], &words(2, 30)].concat(), 30);
    let replies = done(&engine, vec![long(), late()]);
    assert_eq!((replies[1].usage.reused, engine.stats().peak_rows), (96, 2));
    assert_eq!(engine.stats().prefilled, 200 + 34);
    assert_eq!(bits(&replies[0]), bits(&alone("llama.gguf", long())));
    assert_eq!(bits(&replies[1]), bits(&alone("llama.gguf", late())));
}

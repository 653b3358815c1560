//! Models with windows. Pages that no window reaches are given back. A cached prefix is used if the pages of its last window
//! are held. A request has the same bits with any amount of memory.

use super::{CHANCE, VOCAB, ask, bits, done, greedy, one, words};
use candle_core::quantized::GgmlDType;
use moot::engine::{Engine, EngineOptions, Request};
use moot::generation::Sampling;
use moot_models::arch::{Config, spec_of_config};
use moot_models::weights::RandomOptions;
use moot_models::{LoadOptions, Model, PAGE, PageGroups};
use serde_json::{Value, json};
use std::path::Path;

const WINDOW: usize = 36;
const PREFIX: usize = 12 * PAGE;

/// Four layers of six with a window, six of six, three of five with attention sinks and experts, four of six whose heads
/// are half as wide, before two layers without keys and values, and four of six that have twice as many heads.
const KINDS: [(&str, fn() -> Value, [usize; 2]); 5] = [
    ("some", some, [1, 2]),
    ("all", all, [0, 1]),
    ("sinks", sinks, [2, 3]),
    ("shared", shared, [1, 1]),
    ("narrow", narrow, [1, 4]),
];

fn some() -> Value {
    json!({
        "model_type": "gemma3_text", "num_hidden_layers": 6, "intermediate_size": 96, "sliding_window_pattern": 3,
        "query_pre_attn_scalar": 16, "hidden_activation": "gelu_pytorch_tanh", "rope_theta": 1e6,
        "rms_norm_eps": 1e-6, "tie_word_embeddings": true,
    })
}

fn all() -> Value {
    json!({
        "model_type": "mistral", "num_hidden_layers": 6, "intermediate_size": 96, "rms_norm_eps": 1e-6,
        "rope_theta": 1e4, "tie_word_embeddings": false,
    })
}

fn sinks() -> Value {
    json!({
        "model_type": "gpt_oss", "num_hidden_layers": 5, "intermediate_size": 32, "num_local_experts": 4,
        "num_experts_per_tok": 2, "attention_bias": true, "rms_norm_eps": 1e-5, "rope_theta": 15e4, "swiglu_limit": 7.0,
        "quantization_config": { "quant_method": "mxfp4" }, "tie_word_embeddings": false,
        "rope_scaling": { "rope_type": "yarn", "factor": 8.0, "original_max_position_embeddings": 128,
            "beta_fast": 32.0, "beta_slow": 1.0, "truncate": false },
    })
}

fn shared() -> Value {
    let (window, full) = ("sliding_attention", "full_attention");
    json!({
        "model_type": "gemma4_text", "num_hidden_layers": 8, "intermediate_size": 96, "rms_norm_eps": 1e-6,
        "hidden_activation": "gelu_pytorch_tanh", "global_head_dim": 32, "tie_word_embeddings": true,
        "num_kv_shared_layers": 2, "use_double_wide_mlp": true, "hidden_size_per_layer_input": 32,
        "final_logit_softcapping": 30.0, "layer_types": [window, window, full, window, window, full, window, full],
    })
}

fn narrow() -> Value {
    let (window, full) = ("sliding_attention", "full_attention");
    json!({
        "model_type": "gemma4_text", "num_hidden_layers": 6, "intermediate_size": 96, "rms_norm_eps": 1e-6,
        "hidden_activation": "gelu_pytorch_tanh", "global_head_dim": 16, "num_global_key_value_heads": 1,
        "attention_k_eq_v": true, "tie_word_embeddings": true,
        "layer_types": [window, window, full, window, window, full],
    })
}

fn model(kind: fn() -> Value) -> Model {
    let mut config = kind();
    let common = json!({
        "vocab_size": VOCAB, "hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16,
        "max_position_embeddings": 1024, "sliding_window": WINDOW,
    });
    config.as_object_mut().unwrap().extend(common.as_object().unwrap().clone());
    let spec = spec_of_config(&Config::of(Path::new("test"), config).unwrap()).unwrap();
    Model::random(&spec, RandomOptions { seed: 5, storage: GgmlDType::Q8_0 }, &LoadOptions::default()).unwrap()
}

/// With memory for one request of `positions`, and for `more` pages of one group.
fn engine(kind: fn() -> Value, [positions, more]: [usize; 2], options: EngineOptions) -> Engine {
    let model = model(kind);
    let groups = model.decoder.page_groups();
    let pages = groups.pages(1, positions, options.step_tokens) + more;
    let engine =
        Engine::start(model, EngineOptions { kv_memory: pages * engine_page(kind), speculate: false, ..options })
            .unwrap();
    assert_eq!((engine.limits().pages, engine.limits().groups), (pages, groups));
    engine
}

/// Bytes of a page of one group.
fn engine_page(kind: fn() -> Value) -> usize {
    let decoder = model(kind).decoder;
    decoder.group_page_bytes(&decoder.page_groups())
}

fn options(rows: usize, step_tokens: usize) -> EngineOptions {
    EngineOptions { rows, step_tokens, ..EngineOptions::default() }
}

/// The bits of each request by itself: without sharing, the prompt in one step.
fn expected(kind: fn() -> Value, requests: &[Request]) -> Vec<super::Bits> {
    let alone = engine(kind, [1024, 0], EngineOptions { share_prefixes: false, ..options(1, 4096) });
    requests.iter().map(|request| bits(&one(&alone, clone(request)))).collect()
}

fn clone(request: &Request) -> Request {
    Request { sampling: request.sampling, seed: request.seed, ..greedy(request.prompt.clone(), request.max_tokens) }
}

/// `prefix` tokens that all have, then `own` tokens of its own, of which the first differs for sure.
fn sibling(prefix: usize, number: u64, own: usize) -> Request {
    let tail = [&[number as u32][..], &words(1000 + number, own - 1)].concat();
    greedy([&words(1, prefix)[..], &tail].concat(), 4)
}

#[test]
fn layers_are_grouped_by_their_windows() {
    for (name, kind, [full, windowed]) in KINDS {
        let groups = model(kind).decoder.page_groups();
        assert_eq!([groups.full, groups.windowed, groups.window], [full, windowed, WINDOW], "{name}");
    }
}

/// The tokens are those of a forward over all positions that gives nothing back.
#[test]
fn a_long_request_holds_its_windows_alone() {
    const PROMPT: usize = 500;
    const REPLY: usize = 80;
    for (name, kind, _) in KINDS {
        for (step_tokens, share_prefixes) in [(48, true), (16, false), (4096, true)] {
            let options = EngineOptions { share_prefixes, ..options(4, step_tokens) };
            let engine = engine(kind, [PROMPT + REPLY, 0], options);
            let reply = one(&engine, greedy(words(3, PROMPT), REPLY));
            let all = [words(3, PROMPT), reply.tokens.clone()].concat();
            let logits = engine.model().decoder.forward_alone(&all).unwrap();
            for (token, logits) in reply.tokens.iter().zip(&logits[PROMPT - 1..]) {
                assert!(logits.iter().all(|logit| *logit <= logits[*token as usize]), "{name}");
            }
            assert_eq!(vec![bits(&reply)], expected(kind, &[greedy(words(3, PROMPT), REPLY)]), "{name}, {step_tokens}");
            let (stats, groups) = (engine.stats(), engine.limits().groups);
            // The last token is not computed, and the one before it begins the last step.
            let passed = groups.first_reached(PROMPT + REPLY - 2);
            assert_eq!((stats.freed_by_windows, stats.pages_held), (groups.windowed * passed, 0), "{name}");
            if step_tokens == 4096 {
                continue;
            }
            let pages = (PROMPT + REPLY - 1).div_ceil(PAGE);
            let windows = (WINDOW + step_tokens).div_ceil(PAGE) + 2;
            assert!(stats.peak_pages <= groups.full * pages + groups.windowed * windows, "{name}: {stats:?}");
            assert!(stats.peak_pages * 2 < groups.count() * pages + pages, "{name}: {stats:?}");
        }
    }
}

#[test]
fn a_request_beyond_the_memory_is_refused_with_its_positions() {
    for (name, kind, _) in KINDS {
        let engine = engine(kind, [600, 0], options(4, 64));
        let limit = engine.limits().positions();
        // Of layers that all have windows, memory for some positions is enough for all.
        assert_eq!(limit, if name == "all" { usize::MAX } else { 608 }, "{name}");
        let most = limit.min(1024);
        one(&engine, greedy(words(4, most - 4), 4));
        let error = ask(&engine, vec![greedy(words(4, most), 4)]).remove(0).unwrap_err().to_string();
        assert!(error.contains(&(most + 4).to_string()) && error.contains(&most.to_string()), "{name}: {error}");
    }
}

#[test]
fn siblings_compute_their_prefix_once_however_steps_are_cut() {
    for (name, kind, _) in KINDS {
        let siblings = || (0..5).map(|number| sibling(PREFIX, number, 50)).collect::<Vec<_>>();
        let bits_alone = expected(kind, &siblings());
        for (rows, step_tokens) in [(1, 7), (2, 17), (64, 64), (64, 4096)] {
            let engine = engine(kind, [600, 200], options(rows, step_tokens));
            let replies = done(&engine, siblings());
            assert_eq!(engine.stats().prefilled, PREFIX + 5 * 50, "{name}, {rows} rows, steps of {step_tokens}");
            for (number, (reply, expected)) in replies.iter().zip(&bits_alone).enumerate() {
                assert_eq!(&bits(reply), expected, "{name}, {number}, {rows} rows, steps of {step_tokens}");
                assert_eq!(reply.usage.reused, if number == 0 { 0 } else { PREFIX });
            }
        }
    }
}

/// The first prompt goes on for long after the prefix; its windows there are evicted for its own later pages. The prefix is
/// computed again, once, and the tree has its windows again.
#[test]
fn a_prefix_without_its_windows_is_computed_again() {
    for (name, kind, [full, windowed]) in KINDS {
        let engine = engine(kind, [520, 0], options(1, 64));
        let asked: Vec<Request> =
            [(0, 300), (1, 10), (2, 10), (3, 10)].into_iter().map(|(n, own)| sibling(PREFIX, n, own)).collect();
        let replies: Vec<_> = asked.iter().map(|request| one(&engine, clone(request))).collect();
        let reused: Vec<usize> = replies.iter().map(|reply| reply.usage.reused).collect();
        assert_eq!(reused, [0, 0, PREFIX, PREFIX], "{name}, {full} and {windowed}");
        assert_eq!(replies.iter().map(bits).collect::<Vec<_>>(), expected(kind, &asked), "{name}");
        // The pages of the longest prompt's last window are still held, so its prefix is used.
        let next = greedy([&asked[0].prompt[..], &words(9, 30)].concat(), 4);
        let last = one(&engine, clone(&next));
        assert_eq!(vec![bits(&last)], expected(kind, &[next]), "{name}");
    }
}

/// So few pages that prefixes are evicted and requests wait, in steps of all sizes, with draft tokens.
#[test]
fn bits_are_the_same_with_little_memory_and_in_any_mix() {
    let request = |number: u64| {
        let dice = words(number ^ 0x5eed, 5);
        let shared = [0, 16, 100, 192][dice[0] as usize % 4];
        let own = 1 + dice[1] as usize % 90;
        let sampling = if number.is_multiple_of(2) { CHANCE } else { Sampling::Greedy };
        let mut base = sibling(shared, dice[2].into(), own);
        if number.is_multiple_of(5) {
            base.prompt = words(number, 9).repeat(1 + dice[4] as usize % 20);
        }
        Request { sampling, seed: number, max_tokens: 1 + dice[3] as usize % 90, ..base }
    };
    let requests = || (0..40).map(request).collect::<Vec<_>>();
    for (name, kind, _) in KINDS {
        let bits_alone = expected(kind, &requests());
        let mut freed = 0;
        for (memory, rows, step_tokens) in
            [([384, 0], 8, 64), ([384, 9], 8, 7), ([400, 40], 64, 100), ([384, 2], 3, 33), ([1024, 600], 64, 512)]
        {
            let engine = engine(kind, memory, options(rows, step_tokens));
            let fast = EngineOptions { speculate: true, ..options(rows, step_tokens) };
            let kv_memory = engine.limits().pages * engine_page(kind);
            let fast = Engine::start(model(kind), EngineOptions { kv_memory, ..fast }).unwrap();
            for engine in [engine, fast] {
                for round in 0..2 {
                    for (number, (reply, expected)) in done(&engine, requests()).iter().zip(&bits_alone).enumerate() {
                        assert_eq!(&bits(reply), expected, "{name} {number}, round {round}, {:?}", engine.limits());
                    }
                }
                assert_eq!(engine.stats().pages_held, 0);
                freed += engine.stats().freed_by_windows;
            }
        }
        assert!(freed > 0);
    }
}

/// Wrong draft tokens behind a window's end go back, and the window with them.
#[test]
fn draft_tokens_change_nothing() {
    for (name, kind, _) in KINDS {
        let request = |seed: u64| Request { seed, ..greedy(words(seed, 9).repeat(16), 200) };
        let (plain, fast) = (engine(kind, [400, 0], options(1, 512)), model(kind));
        let kv_memory = plain.limits().pages * engine_page(kind);
        let fast = Engine::start(fast, EngineOptions { kv_memory, ..options(1, 512) }).unwrap();
        for seed in 0..4 {
            assert_eq!(bits(&one(&fast, request(seed))), bits(&one(&plain, request(seed))), "{name}");
        }
        let stats = fast.stats();
        assert!(stats.drafted > stats.accepted && stats.accepted > 0, "{name}: {stats:?}");
        assert_eq!(stats.pages_held, 0);
    }
}

/// Siblings on one document each need little of their own: with short prompts as many run at once as without windows.
#[test]
fn what_siblings_share_is_reserved_once() {
    const AGENTS: usize = 8;
    for (name, kind, [full, windowed]) in KINDS {
        // Pages of all groups for the prefix, and one of each agent's own.
        let pages = (full + windowed) * (2 + AGENTS);
        let kv_memory = pages * engine_page(kind);
        let options = EngineOptions { kv_memory, speculate: false, ..options(64, 512) };
        let engine = Engine::start(model(kind), options).unwrap();
        one(&engine, greedy(words(1, 2 * PAGE + 1), 1));
        done(&engine, (0..AGENTS as u64).map(|number| sibling(2 * PAGE, number, 6)).collect());
        assert_eq!(engine.stats().peak_rows, AGENTS, "{name}");
    }
}

#[test]
fn groups_hold_the_positions_that_they_say() {
    for (full, windowed) in [(1, 0), (1, 2), (0, 1), (2, 1)] {
        let window = if windowed == 0 { usize::MAX } else { WINDOW };
        let groups = PageGroups { places: 1, full, windowed, window, shares: [1, 1] };
        for pages in (full + windowed)..60 {
            let positions = groups.positions(pages, 64).min(4096);
            assert!(positions.is_multiple_of(PAGE), "{groups:?}");
            assert!(groups.pages(1, positions, 64) <= pages, "{groups:?}, {pages}");
            assert!(positions == 4096 || groups.pages(1, positions + PAGE, 64) > pages, "{groups:?}, {pages}");
        }
    }
}

//! A model with recurrent states: a prefix is computed once where a copy of the state was kept, and a request has the
//! same bits wherever it began.

use super::experts::{Q8_0, model as model_with, qwen35moe};
use super::{CHANCE, VOCAB, bits, collect, done, greedy, one, words};
use candle_core::quantized::GgmlDType;
use moot::MootError;
use moot::cancel::Cancel;
use moot::engine::{Engine, EngineOptions, Request, Think};
use moot::generation::{Grammar, Sampling};
use moot_models::arch::{Config, spec_of_config};
use moot_models::memory::Footprint;
use moot_models::weights::{RandomOptions, Weights};
use moot_models::{DecoderSpec, LoadOptions, Model, Recipe};
use serde_json::json;
use std::path::Path;
use std::sync::mpsc::channel;

const PREFIX: usize = 48;
/// More than one step of 64 tokens.
const DOCUMENT: usize = 160;

const RANDOM: RandomOptions = RandomOptions { seed: 3, storage: GgmlDType::Q8_0 };

/// Random weights: four recurrent layers of five, the last one among them.
fn model() -> Model {
    Model::random(&spec(), RANDOM, &LoadOptions::default()).unwrap()
}

fn spec() -> DecoderSpec {
    let config = json!({
        "model_type": "qwen3_5_text", "vocab_size": VOCAB, "hidden_size": 64, "intermediate_size": 96,
        "num_hidden_layers": 5, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 32,
        "max_position_embeddings": 512, "rms_norm_eps": 1e-6, "rope_theta": 1e6, "partial_rotary_factor": 0.25,
        "linear_num_key_heads": 2, "linear_num_value_heads": 4, "linear_key_head_dim": 16, "linear_value_head_dim": 32,
        "linear_conv_kernel_dim": 4, "full_attention_interval": 4, "tie_word_embeddings": false,
    });
    spec_of_config(&Config::of(Path::new("test"), config).unwrap()).unwrap()
}

/// Random weights: three short convolutions of five layers, the last one among them.
fn convolving() -> Model {
    let config = json!({
        "model_type": "lfm2", "vocab_size": VOCAB, "hidden_size": 64, "intermediate_size": 96,
        "block_auto_adjust_ff_dim": false, "num_hidden_layers": 5, "num_attention_heads": 4, "num_key_value_heads": 2,
        "max_position_embeddings": 512, "norm_eps": 1e-5, "conv_L_cache": 3, "full_attn_idxs": [1, 3],
    });
    let spec = spec_of_config(&Config::of(Path::new("test"), config).unwrap()).unwrap();
    Model::random(&spec, RANDOM, &LoadOptions::default()).unwrap()
}

/// Random weights: two recurrent layers of three, experts in all.
fn with_experts() -> Model {
    model_with(qwen35moe, Q8_0, Recipe::default())
}

/// With memory for at least `states` states (but no more than rows can use) and `pages` pages.
fn engine(memory: (usize, usize), options: EngineOptions) -> Engine {
    engine_of(model(), memory, options)
}

fn engine_of(model: Model, (states, pages): (usize, usize), options: EngineOptions) -> Engine {
    let (state_bytes, page_bytes) = (model.decoder.state_bytes(), model.decoder.page_bytes());
    let kv_memory = 2 * (states * state_bytes).max(pages * page_bytes);
    let engine = Engine::start(model, EngineOptions { kv_memory, ..options }).unwrap();
    let limits = engine.limits();
    assert!((limits.states + limits.draft_states) * state_bytes + limits.pages * page_bytes <= kv_memory, "{limits:?}");
    engine
}

fn options(rows: usize, step_tokens: usize) -> EngineOptions {
    EngineOptions { rows, step_tokens, ..EngineOptions::default() }
}

/// The bits of each request without sharing and without draft tokens.
fn expected(requests: &[Request]) -> Vec<super::Bits> {
    let alone = engine((1, 64), EngineOptions { share_prefixes: false, speculate: false, ..options(1, 4096) });
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
fn siblings_compute_their_prefix_once_however_steps_are_cut() {
    let siblings = || (0..6).map(|number| sibling(PREFIX, number, 5)).collect::<Vec<_>>();
    let bits_alone = expected(&siblings());
    for step_tokens in [1, 7, 16, 17, 50, 64, 4096] {
        for rows in [1, 2, 64] {
            let engine = engine((32, 256), options(rows, step_tokens));
            let replies = done(&engine, siblings());
            let stats = engine.stats();
            assert_eq!(stats.prefilled, PREFIX + 6 * 5, "steps of {step_tokens}, {rows} rows");
            assert_eq!((stats.states_reused, stats.drafted), (5, 0), "steps of {step_tokens}, {rows} rows");
            for (number, (reply, expected)) in replies.iter().zip(&bits_alone).enumerate() {
                assert_eq!(&bits(reply), expected, "{number}, steps of {step_tokens}, {rows} rows");
                assert_eq!(reply.usage.reused, if number == 0 { 0 } else { PREFIX });
            }
        }
    }
}

#[test]
fn siblings_compute_a_prefix_of_short_convolutions_once() {
    let siblings = || (0..6).map(|number| sibling(PREFIX, number, 5)).collect::<Vec<_>>();
    let unshared = EngineOptions { share_prefixes: false, speculate: false, ..options(1, 4096) };
    let alone = engine_of(convolving(), (1, 64), unshared);
    let bits_alone: Vec<_> = siblings().into_iter().map(|request| bits(&one(&alone, request))).collect();
    for step_tokens in [1, 17, 4096] {
        let engine = engine_of(convolving(), (32, 256), options(64, step_tokens));
        let replies = done(&engine, siblings());
        let stats = engine.stats();
        assert_eq!((stats.prefilled, stats.states_reused), (PREFIX + 6 * 5, 5), "steps of {step_tokens}");
        for (reply, expected) in replies.iter().zip(&bits_alone) {
            assert_eq!(&bits(reply), expected, "steps of {step_tokens}");
        }
    }
}

/// Eight readers of one document, of which seven begin from the state behind it.
#[test]
fn eight_requests_compute_their_document_once() {
    let readers = || (0..8).map(|number| sibling(DOCUMENT, number, 7)).collect::<Vec<_>>();
    let kinds: [(&str, fn() -> Model); 2] = [("dense", model), ("with experts", with_experts)];
    for (name, make) in kinds {
        let unshared = EngineOptions { share_prefixes: false, speculate: false, ..options(1, 4096) };
        let alone = engine_of(make(), (1, 64), unshared);
        let bits_alone: Vec<_> = readers().into_iter().map(|request| bits(&one(&alone, request))).collect();
        assert_eq!(alone.stats().prefilled, 8 * (DOCUMENT + 7), "{name}");
        for step_tokens in [64, 512] {
            let engine = engine_of(make(), (48, 256), options(64, step_tokens));
            let replies = done(&engine, readers());
            let stats = engine.stats();
            assert_eq!((stats.prefilled, stats.states_reused), (DOCUMENT + 8 * 7, 7), "{name}, steps of {step_tokens}");
            for (number, (reply, expected)) in replies.iter().zip(&bits_alone).enumerate() {
                assert_eq!(&bits(reply), expected, "{name}, {number}, steps of {step_tokens}");
                assert_eq!(reply.usage.reused, if number == 0 { 0 } else { DOCUMENT }, "{name}, {number}");
            }
        }
    }
}

/// Eight agents in pairs: instructions of all, a document of each pair, a question of each.
#[test]
fn prefixes_part_more_than_once() {
    let agent = |number: u64| {
        let document = [&words(1, 32)[..], &[(number / 2) as u32], &words(50 + number / 2, 63)].concat();
        greedy([&document[..], &[100 + number as u32], &words(70 + number, 9)].concat(), 3)
    };
    let agents = || (0..8).map(agent).collect::<Vec<_>>();
    let bits_alone = expected(&agents());
    for step_tokens in [40, 512] {
        let engine = engine((32, 256), options(64, step_tokens));
        let replies = done(&engine, agents());
        assert_eq!(engine.stats().prefilled, 32 + 4 * 64 + 8 * 10, "steps of {step_tokens}");
        for (reply, expected) in replies.iter().zip(&bits_alone) {
            assert_eq!(&bits(reply), expected);
        }
    }
}

/// The prompt of the next round begins with the last one, but for what a template puts at its end.
#[test]
fn the_next_round_goes_on_near_the_end_of_the_last_prompt() {
    let engine = engine((8, 64), options(4, 512));
    let first = words(1, 100);
    one(&engine, greedy(first.clone(), 8));
    let next = || greedy([&first[..90], &words(2, 40)].concat(), 4);
    let reply = one(&engine, next());
    assert_eq!((reply.usage.reused, reply.usage.computed), (80, 50));
    assert_eq!(vec![bits(&reply)], expected(&[next()]));
}

/// Where a prompt leaves a path that the tree has without a copy of the state, it leaves a copy for the next one.
#[test]
fn a_parting_that_was_not_foreseen_is_remembered() {
    let engine = engine((8, 64), options(4, 512));
    let computed: Vec<usize> = (0..3).map(|number| one(&engine, sibling(PREFIX, number, 40)).usage.computed).collect();
    assert_eq!(computed, [88, 88, 40]);
}

/// So few states and pages that copies and pages are evicted and requests wait, in steps of all sizes.
#[test]
fn bits_are_the_same_with_little_memory_and_in_any_mix() {
    let request = |number: u64| {
        let dice = words(number ^ 0x5eed, 4);
        let shared = [0, 16, 40, 70][dice[0] as usize % 4];
        let own = 1 + dice[1] as usize % 50;
        let sampling = if number.is_multiple_of(2) { CHANCE } else { Sampling::Greedy };
        let mut base = sibling(shared, dice[2].into(), own);
        if number.is_multiple_of(5) {
            // Draft tokens come from what repeats itself.
            base.prompt = words(number, 9).repeat(2 + own % 5);
        }
        Request { sampling, seed: number, max_tokens: 1 + dice[3] as usize % 20, ..base }
    };
    let requests = || (0..40).map(request).collect::<Vec<_>>();
    let bits_alone = expected(&requests());
    for ((states, pages), rows, step_tokens) in
        [((1, 12), 8, 64), ((2, 20), 8, 7), ((5, 16), 64, 100), ((40, 12), 3, 33), ((9, 300), 64, 512)]
    {
        let engine = engine((states, pages), options(rows, step_tokens));
        for round in 0..2 {
            for (number, (reply, expected)) in done(&engine, requests()).iter().zip(&bits_alone).enumerate() {
                assert_eq!(&bits(reply), expected, "{number}, round {round}, {:?}", engine.limits());
            }
        }
        assert_eq!(engine.stats().pages_held, 0);
    }
}

/// Text that is forced makes right draft tokens, digits that repeat themselves now and then make wrong ones.
fn half_forced(seed: u64) -> Request {
    let lark = "start: \"There is nothing to choose here: \" /[01]{40}/ \", and nothing here.\"";
    Request {
        grammar: Some(Grammar { name: "digits.lark".into(), lark: lark.into() }),
        ignore_eos: false,
        seed,
        sampling: by_turns(seed),
        ..greedy(words(seed, 20), 120)
    }
}

fn by_turns(number: u64) -> Sampling {
    if number.is_multiple_of(2) { Sampling::Greedy } else { CHANCE }
}

/// After wrong draft tokens a sequence goes on from the state before them.
#[test]
fn draft_tokens_change_nothing() {
    for make in [model as fn() -> Model, convolving] {
        let requests = || (0..6).map(half_forced).collect::<Vec<_>>();
        let plain = engine_of(make(), (8, 100), EngineOptions { speculate: false, ..options(8, 512) });
        let expected: Vec<_> = done(&plain, requests()).iter().map(bits).collect();
        // Alone, where a draft token is likely to be worth its row; beside others; and, of Qwen3.5, whose states are large,
        // with fewer states than drafts want.
        for (states, rows) in [(48, 1), (48, 8), (5, 3)] {
            let fast = engine_of(make(), (states, 100), options(rows, 512));
            let mut drafted = 0;
            // Twice: slots that a round did not give back would be missing in the next one.
            for _ in 0..2 {
                let got = done(&fast, requests());
                assert_eq!(got.iter().map(bits).collect::<Vec<_>>(), expected, "{:?}", fast.limits());
                let stats = fast.stats();
                assert!(stats.drafted > stats.accepted && stats.accepted > 0, "{:?}, {stats:?}", fast.limits());
                assert!(stats.drafted > drafted, "{:?}, {stats:?} after {drafted}", fast.limits());
                drafted = stats.drafted;
                assert_eq!(stats.pages_held, 0);
            }
        }
    }
}

/// Thoughts have no grammar: draft tokens among them are looked up. Behind them the grammar's are made.
#[test]
fn draft_tokens_change_no_thoughts() {
    let think =
        || Some(Think { tokens: 40, close: "never said".into(), close_id: None, after: vec![7], forced: vec![5, 6] });
    // Each of 200 tokens has followed the prompt's last one: the first thought is likely to be looked up. A reply of one
    // token leaves no room for draft tokens behind the thoughts.
    let alone = |number: u64| {
        let last = 40 * number as u32;
        let prompt = (0..200).flat_map(|next| [last, next]).chain([last]).collect();
        Request { think: think(), seed: number, sampling: by_turns(number), ..greedy(prompt, 1) }
    };
    let with_reply = |seed: u64| Request { think: think(), ..half_forced(seed) };
    for make in [model as fn() -> Model, convolving] {
        let plain = engine_of(make(), (8, 100), EngineOptions { speculate: false, ..options(8, 512) });
        for (states, rows) in [(48, 1), (5, 3)] {
            let fast = engine_of(make(), (states, 100), options(rows, 512));
            think_alike(&plain, &fast, &|| (0..8).map(alone).collect());
            let stats = fast.stats();
            // Beside others a look-up is seldom worth its row.
            assert!(rows > 1 || stats.drafted > stats.accepted, "{:?}, {stats:?}", fast.limits());
            assert_eq!(stats.drafted_by_grammar, 0);
            think_alike(&plain, &fast, &|| (0..6).map(with_reply).collect());
            let stats = fast.stats();
            assert!(stats.drafted > stats.accepted && stats.accepted_by_grammar > 0, "{:?}, {stats:?}", fast.limits());
        }
    }
}

/// Both engines give the same thoughts and the same replies, to the last bit.
fn think_alike(plain: &Engine, fast: &Engine, requests: &dyn Fn() -> Vec<Request>) {
    let (expected, got) = (done(plain, requests()), done(fast, requests()));
    for (number, (expected, got)) in expected.iter().zip(&got).enumerate() {
        assert!(expected.thoughts.is_some(), "{number}");
        assert_eq!(
            (&expected.thoughts, &expected.tokens),
            (&got.thoughts, &got.tokens),
            "{number}, {:?}",
            fast.limits()
        );
        assert_eq!(expected.logprobs, got.logprobs, "{number}, {:?}", fast.limits());
    }
    assert_eq!(fast.stats().pages_held, 0);
}

/// Its state goes back, and the copies that it left are sound: others begin from them.
#[test]
fn a_request_cancelled_amid_draft_tokens_disturbs_no_other() {
    // So many digits that it is cancelled before its end, however many draft tokens are right.
    let lark = "start: \"There is nothing to choose here: \" /[01]{300}/";
    let long = |cancel: &Cancel| Request {
        grammar: Some(Grammar { name: "long.lark".into(), lark: lark.into() }),
        ignore_eos: false,
        max_tokens: 400,
        cancel: cancel.clone(),
        ..sibling(PREFIX, 1, 5)
    };
    let others = || [(2, 12), (3, 30)].map(|(number, max_tokens)| Request { max_tokens, ..sibling(PREFIX, number, 5) });
    for make in [model as fn() -> Model, convolving] {
        let unshared = EngineOptions { share_prefixes: false, speculate: false, ..options(1, 4096) };
        let alone = engine_of(make(), (1, 64), unshared);
        let expected = others().map(|request| bits(&one(&alone, request)));
        let engine = engine_of(make(), (16, 64), options(2, 512));
        let mut drafted = 0;
        // More rounds than there are states.
        for round in 0..=engine.limits().states {
            let cancel = Cancel::default();
            let (events, inbox) = channel();
            let heard = |tag: usize, request: Request| Request { tag, events: events.clone(), ..request };
            let [beside, behind] = others();
            // Two requests run at once. The third has no listener and starts after `beside` ends: its first text cancels the
            // first request.
            let unheard = Request { cancel: cancel.clone(), ..greedy(words(5, 20), 9) };
            let all = vec![heard(0, long(&cancel)), heard(1, beside), unheard, heard(2, behind)];
            engine.submit_all(all).unwrap();
            drop(events);
            let (mut replies, _) = collect(&inbox, 3);
            let cancelled = replies.remove(0);
            assert!(matches!(cancelled, Err(MootError::Interrupted)), "round {round}: {cancelled:?}");
            let found: Vec<_> = replies.iter().map(|reply| bits(reply.as_ref().unwrap())).collect();
            assert_eq!(found, expected, "round {round}, {:?}", engine.limits());
            let stats = engine.stats();
            assert!(stats.drafted_by_grammar > drafted, "round {round}: the cancelled one had drafts, {stats:?}");
            drafted = stats.drafted_by_grammar;
            assert_eq!(
                (stats.pages_held, stats.states_evicted),
                (0, 0),
                "round {round}: a state is missing, {stats:?}"
            );
        }
        let requests = || (0..3).map(half_forced).collect::<Vec<_>>();
        let expected: Vec<_> = requests().into_iter().map(|request| bits(&one(&alone, request))).collect();
        assert_eq!(done(&engine, requests()).iter().map(bits).collect::<Vec<_>>(), expected);
        let stats = engine.stats();
        assert!(stats.drafted_by_grammar > drafted && stats.drafted > stats.accepted, "{stats:?}");
    }
}

/// What a plan gives a number of agents is enough for their states, beside those of draft tokens.
#[test]
fn a_plan_has_a_state_for_every_agent() {
    let footprint = Footprint::of(&Weights::random(&spec(), RANDOM)).unwrap();
    for agents in [1, 2, 3, 4, 7, 8, 36, 50] {
        // So few tokens that states take more than pages.
        let kv_memory = usize::try_from(footprint.kv_bytes(agents, 16, 512)).unwrap();
        let engine = Engine::start(model(), EngineOptions { kv_memory, ..EngineOptions::default() }).unwrap();
        let limits = engine.limits();
        assert!(limits.states >= agents && limits.draft_states >= agents / 4, "{agents} agents: {limits:?}");
    }
}

#[test]
fn memory_for_no_state_is_refused() {
    let model = model();
    let kv_memory = model.decoder.state_bytes();
    let error = Engine::start(model, EngineOptions { kv_memory, ..EngineOptions::default() }).unwrap_err().to_string();
    assert!(error.contains("--kv-memory") && error.contains("recurrent state"), "{error}");
}

/// A copy goes with its page.
#[test]
fn a_copy_is_evicted_with_its_page() {
    let engine = engine((3, 31), options(1, 512));
    let first = || greedy(words(1, 40), 4);
    one(&engine, first());
    // Takes all 31 pages and leaves no copy.
    one(&engine, greedy(words(2, 10), 480));
    let stats = engine.stats();
    assert_eq!((stats.states_kept, stats.states_evicted), (1, 1));
    let again = one(&engine, first());
    assert_eq!(again.usage.reused, 0);
    assert_eq!(vec![bits(&again)], expected(&[first()]));
}

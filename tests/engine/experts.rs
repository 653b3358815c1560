//! Mixtures of experts whose weights are blocks: a request has the same bits alone, beside others, in chunks and behind a
//! shared prefix, by both recipes. Random weights in the forms of every architecture with experts.

use super::{CHANCE, VOCAB, bits, done, greedy, one, words};
use candle_core::quantized::GgmlDType;
use moot::engine::{Completion, Engine, EngineOptions, Request};
use moot::generation::Sampling;
use moot_models::arch::{Config, spec_of_config};
use moot_models::weights::RandomOptions;
use moot_models::{LoadOptions, Model, Recipe};
use serde_json::{Value, json};
use std::path::Path;

/// Three full pages, more than a window.
const PREFIX: usize = 48;
const WINDOW: usize = 36;
const REQUESTS: usize = 6;

/// Rows of a step, tokens of a step, sharing: side by side, in chunks, and both again behind a shared prefix.
const WAYS: [(usize, usize, bool); 4] = [(64, 4096, false), (3, 7, false), (64, 4096, true), (3, 23, true)];

/// A type of blocks, and widths under which the rows of all large matrices are whole blocks.
#[derive(Debug, Clone, Copy)]
pub(super) struct Form {
    storage: GgmlDType,
    hidden: usize,
    head: usize,
    /// Between the layers of an expert.
    inner: usize,
}

pub(super) const Q8_0: Form = Form { storage: GgmlDType::Q8_0, hidden: 64, head: 16, inner: 32 };
const Q4_K: Form = Form { storage: GgmlDType::Q4K, hidden: 256, head: 64, inner: 256 };

fn qwen3moe(_: Form) -> Value {
    json!({ "model_type": "qwen3_moe", "num_hidden_layers": 2, "norm_topk_prob": true })
}

/// Two recurrent layers of three, and an expert that every token goes through.
pub(super) fn qwen35moe(form: Form) -> Value {
    let (recurrent, full) = ("linear_attention", "full_attention");
    json!({
        "model_type": "qwen3_5_moe_text", "num_hidden_layers": 3, "head_dim": 2 * form.head,
        "shared_expert_intermediate_size": form.inner, "partial_rotary_factor": 0.25,
        "layer_types": [recurrent, full, recurrent], "linear_num_key_heads": 2, "linear_num_value_heads": 4,
        "linear_key_head_dim": 16, "linear_value_head_dim": form.head, "linear_conv_kernel_dim": 4,
    })
}

/// Three short convolutions of four layers, of which the first has no experts.
fn lfm2moe(form: Form) -> Value {
    json!({
        "model_type": "lfm2_moe", "num_hidden_layers": 4, "intermediate_size": 2 * form.inner, "num_dense_layers": 1,
        "layer_types": ["conv", "conv", "full_attention", "conv"], "conv_L_cache": 3, "use_expert_bias": true,
        "norm_topk_prob": true, "routed_scaling_factor": 1.0,
    })
}

/// Sinks, biases, and a window in two layers of three.
fn gpt_oss(form: Form) -> Value {
    json!({
        "model_type": "gpt_oss", "num_hidden_layers": 3, "intermediate_size": form.inner, "attention_bias": true,
        "sliding_window": WINDOW, "swiglu_limit": 7.0, "quantization_config": { "quant_method": "mxfp4" },
        "rope_scaling": { "rope_type": "yarn", "factor": 8.0, "original_max_position_embeddings": 128,
            "beta_fast": 32.0, "beta_slow": 1.0, "truncate": false },
    })
}

/// Experts beside a feed-forward, values that are keys, and a window in two layers of four.
fn gemma4(form: Form) -> Value {
    let (window, full) = ("sliding_attention", "full_attention");
    json!({
        "model_type": "gemma4_text", "num_hidden_layers": 4, "intermediate_size": form.inner, "enable_moe_block": true,
        "top_k_experts": 2, "hidden_activation": "gelu_pytorch_tanh", "global_head_dim": 2 * form.head,
        "num_global_key_value_heads": 1, "attention_k_eq_v": true, "sliding_window": WINDOW,
        "layer_types": [window, full, window, full], "tie_word_embeddings": true,
    })
}

pub(super) fn model(kind: fn(Form) -> Value, form: Form, recipe: Recipe) -> Model {
    let mut config = json!({
        "vocab_size": VOCAB, "hidden_size": form.hidden, "num_attention_heads": 4, "num_key_value_heads": 2,
        "head_dim": form.head, "moe_intermediate_size": form.inner, "num_experts": 8, "num_experts_per_tok": 2,
        "max_position_embeddings": 512, "rms_norm_eps": 1e-6, "rope_theta": 1e6, "tie_word_embeddings": false,
    });
    config.as_object_mut().unwrap().extend(kind(form).as_object().unwrap().clone());
    let spec = spec_of_config(&Config::of(Path::new("test"), config).unwrap()).unwrap();
    let random = RandomOptions { seed: 7, storage: form.storage };
    Model::random(&spec, random, &LoadOptions { recipe, ..LoadOptions::default() }).unwrap()
}

/// With memory for all requests and for copies of their states.
fn start(model: Model, (rows, step_tokens, share_prefixes): (usize, usize, bool)) -> Engine {
    let kv_memory = 2 * (32 * model.decoder.state_bytes()).max(64 * model.decoder.page_bytes());
    Engine::start(model, EngineOptions { kv_memory, rows, step_tokens, share_prefixes, speculate: false }).unwrap()
}

/// A common prefix, then tokens of each one's own, of which the first differs for sure; greedy and by chance in turns.
fn requests() -> Vec<Request> {
    let request = |number: usize| {
        let own = [&[number as u32][..], &words(1000 + number as u64, 4 + 5 * number)].concat();
        let sampling = if number.is_multiple_of(2) { Sampling::Greedy } else { CHANCE };
        Request { sampling, seed: number as u64, ..greedy([&words(1, PREFIX)[..], &own].concat(), 6) }
    };
    (0..REQUESTS).map(request).collect()
}

fn experts_read(engine: &Engine) -> usize {
    engine.model().decoder.feed_forwards().experts_read
}

fn check(kind: fn(Form) -> Value) {
    for (form, recipe) in [Q8_0, Q4_K].into_iter().flat_map(|form| [(form, Recipe::Int8), (form, Recipe::Bf16)]) {
        let alone = start(model(kind, form, recipe), (1, 4096, false));
        let replies: Vec<Completion> = requests().into_iter().map(|request| one(&alone, request)).collect();
        // Otherwise NaN could pass as equal.
        assert!(replies.iter().flat_map(|reply| &reply.logprobs).all(|report| report.logprob.is_finite()), "{form:?}");
        let expected: Vec<_> = replies.iter().map(bits).collect();
        let prompts: usize = requests().iter().map(|request| request.prompt.len()).sum();
        for way in WAYS {
            let (rows, step_tokens, shares) = way;
            let what = format!("{form:?}, {recipe:?}, {rows} rows, steps of {step_tokens}, shared: {shares}");
            let engine = start(model(kind, form, recipe), way);
            let found = done(&engine, requests());
            for (number, (reply, expected)) in found.iter().zip(&expected).enumerate() {
                assert_eq!(&bits(reply), expected, "request {number}, {what}");
            }
            let stats = engine.stats();
            assert_eq!(stats.prefilled, prompts - if shares { (REQUESTS - 1) * PREFIX } else { 0 }, "{what}");
            let in_bf16 = if recipe == Recipe::Bf16 { stats.prefilled } else { 0 };
            assert_eq!((stats.prefilled_in_bf16, stats.pages_held), (in_bf16, 0), "{what}");
            if step_tokens == 4096 && !shares {
                // Tokens of several requests went through an expert together.
                assert_eq!(stats.peak_rows, REQUESTS, "{what}");
                assert!(experts_read(&engine) < experts_read(&alone), "{what}");
            }
        }
    }
}

#[test]
fn qwen3_with_experts() {
    check(qwen3moe);
}

#[test]
fn qwen35_with_experts() {
    check(qwen35moe);
}

#[test]
fn lfm2_with_experts() {
    check(lfm2moe);
}

#[test]
fn gpt_oss_with_experts() {
    check(gpt_oss);
}

#[test]
fn gemma4_with_experts() {
    check(gemma4);
}

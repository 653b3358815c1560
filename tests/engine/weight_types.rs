//! The same bits in any batch, for every type that weights are stored in: small random models.

use super::invariance::{MixedRequest, mixed_request};
use super::{FORMS, assert_balanced, bits, done, golden, greedy, one, words};
use candle_core::quantized::GgmlDType;
use moot::engine::{Engine, EngineOptions};
use moot_models::weights::{RandomOptions, Weights};
use moot_models::{Batch, Decoder, DecoderSpec, LoadOptions, Model, PAGE, Recipe, Rope, SequenceRows, arch};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use std::sync::LazyLock;

const TYPES: [GgmlDType; 13] = [
    GgmlDType::F32,
    GgmlDType::F16,
    GgmlDType::BF16,
    GgmlDType::Q4_0,
    GgmlDType::Q4_1,
    GgmlDType::Q5_0,
    GgmlDType::Q5_1,
    GgmlDType::Q8_0,
    GgmlDType::Q2K,
    GgmlDType::Q3K,
    GgmlDType::Q4K,
    GgmlDType::Q5K,
    GgmlDType::Q6K,
];

/// Width, inner width (of panels and lanes no multiple where the type's blocks allow it) and head size.
fn sizes(dtype: GgmlDType) -> (usize, usize, usize) {
    match dtype.block_size() {
        1 => (96, 101, 16),
        32 => (96, 160, 16),
        block => (block, 2 * block, 64),
    }
}

/// Random weights of `dtype` in the tiny models' shapes, but for their widths.
fn model(dtype: GgmlDType, recipe: Recipe) -> Model {
    static SPECS: LazyLock<Vec<DecoderSpec>> =
        LazyLock::new(|| FORMS.map(|form| arch::spec(&Weights::open(&golden().join(form)).unwrap()).unwrap()).to_vec());
    let (hidden, intermediate, head_dim) = sizes(dtype);
    let spec = &SPECS[dtype as usize % SPECS.len()];
    let rope = Rope { dims: head_dim, ..spec.rope.clone() };
    let spec = DecoderSpec { hidden, intermediate, head_dim, heads: hidden / head_dim, rope, ..spec.clone() };
    Model::random(&spec, RandomOptions { seed: 1, storage: dtype }, &LoadOptions { recipe, ..LoadOptions::default() })
        .unwrap()
}

fn engine((dtype, recipe): (GgmlDType, Recipe), pages: usize, options: EngineOptions) -> Engine {
    let model = model(dtype, recipe);
    let kv_memory = pages * model.decoder.page_bytes();
    Engine::start(model, EngineOptions { kv_memory, ..options }).unwrap()
}

/// Rows, tokens of a step, pages (a request takes at most 9), sharing.
fn setting() -> impl Strategy<Value = (usize, EngineOptions)> {
    (9_usize..40, 1_usize..9, 1_usize..90, any::<bool>()).prop_map(|(pages, rows, step_tokens, share_prefixes)| {
        (pages, EngineOptions { rows, step_tokens, share_prefixes, ..EngineOptions::default() })
    })
}

fn config(cases: u32) -> ProptestConfig {
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

/// Each type, and the types of blocks by both recipes.
fn kinds() -> impl Iterator<Item = (GgmlDType, Recipe)> {
    let blocks = TYPES.into_iter().filter(|dtype| dtype.block_size() > 1);
    TYPES.map(|dtype| (dtype, Recipe::Int8)).into_iter().chain(blocks.map(|dtype| (dtype, Recipe::Bf16)))
}

/// Replies and their log-probabilities, through the scheduler, the prefix tree and eviction.
#[test]
fn in_any_mix() {
    let rounds = || vec(vec(mixed_request(), 1..6), 1..3);
    for kind in kinds() {
        let alone = engine(kind, 16, EngineOptions { rows: 1, share_prefixes: false, ..EngineOptions::default() });
        let checked = TestRunner::new(config(6)).run(&(setting(), rounds()), |((pages, options), rounds)| {
            let engine = engine(kind, pages, options);
            let mut all = Vec::new();
            for round in &rounds {
                let replies = done(&engine, round.iter().map(MixedRequest::request).collect());
                for (mixed, reply) in round.iter().zip(&replies) {
                    prop_assert_eq!(bits(reply), bits(&one(&alone, mixed.request())), "{:?}", mixed);
                }
                all.extend(replies);
            }
            let stats = engine.stats();
            assert_balanced(&stats, &all);
            let expected = if kind.1 == Recipe::Bf16 { stats.prefilled } else { 0 };
            assert_eq!(stats.prefilled_in_bf16, expected, "{kind:?}");
            Ok(())
        });
        checked.unwrap_or_else(|e| panic!("{kind:?}: {e}"));
    }
}

/// Attention too: a page is read once for up to 64 rows, in f32 for up to 32.
#[test]
fn prompts_in_bf16_attend_by_products_of_bf16() {
    for (recipe, reads) in [(Recipe::Int8, 2 + 4), (Recipe::Bf16, 4)] {
        let running = engine((GgmlDType::Q5_0, recipe), 16, EngineOptions::default());
        one(&running, greedy(words(3, 64), 1));
        let stats = running.stats();
        assert_eq!((stats.page_reads, stats.page_reads_unshared), (reads, reads), "{recipe:?}");
    }
}

/// A prompt that repeats a reply is computed as a prompt.
#[test]
fn pages_of_generated_tokens_do_not_serve_prompts_in_bf16() {
    for (recipe, reused) in [(Recipe::Int8, 64), (Recipe::Bf16, 16)] {
        let kind = (GgmlDType::Q5_0, recipe);
        let running = engine(kind, 16, EngineOptions::default());
        let first = one(&running, greedy(words(3, 20), 50));
        let prompt = [&words(3, 20)[..], &first.tokens].concat();
        let next = one(&running, greedy(prompt.clone(), 8));
        assert_eq!(next.usage.reused, reused, "{recipe:?}");
        let alone = one(&engine(kind, 16, EngineOptions::default()), greedy(prompt, 8));
        assert_eq!(bits(&next), bits(&alone), "{recipe:?}");
    }
}

/// The recipes differ in their bits, and little in their log-probabilities.
#[test]
fn prompts_in_bf16_are_close_to_those_in_int8() {
    for dtype in [GgmlDType::Q4_0, GgmlDType::Q5_1, GgmlDType::Q8_0, GgmlDType::Q4K, GgmlDType::Q6K] {
        let score = |recipe| {
            let mut request = greedy(words(8, 40), 0);
            (request.prefill, request.score) = (words(9, 30), true);
            one(&engine((dtype, recipe), 16, EngineOptions::default()), request)
        };
        let (int8, bf16) = (score(Recipe::Int8), score(Recipe::Bf16));
        assert_ne!(bits(&int8), bits(&bf16), "{dtype:?}");
        for (a, b) in int8.scores.iter().zip(&bf16.scores) {
            assert!((a.logprob - b.logprob).abs() < 0.1, "{dtype:?}: {} and {}", a.logprob, b.logprob);
        }
    }
}

/// One sequence's part of a batch of random chunks.
#[derive(Debug, Clone)]
struct Cut {
    tokens: Vec<u32>,
    /// Lengths of its chunks, over and over.
    chunks: Vec<usize>,
}

fn cuts() -> impl Strategy<Value = Vec<Cut>> {
    let cut = (any::<u64>(), 1_usize..70, vec(1_usize..40, 1..4));
    vec(cut.prop_map(|(seed, len, chunks)| Cut { tokens: words(seed, len), chunks }), 1..8)
}

/// The logits of every position of every sequence, step after step, each sequence a chunk a step.
fn in_batches(decoder: &Decoder, cuts: &[Cut]) -> Vec<Vec<Vec<f32>>> {
    let mut pages = 0;
    let mut own: Vec<Vec<u32>> = Vec::new();
    for cut in cuts {
        let count = cut.tokens.len().div_ceil(PAGE) as u32;
        own.push((pages..pages + count).collect());
        pages += count;
    }
    let kv = decoder.kv_cache(pages as usize).unwrap();
    let mut logits: Vec<Vec<Vec<f32>>> = vec![Vec::new(); cuts.len()];
    for step in 0.. {
        let (mut tokens, mut rows, mut whose) = (Vec::new(), Vec::new(), Vec::new());
        for (index, cut) in cuts.iter().enumerate() {
            let start = logits[index].len();
            let len = cut.chunks[step % cut.chunks.len()].min(cut.tokens.len() - start);
            if len > 0 {
                tokens.extend(&cut.tokens[start..start + len]);
                let pages = own[index][..(start + len).div_ceil(PAGE)].to_vec();
                rows.push(SequenceRows { start, len, pages });
                whose.resize(tokens.len(), index);
            }
        }
        if tokens.is_empty() {
            return logits;
        }
        let wanted = (0..tokens.len() as u32).collect();
        let found = decoder.forward(&Batch::new(tokens, rows, wanted).of_prompts(), &kv).unwrap();
        for (index, row) in whose.into_iter().zip(found.to_vec2().unwrap()) {
            logits[index].push(row);
        }
    }
    unreachable!()
}

fn to_bits(rows: &[Vec<f32>]) -> Vec<Vec<u32>> {
    rows.iter().map(|row| row.iter().map(|logit| logit.to_bits()).collect()).collect()
}

/// Every logit of every position, by one thread, two and three.
#[test]
fn logits_in_any_batch_by_any_number_of_threads() {
    let pools: Vec<_> =
        (1..=3).map(|threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap()).collect();
    for kind in kinds() {
        let decoder = model(kind.0, kind.1).decoder;
        let checked = TestRunner::new(config(6)).run(&cuts(), |cuts| {
            let alone: Vec<_> = cuts
                .iter()
                .map(|cut| to_bits(&pools[0].install(|| decoder.forward_alone(&cut.tokens)).unwrap()))
                .collect();
            for pool in &pools {
                let found = pool.install(|| in_batches(&decoder, &cuts));
                for ((cut, alone), found) in cuts.iter().zip(&alone).zip(&found) {
                    prop_assert!(alone == &to_bits(found), "{} threads, {:?}", pool.current_num_threads(), cut);
                }
            }
            Ok(())
        });
        checked.unwrap_or_else(|e| panic!("{kind:?}: {e}"));
    }
}

/// The other tests would pass with logits that are NaN.
#[test]
fn logits_are_numbers_that_differ_by_type() {
    let logits = TYPES.map(|dtype| model(dtype, Recipe::Int8).decoder.forward_alone(&words(1, 20)).unwrap());
    for (i, rows) in logits.iter().enumerate() {
        let last = rows.last().unwrap();
        assert!(rows.len() == 20 && last.iter().all(|logit| logit.is_finite()), "{:?}", TYPES[i]);
        let spread = last.iter().fold(0.0_f32, |most, logit| most.max(logit.abs()));
        assert!(spread > 0.1, "{:?}: {spread}", TYPES[i]);
        assert!(logits[..i].iter().all(|other| to_bits(other) != to_bits(rows)), "{:?}", TYPES[i]);
    }
}

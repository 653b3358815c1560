//! The engine beside candle-transformers, on the same file in the same process: a prompt, and a prompt with a reply of one
//! row. Prompts are new in every measurement, so that no prefix is cached.
#![allow(missing_docs, clippy::print_stderr, clippy::panic)]

#[path = "../../model/mod.rs"]
mod model;

use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use moot_beside_candle::{Peer, argmax};
use std::time::Duration;

const PROMPT: usize = 512;
/// Tokens of a reply. The first comes with the prompt.
const REPLIES: [usize; 2] = [1, 33];

/// A greedy reply of `tokens` tokens, whatever they are.
fn reply(peer: &mut Peer, prompt: &[u32], tokens: usize) {
    let mut logits = peer.forward(prompt, 0).expect("ids of the vocabulary");
    for made in 1..tokens {
        let next = argmax(&logits) as u32;
        logits = peer.forward(&[next], prompt.len() + made - 1).expect("ids of the vocabulary");
    }
}

fn beside_candle(criterion: &mut Criterion) {
    let Some(llm) = model::engine(true) else { return };
    let engine = llm.engine();
    let mut peer = Peer::open(&model::file()).expect("candle opens the file");
    let mut random = model::random();
    for tokens in REPLIES {
        let mut group = criterion.benchmark_group(format!("{PROMPT} tokens and a reply of {tokens}"));
        group.sample_size(10).warm_up_time(Duration::from_secs(1)).measurement_time(Duration::from_secs(5));
        group.throughput(Throughput::Elements((PROMPT + tokens) as u64));
        group.bench_function(BenchmarkId::from_parameter("moot"), |bencher| {
            bencher.iter_batched(
                || model::prompts(engine, 1, PROMPT, &mut random),
                |prompts| model::generate(engine, &prompts, tokens),
                BatchSize::PerIteration,
            );
        });
        group.bench_function(BenchmarkId::from_parameter("candle-transformers"), |bencher| {
            bencher.iter_batched(
                || model::prompts(engine, 1, PROMPT, &mut random),
                |prompts| reply(&mut peer, &prompts[0], tokens),
                BatchSize::PerIteration,
            );
        });
        group.finish();
    }
}

criterion_group!(benches, beside_candle);
criterion_main!(benches);

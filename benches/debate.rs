//! A round of a debate: its agents in one batch against one agent at a time, and with shared prefixes against without.
//!
//! The prompts are those of MADAM-RAG's preset `tuned` over invented documents. Every measurement asks a different question, so
//! that only what a debate shares is reused: the instructions before the question, and in the second round the document.
#![allow(missing_docs, clippy::print_stderr, clippy::panic)]

mod model;

use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use moot::engine::Engine;
use moot::generation::{Message, Role, Thinking};
use moot::prompt_file;
use moot::prompts::File;
use serde_json::json;
use std::time::Duration;

const AGENT: File = prompt_file!("madam_rag/agent_tuned.jinja");
const AGENTS: usize = 4;
/// Tokens of each reply.
const REPLY: usize = 12;
/// The history that the second round receives.
const TOLD: &str = "Aggregator: All Correct Answers: [\"1931\", \"1933\"]. Explanation: Two towns.";

/// The prompt of agent `agent` in debate number `debate`: the same length, different text from the question on.
fn prompt(engine: &Engine, debate: usize, agent: usize, told: Option<&str>) -> Vec<u32> {
    let facts =
        (1..=4).map(|i| format!("In {} its span {i} was painted by crew {}.", 1900 + 7 * i + agent, debate + i));
    let values = json!({
        "question": format!("In which year did the bridge number {:05} open?", debate),
        "document": format!("The bridge of town {agent} opened in {}. {}", 1931 + agent, facts.collect::<Vec<_>>().join(" ")),
        "number": agent + 1,
        "history": told.map(|line| [line]),
    });
    let content = AGENT.render(values).expect("a prompt of ours renders");
    let message = Message { role: Role::User, content };
    engine.model().prompt(&[message], Thinking::Off).expect("the model's template takes one user message")
}

fn round(engine: &Engine, debate: usize) -> Vec<Vec<u32>> {
    (0..AGENTS).map(|agent| prompt(engine, debate, agent, None)).collect()
}

fn second_round(engine: &Engine, debate: usize) -> Vec<Vec<u32>> {
    (0..AGENTS).map(|agent| prompt(engine, debate, agent, Some(TOLD))).collect()
}

fn debate(criterion: &mut Criterion) {
    let mut debates = 0..;
    let mut next = move || debates.next().expect("numbers do not end");
    let mut group = criterion.benchmark_group("debate");
    group.sample_size(10).warm_up_time(Duration::from_secs(1)).measurement_time(Duration::from_secs(5));
    for shared in [true, false] {
        // One model in memory at a time.
        let Some(llm) = model::engine(shared) else { return };
        let engine = llm.engine();
        let tokens: usize = round(engine, next()).iter().map(|prompt| prompt.len() + REPLY).sum();
        group.throughput(Throughput::Elements(tokens as u64));
        if shared {
            group.bench_function(format!("{AGENTS} agents, one at a time"), |bencher| {
                let alone = |prompts: Vec<Vec<u32>>| {
                    prompts.into_iter().for_each(|prompt| model::generate(engine, &[prompt], REPLY));
                };
                bencher.iter_batched(|| round(engine, next()), alone, BatchSize::PerIteration);
            });
            group.bench_function(format!("{AGENTS} agents, batched"), |bencher| {
                let together = |prompts: Vec<Vec<u32>>| model::generate(engine, &prompts, REPLY);
                bencher.iter_batched(|| round(engine, next()), together, BatchSize::PerIteration);
            });
        }
        let rounds = |debate| [round(engine, debate), second_round(engine, debate)];
        let tokens: usize = rounds(next()).iter().flatten().map(|prompt| prompt.len() + REPLY).sum();
        group.throughput(Throughput::Elements(tokens as u64));
        let reuse = if shared { "on" } else { "off" };
        group.bench_function(BenchmarkId::new("two rounds, prefix reuse", reuse), |bencher| {
            let both =
                |rounds: [Vec<Vec<u32>>; 2]| rounds.iter().for_each(|round| model::generate(engine, round, REPLY));
            bencher.iter_batched(|| rounds(next()), both, BatchSize::PerIteration);
        });
    }
    group.finish();
}

criterion_group!(benches, debate);
criterion_main!(benches);

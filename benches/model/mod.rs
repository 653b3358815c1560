//! The model that the benches run on, and requests of a fixed length to it.
#![allow(dead_code)] // Each bench is a separate program and uses a part of this module.

use moot::cancel::Cancel;
use moot::engine::{Engine, EngineOptions, Event, Request};
use moot::workspace::models::{self, LocatedModel, Options};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use std::path::PathBuf;
use std::sync::mpsc::channel;

/// The program's own.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Environment variable that names the model: a path, or an alias whose file is in the cache.
const VARIABLE: &str = "MOOT_BENCH_MODEL";

/// An engine on the model of [`VARIABLE`]; `None`, after printing how to get it, if it is not on this machine. Benches never
/// use the network.
pub(crate) fn engine(share_prefixes: bool) -> Option<moot::llm::local::Local> {
    let name = name();
    match models::open(&name, &options(share_prefixes), Cancel::default(), &mut |_| {}) {
        Ok(llm) => Some(llm),
        Err(error) => {
            eprintln!("skipped: {error}\n`moot lab bench --model {name}` fetches it; {VARIABLE} names another model");
            None
        }
    }
}

/// The file of the model that [`engine`] opens.
pub(crate) fn file() -> PathBuf {
    LocatedModel::find(&name(), &options(true), &mut |_| {}).expect("the engine has found it").path
}

fn name() -> String {
    std::env::var(VARIABLE).unwrap_or_else(|_| "smollm2-135m".into())
}

fn options(share_prefixes: bool) -> Options {
    // Replies to random tokens repeat themselves more than real ones, so draft tokens would overstate the speed.
    let engine = EngineOptions { share_prefixes, speculate: false, ..EngineOptions::default() };
    Options { offline: true, kv_memory: Some(engine.kv_memory), engine, ..Options::default() }
}

/// Prompts of random tokens: no two share a page.
pub(crate) fn prompts(engine: &Engine, rows: usize, tokens: usize, random: &mut ChaCha8Rng) -> Vec<Vec<u32>> {
    let vocab = engine.model().tokenizer.vocab_size() as u32;
    (0..rows).map(|_| (0..tokens).map(|_| random.next_u32() % vocab).collect()).collect()
}

/// A generator with the same seed in every program.
pub(crate) fn random() -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(7)
}

/// Decodes exactly `max_tokens` after each prompt, all in flight at once.
pub(crate) fn generate(engine: &Engine, prompts: &[Vec<u32>], max_tokens: usize) {
    let (events, inbox) = channel();
    for (tag, prompt) in prompts.iter().enumerate() {
        let request = Request::of_length(tag, prompt.clone(), max_tokens, events.clone());
        engine.submit(request).expect("the engine runs as long as the bench");
    }
    drop(events);
    for (_, event) in &inbox {
        if let Event::Failed(error) = event {
            panic!("{error}");
        }
    }
}

//! The engine on the tiny random models of `models/tests/golden/tiny`, whose replies mean nothing and whose logits are
//! as sensitive to a mistake as real ones.

mod budget;
mod conflict;
mod ending;
mod experts;
mod grammar;
mod invariance;
mod lifetime;
mod local;
mod recurrence;
mod scoring;
mod sharing;
mod speculation;
mod thinking;
mod weight_types;
mod windows;

use moot::MootError;
use moot::engine::{Completion, Engine, EngineOptions, Event, Request, Stats, TokenLogprobs};
use moot::generation::{Logprobs, Sampling};
use moot_models::{LoadOptions, Model, PAGE, Residency};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

/// Both architectures, from a GGUF file and from a folder.
const FORMS: [&str; 2] = ["llama.gguf", "qwen2"];
/// Tokens of both vocabularies.
const VOCAB: u32 = 320;
/// Positions of both models.
const CONTEXT: usize = 256;
/// Keys and values in 2 layers of 2 heads of 16 dimensions, 2 bytes each.
const PAGE_BYTES: usize = 2 * 2 * 2 * 16 * 2 * PAGE;

const CHANCE: Sampling = Sampling::Seeded { temperature: 0.9, top_k: 50, top_p: 0.95 };

fn golden() -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "models", "tests", "golden", "tiny"].iter().collect()
}

/// Memory for `pages` and room for more than any test asks of a step; no draft tokens, so that steps can be counted.
fn pages(pages: usize) -> EngineOptions {
    EngineOptions { kv_memory: pages * PAGE_BYTES, rows: 64, step_tokens: 4096, share_prefixes: true, speculate: false }
}

fn start(form: &str, options: EngineOptions) -> Engine {
    start_held(Residency::AsStored, form, options)
}

/// With keys and values of f32, to be compared with transformers' numbers.
fn start_widened(form: &str, options: EngineOptions) -> Engine {
    start_held(Residency::Dense, form, EngineOptions { kv_memory: 2 * options.kv_memory, ..options })
}

fn start_held(residency: Residency, form: &str, options: EngineOptions) -> Engine {
    let wider = if residency == Residency::Dense { 2 } else { 1 };
    let model = Model::open(&golden().join(form), &LoadOptions { residency, ..LoadOptions::default() }).unwrap();
    assert_eq!(model.decoder.page_bytes(), wider * PAGE_BYTES);
    assert_eq!((model.decoder.spec().vocab, model.decoder.spec().context), (VOCAB as usize, CONTEXT));
    Engine::start(model, options).unwrap()
}

/// The llama again, for `context` positions: replies so long that only cancelling ends them within a test.
fn start_patient(context: usize, options: EngineOptions) -> Engine {
    let (from, to) = (golden().join("llama"), tempfile::tempdir().unwrap());
    for file in ["tokenizer.json", "tokenizer_config.json", "model.safetensors"] {
        std::fs::copy(from.join(file), to.path().join(file)).unwrap();
    }
    let config = std::fs::read_to_string(from.join("config.json")).unwrap();
    let mut config: serde_json::Value = serde_json::from_str(&config).unwrap();
    config["max_position_embeddings"] = context.into();
    std::fs::write(to.path().join("config.json"), config.to_string()).unwrap();
    Engine::start(Model::open(to.path(), &LoadOptions::default()).unwrap(), options).unwrap()
}

/// `len` tokens drawn by `seed`, control tokens among them.
fn words(seed: u64, len: usize) -> Vec<u32> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    (0..len).map(|_| random.next_u32() % VOCAB).collect()
}

/// A greedy request that generates exactly `max_tokens` and reports log-probabilities.
fn greedy(prompt: Vec<u32>, max_tokens: usize) -> Request {
    Request { logprobs: top(5), ..Request::of_length(0, prompt, max_tokens, channel().0) }
}

/// The `count` likeliest tokens and no watch list.
fn top(count: usize) -> Option<Logprobs> {
    Some(Logprobs { top: count, watch: Vec::new() })
}

type Inbox = Receiver<(usize, Event)>;

/// Submits all at once, each with its index as its tag.
fn submit(engine: &Engine, requests: Vec<Request>) -> Inbox {
    let (events, inbox) = channel();
    let numbered = requests.into_iter().enumerate();
    engine.submit_all(numbered.map(|(tag, r)| Request { tag, events: events.clone(), ..r }).collect()).unwrap();
    inbox
}

/// The next event; an engine that hangs fails the test instead of stopping it.
fn next(inbox: &Inbox) -> Option<(usize, Event)> {
    match inbox.recv_timeout(Duration::from_secs(120)) {
        Ok(event) => Some(event),
        Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => None,
        Err(std::sync::mpsc::RecvTimeoutError::Timeout) => panic!("the engine sent nothing for two minutes"),
    }
}

/// How each of `count` requests ended, and the order in which they did. Every one ends once and sends no event after
/// that, and its text is what it streamed.
fn collect(inbox: &Inbox, count: usize) -> (Vec<Result<Completion, MootError>>, Vec<usize>) {
    let mut texts = vec![String::new(); count];
    let mut thoughts = texts.clone();
    let mut ends: Vec<Option<Result<Completion, MootError>>> = (0..count).map(|_| None).collect();
    let mut order = Vec::new();
    while let Some((tag, event)) = next(inbox) {
        assert!(ends[tag].is_none(), "request {tag} goes on after its end: {event:?}");
        match event {
            Event::Text(text) => {
                assert!(!text.is_empty());
                texts[tag].push_str(&text);
                continue;
            }
            Event::Thought(text) => {
                assert!(!text.is_empty() && texts[tag].is_empty(), "thoughts come first");
                thoughts[tag].push_str(&text);
                continue;
            }
            Event::Failed(error) => ends[tag] = Some(Err(error)),
            Event::Done(done) => {
                assert_eq!(done.text, texts[tag], "request {tag} streamed something else");
                let thought = done.thoughts.as_ref().map_or("", |thoughts| thoughts.text.as_str());
                assert_eq!(thought, thoughts[tag], "request {tag} thought something else");
                ends[tag] = Some(Ok(done));
            }
        }
        order.push(tag);
    }
    (ends.into_iter().map(|end| end.expect("every request ends")).collect(), order)
}

fn ask(engine: &Engine, requests: Vec<Request>) -> Vec<Result<Completion, MootError>> {
    let count = requests.len();
    collect(&submit(engine, requests), count).0
}

fn done(engine: &Engine, requests: Vec<Request>) -> Vec<Completion> {
    ask(engine, requests).into_iter().map(Result::unwrap).collect()
}

fn one(engine: &Engine, request: Request) -> Completion {
    done(engine, vec![request]).remove(0)
}

/// The reply of a new engine that has no other request.
fn alone(form: &str, request: Request) -> Completion {
    one(&start(form, pages(CONTEXT / PAGE)), request)
}

/// Everything of a reply that must not depend on the batch, log-probabilities to the last bit.
#[derive(PartialEq)]
struct Bits {
    tokens: Vec<u32>,
    text: String,
    logprobs: Vec<TokenBits>,
    scores: Vec<TokenBits>,
}

/// The token, its own log-probability, the likeliest tokens with theirs, and those of the watch list.
type TokenBits = (u32, u32, Vec<(u32, u32)>, Vec<u32>);

fn token_bits(reports: &[TokenLogprobs]) -> Vec<TokenBits> {
    let top = |top: &[(u32, f32)]| top.iter().map(|(id, p)| (*id, p.to_bits())).collect();
    let watched = |watched: &[f32]| watched.iter().map(|p| p.to_bits()).collect();
    reports.iter().map(|r| (r.token, r.logprob.to_bits(), top(&r.top), watched(&r.watched))).collect()
}

impl std::fmt::Debug for Bits {
    /// Short enough to see where two replies differ.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut rows = self.logprobs.iter().chain(&self.scores);
        rows.try_for_each(|(token, own, top, _)| write!(f, "{token}:{own:08x}:{:x?} ", top.first()))
    }
}

fn bits(reply: &Completion) -> Bits {
    assert_eq!(reply.tokens, reply.logprobs.iter().map(|report| report.token).collect::<Vec<_>>());
    assert_eq!(reply.tokens.len(), reply.usage.generated);
    let (logprobs, scores) = (token_bits(&reply.logprobs), token_bits(&reply.scores));
    Bits { tokens: reply.tokens.clone(), text: reply.text.clone(), logprobs, scores }
}

/// Invariants once the engine has answered just `replies`: the counts of requests and of steps agree, and every page has
/// been given back.
fn assert_balanced(stats: &Stats, replies: &[Completion]) {
    for usage in replies.iter().map(|reply| reply.usage) {
        assert_eq!(usage.prompt, usage.reused + usage.computed, "{usage:?}");
        assert!(usage.computed > 0, "the last token's logits are needed: {usage:?}");
    }
    // The last token of a reply is never computed, nor is that of a prefill after which nothing is generated.
    let computed: usize =
        replies.iter().map(|reply| reply.usage.computed - usize::from(reply.usage.generated == 0)).sum();
    assert_eq!(stats.prefilled, computed, "{stats:?}");
    let decoded: usize = replies.iter().map(|reply| reply.usage.generated.saturating_sub(1)).sum();
    assert_eq!(stats.decoded, decoded, "{stats:?}");
    assert_eq!(stats.scored, replies.iter().map(|reply| reply.scores.len()).sum::<usize>(), "{stats:?}");
    assert_eq!(stats.pages_held, 0, "{stats:?}");
    assert!(stats.page_reads <= stats.page_reads_unshared, "{stats:?}");
}

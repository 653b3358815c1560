//! Critiques of a tiny random model whose vocabulary has Self-RAG's tokens, against values computed from all its logits.

use super::{TOKENS, four, typed};
use moot::answers::words::Level;
use moot::cancel::Cancel;
use moot::engine::{Engine, EngineOptions, Event, Request};
use moot::generation::{Logprobs, Sampling};
use moot::llm::local::Local;
use moot::llm::{Llm, ModelIdentity};
use moot::methods;
use moot::protocol::ctx::{Settings, Silent, Tools};
use moot::question::{Document, Question};
use moot::transcript::CallRecord;
use moot_models::{LoadOptions, Model};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::mpsc::channel;

/// Ids of the tiny vocabulary.
const VOCAB: usize = 320;
const CONTEXT: usize = 8192;

/// The tiny llama, the last ids of whose vocabulary become Self-RAG's tokens.
fn tiny() -> Local {
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("models/tests/golden/tiny/llama");
    let to = tempfile::tempdir().unwrap();
    for file in ["tokenizer_config.json", "model.safetensors"] {
        std::fs::copy(from.join(file), to.path().join(file)).unwrap();
    }
    let rewrite = |file: &str, change: &dyn Fn(&mut Value)| {
        let text = std::fs::read_to_string(from.join(file)).unwrap();
        let mut value: Value = serde_json::from_str(&text).unwrap();
        change(&mut value);
        std::fs::write(to.path().join(file), value.to_string()).unwrap();
    };
    rewrite("config.json", &|config| config["max_position_embeddings"] = CONTEXT.into());
    rewrite("tokenizer.json", &|tokenizer| {
        let first = VOCAB - TOKENS.len();
        let vocab = tokenizer["model"]["vocab"].as_object_mut().unwrap();
        vocab.retain(|_, id| id.as_u64().unwrap() < first as u64);
        // Each merge made one of the ids, in their order.
        let merges = tokenizer["model"]["merges"].as_array_mut().unwrap();
        merges.truncate(merges.len() - TOKENS.len());
        for (index, token) in TOKENS.iter().enumerate() {
            tokenizer["added_tokens"].as_array_mut().unwrap().push(json!({
                "id": first + index, "content": token, "single_word": false, "lstrip": false, "rstrip": false,
                "normalized": false, "special": true,
            }));
        }
    });
    let model = Model::open(to.path(), &LoadOptions::default()).unwrap();
    let options =
        EngineOptions { kv_memory: 64 << 20, rows: 64, step_tokens: 4096, share_prefixes: true, speculate: false };
    let identity = ModelIdentity { name: "tiny".into(), context: CONTEXT, ..ModelIdentity::default() };
    Local::new(Engine::start(model, options).unwrap(), identity, Cancel::default())
}

/// The probability of each of `tokens` after the call's prompt, its prefill and `count` tokens of its reply, among themselves.
fn shares(local: &Local, call: &CallRecord, count: usize, tokens: &[&str]) -> Vec<f64> {
    let tokenizer = &local.engine().model().tokenizer;
    let mut prompt = tokenizer.encode_prompt(&call.raw_prompt).unwrap();
    // A scored call's prefill is its only scored token: the distribution before it is wanted.
    prompt.extend(if call.score { Vec::new() } else { tokenizer.encode_continuation(&call.prefill).unwrap() });
    prompt.extend(call.logprobs[..count].iter().map(|token| token.id.unwrap()));
    let (events, inbox) = channel();
    let logprobs = Some(Logprobs { top: VOCAB, watch: Vec::new() });
    local.engine().submit_all(vec![Request { logprobs, ..Request::of_length(0, prompt, 1, events) }]).unwrap();
    let done = inbox.iter().find_map(|(_, event)| if let Event::Done(done) = event { Some(done) } else { None });
    let all = &done.unwrap().logprobs[0].top;
    assert_eq!(all.len(), VOCAB);
    let of = |token: &&str| {
        let id = local.token("generator", token).unwrap();
        f64::from(all.iter().find(|(other, _)| *other == id).unwrap().1).exp()
    };
    let probabilities: Vec<f64> = tokens.iter().map(of).collect();
    let sum: f64 = probabilities.iter().sum();
    probabilities.iter().map(|probability| probability / sum).collect()
}

/// Where the reply has the first of `tokens`.
fn first_position(local: &Local, call: &CallRecord, tokens: &[&str]) -> Option<usize> {
    let ids: Vec<Option<u32>> = tokens.iter().map(|token| local.token("generator", token)).collect();
    call.logprobs.iter().position(|token| ids.contains(&token.id))
}

/// Relevance, support and utility of a reply's first `count` tokens, from all logits.
fn critique(local: &Local, call: &CallRecord, count: usize) -> [f64; 3] {
    let within = |tokens: &[&str]| first_position(local, call, tokens).filter(|at| *at < count);
    let support = within(&TOKENS[4..7]).map_or(0.0, |at| {
        let shares = shares(local, call, at, &TOKENS[4..7]);
        shares[0] + 0.5 * shares[1]
    });
    let utility = within(&TOKENS[7..12]).map_or(0.0, |at| {
        let shares = shares(local, call, at, &TOKENS[7..12]);
        shares[4] - shares[0] + 0.5 * (shares[3] - shares[1])
    });
    [shares(local, call, 0, &TOKENS[2..4])[0], support, utility]
}

#[test]
fn critiques_are_the_probabilities_of_the_models_own_logits() {
    let local = tiny();
    let document = |i: usize| Document { name: format!("{i}"), text: format!("Town {i}."), ..Document::default() };
    let question = Question { documents: (0..8).map(document).collect(), ..four() };
    let sampling = Sampling::Seeded { temperature: 2.0, top_k: 0, top_p: 1.0 };
    // The aggregator's reply has no meaning; its prompt is compared.
    let settings = Settings { sampling, max_tokens: 100, free_form: true, ..Settings::default() };
    let method = methods::build("self-rag", &typed(&[("threshold", "0")])).unwrap();
    let record = method.answer(&question, Tools::new(&local), &settings, &Silent).unwrap();
    let told = &record.calls[8].messages[0].content;
    let (mut supports, mut utilities) = (0, 0);
    for (number, call) in record.calls[..8].iter().enumerate() {
        let [relevance, support, utility] = critique(&local, call, call.logprobs.len());
        supports += usize::from(first_position(&local, call, &TOKENS[4..7]).is_some());
        utilities += usize::from(first_position(&local, call, &TOKENS[7..12]).is_some());
        let score = relevance + support + 0.5 * utility;
        let [relevance, support, utility, score] =
            [relevance, support, utility, score].map(|x: f64| (x * 100.0).round() / 100.0 + 0.0);
        let number = number + 1;
        let line = format!(
            "Response {number} (relevance {relevance:.2}, support {support:.2}, utility {utility:.2}, score {score:.2}): "
        );
        assert!(told.contains(&line), "{line}\n{told}");
    }
    assert!(supports > 0 && utilities > 0, "no reply has a support token, or none a utility token");
}

#[test]
fn documents_are_read_if_the_models_logits_decide_it() {
    let local = tiny();
    let settings = Settings { max_tokens: 4, free_form: true, ..Settings::default() };
    for threshold in ["0.2", "0.999"] {
        let method = methods::build("self-rag", &typed(&[("threshold", threshold)])).unwrap();
        let record = method.answer(&four(), Tools::new(&local), &settings, &Silent).unwrap();
        let retrieval = shares(&local, &record.calls[0], 0, &TOKENS[..2])[0];
        let reads = retrieval > threshold.parse().unwrap();
        assert_eq!(record.calls.len(), if reads { 6 } else { 2 }, "{retrieval}");
    }
}

/// The score of a segment, and whether another may follow it; `None` where it has no words. With threshold 0 both retrieval
/// tokens end a segment.
fn segment(local: &Local, call: &CallRecord) -> Option<(f64, bool)> {
    let end = first_position(local, call, &TOKENS[..2]);
    let tokens = &call.logprobs[..end.unwrap_or(call.logprobs.len())];
    let text: String = tokens.iter().map(|token| token.text.as_str()).collect();
    if Level::Voted.words(&text).is_empty() {
        return None;
    }
    let [relevance, support, utility] = critique(local, call, tokens.len());
    let mean = tokens.iter().map(|token| f64::from(token.logprob)).sum::<f64>() / tokens.len() as f64;
    Some((relevance + support + 0.5 * utility + mean.exp(), end.is_some()))
}

/// An answer of a beam worked out anew: the numbers of its calls, their scores, and whether it goes on.
#[derive(Clone, Default)]
struct Worked {
    calls: Vec<usize>,
    scores: Vec<f64>,
    open: bool,
}

impl Worked {
    fn mean(&self) -> f64 {
        self.scores.iter().sum::<f64>() / self.scores.len() as f64
    }
}

#[test]
fn the_beam_keeps_the_segments_with_the_best_logits() {
    const DOCUMENTS: usize = 6;
    let local = tiny();
    let document = |i: usize| Document { name: format!("{i}"), text: format!("Town {i}."), ..Document::default() };
    let question = Question { documents: (0..DOCUMENTS).map(document).collect(), ..four() };
    let sampling = Sampling::Seeded { temperature: 2.0, top_k: 0, top_p: 1.0 };
    let switches = typed(&[("long", "true"), ("threshold", "0"), ("max-depth", "3")]);
    let method = methods::build("self-rag", &switches).unwrap();
    let of_seed = |seed: u64| {
        let settings = Settings { seed, sampling, max_tokens: 200, free_form: true, ..Settings::default() };
        method.answer(&question, Tools::new(&local), &settings, &Silent).unwrap()
    };
    // A model of random weights seldom retrieves again: the first run in which one of the two best segments does so.
    let record = (0..40).map(of_seed).find(|record| record.calls.len() > DOCUMENTS).expect("no segment was continued");

    let mut beam = vec![Worked { open: true, ..Worked::default() }];
    let mut calls = record.calls.iter();
    for _ in 0..3 {
        let mut grown: Vec<Worked> = Vec::new();
        for path in beam {
            let segments: Vec<_> = if path.open { calls.by_ref().take(DOCUMENTS).collect() } else { Vec::new() };
            let scored = segments.into_iter().filter_map(|call| Some((call.number, segment(&local, call)?)));
            let longer = |(number, (score, open))| Worked {
                calls: [path.calls.as_slice(), &[number]].concat(),
                scores: [path.scores.as_slice(), &[score]].concat(),
                open,
            };
            let longer: Vec<Worked> = scored.map(longer).collect();
            let whole = longer.is_empty().then(|| Worked { open: false, ..path.clone() });
            grown.extend(longer.into_iter().chain(whole));
        }
        grown.sort_by(|a, b| b.mean().total_cmp(&a.mean()));
        grown.truncate(2);
        beam = grown;
    }
    assert!(calls.next().is_none(), "no call but those of the beam");
    let conclusion = record.conclusion.as_ref().unwrap();
    assert_eq!((&conclusion.calls, conclusion.answers.len() + conclusion.rejected.len()), (&beam[0].calls, 2));
    let lines: Vec<&str> = conclusion.explanation.lines().collect();
    for (line, score) in lines.iter().zip(&beam[0].scores) {
        assert!(line.ends_with(&format!("score {:.2})", (score * 100.0).round() / 100.0 + 0.0)), "{line} {score}");
    }
    assert_eq!(lines.len(), beam[0].scores.len());
}

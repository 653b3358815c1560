//! Prefilled replies and scores: a reply continues its prefill, and a token's score has the bits of its log-probability
//! where it is sampled.

use super::invariance::{MixedRequest, mixed_request};
use super::{
    CHANCE, FORMS, VOCAB, alone, ask, assert_balanced, bits, done, golden, greedy, one, pages, start, start_patient,
    start_widened, token_bits, top, words,
};
use moot::MootError;
use moot::engine::{Completion, Engine, EngineOptions, Request, Think};
use moot::generation::{Finish, Grammar, Logprobs};
use moot_models::source::{Options, default_cache, locate};
use moot_models::tokenizer::Segment;
use moot_models::{LoadOptions, Model, PAGE, Residency};
use proptest::collection::vec;
use proptest::prelude::*;
use std::collections::HashMap;
use std::sync::LazyLock;

/// Scores `prefill` after `prompt` and generates nothing.
fn scoring(prompt: Vec<u32>, prefill: Vec<u32>) -> Request {
    Request { prefill, score: true, logprobs: watching(), ..greedy(prompt, 0) }
}

fn watching() -> Option<Logprobs> {
    Some(Logprobs { top: 5, watch: vec![7, 319, 0] })
}

/// A greedy reply of 40 tokens, and the request that scores it. The prompt ends in the middle of its fourth page.
fn sampled(form: &str) -> (Completion, Request) {
    let prompt = words(1, 61);
    let reply = alone(form, Request { logprobs: watching(), ..greedy(prompt.clone(), 40) });
    let request = scoring(prompt, reply.tokens.clone());
    (reply, request)
}

fn again(request: &Request) -> Request {
    scoring(request.prompt.clone(), request.prefill.clone())
}

/// The scores of `scored` are the log-probabilities of `sampled`, and nothing was generated.
fn assert_scores(scored: &Completion, sampled: &Completion, what: &str) {
    assert!(token_bits(&scored.scores) == token_bits(&sampled.logprobs), "{what}: {:?}", bits(scored));
    assert_eq!((scored.tokens.len(), scored.text.as_str(), scored.finish), (0, "", Finish::Length), "{what}");
    assert_eq!(scored.logprobs, []);
}

#[test]
fn scores_are_the_log_probabilities_of_sampled_tokens_in_any_batch_and_chunks() {
    for form in FORMS {
        let (reply, request) = sampled(form);
        assert_eq!(reply.logprobs.iter().map(|report| report.token).collect::<Vec<_>>(), request.prefill);
        assert_scores(&alone(form, again(&request)), &reply, "alone");
        for step_tokens in [1, 7, 16, 17, 64, 4096] {
            let engine = start(form, EngineOptions { step_tokens, ..pages(512) });
            let other = |seed: u64| Request { sampling: CHANCE, seed, ..greedy(words(seed, 30), 20) };
            let mut requests: Vec<Request> = (10..20).map(other).collect();
            requests.extend((20..25).map(|seed| scoring(words(seed, 9), words(seed + 50, 33))));
            requests.insert(3, again(&request));
            let replies = done(&engine, requests);
            assert_scores(&replies[3], &reply, &format!("{form}, steps of {step_tokens}"));
            for (seed, found) in (20..25).zip(&replies[11..]) {
                let expected = alone(form, scoring(words(seed, 9), words(seed + 50, 33)));
                assert_eq!(bits(found), bits(&expected), "{form}, steps of {step_tokens}, {seed}");
            }
            for (seed, found) in (10..13).zip(&replies) {
                assert_eq!(bits(found), bits(&alone(form, other(seed))), "{form}, steps of {step_tokens}, {seed}");
            }
            assert_balanced(&engine.stats(), &replies);
        }
    }
}

/// The prefix tree keeps keys and values, not logits: pages before the scored span are shared, those within are computed.
#[test]
fn a_scored_span_is_computed_again_where_its_pages_are_cached() {
    for form in FORMS {
        for step_tokens in [17, 4096] {
            let (reply, request) = sampled(form);
            let engine = start(form, EngineOptions { step_tokens, ..pages(64) });
            let mut all = vec![one(&engine, again(&request))];
            assert_eq!(all[0].usage.reused, 0);
            all.push(one(&engine, again(&request)));
            // The row of token 60 scores the first token, so the page from 48 on is computed again.
            assert_eq!((all[1].usage.reused, all[1].usage.prompt), (48, 101), "{form}");
            all.extend(done(&engine, vec![again(&request), again(&request), again(&request)]));
            for scored in &all {
                assert_scores(scored, &reply, &format!("{form}, steps of {step_tokens}"));
            }
            assert_balanced(&engine.stats(), &all);
            // From pages that decoding filled.
            let engine = start(form, EngineOptions { step_tokens, ..pages(64) });
            one(&engine, greedy(words(1, 61), 40));
            assert_scores(&one(&engine, again(&request)), &reply, "after the reply");
            // A generating request still shares every page but that of its last token.
            let longer = [&request.prompt[..], &request.prefill, &[1]].concat();
            assert_eq!(one(&engine, greedy(longer, 3)).usage.reused, 96);
        }
    }
}

#[test]
fn spans_that_begin_and_end_at_pages() {
    for (prompt, prefill, reused) in [(1, 1, 0), (16, 16, 0), (17, 15, 16), (17, 16, 16), (32, 1, 16), (33, 31, 32)] {
        let engine = start("llama.gguf", pages(64));
        let request = || scoring(words(1, prompt), words(2, prefill));
        let twins = done(&engine, vec![request(), request()]);
        let later = one(&engine, request());
        assert_eq!(later.usage.reused, reused, "{prompt} and {prefill}");
        let expected = alone("llama.gguf", request());
        assert_eq!(expected.scores.len(), prefill);
        for found in twins.iter().chain([&later]) {
            assert_eq!(bits(found), bits(&expected), "{prompt} and {prefill}");
        }
        assert_balanced(&engine.stats(), &[&twins[..], &[later]].concat());
    }
}

#[test]
fn a_reply_continues_its_prefill() {
    for form in FORMS {
        let whole = alone(form, greedy(words(1, 30), 40));
        for cut in [1, 12, 39] {
            for score in [false, true] {
                let engine = start(form, pages(64));
                let prefill = whole.tokens[..cut].to_vec();
                let request = || Request { prefill: prefill.clone(), score, ..greedy(words(1, 30), 40 - cut) };
                let replies = done(&engine, vec![request(), request()]);
                for reply in &replies {
                    assert_eq!(reply.tokens, whole.tokens[cut..], "{form}, {cut}");
                    assert!(whole.text.ends_with(&reply.text), "{:?} ends {:?}", reply.text, whole.text);
                    assert_eq!(token_bits(&reply.logprobs), token_bits(&whole.logprobs[cut..]));
                    let scored = if score { &whole.logprobs[..cut] } else { &[] };
                    assert_eq!(token_bits(&reply.scores), token_bits(scored));
                    assert_eq!((reply.usage.prompt, reply.usage.generated), (30 + cut, 40 - cut));
                }
                assert_balanced(&engine.stats(), &replies);
            }
        }
    }
}

#[test]
fn a_prefill_follows_the_thoughts_and_is_scored_there() {
    let think = Think { tokens: 9, close: "never said".into(), close_id: None, after: vec![7], forced: vec![5, 6] };
    for form in FORMS {
        let request =
            || Request { think: Some(think.clone()), prefill: words(5, 20), score: true, ..greedy(words(3, 20), 8) };
        let engine = start(form, EngineOptions { step_tokens: 17, ..pages(64) });
        let reply = one(&engine, request());
        let thoughts = reply.thoughts.as_ref().unwrap();
        assert_eq!((thoughts.tokens, reply.tokens.len(), reply.usage.prompt), (11, 11 + 8, 40));
        let prompt = [&words(3, 20)[..], &reply.tokens[..11]].concat();
        let plain = alone(form, Request { prompt, think: None, ..request() });
        assert_eq!(reply.tokens[11..], plain.tokens);
        assert_eq!(token_bits(&reply.scores), token_bits(&plain.scores), "{form}");
        assert_eq!(token_bits(&reply.logprobs), token_bits(&plain.logprobs), "{form}");
        assert_balanced(&engine.stats(), &[reply]);
    }
}

#[test]
fn a_grammar_and_stop_texts_apply_after_the_prefill() {
    let engine = start("llama.gguf", pages(64));
    let prefill = engine.model().tokenizer.encode_text("The bridge opened in").unwrap();
    let grammar = Some(Grammar { name: "answer.lark".into(), lark: "start: \"yes\" | \"no\"".into() });
    let request = Request { grammar, prefill: prefill.clone(), ignore_eos: false, ..greedy(words(1, 9), 10) };
    let reply = one(&engine, request);
    assert!(["yes", "no"].contains(&&reply.text[..]) && reply.finish == Finish::Stop, "{:?}", reply.text);
    let free = one(&engine, Request { prefill: prefill.clone(), ..greedy(words(1, 9), 10) });
    let stopped = Request { prefill, stop: vec!["opened".into()], ..greedy(words(1, 9), 10) };
    assert_eq!(bits(&one(&engine, stopped)), bits(&free));
}

/// 2,000 tokens in steps of 512, as in one step, and after a shared prefix.
#[test]
fn a_long_span_is_scored_in_chunks() {
    let engine = |step_tokens| start_patient(4096, EngineOptions { step_tokens, ..pages(300) });
    let request = || scoring(words(1, 100), words(2, 2000));
    let (whole, chunked) = (engine(4096), engine(512));
    let expected = one(&whole, request());
    assert_eq!((whole.stats().steps, expected.scores.len()), (1, 2000));
    assert_eq!(bits(&one(&chunked, request())), bits(&expected));
    assert_eq!((chunked.stats().steps, chunked.stats().scored), (5, 2000));
    let after = one(&chunked, request());
    assert_eq!((bits(&after), after.usage.reused), (bits(&expected), 96));
}

#[test]
fn watched_tokens_are_reported_whatever_their_rank() {
    let watch: Vec<u32> = (0..VOCAB).rev().collect();
    for form in FORMS {
        let logprobs = Some(Logprobs { top: VOCAB as usize, watch: watch.clone() });
        let request =
            Request { logprobs, prefill: words(2, 20), score: true, sampling: CHANCE, ..greedy(words(1, 9), 20) };
        let reply = alone(form, request);
        assert_eq!((reply.logprobs.len(), reply.scores.len()), (20, 20));
        for report in reply.logprobs.iter().chain(&reply.scores) {
            let ranked: HashMap<u32, f32> = report.top.iter().copied().collect();
            let watched: HashMap<u32, f32> = watch.iter().copied().zip(report.watched.iter().copied()).collect();
            assert_eq!((&ranked, ranked[&report.token]), (&watched, report.logprob));
        }
    }
    let unasked = alone("qwen2", Request { logprobs: None, ..scoring(words(1, 9), words(2, 5)) });
    assert!(unasked.scores.iter().all(|score| score.top.is_empty() && score.watched.is_empty()));
    assert_eq!(unasked.scores.len(), 5);
}

#[test]
fn unsound_requests_are_refused() {
    let engine = start("llama.gguf", pages(16));
    let think = Think { tokens: 9, close: "x".into(), close_id: None, after: vec![7], forced: vec![5] };
    let watch = Some(Logprobs { top: 0, watch: vec![320] });
    let requests = vec![
        (scoring(words(1, 5), Vec::new()), "a prefill to score"),
        (Request { score: false, ..scoring(words(1, 5), words(2, 5)) }, "a prefill to score"),
        (scoring(Vec::new(), words(2, 5)), "at least one prompt token"),
        (scoring(words(1, 5), vec![320]), "token 320 of the prefill"),
        (Request { logprobs: watch, ..greedy(words(1, 5), 3) }, "token 320 of the watch list"),
        (Request { think: Some(think), ..scoring(words(1, 5), words(2, 5)) }, "where it thinks"),
    ];
    let (requests, expected): (Vec<Request>, Vec<&str>) = requests.into_iter().unzip();
    for (reply, expected) in ask(&engine, requests).iter().zip(expected) {
        assert!(matches!(reply, Err(MootError::Usage(text)) if text.contains(expected)), "{expected}: {reply:?}");
    }
    // The context holds the prompt and the prefill; 16 pages are 256 tokens, and the last token takes none.
    let room = |prefill| ask(&engine, vec![scoring(words(1, 56), words(2, prefill))]).remove(0);
    assert_eq!(room(200).unwrap().scores.len(), 200);
    match room(201) {
        Err(MootError::TooLong { needed, prompt, generate, .. }) => {
            assert_eq!((needed, prompt, generate), (257, 257, 0));
        }
        other => panic!("{other:?}"),
    }
}

/// A request of a random mix, scored from `cut` tokens of its prompt on where there are as many.
fn scored_request() -> impl Strategy<Value = (MixedRequest, usize, bool)> {
    (mixed_request(), 1_usize..60, any::<bool>())
}

fn request((mixed, cut, generate): &(MixedRequest, usize, bool)) -> Request {
    let mut request = mixed.request();
    let cut = (*cut).min(request.prompt.len());
    request.prefill = request.prompt.split_off(cut);
    request.score = true;
    request.logprobs = watching();
    if !generate && !request.prefill.is_empty() {
        request.max_tokens = 0;
    }
    request
}

/// An engine that answers one request at a time and shares nothing.
static REFERENCE: LazyLock<Engine> =
    LazyLock::new(|| start("qwen2", EngineOptions { rows: 1, share_prefixes: false, ..pages(16) }));

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn in_any_mix(
        (rows, step_tokens, n) in (1_usize..9, 1_usize..90, 9_usize..40),
        (share_prefixes, speculate) in (any::<bool>(), any::<bool>()),
        rounds in vec(vec(scored_request(), 1..8), 1..4),
    ) {
        let engine = start("qwen2", EngineOptions { rows, step_tokens, share_prefixes, speculate, ..pages(n) });
        let mut all = Vec::new();
        for round in &rounds {
            let replies = done(&engine, round.iter().map(request).collect());
            for (mixed, reply) in round.iter().zip(&replies) {
                prop_assert_eq!(bits(reply), bits(&one(&REFERENCE, request(mixed))), "{:?}", mixed);
            }
            all.extend(replies);
        }
        assert_balanced(&engine.stats(), &all);
    }
}

/// `scores.json`, by transformers; `scores.py` describes the fields.
#[derive(serde::Deserialize)]
struct Golden {
    models: HashMap<String, Vec<Case>>,
}

#[derive(serde::Deserialize)]
struct Case {
    prompt: String,
    continuation: String,
    prompt_ids: Vec<u32>,
    ids: Vec<u32>,
    logprobs: Vec<f64>,
    top: Vec<Vec<u32>>,
}

#[test]
fn scores_of_given_continuations_are_those_of_transformers() {
    let text = std::fs::read_to_string(golden().join("scores.json")).unwrap();
    let golden: Golden = serde_json::from_str(&text).unwrap();
    for form in ["llama", "llama.gguf", "qwen2", "qwen2.gguf"] {
        let engine = start_widened(form, pages(64));
        let cases = &golden.models[form.trim_end_matches(".gguf")];
        assert_eq!(cases.len(), 5);
        let encode =
            |text: &str| engine.model().tokenizer.encode_continuation(&[Segment::Content(text.into())]).unwrap();
        for case in cases {
            assert_eq!(encode(&case.prompt), case.prompt_ids);
            assert_eq!(encode(&case.continuation), case.ids);
        }
        let request = |case: &Case| Request { logprobs: top(3), ..scoring(case.prompt_ids.clone(), case.ids.clone()) };
        for (case, reply) in cases.iter().zip(done(&engine, cases.iter().map(request).collect())) {
            assert_eq!(reply.scores.len(), case.logprobs.len());
            for ((score, expected), top) in reply.scores.iter().zip(&case.logprobs).zip(&case.top) {
                let off = (f64::from(score.logprob) - expected).abs();
                assert!(off < 1e-4, "{form}, {:?}: {} is off by {off}", case.continuation, score.logprob);
                assert_eq!(&score.top.iter().map(|(id, _)| *id).collect::<Vec<_>>(), top, "{form}");
            }
        }
    }
}

/// Windows of real text: the mean score against the mean next-token loss of transformers in f32.
#[test]
#[ignore = "takes a model of the catalog that is on this machine"]
fn scores_of_a_real_model_are_those_of_transformers() {
    const ALIAS: &str = "smollm2-135m";
    let path = golden().join("../real").join(ALIAS).with_extension("json");
    let reference: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let loss = &reference["loss"];
    let ids: Vec<u32> = serde_json::from_value(loss["ids"].clone()).unwrap();
    let (window, mean) = (loss["window"].as_u64().unwrap() as usize, loss["mean"].as_f64().unwrap());
    let options = Options { cache: default_cache().unwrap(), offline: true };
    let file = locate(ALIAS, &options, &mut |_| {}).unwrap_or_else(|error| panic!("{error}")).path;
    let model = Model::open(&file, &LoadOptions { residency: Residency::Dense, ..LoadOptions::default() }).unwrap();
    let kv_memory = 8 * (window / PAGE + 2) * model.decoder.page_bytes();
    let engine = Engine::start(model, EngineOptions { kv_memory, ..EngineOptions::default() }).unwrap();
    let starts = (0..ids.len() - 1).step_by(window);
    let requests = starts.map(|at| scoring(vec![ids[at]], ids[at + 1..=at + window].to_vec()));
    let scores: Vec<f64> = done(&engine, requests.collect())
        .iter()
        .flat_map(|reply| reply.scores.iter().map(|score| f64::from(score.logprob)))
        .collect();
    assert_eq!(scores.len(), ids.len() - 1);
    let found = -scores.iter().sum::<f64>() / scores.len() as f64;
    assert!((found / mean - 1.0).abs() <= 0.005, "{found}, expected {mean}");
}

//! How replies end, and their log-probabilities: stop tokens and texts, limits, cancelling.

use super::{
    CHANCE, FORMS, VOCAB, alone, ask, bits, collect, done, golden, greedy, next, one, pages, start, start_widened,
};
use super::{start_patient, submit, top, words};
use candle_core::{Device, Tensor};
use moot::MootError;
use moot::cancel::Cancel;
use moot::engine::{Completion, EngineOptions, Event, Request};
use moot::generation::{Finish, Sampling};
use moot_models::tokenizer::Tokenizer;
use std::collections::HashMap;
use std::sync::mpsc::channel;

/// More tokens than any test waits for.
const FOREVER: usize = 20_000;

/// Logits and continuations by transformers; `make.py` describes the names.
fn expected(form: &str) -> HashMap<String, Tensor> {
    let name = form.trim_end_matches(".gguf");
    candle_core::safetensors::load(golden().join(format!("{name}.expected.safetensors")), &Device::Cpu).unwrap()
}

fn tokens(tensor: &Tensor) -> Vec<u32> {
    tensor.to_vec1().unwrap()
}

#[test]
fn greedy_replies_are_those_of_transformers() {
    for form in FORMS {
        let (expected, engine) = (expected(form), start(form, pages(64)));
        let prompts = (0..3).map(|n| tokens(&expected[&format!("ids.{n}")]));
        let requests = prompts.map(|prompt| Request { ignore_eos: false, ..greedy(prompt, 20) });
        let replies = done(&engine, requests.collect());
        for (n, reply) in replies.iter().enumerate() {
            let mut continuation = tokens(&expected[&format!("greedy.{n}")]);
            assert_eq!(continuation.len(), 20);
            // The reference goes on after the end of a turn.
            let eos = engine.model().tokenizer.eos_ids();
            if let Some(end) = continuation.iter().position(|id| eos.contains(id)) {
                continuation.truncate(end + 1);
            }
            assert_eq!(reply.tokens, continuation, "{form}, sequence {n}");
        }
    }
}

#[test]
fn log_probabilities_are_those_of_transformers() {
    for form in FORMS {
        let (expected, engine) = (expected(form), start_widened(form, pages(64)));
        for n in 0..3 {
            let prompt = tokens(&expected[&format!("ids.{n}")]);
            let logits = expected[&format!("logits.{n}")].to_vec2::<f32>().unwrap().pop().unwrap();
            let total = logits.iter().map(|&l| f64::from(l).exp()).sum::<f64>().ln();
            let reply = one(&engine, Request { logprobs: top(VOCAB as usize), ..greedy(prompt, 1) });
            let report = &reply.logprobs[0];
            assert_eq!(report.top.len(), VOCAB as usize);
            for &(id, found) in &report.top {
                let expected = f64::from(logits[id as usize]) - total;
                // Twice the tolerance of the golden logits.
                assert!((f64::from(found) - expected).abs() < 2e-4, "{form}, {n}, token {id}: {found}, not {expected}");
            }
        }
    }
}

#[test]
fn log_probabilities_are_in_order_and_are_the_models_own() {
    let engine = start("qwen2", pages(64));
    for sampling in [Sampling::Greedy, CHANCE] {
        let reply = one(&engine, Request { sampling, logprobs: top(VOCAB as usize), ..greedy(words(1, 20), 30) });
        assert_eq!(reply.logprobs.len(), 30);
        for report in &reply.logprobs {
            assert!(report.top.windows(2).all(|pair| pair[0].1 >= pair[1].1));
            let total: f64 = report.top.iter().map(|(_, p)| f64::from(*p).exp()).sum();
            assert!((total - 1.0).abs() < 1e-4, "{total}");
            let own = report.top.iter().find(|(id, _)| *id == report.token).unwrap();
            assert_eq!(own.1.to_bits(), report.logprob.to_bits());
        }
    }
    assert_eq!(one(&engine, Request { logprobs: top(0), ..greedy(words(1, 20), 3) }).logprobs[2].top, []);
    assert_eq!(one(&engine, Request { logprobs: None, ..greedy(words(1, 20), 3) }).logprobs, []);
}

/// Enough random replies that some end by themselves and some do not.
fn many(ignore_eos: bool) -> impl Iterator<Item = Request> {
    let way = |seed: u64| if seed.is_multiple_of(2) { Sampling::Greedy } else { CHANCE };
    (0..40).map(move |seed| Request { sampling: way(seed), seed, ignore_eos, ..greedy(words(seed, 9), 120) })
}

#[test]
fn the_end_of_a_turn_ends_a_reply() {
    for form in FORMS {
        let engine = start(form, pages(1024));
        let eos = engine.model().tokenizer.eos_ids().to_vec();
        let replies = done(&engine, many(false).collect());
        let stopped: Vec<&Completion> = replies.iter().filter(|reply| reply.finish == Finish::Stop).collect();
        assert!((1..40).contains(&stopped.len()), "{form}: {} of 40 stopped", stopped.len());
        for reply in &replies {
            let end = reply.tokens.iter().position(|id| eos.contains(id));
            match reply.finish {
                Finish::Stop => assert_eq!(end, Some(reply.tokens.len() - 1)),
                Finish::Length => assert_eq!((end, reply.tokens.len()), (None, 120)),
            }
            assert!(!reply.text.contains("<|im_end|>"));
        }
    }
}

#[test]
fn ignoring_the_end_of_a_turn_forces_the_length() {
    for form in FORMS {
        let engine = start(form, pages(1024));
        let eos = engine.model().tokenizer.eos_ids().to_vec();
        let free = done(&engine, many(false).collect());
        let forced = done(&engine, many(true).collect());
        for reply in &forced {
            assert_eq!((reply.finish, reply.tokens.len()), (Finish::Length, 120));
            assert!(!reply.tokens.iter().any(|id| eos.contains(id)));
        }
        // Only greedy replies are compared: with sampling, the probability of an end changes the draw of other tokens too.
        for (forced, free) in forced.iter().zip(&free).step_by(2) {
            let met = free.tokens.len() - usize::from(free.finish == Finish::Stop);
            assert_eq!(forced.tokens[..met], free.tokens[..met]);
        }
    }
}

/// Greedy text that begins inside one token and ends inside another, and where it begins.
fn across_tokens(tokenizer: &Tokenizer, reply: &Completion) -> Option<(String, usize)> {
    let bytes: Vec<Vec<u8>> = reply.tokens.iter().map(|id| tokenizer.decode_bytes(&[*id])).collect();
    for from in 5..bytes.len() - 4 {
        let [first, middle @ .., last] = &bytes[from..from + 4] else { unreachable!() };
        if first.len() < 2 || last.len() < 2 {
            continue;
        }
        let text = [&first[1..], &middle.concat(), &last[..1]].concat();
        if text.iter().all(|byte| byte.is_ascii_graphic() || *byte == b' ') {
            let text = String::from_utf8(text).unwrap();
            let at = reply.text.find(&text).unwrap();
            return Some((text, at));
        }
    }
    None
}

#[test]
fn a_stop_text_ends_a_reply_before_it() {
    let engine = start("llama.gguf", pages(512));
    let by = |seed, stop| Request { sampling: CHANCE, seed, stop, ..greedy(words(seed, 30), 100) };
    let free = done(&engine, (0..40).map(|seed| by(seed, Vec::new())).collect());
    let parts = free.iter().map(|reply| across_tokens(&engine.model().tokenizer, reply));
    let cuts: Vec<(usize, String, usize)> =
        parts.enumerate().filter_map(|(i, part)| part.map(|(stop, at)| (i, stop, at))).collect();
    assert!(cuts.len() > 5, "{} replies had a text across tokens", cuts.len());
    let stopped = cuts.iter().map(|(i, stop, _)| by(*i as u64, vec!["never said".into(), stop.clone(), String::new()]));
    for ((i, stop, at), reply) in cuts.iter().zip(done(&engine, stopped.collect())) {
        assert_eq!(reply.finish, Finish::Stop, "{stop:?} in {:?}", free[*i].text);
        // `collect` has compared the streamed text with this.
        assert_eq!(reply.text, free[*i].text[..*at], "before {stop:?}");
        assert_eq!(reply.tokens, free[*i].tokens[..reply.tokens.len()]);
    }
}

#[test]
fn a_possible_beginning_of_a_stop_text_is_sent_at_the_end() {
    let engine = start("llama.gguf", pages(64));
    let free = one(&engine, greedy(words(2, 30), 20));
    let last = free.text.chars().next_back().unwrap();
    let reply = one(&engine, Request { stop: vec![format!("{last}and more")], ..greedy(words(2, 30), 20) });
    assert_eq!((reply.finish, reply.text), (Finish::Length, free.text));
}

#[test]
fn a_reply_has_at_most_max_tokens() {
    let engine = start("llama.gguf", pages(64));
    let long = one(&engine, greedy(words(1, 20), 30));
    for max_tokens in [1, 2, 12, 13, 29] {
        let reply = one(&engine, greedy(words(1, 20), max_tokens));
        assert_eq!((reply.finish, &reply.tokens[..]), (Finish::Length, &long.tokens[..max_tokens]));
        assert_eq!(reply.usage.generated, max_tokens);
        assert!(reply.seconds > 0.0);
    }
}

fn interrupted(result: &Result<Completion, MootError>) -> bool {
    matches!(result, Err(MootError::Interrupted))
}

#[test]
fn cancelling_one_does_not_disturb_another() {
    let engine = start_patient(2 * FOREVER, pages(2 * FOREVER / 16));
    let cancel = Cancel::default();
    // They share pages, and the cancelled one came first.
    let prompt = |own| [&words(1, 40)[..], &[own]].concat();
    let endless = Request { cancel: cancel.clone(), ..greedy(prompt(1), FOREVER) };
    let (own_events, own_inbox) = channel();
    engine.submit_all(vec![Request { events: own_events, ..endless }]).unwrap();
    assert!(matches!(next(&own_inbox), Some((0, Event::Text(_)))));
    let other = submit(&engine, vec![greedy(prompt(2), 400)]);
    assert!(matches!(next(&other), Some((0, Event::Text(_)))));
    cancel.cancel();
    let last = std::iter::from_fn(|| next(&own_inbox)).last();
    assert!(matches!(last, Some((0, Event::Failed(MootError::Interrupted)))), "{last:?}");
    let Some((0, Event::Done(reply))) = std::iter::from_fn(|| next(&other)).last() else { panic!("it was disturbed") };
    assert_eq!(reply.tokens.len(), 400);
    let undisturbed = start_patient(2 * FOREVER, EngineOptions { share_prefixes: false, ..pages(64) });
    assert_eq!(bits(&reply), bits(&one(&undisturbed, greedy(prompt(2), 400))));
    assert!(engine.stats().decoded < FOREVER, "{:?}", engine.stats());
    assert_eq!(engine.stats().pages_held, 0);
}

#[test]
fn the_waiting_are_cancelled_too() {
    let engine = start_patient(FOREVER, EngineOptions { rows: 1, ..pages(FOREVER / 16) });
    let cancel = Cancel::default();
    let child = cancel.child();
    let endless = |seed| Request { cancel: child.clone(), ..greedy(words(seed, 20), FOREVER / 2) };
    let inbox = submit(&engine, vec![endless(1), greedy(words(2, 20), 5), endless(3)]);
    cancel.cancel();
    let mut results = collect(&inbox, 3).0;
    assert!(interrupted(&results[0]) && interrupted(&results[2]), "{results:?}");
    assert_eq!(results.remove(1).unwrap().tokens.len(), 5);
    // Cancelling the parent also cancels later requests; cancelling a child does not cancel its parent.
    assert!(interrupted(&ask(&engine, vec![endless(4)])[0]));
    let above = Cancel::default();
    above.child().cancel();
    assert!(!above.is_cancelled());
}

#[test]
fn a_closed_receiver_cancels() {
    let engine = start_patient(FOREVER, EngineOptions { rows: 1, ..pages(FOREVER / 16) });
    drop(submit(&engine, vec![greedy(words(1, 20), FOREVER / 2)]));
    // There is one row only: this one runs when the other is gone.
    assert_eq!(one(&engine, greedy(words(2, 20), 5)).tokens.len(), 5);
    assert!(engine.stats().decoded < FOREVER / 4, "{:?}", engine.stats());
}

#[test]
fn a_sampled_reply_depends_on_its_own_seed_alone() {
    let by = |seed| Request { sampling: CHANCE, seed, ..greedy(words(1, 20), 30) };
    let engine = start("llama.gguf", pages(256));
    let replies = done(&engine, vec![by(1), by(2), by(1), by(3)]);
    assert_eq!(bits(&replies[0]), bits(&replies[2]));
    assert_ne!(replies[0].tokens, replies[1].tokens);
    assert_ne!(replies[1].tokens, replies[3].tokens);
    assert_eq!(bits(&replies[3]), bits(&alone("llama.gguf", by(3))));
}

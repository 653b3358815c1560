//! The engine's rows and its thread: the order of requests, turns between them, and shutting down.

use super::{FORMS, alone, bits, collect, done, greedy, next, pages, start, start_patient, submit, words};
use moot::MootError;
use moot::cancel::Cancel;
use moot::engine::{EngineOptions, Event, Request};

fn equal_length(count: u64) -> Vec<Request> {
    (0..count).map(|seed| greedy(words(seed, 20), 9)).collect()
}

#[test]
fn rows_are_given_in_the_order_of_requests() {
    for rows in [1, 2, 3, 64] {
        let engine = start("llama.gguf", EngineOptions { rows, ..pages(256) });
        let (replies, order) = collect(&submit(&engine, equal_length(8)), 8);
        assert_eq!(order, (0..8).collect::<Vec<_>>(), "{rows} rows");
        assert_eq!(engine.stats().peak_rows, rows.min(8));
        // A row gets its next request in the step after the last step of its last request.
        assert_eq!(engine.stats().steps, 8_usize.div_ceil(rows) * 9);
        for (seed, reply) in replies.iter().enumerate() {
            assert_eq!(bits(reply.as_ref().unwrap()), bits(&alone("llama.gguf", greedy(words(seed as u64, 20), 9))));
        }
    }
}

/// Two rows: the first is taken for 30 steps, the second by 1, 2, 3 for 5 each and by 4 for 30; then 5 gets the first.
#[test]
fn a_long_request_keeps_its_row_and_the_others_take_turns() {
    let engine = start("llama.gguf", EngineOptions { rows: 2, ..pages(256) });
    let lengths = [30, 5, 5, 5, 30, 5];
    let requests = lengths.iter().enumerate().map(|(i, &n)| greedy(words(i as u64, 20), n)).collect();
    let (replies, order) = collect(&submit(&engine, requests), 6);
    assert_eq!(order, [1, 2, 3, 0, 5, 4]);
    assert!(replies.iter().zip(lengths).all(|(reply, n)| reply.as_ref().unwrap().tokens.len() == n));
    assert_eq!(engine.stats().steps, 45);
}

#[test]
fn more_rows_than_tokens_of_a_step_all_finish() {
    for step_tokens in [1, 3] {
        let engine = start("llama.gguf", EngineOptions { step_tokens, ..pages(256) });
        let replies = done(&engine, equal_length(8));
        for (seed, reply) in replies.iter().enumerate() {
            assert_eq!(bits(reply), bits(&alone("llama.gguf", greedy(words(seed as u64, 20), 9))));
        }
    }
}

/// More rows than tokens of a step take turns: no request waits for another one's end.
#[test]
fn more_rows_than_tokens_of_a_step_take_turns() {
    for step_tokens in [1, 3] {
        let engine = start("llama.gguf", EngineOptions { step_tokens, ..pages(256) });
        let inbox = submit(&engine, (0..8).map(|seed| greedy(words(seed, 3), 60)).collect());
        let mut heard = [0; 8];
        loop {
            match next(&inbox) {
                Some((tag, Event::Text(_))) => heard[tag] += 1,
                Some((_, Event::Done(_))) => break,
                other => panic!("{other:?}"),
            }
        }
        assert!(heard.iter().all(|&count| count > 10), "{step_tokens} tokens a step: {heard:?}");
    }
}

/// Decoding takes every token of a step, and still a prompt behind it moves on.
#[test]
fn a_prompt_does_not_wait_for_the_end_of_decoding_rows() {
    for step_tokens in [3, 18] {
        let engine = start("llama.gguf", EngineOptions { step_tokens, ..pages(256) });
        let mut requests: Vec<Request> = (0..3).map(|seed| greedy(words(seed, 1), 200)).collect();
        requests.push(greedy(words(9, 40), 1));
        let (replies, order) = collect(&submit(&engine, requests), 4);
        assert_eq!(order[0], 3, "{step_tokens} tokens a step");
        assert_eq!(bits(replies[3].as_ref().unwrap()), bits(&alone("llama.gguf", greedy(words(9, 40), 1))));
    }
}

#[test]
fn zero_rows_and_tokens_mean_one() {
    let engine = start("llama.gguf", EngineOptions { rows: 0, step_tokens: 0, ..pages(64) });
    assert_eq!((engine.limits().rows, engine.limits().tokens), (1, 1));
    assert_eq!(done(&engine, equal_length(2)).len(), 2);
}

#[test]
fn a_dropped_engine_finishes_the_requests_in_flight() {
    let engine = start("llama.gguf", EngineOptions { rows: 2, ..pages(64) });
    let inbox = submit(&engine, equal_length(7));
    drop(engine);
    let (replies, order) = collect(&inbox, 7);
    assert!(replies.iter().all(|reply| reply.as_ref().unwrap().tokens.len() == 9));
    assert_eq!(order, (0..7).collect::<Vec<_>>());
}

#[test]
fn a_dropped_engine_does_not_wait_for_cancelled_requests() {
    const FOREVER: usize = 50_000;
    let engine = start_patient(FOREVER, pages(FOREVER / 16 + 8));
    let cancel = Cancel::default();
    let cancelled = submit(&engine, vec![Request { cancel: cancel.clone(), ..greedy(words(1, 20), FOREVER / 2) }]);
    drop(submit(&engine, vec![greedy(words(2, 20), FOREVER / 2)]));
    cancel.cancel();
    let stopped = std::time::Instant::now();
    drop(engine);
    assert!(stopped.elapsed().as_secs() < 20, "it went on for {:?}", stopped.elapsed());
    assert!(matches!(collect(&cancelled, 1).0[0], Err(MootError::Interrupted)));
}

#[test]
fn an_idle_engine_ends_at_once() {
    drop(start("llama.gguf", pages(64)));
}

#[test]
fn two_engines_at_once() {
    let engines = FORMS.map(|form| start(form, pages(256)));
    let inboxes = engines.each_ref().map(|engine| submit(engine, equal_length(6)));
    for (form, inbox) in FORMS.iter().zip(&inboxes) {
        for (seed, reply) in collect(inbox, 6).0.iter().enumerate() {
            let expected = alone(form, greedy(words(seed as u64, 20), 9));
            assert_eq!(bits(reply.as_ref().unwrap()), bits(&expected), "{form}");
        }
    }
}

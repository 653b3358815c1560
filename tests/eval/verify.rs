//! Every difference is found: with a model whose replies depend on the batch, and with one whose replies do not.

use super::{answered, header};
use moot::eval::record::reader::Record;
use moot::eval::verify::{Report, Sample, What};
use moot::generation::{Finish, TokenLogprob, Usage};
use moot::llm::{Call, Capabilities, Llm, ModelIdentity, OnFailure, OnReply, Reply};
use moot::transcript::{CallRecord, QuestionRecord};
use std::sync::Mutex;

/// A model whose reply is its seed; `spoil` may spoil the reply to a call, knowing how many are asked at once.
struct Model<F> {
    identity: ModelIdentity,
    spoil: F,
    asked: Mutex<Vec<Vec<Call>>>,
}

fn model<F: Fn(&Call, usize, &mut Reply) + Send + Sync>(spoil: F) -> Model<F> {
    Model { identity: record(0).header.model, spoil, asked: Mutex::default() }
}

fn reply(seed: u64) -> Reply {
    let tokens: Vec<u32> = seed.to_string().bytes().map(u32::from).collect();
    let logprob = |id: &u32| TokenLogprob {
        id: Some(*id),
        text: String::new(),
        logprob: -1.0 / *id as f32,
        top: Vec::new(),
        watched: Vec::new(),
    };
    Reply {
        text: seed.to_string(),
        usage: Usage { prompt: 10, reused: 4, computed: 6, generated: tokens.len() },
        logprobs: tokens.iter().map(logprob).collect(),
        tokens,
        ..Reply::default()
    }
}

impl<F: Fn(&Call, usize, &mut Reply) + Send + Sync> Llm for Model<F> {
    fn identity(&self) -> &ModelIdentity {
        &self.identity
    }

    fn capabilities(&self, _: &str) -> Capabilities {
        Capabilities::ALL
    }

    fn answer(&self, calls: &[Call], _: OnFailure, on_reply: &mut OnReply<'_>) -> Vec<moot::Result<Reply>> {
        self.asked.lock().unwrap().push(calls.to_vec());
        let mut replies = Vec::new();
        for (index, call) in calls.iter().enumerate() {
            let mut reply = reply(call.seed);
            (self.spoil)(call, calls.len(), &mut reply);
            on_reply(index, &reply);
            replies.push(Ok(reply));
        }
        replies
    }
}

/// `count` questions of two calls each; a call's seed is 100 plus its index among all.
fn record(count: u64) -> Record {
    let mut header = header();
    header.method = "madam-rag".into();
    header.model.sha256 = "ab".repeat(32);
    header.model.recipe = "cpu 1".into();
    let call = |seed: u64, template: &CallRecord| {
        let Reply { text, tokens, usage, .. } = reply(seed);
        CallRecord { seed, reply: text, tokens, usage, max_tokens: 9, ..template.clone() }
    };
    let question = |number: u64| {
        let answered = answered(&format!("q{number}"), &[], &[], &[]);
        let calls = (0..2).map(|index| call(100 + 2 * number + index, &answered.calls[0])).collect();
        QuestionRecord { calls, ..answered }
    };
    Record { path: "some.jsonl".into(), header, questions: (0..count).map(question).collect(), torn: false }
}

fn verified(spoil: impl Fn(&Call, usize, &mut Reply) + Send + Sync) -> Report {
    let record = record(10);
    let sample = Sample::draw(&record, None, 3).unwrap();
    sample.ask_again(&model(spoil), &mut |_, _| {}).unwrap()
}

#[test]
fn equal_replies_are_verified() {
    let report = verified(|_, _, _| {});
    assert_eq!((report.same, report.calls, report.of, report.by_text), (true, 20, 20, 0));
    assert!(report.differences.is_empty() && report.tokens == 20 * 2 * 3, "{report:?}");
}

#[test]
fn each_call_is_asked_twice_with_everybody_and_with_few() {
    let (record, llm) = (record(10), model(|_, _, _| {}));
    let sample = Sample::draw(&record, None, 1).unwrap();
    let mut heard = 0;
    let report = sample.ask_again(&llm, &mut |done, total| heard = done * usize::from(done <= total)).unwrap();
    let batches = llm.asked.into_inner().unwrap();
    assert_eq!((batches.len(), batches.concat().len()), (report.batches, heard));
    let fillers = |batch: &[Call]| batch.iter().filter(|call| call.what == "a filler").count();
    assert_eq!(fillers(&batches.concat()), report.fillers);
    assert_eq!((batches[0].len(), fillers(&batches[0])), (25, 5), "all at once first");
    assert!(batches[1..].iter().all(|batch| batch.len() <= 7) && batches[1..].iter().any(|batch| batch.len() == 1));
    for seed in 100..120 {
        let asked = batches.iter().flatten().filter(|call| call.what != "a filler" && call.seed == seed);
        assert_eq!(asked.count(), 2, "{seed}");
    }
    for call in batches.iter().flatten().filter(|call| call.what == "a filler") {
        assert!("What?".starts_with(&call.prompt.messages()[0].content) && call.max_tokens <= 9, "{call:?}");
    }
}

#[test]
fn a_sample_is_drawn_by_its_seed() {
    let record = record(10);
    let drawn = |seed: u64| {
        let llm = model(|_, _, _| {});
        let report = Sample::draw(&record, Some(3), seed).unwrap().ask_again(&llm, &mut |_, _| {}).unwrap();
        assert_eq!((report.calls, report.of), (3, 20));
        let asked = llm.asked.into_inner().unwrap();
        asked.into_iter().flatten().filter(|call| call.what != "a filler").map(|call| call.seed).collect::<Vec<_>>()
    };
    assert_eq!(drawn(1), drawn(1));
    assert_ne!(drawn(1), drawn(2));
}

#[test]
fn a_reply_that_looks_at_its_batch_is_found() {
    let report = verified(|call, beside, reply| {
        if call.seed == 113 && beside > 7 {
            reply.tokens[2] += 1;
            reply.text = "114".into();
        }
    });
    assert_eq!((report.same, report.differing, report.differences.len()), (false, 1, 1));
    let found = &report.differences[0];
    assert_eq!((found.question.as_str(), found.call, found.beside), ("q6", 2, 24));
    assert_eq!(
        found.to_string(),
        "question q6, aggregator, round 1, call 2, in a batch with 24 other calls: token 3 is 52, recorded 51: \"114\", recorded \"113\""
    );
}

#[test]
fn other_bits_are_found_behind_equal_tokens() {
    let report = verified(|call, beside, reply| {
        if call.seed == 100 && beside <= 7 {
            let logprob = &mut reply.logprobs[1].logprob;
            *logprob = f32::from_bits(logprob.to_bits() ^ 1);
        }
    });
    assert_eq!(report.differing, 1);
    assert!(matches!(report.differences[0].what, What::Bits { token: 2, .. }), "{report:?}");
}

#[test]
fn every_kind_of_difference_is_named() {
    let told = |spoil: fn(&mut Reply)| {
        let report = verified(move |call, _, reply| {
            if call.seed == 100 {
                spoil(reply);
            }
        });
        assert_eq!((report.differing, report.differences.len()), (1, 2));
        report.differences[0].what.to_string()
    };
    assert_eq!(told(|reply| reply.usage.prompt = 11), "a prompt of 11 tokens, recorded 10");
    let ended = told(|reply| reply.tokens.truncate(2));
    assert_eq!(ended, "token 3 is the end, recorded 48: \"100\", recorded \"100\"");
    assert_eq!(told(|reply| reply.text.push('x')), "character 4 differs: \"100x\", recorded \"100\"");
    let cut = told(|reply| reply.finish = Finish::Length);
    assert_eq!(cut, "cut after 3 tokens, recorded as ended by itself after 3 tokens");
}

#[test]
fn other_weights_are_refused_and_another_recipe_is_reported() {
    let record = record(1);
    let sample = Sample::draw(&record, None, 0).unwrap();
    let mut llm = model(|_, _, _| {});
    assert!(sample.check(&llm).unwrap().is_empty());
    llm.identity.recipe = "cpu 2".into();
    assert!(sample.check(&llm).unwrap()[0].contains("\"cpu 1\", this is \"cpu 2\""));
    llm.identity.sha256 = String::new();
    let refused = sample.check(&llm).unwrap_err().to_string();
    assert!(
        refused.contains("expected aggregators' replies by scripted (no weights here), found replies by"),
        "{refused}"
    );
}

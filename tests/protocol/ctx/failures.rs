//! Calls that fail, and calls that are refused before they are sent.

use super::{Log, ROW, SAY, SYSTEM, by, model, say, with};
use crate::methods::usage_error;
use moot::MootError;
use moot::generation::Logprobs;
use moot::llm::Capabilities;
use moot::llm::scripted::Scripted;
use moot::prompts::File;
use moot::protocol::Ask;
use moot::protocol::ctx::{Settings, Tools};
use moot::protocol::formats::{LIST, TEXT};
use moot::transcript::Event;
use serde_json::json;

/// Calls that say "bad" fail with `error`.
fn failing(error: fn() -> MootError) -> Scripted {
    Scripted::failing(move |call| match call.prompt.messages()[0].content.contains("bad") {
        true => Err(error()),
        false => Ok("fine".into()),
    })
}

fn refused() -> MootError {
    MootError::Question("the server refuses it".into())
}

#[test]
fn try_all_leaves_the_other_calls_alone_and_records_the_failure() {
    let (llm, log, settings) = (failing(refused), Log::default(), Settings::default());
    let asks = [say("a"), say("bad").document(1).samples(2), say("b")];
    let (record, results) = with(Tools::new(&llm), &settings, &log, |ctx| {
        let results = ctx.try_all(&asks)?;
        ctx.ask(say("c"))?;
        Ok(results)
    });
    let results = results.unwrap();
    let replies: Vec<Option<&str>> = results.iter().map(|result| result.as_ref().ok().map(|c| &*c.reply)).collect();
    assert_eq!(replies, [Some("fine"), None, None, Some("fine")]);
    let failure = Event::Failure {
        stage: 0,
        what: "agent of b.txt, round 1".into(),
        role: "agent".into(),
        error: "the server refuses it".into(),
    };
    assert_eq!(record.events, [failure.clone(), failure]);
    let said: Vec<(&str, usize, usize)> =
        record.calls.iter().map(|call| (call.messages[0].content.as_str(), call.number, call.stage)).collect();
    assert_eq!(said, [("Say a.", 0, 0), ("Say b.", 1, 0), ("Say c.", 2, 1)], "a failed call has no record");
    let heard = ["stage 0 of 4", "call 0: fine", "call 3: fine", "failure 0", "failure 0", "stage 1 of 1"];
    assert_eq!(log.lines()[..6], heard.map(str::to_owned));
}

#[test]
fn ask_all_fails_as_a_whole_and_cancels_the_others() {
    let (record, result) = by(&failing(refused), |ctx| ctx.ask_all(&[say("a"), say("bad"), say("b")]));
    // The error is not the interruption of the other calls.
    assert_eq!(result.unwrap_err().to_string(), "the server refuses it");
    assert!(record.calls.is_empty() && record.events.is_empty());
}

#[test]
fn an_error_that_would_fail_every_call_ends_the_run() {
    for error in [
        || MootError::Interrupted,
        || MootError::Engine("out of memory".into()),
        || MootError::Usage("no such thing".into()),
    ] {
        let (record, result) = by(&failing(error), |ctx| ctx.try_all(&[say("a"), say("bad")]));
        assert_eq!(result.unwrap_err().to_string(), error().to_string());
        assert!(record.events.is_empty());
        assert_eq!(record.calls.len(), 1, "what was answered is recorded");
    }
}

#[test]
fn missing_abilities_of_a_model_are_named_before_anything_is_sent() {
    let all = Capabilities::ALL;
    let cases: [(Capabilities, Ask, &str); 6] = [
        (Capabilities { prefill: false, ..all }, say("a").prefill("So "), "prefilled replies"),
        (Capabilities { scores: false, ..all }, say("a").prefill("So ").scored(), "scores of given text"),
        (Capabilities { raw: false, ..all }, say("a").raw(), "prompts without a chat template"),
        (Capabilities { logprobs: false, ..all }, say("a").logprobs(Logprobs::default()), "log-probabilities"),
        (
            Capabilities { watch: false, ..all },
            say("a").logprobs(Logprobs { top: 0, watch: vec![3] }),
            "log-probabilities of given tokens",
        ),
        (
            Capabilities { prefill: false, raw: false, ..all },
            say("a").prefill("So ").raw(),
            "prefilled replies, prompts without a chat template",
        ),
    ];
    for (able, ask, missing) in cases {
        let (llm, sent) = model("x");
        let llm = llm.with_capabilities(able);
        let (record, result) = by(&llm, |ctx| ctx.ask_all(&[say("first"), ask.document(0)]));
        let line = format!("agent of a.md, round 1: the model scripted cannot give {missing}");
        assert_eq!(usage_error(result), line);
        assert!(sent.lock().unwrap().is_empty() && record.calls.is_empty(), "{missing}: something was sent");
    }
    // A method does not need a model with grammars: a reply without one is parsed as strictly.
    let (llm, _) = model("x");
    let plain = Capabilities { grammar: false, schema: false, ..all };
    assert!(by(&llm.with_capabilities(plain), |ctx| ctx.ask(say("a"))).1.is_ok());
}

/// The record has hashes of the files that a row lists, so no other file may be used.
#[test]
fn a_file_that_the_row_does_not_list_is_an_error() {
    let other = File { name: "test/other.jinja", text: SAY.text };
    // The same name with another text is another file.
    let forged = File { name: SAY.name, text: "Say something else to {{ what }}." };
    let values = json!({ "what": "a" });
    for (ask, file) in [
        (Ask::new("agent", other, values.clone(), &TEXT), "test/other.jinja"),
        (Ask::new("agent", forged, values.clone(), &TEXT), "test/say.jinja"),
        (say("a").system(File { name: "test/two.jinja", ..SYSTEM }), "test/two.jinja"),
        (Ask::new("agent", SAY, values, &LIST), "reply/list.lark"),
    ] {
        let (llm, sent) = model("x");
        let (_, result) = by(&llm, |ctx| ctx.ask(ask));
        match result.unwrap_err() {
            MootError::Prompt { file: found, reason } => {
                assert_eq!(found, file);
                assert!(reason.starts_with("tested uses this file, and its row does not list it"), "{reason}");
            }
            other => panic!("{file}: {other:?}"),
        }
        assert!(sent.lock().unwrap().is_empty());
    }
    // A row that needs entailment has its prompt and format in its lists.
    assert!(ROW.files().any(|file| file.name == "entailment/relation.jinja"));
}

#[test]
fn a_value_that_the_prompt_names_and_the_method_forgets_is_an_error() {
    let (llm, sent) = model("x");
    let (_, result) = by(&llm, |ctx| ctx.ask_all(&[say("a"), Ask::new("agent", SAY, json!({}), &TEXT)]));
    assert!(matches!(result, Err(MootError::Prompt { file, .. }) if file == "test/say.jinja"));
    assert!(sent.lock().unwrap().is_empty());
}

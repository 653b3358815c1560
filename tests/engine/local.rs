//! The engine as an `Llm`.

use super::{CONTEXT, pages, start, start_patient};
use moot::MootError;
use moot::cancel::Cancel;
use moot::engine::Engine;
use moot::generation::{Finish, Grammar, Logprobs, Message, Prompt, Role, Segment, Thinking};
use moot::llm::local::Local;
use moot::llm::{Call, Llm, ModelIdentity, OnFailure, Reply};

fn local(engine: Engine) -> (Local, Cancel) {
    let cancel = Cancel::default();
    let identity = ModelIdentity { name: "tiny".into(), context: CONTEXT, ..ModelIdentity::default() };
    (Local::new(engine, identity, cancel.clone()), cancel)
}

fn call(what: &str, content: &str, lark: &str, max_tokens: usize) -> Call {
    let grammar = Some(Grammar { name: "reply.lark".into(), lark: lark.into() });
    Call { grammar, ..Call::new(what, "agent", Prompt::Chat(vec![Message::new(Role::User, content)]), max_tokens) }
}

/// A call that is answered with `count` letters.
fn letters(content: &str, count: usize) -> Call {
    call(content, content, &format!("start: /[a-z]{{{count}}}/"), count)
}

fn ask(local: &Local, calls: &[Call]) -> (moot::Result<Vec<Reply>>, Vec<usize>) {
    let mut order = Vec::new();
    let replies = local.ask_all(calls, &mut |index, _| order.push(index));
    (replies, order)
}

#[test]
fn replies_are_in_order_and_are_reported_on_arrival() {
    let (local, _) = local(start("llama.gguf", pages(64)));
    assert_eq!(local.identity().name, "tiny");
    let calls = [letters("long", 60), letters("short", 1), letters("middle", 30)];
    let mut told = Vec::new();
    let replies = local.ask_all(&calls, &mut |index, reply| told.push((index, reply.clone()))).unwrap();
    assert_eq!(told.iter().map(|(index, _)| *index).collect::<Vec<_>>(), [1, 2, 0]);
    assert!(told.iter().all(|(index, reply)| &replies[*index] == reply));
    for (call, reply) in calls.iter().zip(&replies) {
        let prompt = local.engine().model().prompt(call.prompt.messages(), Thinking::Off).unwrap().len();
        assert_eq!((reply.text.len(), reply.usage.prompt), (call.max_tokens, prompt), "{}", call.what);
        assert_eq!(reply.usage.reused + reply.usage.computed, prompt);
        assert_eq!(reply.finish, Finish::Stop);
    }
    assert_eq!(ask(&local, &[]).0.unwrap(), []);
}

#[test]
fn a_stage_runs_in_one_batch() {
    let (local, _) = local(start("qwen2", pages(256)));
    let calls: Vec<Call> = (0..9).map(|n| letters(&format!("Document {n} says"), 20)).collect();
    ask(&local, &calls).0.unwrap();
    let stats = local.engine().stats();
    assert!(stats.peak_rows == 9 && stats.steps <= 20, "{stats:?}");
}

#[test]
fn a_prompt_that_is_too_long_is_named_by_its_call() {
    let (local, _) = local(start("llama.gguf", pages(64)));
    let long = call("agent of long.txt, round 1", &"word ".repeat(100), "start: /[a-z]{9}/", 9);
    let prompt = local.engine().model().prompt(long.prompt.messages(), Thinking::Off).unwrap().len();
    match ask(&local, &[letters("short", 5), long, letters("also short", 50)]).0 {
        Err(MootError::TooLong { what, needed, prompt: found, generate, limit_name, limit }) => {
            assert_eq!(what, "agent of long.txt, round 1");
            assert_eq!((needed, found, generate, limit), (prompt + 9, prompt, 9, CONTEXT));
            assert_eq!(limit_name, "the context of the model");
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(ask(&local, &[letters("short", 5)]).0.unwrap()[0].text.len(), 5, "it answers on");
}

#[test]
fn a_text_that_cannot_fit_is_refused_before_it_is_tokenised() {
    let (local, _) = local(start("llama.gguf", pages(64)));
    let long = call("agent of long.txt, round 1", &"word ".repeat(10 << 20), "start: /[a-z]{9}/", 9);
    let started = std::time::Instant::now();
    let Err(error) = ask(&local, std::slice::from_ref(&long)).0 else { panic!("52 MB fit a context") };
    let refused = local.fits(&long).unwrap_err().to_string();
    assert!(error.to_string() == refused && refused.starts_with("agent of long.txt, round 1: 52428"), "{refused}");
    assert!(refused.contains("bytes, of at most") && refused.contains("what fits is"), "{refused}");
    assert!(started.elapsed().as_secs() < 5, "{:?}", started.elapsed());
}

/// In a thread of its own: a stage that hangs fails the test instead of stopping it.
#[test]
fn a_refused_call_ends_its_stage_before_the_others_are_computed() {
    let (sender, ended) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let (local, _) = local(start("llama.gguf", pages(64)));
        let long = call("long", &"word ".repeat(10_000), "start: /[a-z]{9}/", 9);
        let replies = ask(&local, &[letters("short", 5), long, letters("also short", 5)]).0;
        sender.send((replies, local.engine().stats().steps)).unwrap();
    });
    let (replies, steps) = ended.recv_timeout(std::time::Duration::from_secs(120)).unwrap();
    assert!(matches!(&replies, Err(MootError::TooLong { what, .. }) if what.starts_with("long: ")), "{replies:?}");
    assert_eq!(steps, 0);
}

#[test]
fn a_broken_grammar_fails_the_stage() {
    let (local, _) = local(start("llama.gguf", pages(64)));
    let (replies, _) = ask(&local, &[letters("short", 5), call("broken", "text", "start: (", 5)]);
    assert!(matches!(&replies, Err(MootError::Prompt { file, .. }) if file == "reply.lark"), "{replies:?}");
}

#[test]
fn cancelling_interrupts_a_stage_and_all_after_it() {
    const FOREVER: usize = 5_000;
    let (local, cancel) = local(start_patient(2 * FOREVER, pages(2 * FOREVER / 16)));
    let calls = [letters("endless", FOREVER), letters("short", 3)];
    let mut told = Vec::new();
    let replies = local.ask_all(&calls, &mut |index, _| {
        told.push(index);
        cancel.cancel();
    });
    assert!(matches!(replies, Err(MootError::Interrupted)), "{replies:?}");
    assert_eq!(told, [1]);
    assert!(local.engine().stats().decoded < FOREVER, "{:?}", local.engine().stats());
    assert!(matches!(ask(&local, &calls).0, Err(MootError::Interrupted)));
}

#[test]
fn stages_of_several_threads_run_together() {
    let (local, _) = local(start("llama.gguf", pages(256)));
    let expected = ask(&local, &[letters("question", 40), letters("other", 30)]).0.unwrap();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let replies = ask(&local, &[letters("question", 40), letters("other", 30)]).0.unwrap();
                assert_eq!(replies[0].text, expected[0].text);
                assert_eq!(replies[1].text, expected[1].text);
            });
        }
    });
}

fn scaffold(text: &str) -> Segment {
    Segment::Scaffold(text.into())
}

fn content(text: &str) -> Segment {
    Segment::Content(text.into())
}

/// The ids of a reply's tokens and their log-probabilities.
fn reports(reports: &[moot::generation::TokenLogprob]) -> Vec<(Option<u32>, u32)> {
    reports.iter().map(|report| (report.id, report.logprob.to_bits())).collect()
}

#[test]
fn a_prefill_is_continued_and_scored_with_a_chat_and_raw() {
    let (local, _) = local(start("llama.gguf", pages(256)));
    let messages = vec![Message::new(Role::User, "Which year?")];
    let rendered = local.engine().model().template.render(&messages, true, Thinking::Off).unwrap();
    let logprobs = Some(Logprobs { top: 2, watch: vec![9, 3] });
    for prompt in [Prompt::Chat(messages), Prompt::Raw(rendered.clone())] {
        let free = Call { logprobs: logprobs.clone(), ..Call::new("call", "agent", prompt, 12) };
        let prefill = vec![content("The plaque says"), scaffold("<|im_start|>"), content(" 1934<|im_end|>")];
        let continued = Call { prefill: prefill.clone(), score: true, ..free.clone() };
        let scored = Call { max_tokens: 0, ..continued.clone() };
        let replies = ask(&local, &[continued, scored, free.clone()]).0.unwrap();

        let tokenizer = &local.engine().model().tokenizer;
        let ids = tokenizer.encode_continuation(&prefill).unwrap();
        assert_eq!(replies[0].scores.iter().map(|score| score.id.unwrap()).collect::<Vec<_>>(), ids);
        let (start, end) = (local.token("agent", "<|im_start|>").unwrap(), local.token("agent", "<|im_end|>").unwrap());
        assert_eq!(ids.iter().filter(|&&id| id == start).count(), 1, "in scaffold");
        assert!(!ids.contains(&end), "not in content");
        assert_eq!(reports(&replies[0].scores), reports(&replies[1].scores));
        assert!(replies[0].scores.iter().all(|score| score.top.len() == 2 && score.watched.len() == 2));
        assert_eq!((replies[1].text.as_str(), replies[1].finish), ("", Finish::Length));
        assert_eq!(replies[1].usage.generated, 0);
        // The same tokens in the prompt lead to the same reply.
        let whole = [&rendered[..], &prefill[..]].concat();
        assert_eq!(tokenizer.encode_prompt(&whole).unwrap().len(), replies[0].usage.prompt, "nothing merged here");
        let plain = ask(&local, &[Call { prompt: Prompt::Raw(whole), ..free }]).0.unwrap();
        assert_eq!(reports(&plain[0].logprobs), reports(&replies[0].logprobs));
        assert!(plain[0].scores.is_empty());
    }
}

#[test]
fn a_stop_text_of_a_call_ends_its_reply() {
    let (local, _) = local(start("llama.gguf", pages(64)));
    let whole = ask(&local, &[letters("letters", 60)]).0.unwrap().remove(0).text;
    let stop = whole[20..23].to_owned();
    let at = whole.find(&stop).unwrap();
    let reply = ask(&local, &[Call { stop: vec![stop], ..letters("letters", 60) }]).0.unwrap().remove(0);
    assert_eq!((reply.text.as_str(), reply.finish), (&whole[..at], Finish::Stop));
}

#[test]
fn tokens_are_known_by_their_text() {
    let (local, _) = local(start("qwen2", pages(64)));
    let tokenizer = &local.engine().model().tokenizer;
    assert_eq!(local.token("agent", "<|im_end|>"), tokenizer.special_id("<|im_end|>"));
    assert_eq!(local.token("agent", "a").map(|id| tokenizer.token_bytes(id).unwrap()), Some(&b"a"[..]));
    assert_eq!(local.token("agent", "no single token"), None);
    assert_eq!(local.token("agent", ""), None);
}

#[test]
fn one_failing_call_leaves_the_others_alone_where_they_continue() {
    let (local, _) = local(start("llama.gguf", pages(64)));
    let calls = [letters("short", 5), call("broken", "text", "start: (", 5), letters("longer", 30)];
    let results = local.answer(&calls, OnFailure::Continue, &mut |_, _| {});
    assert_eq!(results[0].as_ref().unwrap().text.len(), 5);
    assert!(matches!(&results[1], Err(MootError::Prompt { .. })), "{results:?}");
    assert_eq!(results[2].as_ref().unwrap().text.len(), 30);
    assert!(ask(&local, &calls).0.is_err());
}

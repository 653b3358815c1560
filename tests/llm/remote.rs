//! A server without faults.

use super::server::{Kind, Server, begin, content_event, ending, reply, respond, send};
use super::{KEY, call, impatient, open, schema};
use moot::MootError;
use moot::cancel::Cancel;
use moot::generation::{Finish, Logprobs, Usage};
use moot::llm::remote::{Address, Answer, InProcess, Key, Notice, Patience, Remote};
use moot::llm::{Call, Llm, Reply};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

fn one(remote: &Remote, call: Call) -> Reply {
    remote.ask_all(&[call], &mut |_, _| {}).unwrap().remove(0)
}

#[test]
fn a_stage_is_answered_in_order_and_reported_as_replies_arrive() {
    let server = Server::start(|_, received, stream| {
        let first = received.asked() == "call 0";
        std::thread::sleep(Duration::from_millis(if first { 100 } else { 0 }));
        reply(stream, &format!("reply to {}, ☃", received.asked()));
    });
    let (remote, heard) = open(&server, impatient(), &Cancel::default());
    let calls: Vec<Call> = (0..12).map(|n| call(&format!("call {n}"))).collect();
    let mut told = Vec::new();
    let replies = remote.ask_all(&calls, &mut |index, reply| told.push((index, reply.clone()))).unwrap();
    for (n, reply) in replies.iter().enumerate() {
        assert_eq!(reply.text, format!("reply to call {n}, ☃"));
        assert_eq!(reply.usage, Usage { prompt: 20, reused: 5, computed: 15, generated: 3 });
        assert_eq!((reply.finish, &reply.thoughts, &reply.held_by), (Finish::Stop, &None, &None));
    }
    assert_ne!(told[0].0, 0, "it was the slowest");
    told.sort_by_key(|(index, _)| *index);
    assert!(told.iter().map(|(_, reply)| reply).eq(&replies) && server.received().len() == 12);
    assert_eq!(remote.ask_all(&[], &mut |_, _| {}).unwrap(), []);
    assert_eq!(*heard.lock().unwrap(), Vec::<String>::new());
    let identity = remote.identity();
    assert_eq!((identity.name.as_str(), identity.context), (format!("{}#tiny", server.base).as_str(), 4096));
    let head = &server.received()[0].head.to_ascii_lowercase();
    assert!(head.contains(&format!("authorization: bearer {KEY}")) && head.starts_with("post /v1/chat/completions "));
}

#[test]
fn the_only_model_need_not_be_named_and_no_key_is_sent_where_there_is_none() {
    let server = Server::start(|_, _, stream| reply(stream, "yes"));
    let address = Address::parse(&server.base).unwrap();
    let remote = Remote::open(address, None, impatient(), Notice::default(), Cancel::default()).unwrap();
    assert_eq!(remote.identity().name, format!("{}#tiny", server.base));
    one(&remote, call("what"));
    let received = &server.received()[0];
    assert_eq!(received.body["model"], "tiny");
    assert!(!received.head.to_ascii_lowercase().contains("authorization"));
}

#[test]
fn a_server_that_does_not_stream_will_do() {
    let kind = Kind { owned_by: "vllm", page: None };
    let server = Server::start_as(kind, |_, _, stream| {
        let body = r#"{"choices":[{"index":0,"message":{"role":"assistant","content":"whole","reasoning_content":"Hm."},
            "logprobs":{"content":[{"token":"whole","logprob":-0.5,"bytes":null,"top_logprobs":[{"token":"who","logprob":-1.5}]}]},
            "finish_reason":"length"}],"usage":{"prompt_tokens":2,"completion_tokens":1}}"#;
        respond(stream, "200 OK", &["Content-Type: application/json"], body);
    });
    let (remote, _) = open(&server, impatient(), &Cancel::default());
    let reply = one(&remote, Call { logprobs: Some(Logprobs { top: 1, watch: Vec::new() }), ..call("what") });
    assert_eq!((reply.text.as_str(), reply.finish, reply.usage.generated), ("whole", Finish::Length, 1));
    assert_eq!(reply.thoughts.unwrap().text, "Hm.");
    assert_eq!((reply.logprobs[0].top[0].text.as_str(), reply.logprobs[0].top[0].logprob), ("who", -1.5));
}

#[test]
fn thoughts_are_cut_off_however_they_come() {
    let server = Server::start(|_, received, stream| match received.asked() {
        "parted" => {
            begin(stream);
            send(
                stream,
                content_event("").replace("\"content\":\"\"", "\"reasoning_content\":\"Hm, \",\"content\":null"),
            );
            send(stream, content_event("").replace("\"content\":\"\"", "\"reasoning\":\"so.\""));
            send(stream, [content_event("\n\nreply"), ending("stop")].concat());
        }
        "written" => reply(stream, "<think>\nHm, so.\n</think>\n\nreply"),
        _ => reply(stream, "reply"),
    });
    let (remote, _) = open(&server, impatient(), &Cancel::default());
    for (asked, thought) in [("parted", Some("Hm, so.")), ("written", Some("Hm, so.")), ("none", None)] {
        let reply = one(&remote, Call { think: 30, ..call(asked) });
        assert_eq!(
            (reply.text.as_str(), reply.thoughts.map(|t| t.text)),
            ("reply", thought.map(str::to_owned)),
            "{asked}"
        );
    }
    let body = &server.received()[0].body;
    assert_eq!((&body["max_tokens"], &body["chat_template_kwargs"]["enable_thinking"]), (&50.into(), &true.into()));
}

#[test]
fn a_field_that_a_server_refuses_is_left_out_and_reported_once() {
    let refuses = |field: &str| format!(r#"{{"error":{{"message":"Unknown parameter: '{field}'.","code":null}}}}"#);
    let server = Server::start(move |_, received, stream| {
        let field = ["response_format", "chat_template_kwargs"].into_iter().find(|f| received.body.get(f).is_some());
        match field {
            Some(field) => respond(stream, "400 Bad Request", &["content-type: application/json"], refuses(field)),
            None => reply(stream, "{\"not\": \"held\"}"),
        }
    });
    let (remote, heard) = open(&server, impatient(), &Cancel::default());
    let calls: Vec<Call> = (0..5).map(|n| Call { schema: schema(), ..call(&n.to_string()) }).collect();
    assert!(remote.ask_all(&calls, &mut |_, _| {}).unwrap().iter().all(|reply| reply.held_by.is_none()));
    let mut heard = heard.lock().unwrap().clone();
    heard.sort();
    assert_eq!(heard.len(), 2, "{heard:?}");
    assert!(heard[0].contains("`chat_template_kwargs`") && heard[1].contains("replies are not held to their format"));
}

#[test]
fn a_schema_counts_only_if_the_reply_is_an_object() {
    let server = Server::start(|n, _, stream| reply(stream, if n == 0 { "{\"answer\":\"1\"}" } else { "free" }));
    let (remote, _) = open(&server, impatient(), &Cancel::default());
    let asked = || Call { schema: schema(), ..call("what") };
    assert_eq!(one(&remote, asked()).held_by.as_deref(), Some("reply/some.jsonc"));
    assert_eq!(one(&remote, asked()).held_by, None, "the server let it pass");
    assert_eq!(server.received()[0].body["response_format"]["json_schema"]["schema"]["type"], "object");
}

#[test]
fn a_server_that_does_not_count_tokens_is_reported_once() {
    let server = Server::start(|_, _, stream| {
        begin(stream);
        let end = content_event("").replace("null", "\"stop\"");
        send(stream, [content_event("a"), content_event("b"), end, "data: [DONE]\n\n".into()].concat());
    });
    let (remote, heard) = open(&server, impatient(), &Cancel::default());
    for _ in 0..2 {
        let reply = one(&remote, call("what"));
        assert_eq!((reply.text.as_str(), reply.usage), ("ab", Usage { generated: 3, ..Usage::default() }));
    }
    assert_eq!(heard.lock().unwrap().len(), 1);
}

#[test]
fn no_more_calls_are_in_flight_than_asked_for() {
    static NOW: AtomicUsize = AtomicUsize::new(0);
    static MOST: AtomicUsize = AtomicUsize::new(0);
    let server = Server::start(|_, _, stream| {
        MOST.fetch_max(NOW.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        std::thread::sleep(Duration::from_millis(20));
        NOW.fetch_sub(1, Ordering::SeqCst);
        reply(stream, "yes");
    });
    let (remote, _) = open(&server, Patience { calls: 3, ..impatient() }, &Cancel::default());
    let calls: Vec<Call> = (0..6).map(|n| call(&n.to_string())).collect();
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| assert_eq!(remote.ask_all(&calls, &mut |_, _| {}).unwrap().len(), 6));
        }
    });
    assert_eq!(MOST.load(Ordering::SeqCst), 3);
}

#[test]
fn cancelling_cuts_a_stream_off_and_the_server_sees_it() {
    let gone = Arc::new(AtomicBool::new(false));
    let seen = gone.clone();
    let server = Server::start(move |_, received, stream| {
        if received.asked() == "short" {
            return reply(stream, "done");
        }
        begin(stream);
        while send(stream, content_event("on and ")) {
            std::thread::sleep(Duration::from_millis(10));
        }
        seen.store(true, Ordering::SeqCst);
    });
    let cancel = Cancel::default();
    let (remote, _) = open(&server, impatient(), &cancel);
    let started = Instant::now();
    let mut told = Vec::new();
    let ended = remote.ask_all(&[call("endless"), call("short"), call("endless")], &mut |index, _| {
        told.push(index);
        cancel.cancel();
    });
    assert!(matches!(ended, Err(MootError::Interrupted)), "{ended:?}");
    assert!(started.elapsed() < Duration::from_secs(1) && told == [1], "{told:?} after {:?}", started.elapsed());
    while !gone.load(Ordering::SeqCst) {
        assert!(started.elapsed() < Duration::from_secs(5), "the server goes on");
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(matches!(remote.ask_all(&[call("short")], &mut |_, _| {}), Err(MootError::Interrupted)));
}

#[test]
fn a_call_that_is_cancelled_by_itself_is_no_fault_of_its_server() {
    let cancel = Cancel::default();
    let inside = cancel.clone();
    let server = Server::start(move |_, _, stream| {
        begin(stream);
        inside.cancel();
        while send(stream, content_event("on and ")) {
            std::thread::sleep(Duration::from_millis(1));
        }
    });
    let (remote, _) = open(&server, impatient(), &Cancel::default());
    let ended = remote.answer_here(&Call { cancel, ..call("endless") });
    assert!(matches!(ended, Err(MootError::Interrupted)), "{ended:?}");
}

#[test]
fn cancelling_skips_calls_that_have_not_begun() {
    let server = Server::start(|_, _, _| std::thread::sleep(Duration::from_secs(20)));
    let cancel = Cancel::default();
    let (remote, _) = open(&server, Patience { silence: Duration::from_secs(20), ..impatient() }, &cancel);
    let started = Instant::now();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(100));
            cancel.cancel();
        });
        let ended = remote.ask_all(&[call("what")], &mut |_, _| {});
        assert!(matches!(ended, Err(MootError::Interrupted)), "{ended:?}");
    });
    assert!(started.elapsed() < Duration::from_secs(1), "{:?}", started.elapsed());
}

#[test]
fn a_function_can_replace_a_server() {
    let server = InProcess::new(|path| {
        let body = match path {
            "/v1/models" => r#"{"data":[{"id":"tiny","owned_by":"vllm"}]}"#.to_owned(),
            _ => content_event("whole") + &ending("stop"),
        };
        let content_type = if path == "/v1/models" { "application/json" } else { "text/event-stream" };
        Answer { status: 200, content_type: content_type.into(), body: body.into() }
    });
    let remote = server.open(Address::parse("http://127.0.0.1:1").unwrap(), None).unwrap();
    assert_eq!(remote.identity().name, "http://127.0.0.1:1/v1#tiny");
    let reply = remote.answer_here(&call("what")).unwrap();
    assert_eq!((reply.text.as_str(), reply.usage.generated), ("whole", 3));
    assert_eq!(one(&remote, call("what")).text, "whole");
}

#[test]
fn the_key_is_hidden_in_a_refusal_that_is_no_utf8() {
    let body = b"{\"error\":{\"message\":\"no such key: \\u0073k-not-for-any-eye \xff\"}}";
    let server =
        InProcess::new(|_| Answer { status: 400, content_type: "application/json".into(), body: body.to_vec() });
    let error = server.open(Address::parse("http://127.0.0.1:1").unwrap(), Key::new(KEY)).unwrap_err().to_string();
    assert!(error.contains("no such key: (the key) \u{fffd}"), "{error}");
}

#[test]
fn a_model_that_the_server_does_not_list_is_reported() {
    let server = Server::start(|_, _, stream| reply(stream, "Yes."));
    let heard_of = |model: &str| {
        let heard: Arc<Mutex<Vec<String>>> = Arc::default();
        let hears = heard.clone();
        let notice = Notice::new(move |line| hears.lock().unwrap().push(line.to_owned()));
        let address = Address::parse(&format!("{}#{model}", server.base)).unwrap();
        let remote = Remote::open(address, None, impatient(), notice, Cancel::default()).unwrap();
        assert_eq!(one(&remote, call("what")).text, "Yes.");
        heard.lock().unwrap().join("\n")
    };
    assert!(heard_of("other").ends_with("#other: the server lists tiny, and no model of this name"));
    assert_eq!(heard_of("tiny"), "");
}

#[test]
fn a_message_is_a_short_line_whatever_the_server_sends() {
    let long = "x".repeat(5000);
    for (status, content_type, body) in [
        (200, long.clone(), String::new()),
        (200, "application/json".into(), format!("{{\"choices\":\"{long}\"}}")),
        (200, "application/json".into(), long.clone()),
        (200, "application/json".into(), format!("{{\"choices\":[{{\"logprobs\":{{\"content\":\"{long}\"}}}}]}}")),
        (200, "application/json".into(), format!(r#"{{"data":[{{"id":"{long}"}},{{"id":"a\nb"}}]}}"#)),
        (400, "text/plain".into(), format!("a\n{long}")),
    ] {
        let named = !body.contains("data");
        let server = InProcess::new(move |path| match path {
            "/v1/models" if named => {
                Answer { status: 200, content_type: "application/json".into(), body: b"{\"data\":[]}".to_vec() }
            }
            _ => Answer { status, content_type: content_type.clone(), body: body.clone().into() },
        });
        let address = Address::parse(if named { "http://127.0.0.1:1#tiny" } else { "http://127.0.0.1:1" }).unwrap();
        let error =
            server.open(address, None).and_then(|remote| remote.answer_here(&call("what"))).unwrap_err().to_string();
        assert!(error.len() < 1000 && !error.contains('\n'), "{error}");
    }
}

//! One model on several servers.

use super::server::{Kind, Server, begin, content_event, reply, respond, send};
use super::{call, impatient};
use moot::cancel::Cancel;
use moot::llm::remote::Notice;
use moot::llm::replicas::Replicas;
use moot::llm::{Call, Llm};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

fn open(servers: &[&str], retries: usize) -> (moot::Result<Replicas>, Arc<Mutex<Vec<String>>>) {
    let heard: Arc<Mutex<Vec<String>>> = Arc::default();
    let told = heard.clone();
    let notice = Notice::new(move |line| told.lock().unwrap().push(line.to_owned()));
    let patience = moot::llm::remote::Patience { retries, calls: 4, ..impatient() };
    (Replicas::open(servers, |_| None, patience, &notice, &Cancel::default()), heard)
}

fn calls(count: usize) -> Vec<Call> {
    (0..count).map(|n| call(&format!("call {n}"))).collect()
}

#[test]
fn calls_are_shared_and_answered_in_their_order() {
    let start = || {
        Server::start(|_, received, stream| {
            std::thread::sleep(Duration::from_millis(5));
            reply(stream, &format!("reply to {}", received.asked()));
        })
    };
    let (a, b) = (start(), start());
    let replicas = open(&[&a.base, &b.base], 2).0.unwrap();
    assert_eq!(replicas.identity().name, format!("{}#tiny+{}#tiny", a.base, b.base));
    let mut reported = Vec::new();
    let replies = replicas.ask_all(&calls(40), &mut |at, _| reported.push(at)).unwrap();
    for (n, answered) in replies.iter().enumerate() {
        assert_eq!(answered.text, format!("reply to call {n}"));
    }
    reported.sort_unstable();
    assert_eq!(reported, (0..40).collect::<Vec<_>>());
    let (first, second) = (a.received().len(), b.received().len());
    assert!(first + second == 40 && first.min(second) >= 10, "{first} and {second}");
}

#[test]
fn calls_of_a_server_that_fails_go_to_the_others() {
    let works = Arc::new(AtomicBool::new(true));
    let working = works.clone();
    let a = Server::start(move |_, received, stream| {
        if working.load(Ordering::Relaxed) {
            return reply(stream, received.asked());
        }
        respond(stream, "503 Service Unavailable", &[], "");
    });
    let b = Server::start(|_, received, stream| reply(stream, received.asked()));
    let (replicas, heard) = open(&[&a.base, &b.base], 3);
    let replicas = replicas.unwrap();
    works.store(false, Ordering::Relaxed);
    let replies = replicas.ask_all(&calls(30), &mut |_, _| {}).unwrap();
    assert!(replies.iter().enumerate().all(|(n, reply)| reply.text == format!("call {n}")));
    assert!(a.received().len() <= 8, "it is left alone: {}", a.received().len());
    assert_eq!(heard.lock().unwrap().len(), 1, "{heard:?}");
    works.store(true, Ordering::Relaxed);
    std::thread::sleep(Duration::from_millis(2100));
    replicas.ask_all(&calls(30), &mut |_, _| {}).unwrap();
    assert!(heard.lock().unwrap()[1].ends_with("answers again"), "{heard:?}");
}

#[test]
fn a_server_that_is_down_at_the_beginning_is_noted_and_none_is_an_error() {
    let works = Server::start(|_, received, stream| reply(stream, received.asked()));
    let down = "http://127.0.0.1:9/v1#tiny";
    let (replicas, heard) = open(&[down, &works.base], 2);
    assert_eq!(replicas.unwrap().ask_all(&calls(3), &mut |_, _| {}).unwrap().len(), 3);
    assert!(heard.lock().unwrap()[0].contains("127.0.0.1:9"), "{heard:?}");
    assert!(open(&[down, down], 2).0.err().unwrap().to_string().contains("127.0.0.1:9"));
}

#[test]
fn a_call_fails_when_no_server_answers_it() {
    let broken = || Server::start(|_, _, stream| respond(stream, "503 Service Unavailable", &[], ""));
    let (a, b) = (broken(), broken());
    let replicas = open(&[&a.base, &b.base], 1).0.unwrap();
    let error = replicas.ask_all(&calls(1), &mut |_, _| {}).unwrap_err().to_string();
    assert!(error.contains("503"), "{error}");
    assert_eq!(a.received().len() + b.received().len(), 2);
}

#[test]
fn a_refusal_is_not_asked_of_another_server() {
    let refusing = || Server::start(|_, _, stream| respond(stream, "400 Bad Request", &[], "too long"));
    let (a, b) = (refusing(), refusing());
    let replicas = open(&[&a.base, &b.base], 3).0.unwrap();
    assert!(replicas.ask_all(&calls(1), &mut |_, _| {}).is_err());
    assert_eq!(a.received().len() + b.received().len(), 1);
}

#[test]
fn a_cancelled_call_ends_while_its_server_is_silent() {
    let silent = || Server::start(|_, _, _| std::thread::sleep(Duration::from_secs(20)));
    let (a, b) = (silent(), silent());
    let replicas = open(&[&a.base, &b.base], 1).0.unwrap();
    let cancel = Cancel::default();
    let call = Call { cancel: cancel.clone(), ..call("call") };
    let start = std::time::Instant::now();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(200));
            cancel.cancel();
        });
        let error = replicas.ask_all(&[call], &mut |_, _| {}).unwrap_err();
        assert!(matches!(error, moot::MootError::Interrupted), "{error}");
    });
    assert!(start.elapsed() < Duration::from_secs(10));
}

/// Its stream ends at the next event, before the token is polled.
#[test]
fn a_cancelled_call_is_no_failure_of_its_server() {
    let cancel = Cancel::default();
    let start = || {
        let inside = cancel.clone();
        Server::start(move |_, _, stream| {
            begin(stream);
            inside.cancel();
            while send(stream, content_event("on and ")) {
                std::thread::sleep(Duration::from_millis(1));
            }
        })
    };
    let (a, b) = (start(), start());
    let (replicas, heard) = open(&[&a.base, &b.base], 3);
    let call = Call { cancel: cancel.clone(), ..call("call") };
    let error = replicas.unwrap().ask_all(&[call], &mut |_, _| {}).unwrap_err();
    assert!(matches!(error, moot::MootError::Interrupted), "{error}");
    assert!(heard.lock().unwrap().is_empty(), "{heard:?}");
}

#[test]
fn servers_of_other_kinds_are_refused() {
    let start = |owned_by| Server::start_as(Kind { owned_by, page: None }, |_, _, stream| reply(stream, "x"));
    let (a, b) = (start("vllm"), start(""));
    let error = open(&[&a.base, &b.base], 1).0.err().unwrap().to_string();
    assert!(error.starts_with("--model: expected servers of one model and one kind"), "{error}");
}

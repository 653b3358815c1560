//! A server that misbehaves: after a temporary fault the call is tried again, any other fault is reported in one line.

use super::server::{Server, begin, content_event, ending, reply, respond, send};
use super::{KEY, call, impatient, open, schema};
use moot::MootError;
use moot::cancel::Cancel;
use moot::fault::RemoteFault;
use moot::llm::remote::{Address, Notice, Patience, Remote};
use moot::llm::{Call, Llm};
use std::collections::HashSet;
use std::io::Read;
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

type Misdeed = fn(&mut TcpStream);

/// Temporary faults: the first of two attempts has one.
const PASSING: &[(&str, Misdeed)] = &[
    ("500", |s| respond(s, "500 Internal Server Error", &[], "oops")),
    ("503 in HTML", |s| respond(s, "503 Service Unavailable", &["content-type: text/html"], "<h1>Busy</h1>")),
    ("429", |s| respond(s, "429 Too Many Requests", &[], "{\"error\":{\"message\":\"slow down\"}}")),
    ("429 with a date", |s| {
        respond(s, "429 Too Many Requests", &["retry-after: Sun, 06 Nov 1994 08:49:37 GMT"], "");
    }),
    ("cut before the head", |_| {}),
    ("cut in the head", |s| {
        send(s, "HTTP/1.1 200 OK\r\ncontent-ty");
    }),
    ("no HTTP", |s| {
        send(s, "SSH-2.0-OpenSSH\r\n\r\n");
    }),
    ("cut after the head", begin),
    ("cut in the stream", |s| {
        begin(s);
        send(s, content_event("half a"));
    }),
    ("cut in an event", |s| {
        begin(s);
        send(s, &content_event("half a")[..30]);
    }),
    ("cut in a body of known length", |s| {
        send(s, "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{\"choices\":");
    }),
    ("invalid UTF-8", |s| {
        begin(s);
        send(s, [b"data: {\"x\":\"\xff\"}\n\n".as_slice(), ending("stop").as_bytes()].concat());
    }),
    ("no JSON", |s| {
        begin(s);
        send(s, "data: {choices}\n\n");
    }),
    ("an error in the stream", |s| {
        begin(s);
        send(
            s,
            [content_event("half a"), "data: {\"error\":{\"message\":\"out of memory\",\"code\":500}}\n\n".into()]
                .concat(),
        );
    }),
    ("no finish reason", |s| {
        begin(s);
        send(s, [content_event("half a"), "data: [DONE]\n\n".into()].concat());
    }),
    ("silence", |s| {
        begin(s);
        send(s, content_event("half a"));
        std::thread::sleep(Duration::from_millis(500));
    }),
];

#[test]
fn a_fault_that_may_pass_is_tried_again() {
    std::thread::scope(|scope| {
        for (name, misdeed) in PASSING {
            scope.spawn(move || {
                let server =
                    Server::start(move |n, _, stream| if n == 0 { misdeed(stream) } else { reply(stream, "whole") });
                let (remote, _) = open(&server, impatient(), &Cancel::default());
                let mut told = 0;
                let replies = remote.ask_all(&[call("what")], &mut |_, _| told += 1);
                let replies = replies.unwrap_or_else(|e| panic!("{name}: {e}"));
                assert_eq!((replies[0].text.as_str(), told, server.received().len()), ("whole", 1, 2), "{name}");
            });
        }
    });
}

#[test]
fn calls_return_one_after_the_other_from_the_time_that_a_server_names() {
    let start = Instant::now();
    let returns: Arc<Mutex<Vec<Duration>>> = Arc::default();
    let seen = returns.clone();
    let refused: Mutex<HashSet<String>> = Mutex::default();
    let server = Server::start(move |_, received, stream| {
        // Each call once, however late it comes.
        if refused.lock().unwrap().insert(received.asked().to_owned()) {
            return respond(stream, "429 Too Many Requests", &["Retry-After: 0.3"], "");
        }
        seen.lock().unwrap().push(start.elapsed());
        reply(stream, "whole");
    });
    let patience = Patience { first_wait: Duration::from_millis(400), total: Duration::from_secs(60), ..impatient() };
    let (remote, _) = open(&server, patience, &Cancel::default());
    let calls: Vec<Call> = (0..8).map(|n| Call { seed: n * 1000, ..call(&format!("what {n}")) }).collect();
    remote.ask_all(&calls, &mut |_, _| {}).unwrap();
    let returns = returns.lock().unwrap().clone();
    let (first, last) = (*returns.iter().min().unwrap(), *returns.iter().max().unwrap());
    assert!(first >= Duration::from_millis(300) && last - first > Duration::from_millis(100), "{returns:?}");
}

#[test]
fn a_field_is_left_out_only_where_a_refusal_names_it_and_the_call_succeeds_without_it() {
    let cases: [(&str, &str); 4] = [
        ("429 Too Many Requests", "the queue of seed is full"),
        ("503 Service Unavailable", "worker 3, seed 7, is busy"),
        ("400 Bad Request", "the model seed-oss-36b has a context of 4096 tokens"),
        // It names the field, but leaving the field out does not help.
        ("400 Bad Request", "too long: \"the seed was sown\""),
    ];
    for (status, said) in cases {
        let server = Server::start(move |_, received, stream| match received.asked() {
            "first" => respond(stream, status, &[], said),
            _ => reply(stream, "whole"),
        });
        let (remote, heard) = open(&server, Patience { retries: 1, ..impatient() }, &Cancel::default());
        let error = remote.ask_all(&[call("first")], &mut |_, _| {}).unwrap_err();
        assert!(error.to_string().contains(said), "{error}");
        remote.ask_all(&[call("second")], &mut |_, _| {}).unwrap();
        assert_eq!(server.received().last().unwrap().body["seed"], 7, "{status}: {said}");
        assert_eq!(*heard.lock().unwrap(), Vec::<String>::new(), "{status}: {said}");
    }
}

#[test]
fn a_key_that_a_server_echoes_is_in_no_error_and_no_reply() {
    let halves = KEY.split_at(9);
    let ways: [(&str, Box<dyn Fn(&mut TcpStream) + Send + Sync>); 8] = [
        ("HTML", Box::new(|s| respond(s, "200 OK", &["content-type: text/html"], format!("<h1>{KEY}</h1>")))),
        ("a type", Box::new(|s| respond(s, "200 OK", &[&format!("content-type: x/{KEY}")], ""))),
        (
            "an event",
            Box::new(|s| {
                begin(s);
                send(s, format!("data: {{\"error\":{{\"message\":\"no {KEY}\",\"code\":401}}}}\n\n"));
            }),
        ),
        (
            "escapes",
            Box::new(|s| {
                let hidden = KEY.replace("sk-", "\\u0073k-");
                respond(s, "400 Bad Request", &[], format!("{{\"error\":{{\"message\":\"no {hidden}\"}}}}"));
            }),
        ),
        (
            "broken JSON",
            Box::new(|s| {
                begin(s);
                send(s, format!("data: {{\"x\": \"{KEY}\n\n"));
            }),
        ),
        (
            "another type",
            Box::new(|s| {
                begin(s);
                send(s, format!("data: {{\"choices\": \"{KEY}\"}}\n\n"));
            }),
        ),
        ("a reply", Box::new(|s| reply(s, &format!("It is {KEY}.")))),
        (
            "thoughts",
            Box::new(move |s| {
                begin(s);
                let thought = |text| content_event(text).replace("\"content\"", "\"reasoning\"");
                send(s, [thought(halves.0), thought(halves.1), content_event("yes"), ending("stop")].concat());
            }),
        ),
    ];
    for (name, way) in ways {
        let server = Server::start(move |_, _, stream| way(stream));
        let (remote, _) = open(&server, Patience { retries: 0, ..impatient() }, &Cancel::default());
        let ended = remote.ask_all(&[call("what")], &mut |_, _| {});
        let shown = format!("{ended:?} {}", ended.as_ref().map_or_else(MootError::to_string, |r| r[0].text.clone()));
        assert!(!shown.contains(KEY) && shown.contains("(the key)"), "{name}: {shown}");
    }
}

#[test]
fn a_call_that_has_finished_is_not_repeated() {
    let ends: [(&str, Misdeed); 4] = [
        ("no [DONE]", |s| {
            begin(s);
            send(s, [content_event("whole"), ending("stop")].concat());
        }),
        ("cut before the count", |s| {
            begin(s);
            send(s, [content_event("whole"), ending("stop")].concat().split_once("data: {\"choices\":[],").unwrap().0);
        }),
        ("nonsense afterwards", |s| {
            begin(s);
            send(s, [content_event("whole"), ending("stop"), "data: {nonsense\n\n".into()].concat());
        }),
        ("never closed", |s| {
            begin(s);
            send(s, [content_event("whole"), ending("stop")].concat());
            std::thread::sleep(Duration::from_secs(2));
        }),
    ];
    std::thread::scope(|scope| {
        for (name, end) in ends {
            scope.spawn(move || {
                let server = Server::start(move |_, _, stream| end(stream));
                let (remote, _) = open(&server, impatient(), &Cancel::default());
                let started = Instant::now();
                let replies = remote.ask_all(&[call("what")], &mut |_, _| {}).unwrap();
                assert_eq!((replies[0].text.as_str(), server.received().len()), ("whole", 1), "{name}");
                assert!(started.elapsed() < Duration::from_secs(1), "{name} was waited for");
            });
        }
    });
}

/// The error of a call that a server always answers so, its kind, and how often the call was sent.
fn ends(misdeed: impl Fn(&mut TcpStream) + Send + Sync + 'static) -> (RemoteFault, MootError, usize) {
    let server = Server::start(move |_, _, stream| misdeed(stream));
    let (remote, _) = open(&server, impatient(), &Cancel::default());
    let error = remote.ask_all(&[Call { schema: schema(), ..call("notes.txt") }], &mut |_, _| {}).unwrap_err();
    let MootError::Remote { kind, .. } = error else { panic!("{error:?}") };
    let line = error.to_string();
    assert!(line.starts_with(&server.base) && line.contains("agent of notes.txt: ") && !line.contains('\n'), "{line}");
    assert!(!format!("{error:?} {line} {remote:?}").contains(KEY), "{line}");
    (kind, error, server.received().len())
}

#[test]
fn a_permanent_fault_is_one_line_with_a_hint() {
    let json = "content-type: application/json";
    let wrong_key = move |s: &mut TcpStream| {
        respond(
            s,
            "401 Unauthorized",
            &[json],
            format!("{{\"error\":{{\"message\":\"Incorrect API key: {KEY}.\\nSee.\"}}}}"),
        );
    };
    let (kind, error, count) = ends(wrong_key);
    assert_eq!((kind, count), (RemoteFault::Key, 1));
    assert!(error.to_string().contains("401 Unauthorized: Incorrect API key: (the key). See."), "{error}");
    assert!(error.hint().unwrap().contains("MOOT_API_KEY"));

    let cases: [(&str, RemoteFault, usize, Misdeed); 7] = [
        ("404 Not Found: no model tiny", RemoteFault::Missing, 1, |s| {
            respond(s, "404 Not Found", &[], "{\"message\":\"no model tiny\"}");
        }),
        ("429 Too Many Requests: slow down (3 attempts)", RemoteFault::Busy, 3, |s| {
            respond(s, "429 Too Many Requests", &[], "{\"error\":\"slow down\"}");
        }),
        ("(it asks to wait 3600 s)", RemoteFault::Busy, 1, |s| {
            respond(s, "429 Too Many Requests", &["retry-after: 3600"], "");
        }),
        ("no credit", RemoteFault::Quota, 1, |s| {
            respond(
                s,
                "429 Too Many Requests",
                &[],
                "{\"error\":{\"message\":\"no credit\",\"code\":\"insufficient_quota\"}}",
            );
        }),
        ("found \"text/html\": <h1>Welcome</h1>", RemoteFault::Broken, 1, |s| {
            respond(s, "200 OK", &["content-type: text/html"], "<h1>Welcome</h1>");
        }),
        ("a redirection, which is not followed", RemoteFault::Broken, 1, |s| {
            respond(s, "302 Found", &["location: http://127.0.0.1:1/"], "");
        }),
        ("the prompt has 5000 tokens", RemoteFault::Refused, 1, |s| {
            respond(s, "400 Bad Request", &[], "{\"error\":{\"message\":\"the prompt has 5000 tokens\"}}");
        }),
    ];
    for (said, expected, attempts, misdeed) in cases {
        let (kind, error, count) = ends(misdeed);
        assert_eq!((kind, count), (expected, attempts), "{error}");
        assert!(error.to_string().contains(said), "{error}");
        assert_eq!(error.hint().is_some(), kind.befalls_all(), "{error}");
    }
}

#[test]
fn replies_are_bounded_by_max_tokens() {
    let (kind, error, count) = ends(|s| {
        begin(s);
        while send(s, [b' '; 1 << 16]) {}
    });
    assert_eq!((kind, count), (RemoteFault::Broken, 1), "{error}");
    assert!(error.to_string().contains("longer than max_tokens allows: 147456 bytes for 20 tokens"), "{error}");
    let (kind, error, count) = ends(|s| {
        begin(s);
        let much = content_event(&"x".repeat(1000));
        while send(s, &much) {}
    });
    assert_eq!((kind, count), (RemoteFault::Broken, 1), "{error}");
    assert!(error.to_string().contains("20 tokens have at most 9216 bytes (256 a token and 4096)"), "{error}");
    let whole = |s: &mut TcpStream| {
        let text = "x".repeat(10_000);
        let body = format!("{{\"choices\":[{{\"message\":{{\"content\":\"{text}\"}},\"finish_reason\":\"stop\"}}]}}");
        respond(s, "200 OK", &["content-type: application/json"], body);
    };
    assert!(ends(whole).1.to_string().contains("20 tokens have at most 9216 bytes"));
    // The body of a refusal is also read up to a limit, and shown in part.
    let (_, error, _) = ends(|s| respond(s, "400 Bad Request", &[], "x".repeat(1 << 20)));
    assert!(error.to_string().len() < 500);
}

#[test]
fn a_call_ends_in_time_with_all_its_attempts() {
    let drips: [fn(&mut TcpStream) -> bool; 2] = [|s| send(s, content_event("drop ")), |s| send(s, " ")];
    for drip in drips {
        let server = Server::start(move |_, _, stream| {
            begin(stream);
            while drip(stream) {
                std::thread::sleep(Duration::from_millis(20));
            }
        });
        let patience = Patience { total: Duration::from_millis(300), retries: 50, ..impatient() };
        let (remote, _) = open(&server, patience, &Cancel::default());
        let start = Instant::now();
        let error = remote.ask_all(&[call("what")], &mut |_, _| {}).unwrap_err();
        assert!(matches!(error, MootError::Remote { kind: RemoteFault::Silent, .. }), "{error:?}");
        assert!(error.to_string().contains("(a call has 300ms in all)"), "{error}");
        assert!(start.elapsed() < Duration::from_millis(900), "{:?}", start.elapsed());
    }
}

#[test]
fn the_first_failure_ends_a_stage() {
    let server = Server::start(|_, received, stream| {
        if received.asked() == "wrong" {
            return respond(stream, "400 Bad Request", &[], "wrong");
        }
        begin(stream);
        while send(stream, content_event("on and ")) {
            std::thread::sleep(Duration::from_millis(10));
        }
    });
    let (remote, _) = open(&server, Patience { total: Duration::from_secs(20), ..impatient() }, &Cancel::default());
    let started = Instant::now();
    let error = remote.ask_all(&[call("endless"), call("wrong"), call("endless")], &mut |_, _| {}).unwrap_err();
    assert!(error.to_string().contains("agent of wrong: 400 Bad Request"), "{error}");
    assert!(started.elapsed() < Duration::from_secs(2), "{:?}", started.elapsed());
}

#[test]
fn an_unreachable_server_is_an_error_with_a_hint() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let plain = TcpListener::bind("127.0.0.1:0").unwrap();
    let secure = plain.local_addr().unwrap();
    std::thread::spawn(move || {
        for mut stream in plain.incoming().flatten() {
            // The answer of a plain HTTP server to a TLS handshake.
            let _ = stream.read(&mut [0; 1024]);
            respond(&mut stream, "400 Bad Request", &[], "");
        }
    });
    for (typed, said) in [
        (format!("http://{free}/v1#m"), "no server listens there"),
        (format!("https://{secure}/v1#m"), "TLS: "),
        ("http://no-such-host.invalid/v1#m".into(), ""),
    ] {
        let opened =
            Remote::open(Address::parse(&typed).unwrap(), None, impatient(), Notice::default(), Cancel::default());
        let error = opened.map(drop).unwrap_err();
        assert!(matches!(error, MootError::Remote { kind: RemoteFault::Unreachable, .. }), "{error:?}");
        assert!(error.to_string().contains(said) && error.hint().is_some(), "{error}");
    }
}

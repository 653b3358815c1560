//! A server on this machine that answers as a test tells it, also wrongly.

use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// A POST request as it came in.
#[derive(Debug, Clone)]
pub(crate) struct Received {
    pub head: String,
    pub body: Value,
}

impl Received {
    /// The path of the request.
    pub(crate) fn path(&self) -> &str {
        self.head.split(' ').nth(1).unwrap()
    }

    /// The last message.
    pub(crate) fn asked(&self) -> &str {
        self.body["messages"].as_array().unwrap().last().unwrap()["content"].as_str().unwrap()
    }
}

/// A running server; it ends with the test's process.
pub(crate) struct Server {
    pub base: String,
    received: Arc<Mutex<Vec<Received>>>,
}

type Answer = dyn Fn(usize, &Received, &mut TcpStream) + Send + Sync;

/// The responses by which the kind of a server is detected.
#[derive(Clone, Copy, Default)]
pub(crate) struct Kind {
    /// In the list of models.
    pub owned_by: &'static str,
    /// A page that only such servers have, and its JSON.
    pub page: Option<(&'static str, &'static str)>,
}

impl Server {
    /// As [`Server::start_as`], of no known kind.
    pub(crate) fn start(answer: impl Fn(usize, &Received, &mut TcpStream) + Send + Sync + 'static) -> Self {
        Self::start_as(Kind::default(), answer)
    }

    /// `answer` is called for each POST request, with its number from 0; afterwards the connection is closed. The list of
    /// models has one, "tiny", of 4,096 tokens.
    pub(crate) fn start_as(
        kind: Kind,
        answer: impl Fn(usize, &Received, &mut TcpStream) + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let base = format!("http://{}/v1", listener.local_addr().unwrap());
        let received: Arc<Mutex<Vec<Received>>> = Arc::default();
        let (answer, log, count) = (Arc::new(answer), received.clone(), Arc::new(AtomicUsize::new(0)));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (answer, log, count) = (answer.clone(), log.clone(), count.clone());
                std::thread::spawn(move || serve(stream, kind, answer.as_ref(), &log, &count));
            }
        });
        Self { base, received }
    }

    /// Every POST request so far.
    pub(crate) fn received(&self) -> Vec<Received> {
        self.received.lock().unwrap().clone()
    }
}

fn serve(
    mut stream: TcpStream,
    kind: Kind,
    answer: &Answer,
    log: &Mutex<Vec<Received>>,
    count: &AtomicUsize,
) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
        if line.trim().is_empty() {
            break;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
        head.push_str(&line);
    }
    if head.starts_with("GET") {
        let json = ["content-type: application/json"];
        let owner = kind.owned_by;
        let models = format!(
            r#"{{"object":"list","data":[{{"id":"tiny","object":"model","max_model_len":4096,"owned_by":"{owner}"}}]}}"#
        );
        match (head.split(' ').nth(1)?, kind.page) {
            ("/v1/models", _) => respond(&mut stream, "200 OK", &json, models),
            (path, Some((known, page))) if path == known => respond(&mut stream, "200 OK", &json, page),
            _ => respond(&mut stream, "404 Not Found", &[], ""),
        }
        return None;
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let received = Received { head, body: serde_json::from_slice(&body).ok()? };
    log.lock().unwrap().push(received.clone());
    answer(count.fetch_add(1, Ordering::Relaxed), &received, &mut stream);
    None
}

/// A whole response. Errors of the connection are ignored, because the client may have closed it.
pub(crate) fn respond(stream: &mut TcpStream, status: &str, headers: &[&str], body: impl AsRef<[u8]>) {
    let body = body.as_ref();
    let headers: String = headers.iter().map(|header| format!("{header}\r\n")).collect();
    let head = format!("HTTP/1.1 {status}\r\n{headers}content-length: {}\r\nconnection: close\r\n\r\n", body.len());
    let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body));
}

/// The beginning of a stream of events that ends when the connection does.
pub(crate) fn begin(stream: &mut TcpStream) {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\nconnection: close\r\n\r\n";
    let _ = stream.write_all(head.as_bytes());
}

/// Sends `text` as it is; whether it could be.
pub(crate) fn send(stream: &mut TcpStream, text: impl AsRef<[u8]>) -> bool {
    stream.write_all(text.as_ref()).and_then(|()| stream.flush()).is_ok()
}

/// The event that says `text`.
pub(crate) fn content_event(text: &str) -> String {
    let text = serde_json::to_string(text).unwrap();
    format!(
        "data: {{\"id\":\"c\",\"choices\":[{{\"index\":0,\"delta\":{{\"content\":{text}}},\"finish_reason\":null}}]}}\n\n"
    )
}

/// The events that end a reply for `reason`: the finish, and the count of 20 tokens in, 5 of them reused, and 3 out.
pub(crate) fn ending(reason: &str) -> String {
    format!(
        "data: {{\"choices\":[{{\"index\":0,\"delta\":{{}},\"finish_reason\":\"{reason}\"}}]}}\n\n\
         data: {{\"choices\":[],\"usage\":{{\"prompt_tokens\":20,\"completion_tokens\":3,\"total_tokens\":23,\
         \"prompt_tokens_details\":{{\"cached_tokens\":5}}}}}}\n\n"
    )
}

/// A reply without fault.
pub(crate) fn reply(stream: &mut TcpStream, text: &str) {
    begin(stream);
    let middle = text.char_indices().map(|(at, _)| at).nth(text.chars().count() / 2).unwrap_or(0);
    for part in
        [content_event(&text[..middle]), ": still here\n\n".into(), content_event(&text[middle..]), ending("stop")]
    {
        send(stream, part);
    }
    send(stream, "data: [DONE]\n\n");
}

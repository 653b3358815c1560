//! A server of HTTP for tests: it answers every request by a function, and remembers what it was asked.

use crate::llm::server::respond;
use serde_json::Value;
use std::io::{BufRead, BufReader, Read};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// A request as it came in.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Asked {
    pub(super) method: String,
    pub(super) path: String,
    pub(super) head: String,
    pub(super) body: Value,
}

/// A server that gives each request to `answer`: a status and a body come back.
pub(super) fn serve(
    answer: impl Fn(&Asked) -> (String, String) + Send + Sync + 'static,
) -> (String, Arc<Mutex<Vec<Asked>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    let log: Arc<Mutex<Vec<Asked>>> = Arc::default();
    let seen = log.clone();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let asked = receive(&stream);
            seen.lock().unwrap().push(asked.clone());
            let (status, body) = answer(&asked);
            respond(&mut stream, &status, &["content-type: application/json"], body);
        }
    });
    (base, log)
}

fn receive(stream: &TcpStream) -> Asked {
    let mut reader = BufReader::new(stream);
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        if line.trim().is_empty() {
            break;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        head.push_str(&line);
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    let mut first = head.split_whitespace().map(str::to_owned);
    let (method, path) = (first.next().unwrap(), first.next().unwrap());
    Asked { method, path, head, body: serde_json::from_slice(&body).unwrap_or(Value::Null) }
}

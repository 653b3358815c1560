//! The server over real connections, on a tiny model whose replies are senseless and quick.

mod bounds;
mod chosen;
mod debate;
mod embeddings;
mod kept;
mod mcp;
mod openai;
mod page;
mod records;
mod refusals;
mod remote;
mod rerank;
mod runs;
mod schema;

use crate::cli::program::with_context;
use moot::serve::{Limits, ServeOptions, Server};
use moot::workspace::models::RuntimeOptions;
use moot::workspace::{Control, MethodOptions, PlanOptions};
use serde_json::Value;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

const TINY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/models/tests/golden/tiny/llama.gguf");

/// How long a test waits for what must happen.
const PATIENCE: Duration = Duration::from_secs(60);

/// The path of a tiny model with room for prompts, in `folder`.
fn tiny(folder: &Path) -> String {
    let path = folder.join("tiny.gguf");
    std::fs::write(&path, with_context(&std::fs::read(TINY).unwrap(), "llama", 8192)).unwrap();
    path.display().to_string()
}

/// A server that runs until it is dropped.
struct Started {
    folder: tempfile::TempDir,
    address: String,
    control: Control,
    thread: Option<JoinHandle<moot::Result<()>>>,
}

/// The options of a server on the tiny model in `folder`.
fn options(folder: &Path) -> ServeOptions {
    let runtime = RuntimeOptions { offline: true, kv_memory: Some(64 << 20), ..RuntimeOptions::default() };
    let method = MethodOptions { max_tokens: Some(8), ..MethodOptions::default() };
    let plan = PlanOptions { model: tiny(folder), runtime, method, ..PlanOptions::default() };
    ServeOptions { port: 0, plan, ..ServeOptions::default() }
}

impl Started {
    fn new() -> Self {
        Self::with(|options| options)
    }

    fn limited(limits: Limits) -> Self {
        Self::with(|options| ServeOptions { limits, ..options })
    }

    /// A server with other options; returns once it is ready.
    fn with(change: impl FnOnce(ServeOptions) -> ServeOptions) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let server = Server::listen(change(options(folder.path()))).unwrap();
        let (address, control) = (server.address().to_owned(), Control::default());
        let inside = control.clone();
        let thread = Some(std::thread::spawn(move || server.run(&inside)));
        let started = Self { folder, address, control, thread };
        started.until("the model is loaded", || started.get("/health").status == 200);
        started
    }

    /// Waits for `is`, which must become true.
    fn until(&self, what: &str, is: impl Fn() -> bool) {
        let start = Instant::now();
        while !is() {
            assert!(start.elapsed() < PATIENCE, "{what}: not after {PATIENCE:?}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Tells the server to end, and waits for it.
    fn end(&mut self) -> moot::Result<()> {
        self.control.stop.store(true, Ordering::Relaxed);
        self.thread.take().unwrap().join().unwrap()
    }

    /// A connection on which `request` was sent.
    fn connect(&self, request: &str) -> TcpStream {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        stream
    }

    /// A connection on which a POST of `body` was sent.
    fn posting(&self, path: &str, body: &Value) -> TcpStream {
        self.connect(&self.request("POST", path, &[], &body.to_string()))
    }

    fn request(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> String {
        let has = |name: &str| headers.iter().any(|(known, _)| *known == name);
        let mut text = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\nContent-Length: {}\r\n", body.len());
        if !has("Host") {
            text.push_str(&format!("Host: {}\r\n", self.address));
        }
        if !has("Content-Type") {
            text.push_str("Content-Type: application/json\r\n");
        }
        headers.iter().for_each(|(name, value)| text.push_str(&format!("{name}: {value}\r\n")));
        format!("{text}\r\n{body}")
    }

    fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Response {
        Response::read(self.connect(&self.request(method, path, headers, body)))
    }

    fn get(&self, path: &str) -> Response {
        self.send("GET", path, &[], "")
    }

    fn post(&self, path: &str, body: &Value) -> Response {
        self.send("POST", path, &[], &body.to_string())
    }

    /// The reply to a POST, which must succeed.
    fn ask(&self, path: &str, body: &Value) -> Value {
        let response = self.post(path, body);
        assert_eq!(response.status, 200, "{path}: {}", response.body);
        response.json()
    }

    /// A counter of `/metrics`.
    fn metric(&self, name: &str) -> f64 {
        let text = self.get("/metrics").body;
        let line = text.lines().find(|line| line.split(' ').next() == Some(name));
        line.unwrap_or_else(|| panic!("{name} in {text}")).rsplit(' ').next().unwrap().parse().unwrap()
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        if self.thread.is_some() && !std::thread::panicking() {
            self.end().unwrap();
        }
    }
}

/// A whole response.
#[derive(Debug)]
struct Response {
    status: u16,
    head: String,
    body: String,
}

impl Response {
    fn read(mut stream: TcpStream) -> Self {
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).unwrap();
        let text = String::from_utf8(bytes).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no headers: {text:?}"));
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        let chunked = head.to_lowercase().contains("transfer-encoding: chunked");
        let body = if chunked { unchunked(body) } else { body.to_owned() };
        Self { status, head: head.to_owned(), body }
    }

    fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.into_iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|e| panic!("{e}: {}", self.body))
    }

    /// The line of an error object.
    fn error(&self) -> String {
        self.json()["error"]["message"].as_str().unwrap_or_else(|| panic!("no error: {}", self.body)).to_owned()
    }

    /// Events of a stream: names (empty for none) and data.
    fn events(&self) -> Vec<(String, Value)> {
        let event = |text: &str| {
            let of = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default().to_owned();
            let data = of("data: ");
            (of("event: "), if data == "[DONE]" { Value::from(data) } else { serde_json::from_str(&data).unwrap() })
        };
        self.body.split("\n\n").filter(|text| !text.is_empty()).map(event).collect()
    }
}

/// The data of chunks.
fn unchunked(mut body: &str) -> String {
    let mut whole = String::new();
    while let Some((size, rest)) = body.split_once("\r\n") {
        let size = usize::from_str_radix(size.trim(), 16).unwrap();
        if size == 0 {
            break;
        }
        whole.push_str(&rest[..size]);
        body = &rest[size + 2..];
    }
    whole
}

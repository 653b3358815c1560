#![allow(clippy::unwrap_used)]
//! A hub for tests: HTTP on loopback, one repository.

use super::super::super::hash::hex;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};

/// The commit that `main` names.
pub(super) const COMMIT: &str = "c0ffee";

/// A hub on loopback with one repository, `org/name`.
#[derive(Default)]
pub(super) struct Fake {
    pub(super) files: BTreeMap<String, Vec<u8>>,
    /// Status of every answer, instead of files.
    pub(super) status: Option<&'static str>,
    /// The token that requests need: none is answered 401, another one 403.
    pub(super) token: Option<&'static str>,
    /// Each number is used once, the last first: a body is cut after so many bytes.
    pub(super) cuts: Mutex<Vec<usize>>,
    /// Files are redirected, as the hub redirects large files.
    pub(super) redirects: bool,
    /// Target of redirects, instead of this hub; an empty one leaves the header out.
    pub(super) elsewhere: Option<String>,
    /// The etag, instead of the file's SHA-256.
    pub(super) etag: Option<&'static str>,
    /// Range requests are answered with the whole file.
    pub(super) ignores_ranges: bool,
    /// Requests, as "path range".
    pub(super) log: Mutex<Vec<String>>,
    /// The tokens of the requests.
    pub(super) tokens: Mutex<Vec<Option<String>>>,
}

impl Fake {
    pub(super) fn with(files: &[(&str, &[u8])]) -> Self {
        Self { files: files.iter().map(|&(name, bytes)| (name.into(), bytes.into())).collect(), ..Self::default() }
    }

    /// Serves until the test ends; returns its endpoint and itself.
    pub(super) fn serve(self) -> (String, Arc<Self>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        let fake = Arc::new(self);
        let serving = fake.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let lines = BufReader::new(stream.try_clone().unwrap()).lines().map_while(Result::ok);
                let request: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
                if !request.is_empty() {
                    let _ = stream.write_all(&serving.answer(&request));
                }
            }
        });
        (endpoint, fake)
    }

    fn answer(&self, request: &[String]) -> Vec<u8> {
        let header = |name: &str| {
            let lines = request.iter().skip(1).filter_map(|line| line.split_once(": "));
            lines.filter(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.to_owned()).next()
        };
        let path = request[0].split(' ').nth(1).unwrap();
        let range = header("range").and_then(|range| range.strip_prefix("bytes=").map(str::to_owned));
        self.log.lock().unwrap().push(format!("{path} {}", range.as_deref().unwrap_or("-")));
        self.tokens.lock().unwrap().push(header("authorization"));
        let plain = |status: &str| format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
        if let Some(status) = self.status {
            return plain(status).into_bytes();
        }
        match (self.token, header("authorization")) {
            (Some(_), None) => return plain("401 Unauthorized").into_bytes(),
            (Some(token), Some(sent)) if sent != format!("Bearer {token}") => {
                return plain("403 Forbidden").into_bytes();
            }
            _ => {}
        }
        if path == "/api/models/org/name/revision/main" {
            return self.listing();
        }
        let (name, stored) = match (path.strip_prefix("/org/name/resolve/main/"), path.strip_prefix("/storage/")) {
            (Some(name), _) => (name, false),
            (_, Some(name)) => (name, true),
            _ => ("", false),
        };
        let Some(bytes) = self.files.get(name) else { return plain("404 Not Found").into_bytes() };
        let etag = self.etag.map_or_else(|| hex(&Sha256::digest(bytes)), str::to_owned);
        if self.redirects && !stored {
            let host = format!("http://{}", header("host").unwrap());
            let location = match &self.elsewhere {
                Some(target) if target.is_empty() => String::new(),
                target => format!("Location: {}/storage/{name}\r\n", target.as_ref().unwrap_or(&host)),
            };
            return format!(
                "HTTP/1.1 302 Found\r\n{location}X-Linked-Etag: \"{etag}\"\r\n\
                 X-Repo-Commit: {COMMIT}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
            )
            .into_bytes();
        }
        self.body(bytes, &etag, range.as_deref())
    }

    fn listing(&self) -> Vec<u8> {
        let names: Vec<String> = self.files.keys().map(|name| format!("{{\"rfilename\":\"{name}\"}}")).collect();
        let body = format!("{{\"siblings\":[{}],\"sha\":\"{COMMIT}\"}}", names.join(","));
        let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length:";
        format!("{head} {}\r\n\r\n{body}", body.len()).into_bytes()
    }

    fn body(&self, bytes: &[u8], etag: &str, range: Option<&str>) -> Vec<u8> {
        let (start, end) = match range.and_then(|range| range.split_once('-')) {
            Some((start, end)) => (start.parse().unwrap(), end.parse().map_or(bytes.len(), |end: usize| end + 1)),
            None => (0, bytes.len()),
        };
        let probe = end == 1;
        let part = if self.ignores_ranges && !probe { bytes } else { &bytes[start..end] };
        let head = format!(
            "HTTP/1.1 206 Partial Content\r\nContent-Length: {}\r\nContent-Range: bytes {start}-{}/{}\r\n\
             ETag: \"{etag}\"\r\nX-Repo-Commit: {COMMIT}\r\nConnection: close\r\n\r\n",
            part.len(),
            end - 1,
            bytes.len()
        );
        let cut = if probe { None } else { self.cuts.lock().unwrap().pop() };
        [head.as_bytes(), &part[..cut.unwrap_or(part.len()).min(part.len())]].concat()
    }
}

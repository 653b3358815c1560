#![allow(clippy::unwrap_used)]
use super::*;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::time::Instant;

const BODY: &[u8] = b"GGUF and more";

fn hub(endpoint: String, folder: &std::path::Path) -> Hub {
    let cache = Cache::new(folder.to_owned());
    Hub { endpoint, cache, token: None, offline: false, silence: Duration::from_secs(1) }
}

fn file() -> HubFile {
    HubFile { repo: "org/name".into(), file: "m.gguf".into(), revision: "main".into() }
}

/// A hub with the one file, or one that answers every request with `status`.
fn serve(status: Option<&'static str>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let lines = BufReader::new(stream.try_clone().unwrap()).lines().map_while(std::result::Result::ok);
            let request: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
            if request.is_empty() {
                continue;
            }
            let answer = status.map_or_else(
                || answer(&request),
                |status| format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n").into_bytes(),
            );
            let _ = stream.write_all(&answer);
        }
    });
    endpoint
}

fn answer(request: &[String]) -> Vec<u8> {
    assert_eq!(request[0], "GET /org/name/resolve/main/m.gguf HTTP/1.1");
    let range = request.iter().find_map(|line| line.to_lowercase().strip_prefix("range: bytes=").map(str::to_owned));
    let part = if range.as_deref() == Some("0-0") { &BODY[..1] } else { BODY };
    let head = format!(
        "HTTP/1.1 206 Partial Content\r\nContent-Length: {}\r\nContent-Range: bytes 0-{}/{}\r\nETag: \"e1\"\r\n\
         X-Repo-Commit: c1\r\nConnection: close\r\n\r\n",
        part.len(),
        part.len() - 1,
        BODY.len()
    );
    [head.as_bytes(), part].concat()
}

#[test]
fn a_file_is_fetched_once_and_then_found() {
    let folder = tempfile::tempdir().unwrap();
    let hub = hub(serve(None), folder.path());
    assert_eq!(hub.cached(&file()), None);
    let mut events = vec![];
    let path = hub.fetch(&file(), &mut |event| events.push(event)).unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), BODY);
    let total = BODY.len() as u64;
    assert_eq!(events.last(), Some(&Progress::Bytes { done: total, total }));
    assert_eq!(hub.cached(&file()), Some(path));
}

#[test]
fn a_hub_that_is_not_there_is_known_in_seconds() {
    let folder = tempfile::tempdir().unwrap();
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let silent_endpoint = format!("http://{}", silent.local_addr().unwrap());
    let cases = [
        ("http://127.0.0.1:1".to_owned(), "127.0.0.1"),
        ("http://nowhere.invalid".to_owned(), "nowhere.invalid"),
        (silent_endpoint, "no answer from http://127.0.0.1"),
        (serve(Some("404 Not Found")), "404"),
        (serve(Some("200 OK")), "etag"),
        ("no url".to_owned(), "no url"),
    ];
    for (endpoint, reason) in cases {
        let started = Instant::now();
        let error = hub(endpoint, folder.path()).fetch(&file(), &mut |_| {}).unwrap_err().to_string();
        assert!(error.contains(reason) && error.contains("org/name/m.gguf"), "{error}");
        assert!(started.elapsed() < Duration::from_secs(7), "{error} took {:?}", started.elapsed());
    }
    let offline = Hub { offline: true, ..hub(String::new(), folder.path()) };
    assert!(offline.fetch(&file(), &mut |_| {}).unwrap_err().to_string().contains("HF_HUB_OFFLINE"));
}

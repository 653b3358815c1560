//! Embedders on a server: both forms, prefixes, and answers that are none.

use super::server::{self, Asked};
use moot::MootError;
use moot::llm::remote::{Address, Key, Patience};
use moot::retrieval::{Embedder, ServedEmbedder, Side};
use moot_models::encoder::Prefixes;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// As [`server::serve`], with a body in JSON.
fn serve(answer: impl Fn(&Asked) -> (String, Value) + Send + Sync + 'static) -> (String, Arc<Mutex<Vec<Asked>>>) {
    server::serve(move |asked| {
        let (status, body) = answer(asked);
        (status, body.to_string())
    })
}

fn open(base: &str, model: &str) -> moot::Result<ServedEmbedder> {
    let long = Duration::from_secs(3);
    let patience = Patience {
        connect: long,
        silence: long,
        total: long,
        retries: 1,
        first_wait: Duration::from_millis(2),
        ..Patience::default()
    };
    let prefixes = Prefixes { query: "query: ".into(), passage: "passage: ".into() };
    let address = Address::parse(&format!("{base}#{model}")).unwrap();
    ServedEmbedder::open(address, Key::new("not-for-any-eye"), patience, prefixes)
}

/// The number of letters, and of spaces.
fn vector(text: &Value) -> Value {
    let text = text.as_str().unwrap();
    json!([text.chars().count() as f32, text.matches(' ').count() as f32])
}

const OK: &str = "200 OK";

#[test]
fn openai_s_form_in_batches_with_prefixes_and_in_any_order() {
    let (base, log) = serve(|Asked { path, body, .. }| {
        assert_eq!(path, "/v1/embeddings");
        let texts = body["input"].as_array().unwrap();
        let one = |(index, text): (usize, &Value)| json!({ "index": index, "embedding": vector(text) });
        // The last first.
        (OK.into(), json!({ "data": texts.iter().enumerate().rev().map(one).collect::<Vec<_>>() }))
    });
    let embedder = open(&base, "e5").unwrap();
    assert_eq!(embedder.dimension(), 2);
    assert_eq!(embedder.embed(&["ab", "a b c"], Side::Query).unwrap(), [9.0, 1.0, 12.0, 3.0]);
    assert_eq!(embedder.embed(&["ab"], Side::Passage).unwrap(), [11.0, 1.0]);
    let identity = format!("{base}/v1#e5 query \"query: \" passage \"passage: \"");
    assert_eq!(embedder.identity(), identity);
    let many: Vec<String> = (0..70).map(|i| "x".repeat(i)).collect();
    let texts: Vec<&str> = many.iter().map(String::as_str).collect();
    let found = embedder.embed(&texts, Side::Query).unwrap();
    assert_eq!(found.chunks(2).map(|v| v[0] as usize).collect::<Vec<_>>(), (7..77).collect::<Vec<_>>());
    let log = log.lock().unwrap();
    let sizes: Vec<usize> = log.iter().map(|asked| asked.body["input"].as_array().unwrap().len()).collect();
    assert_eq!(sizes, [1, 2, 1, 32, 32, 6]);
    assert_eq!(log[0].body["model"], "e5");
    assert!(log[0].head.contains("authorization: Bearer not-for-any-eye"), "{}", log[0].head);
}

#[test]
fn text_embeddings_inference_is_asked_where_there_is_no_other_form() {
    let (base, log) = serve(|Asked { path, body, .. }| match path.as_str() {
        "/embed" => {
            let texts = body["inputs"].as_array().unwrap();
            (OK.into(), texts.iter().map(vector).collect())
        }
        _ => ("404 Not Found".into(), json!({ "error": "no such page" })),
    });
    let embedder = open(&base, "").unwrap();
    assert_eq!(embedder.embed(&["ab"], Side::Passage).unwrap(), [11.0, 1.0]);
    let log = log.lock().unwrap();
    let paths: Vec<&str> = log.iter().map(|asked| asked.path.as_str()).collect();
    assert_eq!(paths, ["/v1/embeddings", "/embed", "/embed"]);
    assert_eq!(log[1].body["truncate"], true);
}

#[test]
fn answers_that_are_no_vectors_are_one_line() {
    let first = |answer: Value| {
        let (base, _) = serve(move |_| (OK.into(), answer.clone()));
        let error = open(&base, "e5").err().unwrap();
        assert!(matches!(error, MootError::Remote { .. }), "{error:?}");
        error.to_string()
    };
    for answer in [
        json!({ "data": [] }),
        json!({ "data": [{ "index": 1, "embedding": [1.0] }] }),
        json!({ "data": [{ "index": 0, "embedding": ["a"] }] }),
        json!([[1.0]]),
    ] {
        let said = first(answer.clone());
        assert!(said.contains("expected 1 vectors, found another answer") && !said.contains('\n'), "{answer}: {said}");
    }
    assert!(
        first(json!({ "data": [{ "index": 0, "embedding": [] }] })).contains("expected vectors of the same number of")
    );
    let (base, _) =
        serve(|_| ("401 Unauthorized".into(), json!({ "error": { "message": "the key not-for-any-eye" } })));
    let said = open(&base, "e5").err().unwrap().to_string();
    assert!(said.contains("401") && !said.contains("not-for-any-eye"), "{said}");
    // Another length later on.
    let (base, _) = serve(|Asked { body, .. }| {
        let texts = body["input"].as_array().unwrap();
        let length = if texts[0] == "query: moot" { 2 } else { 3 };
        let one = |index: usize| json!({ "index": index, "embedding": vec![1.0; length] });
        (OK.into(), json!({ "data": (0..texts.len()).map(one).collect::<Vec<_>>() }))
    });
    let said = open(&base, "e5").unwrap().embed(&["a"], Side::Query).unwrap_err().to_string();
    assert!(said.contains("expected vectors of 2 numbers, found others"), "{said}");
}

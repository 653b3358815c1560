//! `/v1/rerank`: the relevance of texts as the reranker gives it, in the forms of Jina, Cohere and Text Embeddings Inference;
//! searches of a server with a reranker are ordered by it.

use super::Started;
use super::schema::{description, wrong};
use crate::retrieval::rerank::tiny;
use moot::retrieval::{LocalReranker, Reranker, RerankerOptions, relevance};
use moot::serve::ServeOptions;
use serde_json::{Value, json};

const TEXTS: [&str; 3] = ["The bridge was open all year.", "Somebody makes music.", "A man plays a guitar."];

/// A server with a reranker, and with a corpus where `texts` are its files.
fn server(texts: &[&str]) -> Started {
    let texts: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
    Started::with(move |options| {
        let mut plan = options.plan.clone();
        plan.corpus.reranker = Some(tiny("bert-reranker").display().to_string());
        if !texts.is_empty() {
            let folder = std::path::Path::new(&plan.model).with_file_name("notes");
            std::fs::create_dir(&folder).unwrap();
            for (number, text) in texts.iter().enumerate() {
                std::fs::write(folder.join(format!("{number}.txt")), text).unwrap();
            }
            plan.corpus.paths = vec![folder.display().to_string()];
            plan.corpus.embedder = Some("none".into());
        }
        ServeOptions { plan, ..options }
    })
}

/// Indices of [`TEXTS`] with their logits for `query`, the most relevant first.
fn best(query: &str) -> Vec<(usize, f32)> {
    let reranker = LocalReranker::load(&tiny("bert-reranker"), None, &RerankerOptions::default()).unwrap();
    let pairs: Vec<(&str, &str)> = TEXTS.iter().map(|text| (query, *text)).collect();
    let mut scored: Vec<(usize, f32)> = reranker.logits(&pairs).unwrap().into_iter().enumerate().collect();
    scored.sort_by(|(_, a), (_, b)| b.total_cmp(a));
    scored
}

fn number(value: &Value) -> f32 {
    value.as_f64().unwrap() as f32
}

#[test]
fn texts_are_ranked_in_the_form_that_is_asked_for() {
    let (server, all) = (server(&[]), description());
    let query = "Who plays?";
    let want = best(query);
    let documents = json!([TEXTS[0], { "text": TEXTS[1] }, TEXTS[2]]);
    let body = json!({ "model": "any", "query": query, "documents": documents, "return_documents": true });
    let reply = server.ask("/v1/rerank", &body);
    let results = reply["results"].as_array().unwrap();
    assert_eq!(results.len(), TEXTS.len());
    for (result, (index, logit)) in results.iter().zip(&want) {
        assert_eq!(result["index"], *index);
        assert!((number(&result["relevance_score"]) - relevance(*logit)).abs() < 1e-6);
        assert_eq!(result["document"]["text"], TEXTS[*index]);
    }
    assert!(reply["usage"]["total_tokens"].as_u64().unwrap() > 30, "{reply}");
    assert!(reply["model"].as_str().unwrap().contains("bert-reranker"));
    let top = server.ask("/rerank", &json!({ "query": query, "documents": documents, "top_n": 1 }));
    assert_eq!(top["results"].as_array().unwrap().len(), 1);
    assert!(top["results"][0].get("document").is_none());

    let body = json!({ "query": query, "texts": TEXTS, "raw_scores": true, "return_text": true, "truncate": true });
    let logits = server.ask("/rerank", &body);
    for (result, (index, logit)) in logits.as_array().unwrap().iter().zip(&want) {
        assert_eq!((&result["index"], &result["text"]), (&json!(index), &json!(TEXTS[*index])));
        assert!((number(&result["score"]) - logit).abs() < 1e-6);
    }
    let scores = server.ask("/v1/rerank", &json!({ "query": query, "texts": TEXTS }));
    assert!((number(&scores[0]["score"]) - relevance(want[0].1)).abs() < 1e-6);

    let schema = &all["paths"]["/v1/rerank"]["post"]["responses"]["200"]["content"]["application/json"]["schema"];
    for value in [&reply, &top, &logits, &scores] {
        assert_eq!(wrong(schema, value, "rerank", &all), Vec::<String>::new());
    }
}

#[test]
fn a_request_that_ranks_nothing_is_refused() {
    let server = server(&[]);
    for (body, found) in [
        (json!({ "documents": ["a"] }), "query: expected a text"),
        (json!({ "query": "a" }), "documents: expected a list of texts"),
        (json!({ "query": "a", "documents": ["a"], "texts": ["a"] }), "texts: expected either this or documents"),
        (json!({ "query": "a", "documents": ["a"], "top_n": 0 }), "top_n: expected at least 1"),
        (json!({ "query": "a", "documents": [1] }), "documents[0]"),
    ] {
        let response = server.post("/v1/rerank", &body);
        assert_eq!(response.status, 400, "{body}");
        assert!(response.error().contains(found), "{}", response.error());
    }
    let without = Started::new().post("/v1/rerank", &json!({ "query": "a", "documents": ["a"] }));
    assert_eq!(without.status, 404);
    assert!(without.error().contains("--reranker"), "{}", without.error());
}

#[test]
fn searches_of_the_server_are_ordered_by_its_reranker() {
    let texts = TEXTS.map(|text| format!("{text} Sure."));
    let server = server(&texts.each_ref().map(String::as_str));
    let hits = server.ask("/moot/v1/search", &json!({ "query": "Sure", "search": { "top": 3 } }));
    let reranker = LocalReranker::load(&tiny("bert-reranker"), None, &RerankerOptions::default()).unwrap();
    let scores: Vec<f32> = hits.as_array().unwrap().iter().map(|hit| number(&hit["score"])).collect();
    assert!(scores.len() == 3 && scores.is_sorted_by(|a, b| a >= b), "{scores:?}");
    for (hit, score) in hits.as_array().unwrap().iter().zip(&scores) {
        let text = hit["passage"]["text"].as_str().unwrap();
        let title = hit["passage"]["title"].as_str().map(|title| format!("{title} ")).unwrap_or_default();
        let logit = reranker.logits(&[("Sure", &format!("{title}{text}"))]).unwrap()[0];
        assert!((relevance(logit) - score).abs() < 1e-6, "{text}: {score}");
    }
}

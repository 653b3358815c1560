//! `/v1/rerank` and `/rerank`: relevance of texts to a query, by the reranker that the server was started with. `documents`
//! are answered in the form of Jina's and Cohere's APIs, `texts` in that of Text Embeddings Inference.

use crate::cancel::Cancel;
use crate::error::MootError;
use crate::retrieval::relevance;
use crate::serve::body::{self, list};
use crate::serve::refusal::{Answer, Refusal};
use crate::serve::state::{State, refused, run};
use axum::Json;
use axum::body::Body as Raw;
use axum::extract::State as Extract;
use axum::http::Request;
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;

/// Texts read between two looks at whether the client has left.
const AT_ONCE: usize = 64;

#[derive(Default, Deserialize)]
#[serde(default)]
struct Body {
    query: String,
    #[serde(deserialize_with = "list")]
    documents: Vec<Document>,
    #[serde(deserialize_with = "list")]
    texts: Vec<String>,
    top_n: Option<usize>,
    /// Repeat each document's text in the answer.
    return_documents: bool,
    /// The same of `texts`.
    return_text: bool,
    /// Of `texts`: logits instead of relevance from 0 to 1.
    raw_scores: bool,
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "expected a text, or an object with text, found something else")]
enum Document {
    Text(String),
    Object { text: String },
}

impl Document {
    fn text(&self) -> &str {
        match self {
            Self::Text(text) | Self::Object { text } => text,
        }
    }
}

pub(super) async fn rerank(Extract(state): Extract<Arc<State>>, request: Request<Raw>) -> Answer<Json<Value>> {
    let body: Body = body::json(&state, request).await?;
    run(state, move |state, cancel| ranked(state, &body, cancel)).await.map(Json)
}

fn ranked(state: &State, body: &Body, cancel: &Cancel) -> Answer<Value> {
    let missing = || Refusal::missing("no reranker is loaded: expected moot serve --reranker NAME");
    let reranker = state.workspace()?.reranker().ok_or_else(missing)?;
    if body.query.trim().is_empty() {
        return Err(Refusal::field("query", "a text", "none"));
    }
    let texts: Vec<&str> = match (body.documents.is_empty(), body.texts.is_empty()) {
        (false, true) => body.documents.iter().map(Document::text).collect(),
        (true, false) => body.texts.iter().map(String::as_str).collect(),
        (true, true) => return Err(Refusal::field("documents", "a list of texts", "none")),
        (false, false) => return Err(Refusal::field("texts", "either this or documents", "both")),
    };
    if body.top_n == Some(0) {
        return Err(Refusal::field("top_n", "at least 1", 0));
    }
    let pairs: Vec<(&str, &str)> = texts.iter().map(|&text| (body.query.as_str(), text)).collect();
    let mut scored: Vec<(usize, f32)> = Vec::with_capacity(pairs.len());
    for part in pairs.chunks(AT_ONCE) {
        if cancel.is_cancelled() {
            return Err(refused(MootError::Interrupted, &state.limits, cancel));
        }
        scored.extend((scored.len()..).zip(reranker.logits(part)?));
    }
    // A stable sort: equal logits stay in the order of the request.
    scored.sort_by(|(_, a), (_, b)| b.total_cmp(a));
    if body.documents.is_empty() {
        return Ok(scored.iter().map(|&(index, logit)| of_text(body, texts[index], index, logit)).collect());
    }
    let tokens = reranker.tokens(&pairs);
    let best = scored.iter().take(body.top_n.unwrap_or(usize::MAX));
    let results: Vec<Value> = best.map(|&(index, logit)| of_document(body, texts[index], index, logit)).collect();
    Ok(json!({
        "object": "list", "model": reranker.identity(), "results": results,
        "usage": { "prompt_tokens": tokens, "total_tokens": tokens },
    }))
}

/// One result in the form of Jina and Cohere.
fn of_document(body: &Body, text: &str, index: usize, logit: f32) -> Value {
    let mut result = json!({ "index": index, "relevance_score": relevance(logit) });
    if body.return_documents {
        result["document"] = json!({ "text": text });
    }
    result
}

/// One result in the form of Text Embeddings Inference.
fn of_text(body: &Body, text: &str, index: usize, logit: f32) -> Value {
    let mut result = json!({ "index": index, "score": if body.raw_scores { logit } else { relevance(logit) } });
    if body.return_text {
        result["text"] = json!(text);
    }
    result
}

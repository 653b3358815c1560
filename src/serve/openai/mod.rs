//! OpenAI's API: chat, completions, embeddings, models; vLLM's tokenize; and rerank, as several servers have it.

mod chat;
mod completions;
mod conversation;
mod embeddings;
mod fields;
mod formats;
mod logprobs;
mod models;
mod reply;
mod rerank;
mod sampling;
mod tokens;

use crate::serve::state::State;
use axum::Router;
use axum::routing::{get, post};
use std::sync::Arc;

pub(super) fn routes() -> Router<Arc<State>> {
    Router::new()
        .route("/v1/models", get(models::list))
        // Names may hold slashes, as `moot/METHOD` and `hf:org/repo` do.
        .route("/v1/models/{*name}", get(models::one))
        .route("/v1/chat/completions", post(chat::complete))
        .route("/v1/completions", post(completions::complete))
        .route("/v1/embeddings", post(embeddings::embed))
        .route("/v1/rerank", post(rerank::rerank))
        .route("/rerank", post(rerank::rerank))
        .route("/tokenize", post(tokens::tokenize))
        .route("/detokenize", post(tokens::detokenize))
        .route("/tokenizer_info", get(tokens::tokenizer_info))
}

//! `/tokenize`, `/detokenize` and `/tokenizer_info`, with the fields of vLLM.

use crate::engine::Engine;
use crate::error::MootError;
use crate::generation::Segment;

use crate::serve::body::{self, list};
use crate::serve::refusal::{Answer, Refusal};
use crate::serve::state::{State, run};
use axum::Json;
use axum::body::Body as Raw;
use axum::extract::State as Extract;
use axum::http::Request;
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;

/// A text, or the user's message of a chat, to be split.
#[derive(Deserialize)]
#[serde(default)]
struct Text {
    model: Option<String>,
    prompt: Option<String>,
    add_special_tokens: bool,
}

impl Default for Text {
    fn default() -> Self {
        Self { model: None, prompt: None, add_special_tokens: true }
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Tokens {
    model: Option<String>,
    #[serde(deserialize_with = "list")]
    tokens: Vec<u32>,
}

fn engine<'a>(state: &'a State, model: Option<&str>) -> Answer<&'a Engine> {
    let llm = state.model(model)?;
    llm.engine("").ok_or_else(|| Refusal::unsupported("model", "only models of this process have tokens"))
}

pub(super) async fn tokenize(Extract(state): Extract<Arc<State>>, request: Request<Raw>) -> Answer<Json<Value>> {
    let text: Text = body::json(&state, request).await?;
    run(state, move |state, _| {
        let engine = engine(state, text.model.as_deref())?;
        let tokenizer = &engine.model().tokenizer;
        let segment = [Segment::Scaffold(text.prompt.ok_or_else(|| Refusal::field("prompt", "a text", "none"))?)];
        let special = text.add_special_tokens;
        let tokens = if special { tokenizer.encode_prompt(&segment) } else { tokenizer.encode_continuation(&segment) };
        let tokens = tokens.map_err(MootError::from)?;
        Ok(Json(json!({ "count": tokens.len(), "max_model_len": engine.limits().context, "tokens": tokens })))
    })
    .await
}

pub(super) async fn detokenize(Extract(state): Extract<Arc<State>>, request: Request<Raw>) -> Answer<Json<Value>> {
    let Tokens { model, tokens } = body::json(&state, request).await?;
    run(state, move |state, _| {
        let tokenizer = &engine(state, model.as_deref())?.model().tokenizer;
        if let Some(unknown) = tokens.iter().find(|&&token| token as usize >= tokenizer.vocab_size()) {
            return Err(Refusal::field("tokens", &format!("tokens below {}", tokenizer.vocab_size()), unknown));
        }
        Ok(Json(json!({ "prompt": tokenizer.decode_scaffold(&tokens) })))
    })
    .await
}

/// The texts of the tokens that begin and end texts. lm-eval looks for this path before it splits prompts here.
pub(super) async fn tokenizer_info(Extract(state): Extract<Arc<State>>) -> Answer<Json<Value>> {
    let tokenizer = &engine(&state, None)?.model().tokenizer;
    let text = |id: Option<u32>| id.map(|id| tokenizer.decode_scaffold(&[id]));
    let end = tokenizer.eos_id().or(tokenizer.eos_ids().first().copied());
    Ok(Json(json!({ "bos_token": text(tokenizer.bos_id()), "eos_token": text(end) })))
}

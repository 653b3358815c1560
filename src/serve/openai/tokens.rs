//! `/tokenize`, `/detokenize` and `/tokenizer_info`, with the fields of vLLM.

use super::conversation;
use super::fields::{Incoming, TemplateOptions};
use crate::engine::Engine;
use crate::error::MootError;
use crate::generation::{Segment, Thinking};
use crate::llm::local;
use crate::serve::body::{self, list};
use crate::serve::refusal::{Answer, Refusal};
use crate::serve::state::{State, run};
use axum::Json;
use axum::body::Body as Raw;
use axum::extract::State as Extract;
use axum::http::Request;
use moot_models::Model;
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;

/// A text, or a chat, to be split.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Text {
    model: Option<String>,
    prompt: Option<String>,
    #[serde(deserialize_with = "list")]
    messages: Vec<Incoming>,
    /// Of a text, on unless it is turned off; of a chat, whose template writes its own, off.
    add_special_tokens: Option<bool>,
    /// Whether a chat ends where the reply begins; on unless it is turned off.
    add_generation_prompt: Option<bool>,
    continue_final_message: Option<bool>,
    chat_template_kwargs: Option<TemplateOptions>,
    return_token_strs: Option<bool>,
}

impl Text {
    /// The tokens of the text, or of the chat as `/v1/chat/completions` sends it to the model.
    fn tokens(&self, model: &Model) -> Answer<Vec<u32>> {
        let is = |field: Option<bool>| field == Some(true);
        match (&self.prompt, self.messages.is_empty()) {
            _ if is(self.return_token_strs) => Err(Refusal::unsupported("return_token_strs", "use /detokenize")),
            (Some(_), false) => Err(Refusal::field("prompt, messages", "one of the two", "both")),
            (None, true) => Err(Refusal::field("prompt", "a text, or messages", "none")),
            (Some(text), true) => {
                let segment = [Segment::Scaffold(text.clone())];
                let tokens = match self.add_special_tokens {
                    Some(false) => model.tokenizer.encode_continuation(&segment),
                    _ => model.tokenizer.encode_prompt(&segment),
                };
                Ok(tokens.map_err(MootError::from)?)
            }
            (None, false) if is(self.add_special_tokens) => {
                Err(Refusal::unsupported("add_special_tokens", "leave it out: the chat template writes its own"))
            }
            (None, false) if is(self.continue_final_message) => {
                Err(Refusal::unsupported("continue_final_message", "leave it out"))
            }
            (None, false) => self.chat_tokens(model),
        }
    }

    fn chat_tokens(&self, model: &Model) -> Answer<Vec<u32>> {
        let options = self.chat_template_kwargs.as_ref();
        options.map_or(Ok(()), TemplateOptions::refuse_unknown)?;
        let thinks = options.and_then(|options| options.enable_thinking).unwrap_or(false) && local::thinks(model);
        let thinking = if thinks { Thinking::On } else { Thinking::Off };
        let messages = conversation::messages(&self.messages)?;
        if self.add_generation_prompt == Some(false) {
            let segments = model.template.render(&messages, false, thinking).map_err(MootError::from)?;
            return Ok(model.tokenizer.encode_prompt(&segments).map_err(MootError::from)?);
        }
        Ok(local::chat_tokens(model, &messages, thinking)?)
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
        let tokens = text.tokens(engine.model())?;
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

/// The texts of the tokens that begin and end texts, and the chat template. lm-eval looks for this path before it splits
/// prompts here, and renders the template itself with `--apply_chat_template`.
pub(super) async fn tokenizer_info(Extract(state): Extract<Arc<State>>) -> Answer<Json<Value>> {
    let model = engine(&state, None)?.model();
    let tokenizer = &model.tokenizer;
    let text = |id: Option<u32>| id.map(|id| tokenizer.decode_scaffold(&[id]));
    let end = tokenizer.eos_id().or(tokenizer.eos_ids().first().copied());
    Ok(Json(json!({
        "bos_token": text(tokenizer.bos_id()), "eos_token": text(end), "chat_template": model.template.source(),
    })))
}

//! `/v1/chat/completions`: a model's reply to a chat, or a method's answer to its last message.

use super::conversation;
use super::fields::{Body, Incoming};
use super::logprobs;
use super::reply::{finish, id, now, usage};
use crate::cancel::Cancel;
use crate::generation::{Prompt, Usage};
use crate::llm::{Call, Delta, Llm, OnFailure, Reply};
use crate::serve::body;
use crate::serve::moot::as_model;
use crate::serve::refusal::{Answer, Refusal};
use crate::serve::state::{State, run, run_streamed};
use crate::serve::stream::Events;
use axum::Json;
use axum::body::Body as Raw;
use axum::extract::State as Extract;
use axum::http::Request;
use axum::response::IntoResponse;
use serde_json::{Value, json};
use std::sync::Arc;

/// Tokens of a reply where the request sets no limit; half of the context where that is less.
const MAX_TOKENS: usize = 4096;

/// Tokens of thought by `reasoning_effort`.
const EFFORTS: [(&str, usize); 6] =
    [("none", 0), ("minimal", 256), ("low", 1024), ("medium", 4096), ("high", 16384), ("xhigh", 32768)];

/// Tokens of thought where a request turns thinking on without saying how long.
const THINK: usize = 4096;

pub(super) async fn complete(Extract(state): Extract<Arc<State>>, request: Request<Raw>) -> Answer {
    let body: Body = body::json(&state, request).await?;
    body.refuse_unsupported()?;
    if let Some(method) = body.model.as_deref().and_then(as_model::method) {
        body.refuse_of_method()?;
        let asked = as_model::Asked::of(method, last_question(&body.messages)?, body.documents);
        let (streams, include) = (body.stream.unwrap_or(false), body.stream_options.and_then(|o| o.include_usage));
        return as_model::answer(state, asked, streams, include.unwrap_or(false)).await;
    }
    // A wrong model is refused before a slot is taken.
    state.model(body.model.as_deref())?;
    if body.streams() {
        return run_streamed(state, move |state, cancel, events| streamed(state, &body, cancel, events)).await;
    }
    run(state, move |state, cancel| whole(state, &body, cancel)).await.map(|reply| Json(reply).into_response())
}

/// The text of the last message, which must be the user's.
fn last_question(messages: &[Incoming]) -> Answer<String> {
    let last = messages.last().filter(|message| message.role == "user");
    let missing = || Refusal::field("messages", "a question as the last message, of role user", "none");
    conversation::text(last.ok_or_else(missing)?, messages.len() - 1)
}

impl Body {
    /// The calls of a chat, one a reply.
    fn calls(&self, llm: &dyn Llm, cancel: &Cancel) -> Answer<Vec<Call>> {
        let messages = conversation::messages(&self.messages)?;
        // 0 is a server that does not say.
        let room = match llm.identity().context {
            0 => MAX_TOKENS,
            context => MAX_TOKENS.min(context / 2).max(1),
        };
        let max_tokens = self.max_completion_tokens.or(self.max_tokens).unwrap_or(room);
        if max_tokens == 0 {
            return Err(Refusal::field("max_tokens", "at least 1", 0));
        }
        let (grammar, schema) = self.form()?.unzip();
        let capabilities = llm.capabilities("");
        let call = Call {
            think: self.think()?.min(room),
            sampling: self.sampling()?,
            stop: self.stops()?,
            grammar: grammar.filter(|_| capabilities.grammar),
            schema: schema.filter(|_| capabilities.schema && !capabilities.grammar),
            logprobs: self.chat_logprobs()?,
            cancel: cancel.clone(),
            ..Call::new("chat", "", Prompt::Chat(messages), max_tokens)
        };
        logprobs::check(call.logprobs.as_ref(), self.replies()?, call.max_tokens)?;
        let missing = call.needs().missing_from(capabilities);
        if !missing.is_empty() {
            let model = State::served(llm.identity());
            return Err(Refusal::unsupported("model", &format!("{model} gives no {}", missing.join(", "))));
        }
        Ok((0..self.replies()?).map(|index| Call { seed: self.seed_of(index), ..call.clone() }).collect())
    }

    /// Tokens of thought.
    fn think(&self) -> Answer<usize> {
        let switched = self.chat_template_kwargs.as_ref().and_then(|options| options.enable_thinking);
        let effort = self.reasoning_effort.as_deref();
        let known = |effort: &str| EFFORTS.iter().find(|(name, _)| *name == effort).map(|(_, tokens)| *tokens);
        match (switched, effort) {
            (Some(false), _) | (None, None) => Ok(0),
            (Some(true), None) => Ok(THINK),
            (_, Some(effort)) => known(effort).ok_or_else(|| {
                let names = EFFORTS.map(|(name, _)| name).join(", ");
                Refusal::field("reasoning_effort", &format!("one of {names}"), crate::escape::beginning(effort, 40))
            }),
        }
    }
}

fn whole(state: &State, body: &Body, cancel: &Cancel) -> Answer<Value> {
    let llm = state.model(body.model.as_deref())?;
    let calls = body.calls(llm, cancel)?;
    let replies = llm.answer(&calls, OnFailure::Cancel, &mut |_, _| {});
    let replies = crate::llm::all_or_first_failure(replies);
    let replies = replies.map_err(|error| body.refused(error, &state.limits, cancel))?;
    let (total, thoughts) = total(&replies);
    state.metrics.used(total);
    let choice = |(index, reply): (usize, &Reply)| {
        let mut message = json!({ "role": "assistant", "content": reply.text, "refusal": null });
        if let Some(thoughts) = &reply.thoughts {
            message["reasoning_content"] = thoughts.text.clone().into();
        }
        let logprobs = body.logprobs.and(Some(&reply.logprobs)).filter(|tokens| !tokens.is_empty());
        json!({
            "index": index,
            "message": message,
            "logprobs": logprobs.map(|tokens| logprobs::of_chat(tokens)),
            "finish_reason": finish(reply.finish),
        })
    };
    Ok(json!({
        "id": id("chatcmpl"),
        "object": "chat.completion",
        "created": now(),
        "model": State::served(llm.identity()),
        "system_fingerprint": fingerprint(llm),
        "choices": replies.iter().enumerate().map(choice).collect::<Vec<_>>(),
        "usage": usage(total, thoughts),
    }))
}

/// Tokens of all replies; those of the prompt, which they share, once. Then the tokens of thought.
fn total(replies: &[Reply]) -> (Usage, usize) {
    let mut total = replies.first().map(|reply| reply.usage).unwrap_or_default();
    total.generated = replies.iter().map(|reply| reply.usage.generated).sum();
    let thoughts = replies.iter().filter_map(|reply| reply.thoughts.as_ref()).map(|thoughts| thoughts.tokens).sum();
    (total, thoughts)
}

/// Equal for servers that give the same bits.
fn fingerprint(llm: &dyn Llm) -> String {
    let identity = llm.identity();
    let weights = identity.sha256.get(..12).unwrap_or_default();
    format!("{}:{weights}", identity.recipe)
}

/// The part of every chunk that is the same.
struct Chunks<'a> {
    events: &'a Events,
    head: Value,
}

impl Chunks<'_> {
    fn send(&self, choices: Value, usage: Option<Value>) {
        let mut chunk = self.head.clone();
        chunk["choices"] = choices;
        if let Some(usage) = usage {
            chunk["usage"] = usage;
        }
        self.events.data(&chunk);
    }

    fn delta(&self, index: usize, delta: &Value, logprobs: Option<&Value>, finish: Option<&str>) {
        self.send(json!([{ "index": index, "delta": delta, "logprobs": logprobs, "finish_reason": finish }]), None);
    }
}

fn streamed(state: &State, body: &Body, cancel: &Cancel, events: &Events) -> Answer<()> {
    let llm = state.model(body.model.as_deref())?;
    // A reply that fails ends the others.
    let together = cancel.child();
    let calls = body.calls(llm, &together)?;
    let head = json!({
        "id": id("chatcmpl"), "object": "chat.completion.chunk", "created": now(),
        "model": State::served(llm.identity()), "system_fingerprint": fingerprint(llm),
    });
    let chunks = Chunks { events, head };
    // Each reply on a thread of its own, so that they are generated together.
    let replies: Vec<Answer<Reply>> = std::thread::scope(|scope| {
        let threads: Vec<_> = calls
            .iter()
            .enumerate()
            .map(|(index, call)| {
                let chunks = &chunks;
                let refused = move |error| body.refused(error, &state.limits, &call.cancel);
                let reply = move || {
                    let reply = stream_one(llm, index, call, chunks).map_err(refused);
                    reply.inspect_err(|_| call.cancel.cancel())
                };
                // Where the system starts no further thread, this one generates the reply.
                std::thread::Builder::new().spawn_scoped(scope, reply).map_err(|_| reply())
            })
            .collect();
        let ended = |thread: Result<std::thread::ScopedJoinHandle<'_, Answer<Reply>>, Answer<Reply>>| match thread {
            Ok(thread) => thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
            Err(here) => here,
        };
        threads.into_iter().map(ended).collect()
    });
    let replies = replies.into_iter().collect::<Answer<Vec<Reply>>>()?;
    let (total, thoughts) = total(&replies);
    state.metrics.used(total);
    if body.includes_usage() {
        chunks.send(json!([]), Some(usage(total, thoughts)));
    }
    events.done();
    Ok(())
}

fn stream_one(llm: &dyn Llm, index: usize, call: &Call, chunks: &Chunks<'_>) -> crate::error::Result<Reply> {
    chunks.delta(index, &json!({ "role": "assistant", "content": "" }), None, None);
    // With log-probabilities the text is one chunk, beside them: pieces of text are not tokens.
    let whole = call.logprobs.is_some();
    let streamed = llm.stream(call, &mut |delta| match delta {
        Delta::Thought(text) => chunks.delta(index, &json!({ "reasoning_content": text }), None, None),
        Delta::Text(text) if !whole && !text.is_empty() => chunks.delta(index, &json!({ "content": text }), None, None),
        Delta::Text(_) => {}
    });
    let reply = streamed?;
    if whole {
        chunks.delta(index, &json!({ "content": reply.text }), Some(&logprobs::of_chat(&reply.logprobs)), None);
    }
    chunks.delta(index, &json!({}), None, Some(finish(reply.finish)));
    Ok(reply)
}

//! `/v1/completions`: text or tokens continued without a chat template, and given text scored (`echo` with `logprobs`), as
//! lm-eval asks for it.

use super::fields::{Body, MOST_COMPLETIONS, PROMPTS, Prompts};
use super::logprobs::{self, Token};
use super::reply::{finish, id, now, usage};
use crate::cancel::Cancel;
use crate::engine::{Completion, Engine, Event, Request};
use crate::error::{MootError, Result};
use crate::generation::{Grammar, Logprobs, Segment, TokenLogprob, Usage};
use crate::serve::body;
use crate::serve::refusal::{Answer, Refusal};
use crate::serve::state::{State, run, run_streamed};
use crate::serve::stream::Events;
use crate::threads;
use axum::Json;
use axum::body::Body as Raw;
use axum::extract::State as Extract;
use axum::http::Request as HttpRequest;
use axum::response::IntoResponse;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::mpsc::Sender;

/// Tokens of a completion where the request sets no limit, as in OpenAI's API.
const MAX_TOKENS: usize = 16;

/// Replies in flight at once, each with a thread.
const IN_FLIGHT: usize = 64;

pub(super) async fn complete(Extract(state): Extract<Arc<State>>, request: HttpRequest<Raw>) -> Answer {
    let body: Body = body::json(&state, request).await?;
    body.refuse_unsupported()?;
    local(&state, &body)?;
    if body.streams() {
        return run_streamed(state, move |state, cancel, events| streamed(state, &body, cancel, events)).await;
    }
    run(state, move |state, cancel| whole(state, &body, cancel)).await.map(|reply| Json(reply).into_response())
}

/// A model with its tokens: it must run in this process. Others are asked for chats alone.
#[derive(Clone, Copy)]
struct Local<'a> {
    name: &'a str,
    engine: &'a Engine,
}

fn local<'a>(state: &'a State, body: &Body) -> Answer<Local<'a>> {
    let llm = state.model(body.model.as_deref())?;
    let name = State::served(llm.identity());
    let elsewhere = || Refusal::unsupported("model", &format!("{name} is a server: ask it there"));
    Ok(Local { name, engine: llm.engine("").ok_or_else(elsewhere)? })
}

/// One text to continue.
struct Job {
    /// From 0, over all prompts and replies.
    index: usize,
    /// The prompt's tokens.
    tokens: Vec<u32>,
    seed: u64,
}

impl Body {
    fn jobs(&self, local: Local<'_>) -> Answer<Vec<Job>> {
        let tokenizer = &local.engine.model().tokenizer;
        let encode = |text: &str| -> Answer<Vec<u32>> {
            let segment = [Segment::Scaffold(text.to_owned())];
            // Control tokens in the text are control tokens: a client may have rendered a chat template.
            let special = self.add_special_tokens.unwrap_or(true);
            let tokens =
                if special { tokenizer.encode_prompt(&segment) } else { tokenizer.encode_continuation(&segment) };
            Ok(tokens.map_err(MootError::from)?)
        };
        let prompts = match self.prompt.as_ref() {
            None => return Err(Refusal::field("prompt", PROMPTS, "none")),
            Some(Prompts::Text(text)) => vec![encode(text)?],
            Some(Prompts::Texts(texts)) => texts.iter().map(|text| encode(text)).collect::<Answer<_>>()?,
            Some(Prompts::Tokens(tokens)) => vec![tokens.clone()],
            Some(Prompts::TokenLists(lists)) => lists.clone(),
        };
        let (n, size, room) = (self.replies()?, tokenizer.vocab_size(), local.engine.limits().context);
        let all = prompts.len().saturating_mul(n);
        if all == 0 || all > MOST_COMPLETIONS {
            return Err(Refusal::field("prompt", &format!("1 to {MOST_COMPLETIONS} replies, n to each prompt"), all));
        }
        if let Some(long) = prompts.iter().find(|tokens| tokens.len() > room) {
            return Err(Refusal::field("prompt", &format!("at most {room} tokens, the context"), long.len()));
        }
        // Of an echo, the tokens of the prompts are scored too.
        let scored = if self.echo.unwrap_or(false) { prompts.iter().map(Vec::len).max().unwrap_or(0) } else { 0 };
        logprobs::check(self.completion_logprobs()?.as_ref(), all, self.most_tokens().saturating_add(scored))?;
        let mut jobs = Vec::with_capacity(prompts.len() * n);
        for (prompt, tokens) in prompts.into_iter().enumerate() {
            if let Some(unknown) = tokens.iter().find(|&&token| token as usize >= size) {
                return Err(Refusal::field(&format!("prompt[{prompt}]"), &format!("tokens below {size}"), unknown));
            }
            // An empty text is continued from the token that begins or ends texts.
            let empty = || tokenizer.bos_id().or(tokenizer.eos_id()).or(tokenizer.eos_ids().first().copied());
            let tokens: Vec<u32> = if tokens.is_empty() { empty().into_iter().collect() } else { tokens };
            if tokens.is_empty() {
                return Err(Refusal::field(&format!("prompt[{prompt}]"), "a text", "an empty one"));
            }
            let reply = |reply| Job { index: prompt * n + reply, tokens: tokens.clone(), seed: self.seed_of(reply) };
            jobs.extend((0..n).map(reply));
        }
        Ok(jobs)
    }

    fn most_tokens(&self) -> usize {
        self.max_tokens.or(self.max_completion_tokens).unwrap_or(MAX_TOKENS)
    }
}

/// A text that was continued.
struct Done {
    completion: Completion,
    /// The log-probabilities of the prompt's tokens from the second on, where they were asked for.
    scores: Vec<TokenLogprob>,
    generated: Vec<TokenLogprob>,
}

/// Engine settings that all jobs share.
struct Settings {
    max_tokens: usize,
    sampling: crate::generation::Sampling,
    stop: Vec<String>,
    grammar: Option<Grammar>,
    logprobs: Option<Logprobs>,
    /// The prompt's tokens are scored.
    scores: bool,
}

impl Settings {
    fn of(body: &Body) -> Answer<Self> {
        let logprobs = body.completion_logprobs()?;
        let scores = body.echo.unwrap_or(false) && logprobs.is_some();
        let grammar = body.form()?.map(|(grammar, _)| grammar);
        let (max_tokens, sampling, stop) = (body.most_tokens(), body.sampling()?, body.stops()?);
        Ok(Self { max_tokens, sampling, stop, grammar, logprobs, scores })
    }

    fn run(&self, engine: &Engine, job: &Job, cancel: &Cancel, on_event: &mut dyn FnMut(&Event)) -> Result<Done> {
        // No logits come before the first token, so that it has no score.
        let (first, rest) = if self.scores { job.tokens.split_at(1) } else { (&job.tokens[..], &[][..]) };
        if self.max_tokens == 0 && rest.is_empty() {
            // Nothing to generate and nothing to score.
            let usage = Usage { prompt: first.len(), ..Usage::default() };
            return Ok(Done { completion: empty(usage), scores: Vec::new(), generated: Vec::new() });
        }
        let request = |events| {
            Ok(Request {
                tag: 0,
                group: 0,
                prompt: first.to_vec(),
                prefill: rest.to_vec(),
                score: self.scores && !rest.is_empty(),
                max_tokens: self.max_tokens,
                think: None,
                sampling: self.sampling,
                seed: job.seed,
                grammar: self.grammar.clone(),
                stop: self.stop.clone(),
                logprobs: self.logprobs.clone(),
                ignore_eos: false,
                events,
                cancel: cancel.clone(),
            })
        };
        let completion = engine.run(request, on_event)?;
        let named = |reports: &[crate::engine::TokenLogprobs]| {
            reports.iter().map(|report| report.clone().written(engine.model())).collect()
        };
        let (scores, generated) = (named(&completion.scores), named(&completion.logprobs));
        Ok(Done { completion, scores, generated })
    }
}

fn empty(usage: Usage) -> Completion {
    Completion {
        text: String::new(),
        thoughts: None,
        tokens: Vec::new(),
        finish: crate::generation::Finish::Length,
        usage,
        logprobs: Vec::new(),
        scores: Vec::new(),
        seconds: 0.0,
    }
}

/// All jobs, [`IN_FLIGHT`] of them at once. One that fails ends the others.
fn run_all(
    engine: &Engine,
    jobs: &[Job],
    settings: &Settings,
    cancel: &Cancel,
    on_text: &(impl Fn(&Job, &str) + Sync),
) -> Vec<Result<Done>> {
    let together = cancel.child();
    let mut results: Vec<Option<Result<Done>>> = jobs.iter().map(|_| None).collect();
    let answer = |at: usize, sender: &Sender<(usize, Result<Done>)>| {
        let job = &jobs[at];
        let done = settings.run(engine, job, &together, &mut |event| {
            if let Event::Text(text) = event {
                on_text(job, text);
            }
        });
        sender.send((at, done.inspect_err(|_| together.cancel()))).is_ok()
    };
    let started = threads::for_each(jobs.len(), IN_FLIGHT, answer, |inbox| {
        inbox.iter().for_each(|(at, done)| results[at] = Some(done));
    });
    if let (Err(error), Some(first)) = (started, results.first_mut()) {
        *first = Some(Err(error));
    }
    results.into_iter().map(|done| done.unwrap_or(Err(MootError::Interrupted))).collect()
}

fn finished(state: &State, body: &Body, results: Vec<Result<Done>>, cancel: &Cancel) -> Answer<Vec<Done>> {
    let done = crate::llm::all_or_first_failure(results);
    let done = done.map_err(|error| body.refused(error, &state.limits, cancel))?;
    let mut used = Usage::default();
    done.iter().for_each(|done| used += done.completion.usage);
    state.metrics.used(used);
    Ok(done)
}

fn whole(state: &State, body: &Body, cancel: &Cancel) -> Answer<Value> {
    let local = local(state, body)?;
    let (jobs, settings) = (body.jobs(local)?, Settings::of(body)?);
    let done = finished(state, body, run_all(local.engine, &jobs, &settings, cancel, &|_, _| {}), cancel)?;
    let choices: Vec<Value> = jobs.iter().zip(&done).map(|(job, done)| choice(local, body, job, done)).collect();
    let mut total = Usage::default();
    done.iter().for_each(|done| total += done.completion.usage);
    Ok(json!({
        "id": id("cmpl"), "object": "text_completion", "created": now(), "model": local.name,
        "choices": choices, "usage": usage(total, 0),
    }))
}

fn choice(local: Local<'_>, body: &Body, job: &Job, done: &Done) -> Value {
    let tokenizer = &local.engine.model().tokenizer;
    let echo = body.echo.unwrap_or(false);
    let prompt = if echo { tokenizer.decode_text(&job.tokens) } else { String::new() };
    let first = String::from_utf8_lossy(&tokenizer.decode_bytes(&job.tokens[..1])).into_owned();
    let text_of = |report: &TokenLogprob| report.text.clone();
    let logprobs = body.completion_logprobs().ok().flatten().map(|_| {
        let scored: Vec<(String, Option<&TokenLogprob>)> = if echo {
            let rest = done.scores.iter().map(|report| (text_of(report), Some(report)));
            std::iter::once((first, None)).chain(rest).collect()
        } else {
            Vec::new()
        };
        let generated = done.generated.iter().map(|report| (text_of(report), Some(report)));
        let all: Vec<_> = scored.into_iter().chain(generated).collect();
        logprobs::of_completion(all.iter().map(|(text, logprob)| Token { text, logprob: *logprob }), 0)
    });
    json!({
        "index": job.index,
        "text": format!("{prompt}{}", done.completion.text),
        "logprobs": logprobs,
        "finish_reason": finish(done.completion.finish),
    })
}

fn streamed(state: &State, body: &Body, cancel: &Cancel, events: &Events) -> Answer<()> {
    let local = local(state, body)?;
    let (jobs, settings) = (body.jobs(local)?, Settings::of(body)?);
    let head = json!({ "id": id("cmpl"), "object": "text_completion", "created": now(), "model": local.name });
    let send = |choices: Value, usage: Option<Value>| {
        let mut chunk = head.clone();
        chunk["choices"] = choices;
        if let Some(usage) = usage {
            chunk["usage"] = usage;
        }
        events.data(&chunk);
    };
    // With log-probabilities or an echo, a choice is one chunk.
    let pieces = settings.logprobs.is_none() && !body.echo.unwrap_or(false);
    let on_text = |job: &Job, text: &str| {
        if pieces && !text.is_empty() {
            send(json!([{ "index": job.index, "text": text, "logprobs": null, "finish_reason": null }]), None);
        }
    };
    let done = finished(state, body, run_all(local.engine, &jobs, &settings, cancel, &on_text), cancel)?;
    let mut total = Usage::default();
    for (job, done) in jobs.iter().zip(&done) {
        let mut last = choice(local, body, job, done);
        if pieces {
            last["text"] = "".into();
        }
        send(json!([last]), None);
        total += done.completion.usage;
    }
    if body.includes_usage() {
        send(json!([]), Some(usage(total, 0)));
    }
    events.done();
    Ok(())
}

//! Scores of a prefilled reply and log-probabilities of watched ids, by each server's own interface.
//!
//! The prompt and the prefill are encoded by the server, apart from each other, so that the scored tokens are known by
//! their ids. vLLM and SGLang recognise control tokens in all text that they encode; llama.cpp does so in scaffold alone.

use super::client::{Attempt, Client, Stage};
use super::dialect::Dialect;
use super::fault::Fault;
use super::inbound::Bounds;
use super::request;
use super::stream::Received;
use crate::error::Result;
use crate::fault::RemoteFault;
use crate::generation::{Alternative, Finish, Prompt, Segment, TokenLogprob, Usage};
use crate::llm::Call;
use serde_json::{Value, json};
use std::time::Instant;

/// Added to a token's logit so that llama.cpp chooses it. Its log-probabilities are those before such biases.
const CERTAIN: f32 = 10_000.0;

/// The requests of one call that are no completions of the OpenAI API.
pub(super) struct Scorer<'a> {
    pub client: &'a Client,
    pub dialect: Dialect,
    /// The model as the server calls it.
    pub model: &'a str,
    pub call: &'a Call,
    pub stage: &'a Stage,
    /// When the call's time is over.
    pub ends: Instant,
}

impl Scorer<'_> {
    /// Scores every token of the call's prefill. SGLang also generates, in the same request; the others do not.
    ///
    /// # Errors
    /// As [`Client::persist`]; the prompt or the prefill has no token.
    pub(super) fn run(&self) -> Result<Received> {
        let prompt = self.prompt()?;
        let scored = self.encode(&self.call.prefill, false)?;
        if self.call.score && (prompt.is_empty() || scored.is_empty()) {
            let reason = format!("{}: a score needs a token before the scored text, and one in it", self.call.what);
            return Err(self.client.failure(RemoteFault::Refused, reason));
        }
        match self.dialect {
            Dialect::Sglang => self.generate(&prompt, &scored),
            Dialect::LlamaCpp => self.one_by_one(prompt, &scored),
            _ => self.prompt_logprobs(&prompt, &scored),
        }
    }

    /// The id of the one token that is written `text`.
    pub(super) fn token(&self, text: &str) -> Option<u32> {
        match self.encode(&[Segment::Scaffold(text.to_owned())], false).ok()?[..] {
            [id] => Some(id),
            _ => None,
        }
    }

    fn top(&self) -> usize {
        self.call.logprobs.as_ref().map_or(0, |wanted| wanted.top)
    }

    fn watch(&self) -> &[u32] {
        self.call.logprobs.as_ref().map_or(&[], |wanted| &wanted.watch)
    }

    /// `read` applied to the JSON that the server answers to `body`, which covers at most `tokens` tokens.
    fn ask<T>(&self, path: &str, body: &Value, tokens: usize, read: impl Fn(&Value) -> Attempt<T>) -> Result<T> {
        let bounds = Bounds::of(tokens, self.top() + self.watch().len());
        let (call, stage) = (self.call, self.stage);
        self.client.persist((&call.what, call.seed), &stage.cancel, self.ends, |left| {
            read(&self.client.json(self.client.post(&stage.agent, path, body, left)?, bounds)?)
        })
    }

    /// The ids of the prompt, as far as the beginning of the reply.
    fn prompt(&self) -> Result<Vec<u32>> {
        let messages = match &self.call.prompt {
            Prompt::Raw(segments) => return self.encode(segments, true),
            Prompt::Chat(messages) => messages,
        };
        let thinking = json!({ "enable_thinking": self.call.think > 0 });
        if self.dialect == Dialect::LlamaCpp {
            let body = json!({ "messages": messages, "chat_template_kwargs": thinking });
            let rendered =
                |json: &Value| json["prompt"].as_str().map(str::to_owned).ok_or_else(|| lacks("a `prompt`", json));
            let text = self.ask("/apply-template", &body, request::bytes(self.call), rendered)?;
            return self.encode(&[Segment::Scaffold(text)], true);
        }
        let body = json!({
            "model": self.model, "messages": messages, "add_generation_prompt": true, "chat_template_kwargs": thinking,
        });
        self.ask("/tokenize", &body, request::bytes(self.call), tokens)
    }

    /// The ids of `segments`; `first` where they begin a sequence.
    fn encode(&self, segments: &[Segment], first: bool) -> Result<Vec<u32>> {
        let most = segments.iter().map(|segment| segment.text().len()).sum::<usize>();
        if self.dialect != Dialect::LlamaCpp {
            let text = request::text(segments);
            let body = json!({ "model": self.model, "prompt": text, "add_special_tokens": first });
            return if text.is_empty() { Ok(Vec::new()) } else { self.ask("/tokenize", &body, most, tokens) };
        }
        let mut ids = Vec::new();
        for (n, segment) in segments.iter().enumerate().filter(|(_, segment)| !segment.text().is_empty()) {
            let scaffold = matches!(segment, Segment::Scaffold(_));
            let first = first && n == 0;
            let body = json!({ "content": segment.text(), "add_special": first, "parse_special": scaffold });
            ids.extend(self.ask("/tokenize", &body, most, tokens)?);
        }
        Ok(ids)
    }

    /// vLLM: `prompt_logprobs` of a prompt of ids that ends with the scored ones. It generates one token at least, which
    /// is thrown away.
    fn prompt_logprobs(&self, prompt: &[u32], scored: &[u32]) -> Result<Received> {
        let ids = [prompt, scored].concat();
        let body = json!({
            "model": self.model, "prompt": ids, "max_tokens": 1, "temperature": 0, "prompt_logprobs": self.top(),
        });
        self.ask("completions", &body, ids.len(), |json| {
            let reported =
                json["choices"][0]["prompt_logprobs"].as_array().filter(|reported| reported.len() == ids.len());
            let reported = reported.ok_or_else(|| lacks("`prompt_logprobs` for each token of the prompt", json))?;
            let score = |(id, reported): (&u32, &Value)| {
                let one = |(id, reported): (&String, &Value)| {
                    alternative(&reported["logprob"], id.parse().ok(), &reported["decoded_token"])
                };
                let all = reported.as_object().ok_or_else(|| lacks("a log-probability", json))?;
                let own = all.get_key_value(&id.to_string()).and_then(one);
                let own = own.ok_or_else(|| lacks(&format!("the log-probability of token {id}"), json))?;
                Ok(scored_token(own, all.iter().filter_map(one).collect(), self.top()))
            };
            let scores = scored.iter().zip(&reported[prompt.len()..]).map(score).collect::<Attempt<_>>()?;
            let reused = json["usage"]["prompt_tokens_details"]["cached_tokens"].as_u64().unwrap_or(0);
            Ok(nothing_generated(scores, ids.len(), reused as usize))
        })
    }

    /// llama.cpp: a completion of one token for each scored one, which a bias makes the chosen one. The server keeps the
    /// prompt between them.
    fn one_by_one(&self, mut ids: Vec<u32>, scored: &[u32]) -> Result<Received> {
        let mut scores = Vec::with_capacity(scored.len());
        for &id in scored {
            let body = json!({
                // llama.cpp reports nothing for 0 alternatives.
                "prompt": ids, "n_predict": 1, "n_probs": self.top().max(1), "post_sampling_probs": false,
                "logit_bias": [[id, CERTAIN]], "temperature": 0, "cache_prompt": true,
            });
            scores.push(self.ask("/completion", &body, 1, |json| {
                let reported = &json["completion_probabilities"][0];
                let one =
                    |reported: &Value| alternative(&reported["logprob"], id_of(&reported["id"]), &reported["token"]);
                let own = one(reported).filter(|own| own.id == Some(id));
                let own = own.ok_or_else(|| lacks(&format!("the log-probability of token {id}"), json))?;
                let others = reported["top_logprobs"].as_array().into_iter().flatten().filter_map(one);
                Ok(scored_token(own, others.collect(), self.top()))
            })?);
            ids.push(id);
        }
        let computed = ids.len();
        Ok(nothing_generated(scores, computed, 0))
    }

    /// SGLang: its own interface scores the prompt's end, generates, and reports watched ids at every step.
    fn generate(&self, prompt: &[u32], scored: &[u32]) -> Result<Received> {
        let ids = [prompt, scored].concat();
        // SGLang has no log-probability for the first position that it reports, and with -1 reports none of the prompt.
        // `run` has refused an empty prompt where something is scored.
        let from = if self.call.score { json!(prompt.len() - 1) } else { json!(-1) };
        let watch = (!self.watch().is_empty()).then(|| self.watch());
        let body = json!({
            "input_ids": ids, "sampling_params": request::sglang_sampling(self.call), "return_logprob": true,
            "logprob_start_len": from, "top_logprobs_num": self.top(), "token_ids_logprob": watch,
            "return_text_in_logprobs": true, "stream": false,
        });
        self.ask("/generate", &body, ids.len() + self.call.max_tokens, |json| {
            let meta = &json["meta_info"];
            let count = |name: &str| meta[name].as_u64().unwrap_or(0) as usize;
            let scores = if self.call.score { self.steps(meta, "input", scored.len())? } else { Vec::new() };
            if !scores.iter().map(|score| score.id).eq(scored.iter().take(scores.len()).map(|id| Some(*id))) {
                return Err(lacks("the scored tokens at the prompt's end", meta));
            }
            let generated = count("completion_tokens").min(self.call.max_tokens);
            let logprobs =
                if self.call.logprobs.is_some() { self.steps(meta, "output", generated)? } else { Vec::new() };
            let text = json["text"].as_str().ok_or_else(|| lacks("a `text`", json))?;
            Bounds::of(self.call.max_tokens, 0).check(text.len())?;
            let length = self.call.max_tokens == 0 || meta["finish_reason"]["type"] == "length";
            let (prompt, reused) = (ids.len(), count("cached_tokens").min(ids.len()));
            Ok(Received {
                text: if self.call.max_tokens == 0 { String::new() } else { text.to_owned() },
                finish: Some(if length { Finish::Length } else { Finish::Stop }),
                usage: Some(Usage { prompt, reused, computed: prompt - reused, generated }),
                logprobs,
                scores,
                ..Received::default()
            })
        })
    }

    /// The last `wanted` steps that SGLang reports for its `side`, "input" or "output": rows of log-probability, id,
    /// text.
    fn steps(&self, meta: &Value, side: &str, wanted: usize) -> Attempt<Vec<TokenLogprob>> {
        let list = |what: &str| meta[format!("{side}_{what}")].as_array().map_or(&[][..], Vec::as_slice);
        let (own, top, watched) = (list("token_logprobs"), list("top_logprobs"), list("token_ids_logprobs"));
        let row = |row: &Value| alternative(&row[0], id_of(&row[1]), &row[2]);
        // The lists begin before the first step that is wanted, and end together.
        let step = |list: &[Value], back: usize| -> Vec<Alternative> {
            let reported = list.len().checked_sub(back).and_then(|at| list[at].as_array());
            reported.into_iter().flatten().filter_map(row).collect()
        };
        let missing = |what: &str| lacks(&format!("{what} for each of {wanted} {side} tokens"), meta);
        (1..=wanted)
            .rev()
            .map(|back| {
                let own = own.len().checked_sub(back).and_then(|at| row(&own[at]));
                let mut token =
                    scored_token(own.ok_or_else(|| missing("log-probabilities"))?, step(top, back), self.top());
                let reported = step(watched, back);
                for id in self.watch() {
                    let found = reported.iter().find(|one| one.id == Some(*id));
                    token.watched.push(found.ok_or_else(|| missing("those of watched tokens"))?.logprob);
                }
                Ok(token)
            })
            .collect()
    }
}

/// A token that was scored after `own`, with the `top` likeliest of `others`, likeliest first.
fn scored_token(own: Alternative, mut others: Vec<Alternative>, top: usize) -> TokenLogprob {
    others.sort_by(|a, b| b.logprob.total_cmp(&a.logprob).then(a.id.cmp(&b.id)));
    others.truncate(top);
    TokenLogprob { id: own.id, text: own.text, logprob: own.logprob, top: others, watched: Vec::new() }
}

fn alternative(logprob: &Value, id: Option<u32>, text: &Value) -> Option<Alternative> {
    let text = text.as_str().unwrap_or_default().to_owned();
    Some(Alternative { id, text, logprob: logprob.as_f64()? as f32 })
}

fn id_of(value: &Value) -> Option<u32> {
    value.as_u64().and_then(|id| u32::try_from(id).ok())
}

/// The ids that a server encoded a text to.
fn tokens(json: &Value) -> Attempt<Vec<u32>> {
    let ids = json["tokens"].as_array().map(|ids| ids.iter().map(id_of).collect::<Option<Vec<_>>>());
    ids.flatten().ok_or_else(|| lacks("`tokens`, a list of ids", json))
}

fn nothing_generated(scores: Vec<TokenLogprob>, prompt: usize, reused: usize) -> Received {
    let reused = reused.min(prompt);
    let usage = Usage { prompt, reused, computed: prompt - reused, generated: 0 };
    Received { scores, usage: Some(usage), finish: Some(Finish::Length), ..Received::default() }
}

/// The fault of an answer without something that such a server gives; an older version may not.
fn lacks(what: &str, json: &Value) -> Fault {
    use super::fault::{Again, beginning};
    Fault::new(RemoteFault::Broken, Again::Never, format!("expected {what}, found {}", beginning(&json.to_string())))
}

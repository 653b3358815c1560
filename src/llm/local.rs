//! The engine in this process as an [`Llm`].

use super::thoughts;
use super::{Call, Capabilities, Delta, Llm, ModelIdentity, OnDelta, OnFailure, OnReply, Reply};
use crate::cancel::Cancel;
use crate::engine::{Completion, Engine, Event, Request, Stats, Think};
use crate::error::{MootError, Result};
use crate::generation::{Message, Prompt, Role, Segment, Thinking, Thoughts};
use moot_models::Model;
use moot_models::tokenizer::ThoughtMarks;
use std::sync::mpsc::{Sender, channel};

/// A model that runs in this process.
#[derive(Debug)]
pub struct Local {
    engine: Engine,
    identity: ModelIdentity,
    cancel: Cancel,
    /// The model can think before it replies.
    thinks: bool,
}

impl Local {
    /// `cancel` ends every call in flight when it is set, as by Ctrl-C.
    #[must_use]
    pub fn new(engine: Engine, identity: ModelIdentity, cancel: Cancel) -> Self {
        let thinks = thinks(engine.model());
        Self { engine, identity, cancel, thinks }
    }

    /// Whether the model can think before it replies; for others [`Call::think`] has no effect.
    #[must_use]
    pub fn thinks(&self) -> bool {
        self.thinks
    }

    /// The tokens of `call`'s prompt, and how the model thinks about it. A chat with thinking on ends within the thoughts,
    /// any other outside of them: a template may open them itself, with thinking on or off. Raw prompts, and
    /// chats with `max_tokens` 0, are answered without thinking; a raw prompt is sent unchanged.
    fn prompt(&self, call: &Call) -> Result<(Vec<u32>, Option<Think>)> {
        let model = self.engine.model();
        let messages = match &call.prompt {
            Prompt::Chat(messages) => messages,
            Prompt::Raw(segments) => return Ok((model.tokenizer.encode_prompt(segments)?, None)),
        };
        let on = self.thinks && call.think > 0 && call.max_tokens > 0;
        let thinking = if on { Thinking::On } else { Thinking::Off };
        let prompt = chat_tokens(model, messages, thinking)?;
        Ok((prompt, if on { Some(self.think(call.think)?) } else { None }))
    }

    fn request(&self, tag: usize, call: &Call, events: &Sender<(usize, Event)>, cancel: &Cancel) -> Result<Request> {
        self.refuse_by_bytes(call)?;
        let (prompt, think) = self.prompt(call)?;
        // Apart from the prompt: a word that is split between the two becomes other tokens than in one piece, in exchange
        // the prompt's tokens, and so its cached pages, do not depend on the prefill.
        let prefill = self.engine.model().tokenizer.encode_continuation(&call.prefill)?;
        Ok(Request {
            tag,
            group: call.group,
            prompt,
            prefill,
            score: call.score,
            think,
            max_tokens: call.max_tokens,
            sampling: call.sampling,
            seed: call.seed,
            grammar: call.grammar.clone(),
            stop: call.stop.clone(),
            logprobs: call.logprobs.clone(),
            ignore_eos: false,
            events: events.clone(),
            cancel: cancel.clone(),
        })
    }

    /// Refuses a call whose bytes cannot fit as tokens, before they are tokenised.
    fn refuse_by_bytes(&self, call: &Call) -> Result<()> {
        let limits = self.engine.limits();
        let (bytes, limit) = (call.bytes(), limits.context.min(limits.positions()));
        // A token has at least one byte, so a call of so few bytes fits. Most calls return here.
        if bytes <= limit {
            return Ok(());
        }
        let tokenizer = &self.engine.model().tokenizer;
        let ids = 0..u32::try_from(tokenizer.vocab_size()).unwrap_or(u32::MAX);
        let longest = ids.filter_map(|id| tokenizer.token_bytes(id)).map(<[u8]>::len).max().unwrap_or(1).max(1);
        let prompt = bytes / longest;
        if prompt <= limit {
            return Ok(());
        }
        let (generate, limit_name) = (call.max_tokens.saturating_add(call.think), "what fits");
        let what = format!("{}: {bytes} bytes, of at most {longest} in a token", call.what);
        Err(MootError::TooLong { what, needed: prompt.saturating_add(generate), prompt, generate, limit_name, limit })
    }

    /// Thoughts with a budget of `tokens`.
    fn think(&self, tokens: usize) -> Result<Think> {
        let (tokenizer, marks) = (&self.engine.model().tokenizer, self.engine.model().template.thought_marks());
        let ids = |text: String| -> Result<Vec<u32>> {
            let mut ids = tokenizer.encode_prompt(&[Segment::Scaffold(text)])?;
            // These ids are appended to a sequence, so they have no beginning-of-sequence token.
            if tokenizer.add_bos() && ids.first().copied() == tokenizer.bos_id() {
                ids.remove(0);
            }
            Ok(ids)
        };
        Ok(Think {
            tokens,
            close: marks.close.to_owned(),
            close_id: tokenizer.special_id(marks.close),
            after: ids(marks.then.into())?,
            forced: ids(closing(marks))?,
        })
    }

    fn reply(&self, call: &Call, done: Completion) -> Reply {
        let logprobs = done.logprobs.into_iter().map(|report| report.written(self.engine.model()));
        let scores = done.scores.into_iter().map(|report| report.written(self.engine.model()));
        let thoughts = done.thoughts.map(|thoughts| Thoughts { text: thoughts.text.trim().to_owned(), ..thoughts });
        // A model may think without having been asked to, where neither a grammar nor a prefill prevents it.
        let free = call.grammar.is_none() && call.prefill.is_empty() && matches!(call.prompt, Prompt::Chat(_));
        let (thoughts, text) = match thoughts::split(&done.text) {
            (Some(text), reply) if free && thoughts::opened(&done.text) => {
                (Some(Thoughts { text, ..Thoughts::default() }), reply.to_owned())
            }
            _ => (thoughts, done.text),
        };
        Reply {
            logprobs: logprobs.collect(),
            text,
            thoughts,
            held_by: call.grammar.as_ref().map(|grammar| grammar.name.to_string()),
            finish: done.finish,
            usage: done.usage,
            tokens: done.tokens,
            scores: scores.collect(),
            dropped: Vec::new(),
            seconds: done.seconds,
        }
    }

    /// The engine, for its counters.
    #[must_use]
    pub fn engine(&self) -> &Engine {
        &self.engine
    }
}

impl Llm for Local {
    fn identity(&self) -> &ModelIdentity {
        &self.identity
    }

    fn is_deterministic(&self, _: &str) -> bool {
        true
    }

    fn engine_stats(&self) -> Option<Stats> {
        Some(self.engine.stats())
    }

    fn capabilities(&self, _: &str) -> Capabilities {
        Capabilities::ALL
    }

    fn token(&self, _: &str, text: &str) -> Option<u32> {
        let tokenizer = &self.engine.model().tokenizer;
        // First, because as content the letters of a control token become several tokens.
        tokenizer.special_id(text).or_else(|| {
            match tokenizer.encode_continuation(&[Segment::Content(text.to_owned())]).ok()?[..] {
                [id] => Some(id),
                _ => None,
            }
        })
    }

    /// Tokenises only what could be too long: a token has at least one byte.
    fn fits(&self, call: &Call) -> Result<()> {
        // Room for the text that a template adds to the call.
        const TEMPLATE: usize = 4096;
        let limits = self.engine.limits();
        let most = call.bytes().saturating_add(call.max_tokens).saturating_add(call.think).saturating_add(TEMPLATE);
        if most <= limits.context.min(limits.positions()) {
            return Ok(());
        }
        // The receiver is dropped at once: this request is only checked, never submitted.
        let request = self.request(0, call, &channel().0, &self.cancel)?;
        limits.check(&request).map_err(|error| named(error, call))
    }

    fn stream(&self, call: &Call, on_delta: &mut OnDelta<'_>) -> Result<Reply> {
        let cancel = self.cancel.child_of_both(&call.cancel);
        let mut told = |event: &Event| match event {
            Event::Thought(text) => on_delta(Delta::Thought(text)),
            Event::Text(text) => on_delta(Delta::Text(text)),
            Event::Done(_) | Event::Failed(_) => {}
        };
        let done = self.engine.run(|events| self.request(0, call, &events, &cancel), &mut told);
        Ok(self.reply(call, done.map_err(|error| named(error, call))?))
    }

    fn engine(&self, _: &str) -> Option<&Engine> {
        Some(&self.engine)
    }

    fn answer(&self, calls: &[Call], on_failure: OnFailure, on_reply: &mut OnReply<'_>) -> Vec<Result<Reply>> {
        let (events, inbox) = channel();
        let cancel = self.cancel.child();
        let mut results: Vec<Option<Result<Reply>>> = calls.iter().map(|_| None).collect();
        let mut requests = Vec::with_capacity(calls.len());
        for (tag, call) in calls.iter().enumerate() {
            match self.request(tag, call, &events, &cancel.child_of_both(&call.cancel)) {
                Ok(request) => requests.push(request),
                Err(error) => results[tag] = Some(Err(error)),
            }
        }
        // The loop below ends when the last request has dropped its sender.
        drop(events);
        let refused = results.iter().any(Option::is_some);
        if refused && on_failure == OnFailure::Cancel {
            // A refused call ends the stage before anything is computed. Each request holds a sender of `events`.
            drop(requests);
        } else if let Err(error) = self.engine.submit_all(requests) {
            // Submitted together, so that a stage runs in the same steps and shares its common prefix.
            // Errors cannot be cloned: the first result has it, and the others are `Interrupted`.
            results.iter_mut().find(|result| result.is_none()).into_iter().for_each(|result| {
                *result = Some(Err(MootError::Engine(error.to_string())));
            });
        }
        for (tag, event) in &inbox {
            match event {
                Event::Text(_) | Event::Thought(_) => {}
                Event::Failed(error) => {
                    if on_failure == OnFailure::Cancel {
                        cancel.cancel();
                    }
                    results[tag] = Some(Err(named(error, &calls[tag])));
                }
                Event::Done(done) => {
                    let reply = self.reply(&calls[tag], done);
                    on_reply(tag, &reply);
                    results[tag] = Some(Ok(reply));
                }
            }
        }
        results.into_iter().map(|result| result.unwrap_or(Err(MootError::Interrupted))).collect()
    }
}

/// Whether the model can think before it replies: its template knows that, or opens thoughts, or writes those of earlier
/// turns between marks that the model sets itself.
pub(crate) fn thinks(model: &Model) -> bool {
    let template = &model.template;
    let question = [Message::new(Role::User, "question")];
    let marks = template.thought_marks();
    let opens = template.render(&question, true, Thinking::On).is_ok_and(|prompt| is_open(&prompt, marks.open));
    opens || marks.unswitched || template.knows_thinking()
}

/// The tokens of a chat up to the reply. With thinking on they end within the thoughts, otherwise outside of them.
///
/// # Errors
/// A conversation that the template refuses.
pub(crate) fn chat_tokens(model: &Model, messages: &[Message], thinking: Thinking) -> Result<Vec<u32>> {
    let mut segments = model.template.render(messages, true, thinking)?;
    let marks = model.template.thought_marks();
    match (thinking, is_open(&segments, marks.open)) {
        (Thinking::On, false) => segments.push(Segment::Scaffold(format!("{}{}", marks.open, marks.before_close))),
        (Thinking::Off, true) => segments.push(Segment::Scaffold(closing(marks))),
        _ => {}
    }
    Ok(model.tokenizer.encode_prompt(&segments)?)
}

/// Whether a prompt ends within thoughts that its template opened.
fn is_open(prompt: &[Segment], open: &str) -> bool {
    matches!(prompt.last(), Some(Segment::Scaffold(text)) if text.trim_end().ends_with(open))
}

/// Ends thoughts that the model did not end; the reply follows.
fn closing(marks: &ThoughtMarks) -> String {
    [marks.before_close, marks.close, marks.then].concat()
}

/// `error` with the call's own name instead of "request".
fn named(error: MootError, call: &Call) -> MootError {
    match error {
        MootError::TooLong { needed, prompt, generate, limit_name, limit, .. } => {
            MootError::TooLong { what: call.what.clone(), needed, prompt, generate, limit_name, limit }
        }
        other => other,
    }
}

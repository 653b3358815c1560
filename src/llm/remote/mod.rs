//! A model behind an OpenAI-compatible URL as an [`Llm`]: vLLM, SGLang, llama.cpp's server, a hosted one.
//!
//! A stage's calls run side by side, each on a thread of its own, up to a limit for the whole model. Replies are
//! streamed: silence can be distinguished from work, and a cancelled call stops the server's work too. A call that failed for a
//! reason that may pass is sent again after a growing wait; one whose reply was complete never is.

mod address;
mod calls;
mod client;
mod dialect;
pub(crate) mod fault;
mod field;
mod in_process;
mod inbound;
pub(crate) mod patience;
mod request;
mod scores;
mod served;
mod stream;

pub use address::{Address, Key};
pub use calls::{GRAMMAR_BYTES, MOST_LOGPROBS, MOST_STOPS, STOP_BYTES, SentCall};
pub use in_process::{Answer, InProcess};
pub use patience::Patience;

use crate::cancel::Cancel;
use crate::error::{MootError, Result};
use crate::fault::RemoteFault;
use crate::generation::{Prompt, Thoughts, Usage};
use crate::llm::thoughts;
use crate::llm::{Call, Capabilities, Llm, ModelIdentity, OnFailure, OnReply, Reply};
use crate::threads;
use client::{Attempt, Client, Stage};
use dialect::Dialect;
use fault::{Again, Fault};
use inbound::{Bounds, MAX_COMPLAINT, read_start};
use request::{Fields, Refused};
use scores::Scorer;
use serde_json::Value;
use served::{names, only, served};
use std::fmt;
use std::io::BufReader;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender};
use std::time::{Duration, Instant};
use stream::Received;

/// Cancellation polling interval.
const TICK: Duration = Duration::from_millis(50);

/// Receives messages that are shown once, such as a field that the server refuses.
#[derive(Clone)]
pub struct Notice(Arc<dyn Fn(&str) + Send + Sync>);

impl Notice {
    /// `receive` is called with one line, from any thread.
    pub fn new(receive: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self(Arc::new(receive))
    }

    /// Passes one line on.
    pub fn tell(&self, line: &str) {
        (self.0)(line);
    }
}

impl Default for Notice {
    /// Drops all lines.
    fn default() -> Self {
        Self::new(|_| {})
    }
}

impl fmt::Debug for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Notice(..)")
    }
}

/// A model on a server.
#[derive(Debug)]
pub struct Remote {
    client: Client,
    calls: usize,
    notice: Notice,
    dialect: Dialect,
    /// As the server calls it.
    model: String,
    identity: ModelIdentity,
    refused: Refused,
    /// Whether the message that the server does not count tokens was shown.
    uncounted: AtomicBool,
    cancel: Cancel,
}

impl Remote {
    /// Asks the server which models it has; `cancel` ends every call in flight when it is set.
    ///
    /// # Errors
    /// [`MootError::Remote`] where no server answers, the key is refused, or `address` names no model and there is not
    /// exactly one.
    pub fn open(
        address: Address,
        key: Option<Key>,
        patience: Patience,
        notice: Notice,
        cancel: Cancel,
    ) -> Result<Self> {
        Self::connect(Client::new(address, key, patience), patience, notice, cancel)
    }

    fn connect(client: Client, patience: Patience, notice: Notice, cancel: Cancel) -> Result<Self> {
        let address = client.address.clone();
        let stage = client.stage(cancel.child());
        let served = served(&client, &stage, address.model.is_some())?;
        let model = match &address.model {
            Some(model) => model.clone(),
            None => only(&client, &served)?,
        };
        let known = names(&served);
        let entry = served.into_iter().find(|entry| entry.id == model);
        // Some servers answer to any name.
        let unlisted = entry.is_none() && !known.is_empty();
        let entry = entry.unwrap_or_default();
        let dialect = Dialect::detect(&client, &stage, entry.owner.as_deref());
        let name = Address { model: Some(model.clone()), ..address }.to_string();
        if unlisted {
            notice.tell(&format!("{name}: the server lists {known}, and no model of this name"));
        }
        // Another moot says by which weights and which arithmetic it answers.
        let (sha256, recipe) = if dialect == Dialect::Moot { (entry.sha256, entry.recipe) } else { Default::default() };
        let (architecture, context) = ("remote".into(), entry.context.unwrap_or(0));
        let identity = ModelIdentity { name, sha256, architecture, context, recipe };
        let (refused, uncounted) = (Refused::default(), AtomicBool::default());
        Ok(Self { client, calls: patience.calls.max(1), notice, dialect, model, identity, refused, uncounted, cancel })
    }

    fn answer_one(&self, call: &Call, stage: &Stage) -> Result<Reply> {
        let started = Instant::now();
        let refused = |reason: String| self.client.failure(RemoteFault::Refused, format!("{}: {reason}", call.what));
        self.dialect.check(call).map_err(refused)?;
        if call.max_tokens == 0 && !call.score {
            return Err(refused("nothing is to be generated and nothing scored".into()));
        }
        // With the call's own token too: where only the call is cancelled, its broken stream is not the server's fault.
        let stage = &Stage { agent: stage.agent.clone(), cancel: stage.cancel.child_of_both(&call.cancel) };
        let _admission = self.client.enter(&stage.cancel)?;
        // The time of a call begins with its admission, not in the queue.
        let ends = self.client.deadline();
        if self.dialect == Dialect::Moot {
            return calls::answer(&self.client, &self.model, call, stage, ends);
        }
        let watched = call.needs().watch;
        let mut received = Received::default();
        if call.score || watched {
            received = self.scorer(call, stage, ends).run()?.without_key(&self.client.inbound);
        }
        let mut without = Fields::new();
        // SGLang's scorer has generated the reply in the same request.
        if call.max_tokens > 0 && !(self.dialect == Dialect::Sglang && received.finish.is_some()) {
            let scored = std::mem::take(&mut received);
            (received, without) = self.complete(call, stage, ends)?;
            received.scores = scored.scores;
            if let (Some(usage), Some(more)) = (&mut received.usage, scored.usage) {
                *usage += more;
            }
        }
        // Newer servers of llama.cpp repeat the message that they continue.
        if self.dialect == Dialect::LlamaCpp && matches!(call.prompt, Prompt::Chat(_)) {
            received.without_start(&request::text(&call.prefill));
        }
        received.cut(&call.stop, call.logprobs.as_ref().map_or(0, |wanted| wanted.top));
        Ok(self.reply(call, received, &without, started))
    }

    fn scorer<'a>(&'a self, call: &'a Call, stage: &'a Stage, ends: Instant) -> Scorer<'a> {
        Scorer { client: &self.client, dialect: self.dialect, model: &self.model, call, stage, ends }
    }

    /// Generates the reply to `call`; also the fields that it went without.
    fn complete(&self, call: &Call, stage: &Stage, ends: Instant) -> Result<(Received, Fields)> {
        let mut without = self.refused.known();
        let received = self.client.persist((&call.what, call.seed), &stage.cancel, ends, |left| {
            loop {
                // The loop ends: each pass leaves out one more of the fields that were sent.
                let body = request::body(&self.model, call, self.dialect, &without);
                match self.attempt(call, &body, stage, left) {
                    Ok(received) => {
                        self.refused.remember(&without).iter().for_each(|line| self.tell(line));
                        return Ok(received);
                    }
                    // Only the message of a refusal names a field; that of an overloaded server does not.
                    Err(fault) if fault.kind == RemoteFault::Refused => {
                        without.insert(request::refused_field(&body, &fault.reason).ok_or(fault)?);
                    }
                    Err(fault) => return Err(fault),
                }
            }
        })?;
        Ok((received, without))
    }

    fn attempt(&self, call: &Call, body: &Value, stage: &Stage, left: Duration) -> Attempt<Received> {
        let inbound = &self.client.inbound;
        let response = self.client.post(&stage.agent, request::path(call), body, left)?;
        let kind = response.headers().get("content-type").and_then(|value| value.to_str().ok());
        let kind = inbound.hide(kind.unwrap_or_default()).to_ascii_lowercase();
        let bounds = Bounds::of_call(call);
        let mut reader = response.into_body().into_with_config().limit(bounds.wire()).reader();
        if kind.starts_with("text/event-stream") {
            let go_on = || !stage.cancel.is_cancelled();
            return with_logprobs(call, stream::events(BufReader::new(reader), bounds, inbound, &go_on)?);
        }
        if kind.starts_with("application/json") {
            return with_logprobs(call, stream::whole(&mut reader, bounds, inbound)?);
        }
        let start = inbound.excerpt(&read_start(reader, MAX_COMPLAINT).unwrap_or_default());
        let kind = inbound.excerpt(kind.as_bytes());
        let reason = format!("expected a stream of events or JSON, found {kind:?}: {start}");
        Err(Fault::new(RemoteFault::Broken, Again::Never, reason))
    }

    fn reply(&self, call: &Call, received: Received, without: &Fields, started: Instant) -> Reply {
        let unheld = without.contains("response_format") || without.contains("json_schema");
        let asked = call.schema.as_ref().filter(|_| !unheld && call.max_tokens > 0);
        let told = received.thoughts.trim();
        let (thought, text) = match thoughts::split(&received.text) {
            _ if !told.is_empty() => (Some(told.to_owned()), received.text.trim_start()),
            // A reply that a schema holds has no thoughts; a marker in it is a quotation.
            (thought, text) if asked.is_none() || thoughts::opened(&received.text) => (thought, text),
            _ => (None, received.text.as_str()),
        };
        // A server that ignores the schema replies with something else than an object.
        let held_by = asked.filter(|_| text.trim_start().starts_with('{')).map(|schema| schema.name.to_string());
        let usage = received.usage.unwrap_or_else(|| {
            if !self.uncounted.swap(true, Ordering::Relaxed) {
                self.tell("the server does not count tokens: prompts count as 0, replies by the pieces that came");
            }
            Usage { generated: received.pieces, ..Usage::default() }
        });
        Reply {
            text: text.to_owned(),
            thoughts: thought.map(|text| Thoughts { text, tokens: received.thought_tokens, cut: false }),
            held_by,
            finish: received.finish.expect("a reply is read to its finish (bug)"),
            usage,
            tokens: Vec::new(),
            logprobs: received.logprobs,
            scores: received.scores,
            dropped: request::dropped(call, self.dialect, without),
            seconds: started.elapsed().as_secs_f64(),
        }
    }

    /// Answers one call on the thread of the caller.
    ///
    /// # Errors
    /// [`MootError::Remote`]: the server cannot answer it, or did not answer as the protocol says.
    pub fn answer_here(&self, call: &Call) -> Result<Reply> {
        self.answer_one(call, &self.client.stage(self.cancel.child()))
    }

    fn tell(&self, line: &str) {
        self.notice.tell(&format!("{}: {line}", self.identity.name));
    }
}

impl Llm for Remote {
    fn identity(&self) -> &ModelIdentity {
        &self.identity
    }

    fn capabilities(&self, _: &str) -> Capabilities {
        self.dialect.capabilities()
    }

    fn is_deterministic(&self, _: &str) -> bool {
        self.dialect == Dialect::Moot
    }

    fn token(&self, role: &str, text: &str) -> Option<u32> {
        if !self.dialect.encodes() {
            return None;
        }
        let stage = self.client.stage(self.cancel.child());
        let call = Call::new(format!("the token {text:?}"), role, Prompt::Raw(Vec::new()), 0);
        self.scorer(&call, &stage, self.client.deadline()).token(text)
    }

    fn answer(&self, calls: &[Call], on_failure: OnFailure, on_reply: &mut OnReply<'_>) -> Vec<Result<Reply>> {
        let stage = self.client.stage(self.cancel.child());
        // The calls of a stage belong to one question: who cancels one of them cancels all.
        let is_cancelled = || self.cancel.is_cancelled() || calls.iter().any(|call| call.cancel.is_cancelled());
        let mut results: Vec<Option<Result<Reply>>> = calls.iter().map(|_| None).collect();
        let answer = |at: usize, sender: &Sender<(usize, Result<Reply>)>| {
            !stage.cancel.is_cancelled() && sender.send((at, self.answer_one(&calls[at], &stage))).is_ok()
        };
        let started = threads::for_each(calls.len(), self.calls, answer, |inbox| {
            loop {
                match inbox.recv_timeout(TICK) {
                    Ok((at, result)) => {
                        match &result {
                            Ok(reply) => on_reply(at, reply),
                            Err(_) if on_failure == OnFailure::Cancel => stage.end(),
                            Err(_) => {}
                        }
                        results[at] = Some(result);
                    }
                    Err(RecvTimeoutError::Timeout) if is_cancelled() => stage.end(),
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => break,
                }
            }
        });
        // No thread could be started then, so no call has a result.
        if let (Err(error), Some(first)) = (started, results.first_mut()) {
            *first = Some(Err(error));
        }
        results.into_iter().map(|result| result.unwrap_or(Err(MootError::Interrupted))).collect()
    }
}

impl InProcess {
    /// As [`Remote::open`], of a server at this function; a call is tried once.
    ///
    /// # Errors
    /// As [`Remote::open`].
    pub fn open(&self, address: Address, key: Option<Key>) -> Result<Remote> {
        let patience = Patience { retries: 0, ..Patience::default() };
        let client = Client::new(address, key, patience).answered_by(self.clone());
        Remote::connect(client, patience, Notice::default(), Cancel::default())
    }
}

/// A reply with the log-probabilities that `call` asked for.
fn with_logprobs(call: &Call, received: Received) -> Attempt<Received> {
    if call.logprobs.is_none() || !received.logprobs.is_empty() || received.text.is_empty() {
        return Ok(received);
    }
    let reason = "the reply has no log-probabilities, which the call asked for";
    Err(Fault::new(RemoteFault::Broken, Again::Never, reason))
}

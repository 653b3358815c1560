//! Replies from a record: a run told again without its model.

use crate::error::{MootError, Result};
use crate::eval::record::CallRecord;
use crate::llm::{Call, Llm, Message, ModelIdentity, Reply, Role};
use std::collections::{BTreeMap, HashMap};

/// A model that replies as it did in a recorded run; a call is known by its messages, token limit and seed.
pub struct Replay {
    identity: ModelIdentity,
    roles: BTreeMap<String, ModelIdentity>,
    replies: HashMap<Key, Reply>,
}

type Key = (Vec<(&'static str, String)>, usize, u64);

impl Replay {
    /// Replies with what `calls` recorded of the model `identity`; of equal calls the first counts.
    pub fn new<'a>(identity: ModelIdentity, calls: impl IntoIterator<Item = &'a CallRecord>) -> Self {
        let mut replies = HashMap::new();
        for call in calls {
            let reply = Reply {
                text: call.raw.as_ref().unwrap_or(&call.reply).clone(),
                thoughts: call.thoughts.clone(),
                held_by: call.grammar.clone(),
                finish: call.finish,
                usage: call.usage,
                tokens: call.tokens.clone(),
                logprobs: Vec::new(),
                seconds: call.seconds,
            };
            replies.entry(key(&call.messages, call.max_tokens, call.seed)).or_insert(reply);
        }
        Self { identity, roles: BTreeMap::new(), replies }
    }

    /// The models that the recorded run had for single roles ([`Header::roles`](crate::eval::record::Header::roles)).
    #[must_use]
    pub fn with_roles(mut self, roles: BTreeMap<String, ModelIdentity>) -> Self {
        self.roles = roles;
        self
    }

    fn reply(&self, call: &Call) -> Result<Reply> {
        self.replies.get(&key(&call.messages, call.max_tokens, call.seed)).cloned().ok_or_else(|| {
            MootError::Usage(format!(
                "{}: the record holds no call with this prompt, {} tokens at most and seed {} (it holds {} calls)",
                call.what,
                call.max_tokens,
                call.seed,
                self.replies.len()
            ))
        })
    }
}

impl Llm for Replay {
    fn identity(&self) -> &ModelIdentity {
        &self.identity
    }

    fn identity_of(&self, role: &str) -> &ModelIdentity {
        self.roles.get(role).unwrap_or(&self.identity)
    }

    fn ask_all(&self, calls: &[Call], on_reply: &mut dyn FnMut(usize, &Reply)) -> Result<Vec<Reply>> {
        let mut replies = Vec::with_capacity(calls.len());
        for (place, call) in calls.iter().enumerate() {
            let reply = self.reply(call)?;
            on_reply(place, &reply);
            replies.push(reply);
        }
        Ok(replies)
    }
}

fn key(messages: &[Message], max_tokens: usize, seed: u64) -> Key {
    let name = |role| match role {
        Role::System => "system",
        Role::User => "user",
        Role::Assistant => "assistant",
    };
    (messages.iter().map(|message| (name(message.role), message.content.clone())).collect(), max_tokens, seed)
}

//! Replies to chats, as OpenAI's API has them.

use moot::generation::{Finish, Message, Prompt, Role, Sampling, Schema};
use moot::llm::{Call, Llm, OnFailure, Reply};
use moot::workspace::{Control, Workspace};
use moot::{MootError, Result};
use serde::Deserialize;
use serde_json::{Value, json};

/// Chats that are answered together, in the same way.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Request {
    chats: Vec<Vec<Turn>>,
    role: String,
    schema: Option<Value>,
    max_tokens: usize,
    think: usize,
    temperature: f32,
    top_k: usize,
    top_p: f32,
    seed: u64,
    stop: Vec<String>,
}

/// A message of a chat.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Turn {
    role: TurnRole,
    content: String,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum TurnRole {
    #[serde(alias = "developer")]
    System,
    User,
    Assistant,
}

impl From<Turn> for Message {
    fn from(turn: Turn) -> Self {
        let role = match turn.role {
            TurnRole::System => Role::System,
            TurnRole::User => Role::User,
            TurnRole::Assistant => Role::Assistant,
        };
        Self::new(role, turn.content)
    }
}

/// The sampling of a temperature, where 0 takes the likeliest token.
///
/// # Errors
/// A number out of range, which `field` names.
pub(crate) fn sampling(field: &str, temperature: f32, top_k: usize, top_p: f32) -> Result<Sampling> {
    Sampling::new(temperature, top_k, top_p).map_err(|wrong| {
        MootError::Usage(format!("{field}{}: expected {}, found {}", wrong.field, wrong.expected, wrong.found))
    })
}

/// The replies, in the order of the chats; the result is JSON.
pub(super) fn replies(workspace: &Workspace, request: &Request, control: &Control) -> Result<String> {
    let llm = workspace.models();
    let calls = request.calls(llm, control)?;
    let replies = llm.answer(&calls, OnFailure::Cancel, &mut |_, _| {});
    // The failure that made the others fail comes first.
    let failure = |result: &Result<Reply>| result.as_ref().is_err_and(|e| !matches!(e, MootError::Interrupted));
    let (mut failed, answered): (Vec<_>, Vec<_>) = replies.into_iter().partition(failure);
    if !failed.is_empty() {
        failed.swap_remove(0)?;
    }
    let all = answered.into_iter().map(|reply| Ok(reply_fields(&reply?))).collect::<Result<Vec<Value>>>()?;
    Ok(json!(all).to_string())
}

fn reply_fields(reply: &Reply) -> Value {
    json!({
        "text": reply.text,
        "thoughts": reply.thoughts.as_ref().map(|thoughts| &thoughts.text),
        "cut": reply.finish == Finish::Length,
        "usage": reply.usage,
        "seconds": reply.seconds,
    })
}

impl Request {
    fn calls(&self, llm: &dyn Llm, control: &Control) -> Result<Vec<Call>> {
        if self.max_tokens == 0 {
            return Err(MootError::Usage("max_tokens: expected at least 1, found 0".into()));
        }
        let sampling = sampling("", self.temperature, self.top_k, self.top_p)?;
        let able = llm.capabilities(&self.role);
        let (grammar, schema) = self.schema.as_ref().map(|schema| Schema::with_grammar("schema", schema)).unzip();
        if schema.is_some() && !(able.grammar || able.schema) {
            let model = &llm.identity_of(&self.role).name;
            return Err(MootError::Usage(format!("schema: expected a model that takes one, found {model}")));
        }
        let call = |(index, chat): (usize, &Vec<Turn>)| {
            let last = chat.last().filter(|turn| matches!(turn.role, TurnRole::User));
            last.ok_or_else(|| {
                MootError::Usage(format!(
                    "messages: expected a last message of role user in chat {}, found none",
                    index + 1
                ))
            })?;
            let messages = chat.iter().cloned().map(Message::from).collect();
            Ok(Call {
                think: self.think,
                sampling,
                seed: self.seed,
                stop: self.stop.iter().filter(|stop| !stop.is_empty()).cloned().collect(),
                grammar: grammar.clone().filter(|_| able.grammar),
                schema: schema.clone().filter(|_| able.schema && !able.grammar),
                cancel: control.cancel.clone(),
                ..Call::new("chat", &self.role, Prompt::Chat(messages), self.max_tokens)
            })
        };
        self.chats.iter().enumerate().map(call).collect()
    }
}

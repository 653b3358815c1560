//! Who receives what happens while a question is answered.

use crate::serve::moot::turns::Turns;
use crate::serve::stream::Events;
use serde_json::Value;
use std::sync::Arc;

/// Receives the name of an event and its value.
pub(in crate::serve) type Teller = dyn Fn(&str, &Value) + Send + Sync;

/// Who receives what happens while a question is answered.
#[derive(Clone)]
pub(in crate::serve) enum Sink {
    /// Nothing: the client reads the answer alone.
    Discard,
    /// A client that reads named events.
    Events(Events),
    /// A client that reads a chat completion.
    Reasoning(Turns),
    /// A function that takes names and values.
    Told(Arc<Teller>),
}

impl Sink {
    /// Sends the event `name`.
    pub(in crate::serve) fn send(&self, name: &str, value: &Value) {
        match self {
            Self::Discard => {}
            Self::Events(events) => events.named(name, value),
            Self::Reasoning(turns) => turns.event(name, value),
            Self::Told(function) => function(name, value),
        }
    }
}

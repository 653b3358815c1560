//! Who receives what happens while a question is answered.

use crate::serve::debate::turns::Turns;
use crate::serve::stream::Events;
use serde_json::Value;

/// Who receives what happens while a question is answered.
#[derive(Clone)]
pub(super) enum Sink {
    /// Only the answer is wanted.
    Nobody,
    /// A client that reads named events.
    Events(Events),
    /// A client that reads a chat completion.
    Reasoning(Turns),
}

impl Sink {
    /// Sends the event `name`.
    pub(super) fn send(&self, name: &str, value: &Value) {
        match self {
            Self::Nobody => {}
            Self::Events(events) => events.named(name, value),
            Self::Reasoning(turns) => turns.told(name, value),
        }
    }
}

//! Conversations, and prompts as alternating trusted and untrusted text.

use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Author of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Instructions for the whole conversation.
    System,
    /// The question.
    User,
    /// The model's reply.
    Assistant,
}

impl Role {
    /// All roles, in the order a conversation usually has them.
    pub const ALL: [Self; 3] = [Self::System, Self::User, Self::Assistant];

    /// The name chat templates know it by.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::User => "user",
            Self::Assistant => "assistant",
        }
    }
}

/// One turn of a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Message {
    /// Its author.
    pub role: Role,
    /// Untrusted text, taken literally.
    pub content: String,
}

impl Message {
    /// A turn of `role` saying `content`.
    pub fn new(role: Role, content: impl Into<String>) -> Self {
        Self { role, content: content.into() }
    }
}

/// Whether a reasoning model may think before it answers.
///
/// Only templates that read `enable_thinking` (Qwen3's) and those with channels (gpt-oss's) use it: [`super::ChatTemplate::knows_thinking`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Thinking {
    /// The answer at once.
    #[default]
    Off,
    /// Thoughts first, between the model's own markers.
    On,
}

/// The conversation with each system message's text in front of the user turn that follows; without one, it becomes
/// a user turn itself.
pub(super) fn fold_system(messages: &[Message]) -> Vec<Message> {
    let mut folded = Vec::with_capacity(messages.len());
    let mut waiting: Vec<&str> = Vec::new();
    for message in messages {
        match message.role {
            Role::System => waiting.push(&message.content),
            Role::User if !waiting.is_empty() => {
                waiting.push(&message.content);
                folded.push(Message::new(Role::User, paragraphs(&waiting)));
                waiting.clear();
            }
            _ => folded.push(message.clone()),
        }
    }
    if !waiting.is_empty() {
        folded.push(Message::new(Role::User, paragraphs(&waiting)));
    }
    folded
}

/// The conversation with neighbouring turns of one role made one.
pub(super) fn join_turns(messages: &[Message]) -> Vec<Message> {
    let runs = messages.chunk_by(|a, b| a.role == b.role);
    let joined = |run: &[Message]| paragraphs(&run.iter().map(|message| message.content.as_str()).collect::<Vec<_>>());
    runs.map(|run| Message::new(run[0].role, joined(run))).collect()
}

/// Texts with a blank line between; nothing for those that are blank.
fn paragraphs(texts: &[&str]) -> String {
    let said: Vec<&str> = texts.iter().copied().filter(|text| !text.trim().is_empty()).collect();
    said.join("\n\n")
}

/// A stretch of a prompt, by its origin.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Segment {
    /// Written by the model's chat template or by a method: special tokens are recognised in it.
    Scaffold(String),
    /// Untrusted text: never encoded as a special token.
    Content(String),
}

impl Segment {
    /// The text of either kind.
    #[must_use]
    pub fn text(&self) -> &str {
        match self {
            Self::Scaffold(text) | Self::Content(text) => text,
        }
    }
}

/// The prompt's whole text and the byte ranges of it that are scaffold, ascending. Adjacent scaffold segments are one
/// range; content ends a range even where it is empty.
pub(super) fn join(segments: &[Segment]) -> (String, Vec<Range<usize>>) {
    let mut text = String::with_capacity(segments.iter().map(|s| s.text().len()).sum());
    let mut scaffold: Vec<Range<usize>> = Vec::new();
    let mut after_scaffold = false;
    for segment in segments {
        let from = text.len();
        text.push_str(segment.text());
        let is_scaffold = matches!(segment, Segment::Scaffold(_));
        match scaffold.last_mut() {
            Some(last) if is_scaffold && after_scaffold => last.end = text.len(),
            _ if is_scaffold => scaffold.push(from..text.len()),
            _ => {}
        }
        after_scaffold = is_scaffold;
    }
    (text, scaffold)
}

#[cfg(test)]
mod tests {
    use super::{Message, Role, Segment, fold_system, join, join_turns};

    fn chat(turns: &[(Role, &str)]) -> Vec<Message> {
        turns.iter().map(|&(role, content)| Message::new(role, content)).collect()
    }

    #[test]
    fn conversations_made_to_fit() {
        use Role::{Assistant, System, User};
        let long = chat(&[(System, "s"), (User, "a"), (Assistant, "b"), (System, "t"), (System, " "), (User, "c")]);
        assert_eq!(fold_system(&long), chat(&[(User, "s\n\na"), (Assistant, "b"), (User, "t\n\nc")]));
        assert_eq!(fold_system(&chat(&[(User, "a"), (System, "s")])), chat(&[(User, "a"), (User, "s")]));
        let twice = chat(&[(User, "a"), (User, "b"), (Assistant, "c"), (Assistant, ""), (User, "d")]);
        assert_eq!(join_turns(&twice), chat(&[(User, "a\n\nb"), (Assistant, "c"), (User, "d")]));
    }

    #[test]
    fn content_ends_a_scaffold_range_even_when_empty() {
        let scaffold = |s: &str| Segment::Scaffold(s.to_owned());
        let content = |s: &str| Segment::Content(s.to_owned());
        let (text, ranges) = join(&[scaffold("ab"), scaffold("c"), content(""), scaffold("d"), content("ef")]);
        assert_eq!(text, "abcdef");
        assert_eq!(ranges, [0..3, 3..4]);
    }
}

//! Conversations, and prompts as alternating trusted and untrusted text.

use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Standing instructions.
    System,
    /// The one who asks.
    User,
    /// The model.
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
    /// Who speaks.
    pub role: Role,
    /// What is said: untrusted text, taken literally.
    pub content: String,
}

impl Message {
    /// A turn of `role` saying `content`.
    pub fn new(role: Role, content: impl Into<String>) -> Self {
        Self { role, content: content.into() }
    }
}

/// A stretch of a prompt, by who wrote it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Segment {
    /// Written by the model's chat template: special tokens are recognised in it.
    Scaffold(String),
    /// Written by anybody: never more than text.
    Content(String),
}

impl Segment {
    /// The text, whoever wrote it.
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
    use super::{Segment, join};

    #[test]
    fn content_ends_a_scaffold_range_even_when_empty() {
        let scaffold = |s: &str| Segment::Scaffold(s.to_owned());
        let content = |s: &str| Segment::Content(s.to_owned());
        let (text, ranges) = join(&[scaffold("ab"), scaffold("c"), content(""), scaffold("d"), content("ef")]);
        assert_eq!(text, "abcdef");
        assert_eq!(ranges, [0..3, 3..4]);
    }
}

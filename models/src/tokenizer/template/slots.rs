//! Placeholders for contents: what a template is given, and how its text is cut at them.

use super::super::chat::{Message, Segment};

/// One content on its way through a template.
pub(super) struct Slot<'a> {
    /// White space before the content.
    lead: &'a str,
    core: &'a str,
    trail: &'a str,
    /// The text that stands for `core` in the template's input; empty for a blank content.
    placeholder: String,
}

impl<'a> Slot<'a> {
    /// A blank content needs no placeholder: it goes through as it is, since templates ask whether there is any.
    pub(super) fn new(mark: &str, index: usize, message: &'a Message) -> Self {
        let content = message.content.as_str();
        let core = content.trim();
        if core.is_empty() {
            return Self { lead: content, core, trail: "", placeholder: String::new() };
        }
        let start = content.len() - content.trim_start().len();
        let (lead, rest) = content.split_at(start);
        let trail = &rest[core.len()..];
        // Letters of both cases, and characters that HTML, JSON and URL escapes rewrite, so that a template that does
        // more than trim is noticed.
        Self { lead, core, trail, placeholder: format!("{mark}\"<&>'\\ %é{index}z") }
    }

    /// The content that the template is given.
    pub(super) fn given(&self) -> String {
        [self.lead, &self.placeholder, self.trail].concat()
    }

    /// How much of the content's own white space is left around its placeholder. Where the scaffold ends with the
    /// like, it is taken for content, which is the safe side.
    fn kept_space(&self, before: &str, after: &str) -> (&'a str, &'a str) {
        let lead = common(self.lead.chars().rev(), before.chars().rev());
        let trail = common(self.trail.chars(), after.chars());
        (&self.lead[self.lead.len() - lead..], &self.trail[..trail])
    }
}

/// Bytes of the characters that both begin with.
fn common(a: impl Iterator<Item = char>, b: impl Iterator<Item = char>) -> usize {
    a.zip(b).take_while(|(a, b)| a == b).map(|(a, _)| a.len_utf8()).sum()
}

/// Cuts `text` at the placeholders of `slots`, which are those of `messages`, and puts the contents back.
///
/// # Errors
/// A content that does not come out exactly once and whole.
pub(super) fn cut(text: &str, messages: &[Message], slots: &[Slot<'_>]) -> Result<Vec<Segment>, String> {
    let mut found_at = Vec::with_capacity(slots.len());
    for (index, slot) in slots.iter().enumerate().filter(|(_, slot)| !slot.placeholder.is_empty()) {
        let mut found = text.match_indices(&slot.placeholder).map(|(at, _)| at);
        match (found.next(), found.next()) {
            (Some(at), None) => found_at.push((at, slot)),
            (at, _) => {
                let role = messages[index].role.name();
                let fate = if at.is_none() { "drops or rewrites" } else { "repeats" };
                return Err(format!("it {fate} the content of message {} of {} ({role})", index + 1, slots.len()));
            }
        }
    }
    found_at.sort_by_key(|&(at, _)| at);
    let mut segments = Vec::with_capacity(2 * found_at.len() + 1);
    let mut from = 0;
    for (at, slot) in found_at {
        let (lead, trail) = slot.kept_space(&text[from..at], &text[at + slot.placeholder.len()..]);
        push_scaffold(&mut segments, &text[from..at - lead.len()]);
        segments.push(Segment::Content([lead, slot.core, trail].concat()));
        from = at + slot.placeholder.len() + trail.len();
    }
    push_scaffold(&mut segments, &text[from..]);
    Ok(segments)
}

fn push_scaffold(segments: &mut Vec<Segment>, text: &str) {
    if !text.is_empty() {
        segments.push(Segment::Scaffold(text.to_owned()));
    }
}

//! Thoughts of a model before its reply: recorded, never read as a reply.

/// How thoughts begin, in every family that thinks (Qwen3, DeepSeek-R1 and models distilled from it).
pub(crate) const OPEN: &str = "<think>";
/// How they end.
pub(crate) const CLOSE: &str = "</think>";

/// Splits the thoughts at the beginning of `text` from the reply after them. A thought that does not end leaves
/// nothing of the reply; the opening marker may be missing, since some templates write it into the prompt.
#[must_use]
pub(crate) fn split(text: &str) -> (Option<String>, &str) {
    let start = text.trim_start();
    let opened = start.strip_prefix(OPEN);
    let inner = opened.unwrap_or(start);
    match inner.split_once(CLOSE) {
        Some((thought, reply)) => (Some(thought.trim().to_owned()), reply.trim_start()),
        None if opened.is_some() => (Some(inner.trim().to_owned()), ""),
        None => (None, text),
    }
}

#[cfg(test)]
mod tests {
    use super::split;

    #[test]
    fn thoughts_are_cut_from_the_beginning_alone() {
        let cases = [
            ("<think>\nHm.\n</think>\n\nAnswer: 1", (Some("Hm."), "Answer: 1")),
            ("Hm.</think>Answer: 1", (Some("Hm."), "Answer: 1")),
            (" <think>never ends", (Some("never ends"), "")),
            ("<think></think>\n\nAnswer: 1", (Some(""), "Answer: 1")),
            ("Answer: <think> is a word", (None, "Answer: <think> is a word")),
            ("", (None, "")),
        ];
        for (text, (thought, reply)) in cases {
            assert_eq!(split(text), (thought.map(str::to_owned), reply), "{text:?}");
        }
    }
}

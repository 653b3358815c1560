//! Thoughts of a model before its reply: recorded, never read as a reply.

/// How thoughts begin and end: of Qwen3, DeepSeek-R1 and models distilled from it, and of Ministral 3.
const MARKS: [(&str, &str); 2] = [("<think>", "</think>"), ("[THINK]", "[/THINK]")];

/// Whether `text` begins with thoughts.
#[must_use]
pub(crate) fn opened(text: &str) -> bool {
    MARKS.iter().any(|(open, _)| text.trim_start().starts_with(*open))
}

/// Splits the thoughts at the beginning of `text` from the reply after them. A thought that does not end leaves
/// nothing of the reply; the first opening marker may be missing, since some templates write it into the prompt.
#[must_use]
pub(crate) fn split(text: &str) -> (Option<String>, &str) {
    let start = text.trim_start();
    let opened = MARKS.iter().find_map(|&(open, close)| Some((start.strip_prefix(open)?, close)));
    let (inner, close) = opened.unwrap_or((start, MARKS[0].1));
    match inner.split_once(close) {
        Some((thought, reply)) => (Some(thought.trim().to_owned()), reply.trim_start()),
        None if opened.is_some() => (Some(inner.trim().to_owned()), ""),
        None => (None, text),
    }
}

#[cfg(test)]
mod tests {
    use super::{opened, split};

    #[test]
    fn thoughts_are_cut_from_the_beginning_alone() {
        let cases = [
            ("<think>\nHm.\n</think>\n\nAnswer: 1", (Some("Hm."), "Answer: 1")),
            ("Hm.</think>Answer: 1", (Some("Hm."), "Answer: 1")),
            (" <think>never ends", (Some("never ends"), "")),
            ("<think></think>\n\nAnswer: 1", (Some(""), "Answer: 1")),
            ("Answer: <think> is a word", (None, "Answer: <think> is a word")),
            ("[THINK]Hm.[/THINK]Answer: 1", (Some("Hm."), "Answer: 1")),
            ("[THINK]Hm. </think> is a word", (Some("Hm. </think> is a word"), "")),
            ("Answer: 1 [/THINK]", (None, "Answer: 1 [/THINK]")),
            ("", (None, "")),
        ];
        for (text, (thought, reply)) in cases {
            assert_eq!(split(text), (thought.map(str::to_owned), reply), "{text:?}");
        }
        assert!(opened(" [THINK]Hm.") && opened("<think>") && !opened("Answer: <think>"));
    }
}

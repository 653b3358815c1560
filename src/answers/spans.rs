//! Which part of a reply each of its tokens wrote.

use crate::generation::TokenLogprob;
use std::ops::Range;

/// The byte range of `reply` that each token wrote, in order. It is empty for a token that is not in the text: a control
/// token, or a part of a character, which belongs to the last token of that character.
pub(crate) fn ranges(reply: &str, tokens: &[TokenLogprob]) -> Vec<Range<usize>> {
    let mut ranges: Vec<Range<usize>> = Vec::with_capacity(tokens.len());
    let mut at = 0;
    // The last token whose character is not whole yet.
    let mut open: Option<usize> = None;
    for token in tokens {
        let rest = &reply[at..];
        // A token that ends within a character is decoded with U+FFFD there.
        let whole = token.text.split('\u{fffd}').next().unwrap_or_default();
        if let Some(length) = written(rest, &token.text) {
            ranges.push(at..at + length);
            at += length;
            // A token without text may come between the parts of a character.
            open = if length > 0 { None } else { open };
        } else if whole.len() < token.text.len() {
            let length = written(rest, whole).unwrap_or(0);
            ranges.push(at..at + length);
            at += length;
            open = Some(ranges.len() - 1);
        } else if let Some((index, gap)) = open.zip(rest.find(whole)) {
            ranges[index].end = at + gap;
            at += gap + whole.len();
            ranges.push(at - whole.len()..at);
            open = None;
        } else {
            ranges.push(at..at);
        }
    }
    // The reply ends with that character, or was cut within it.
    if let Some(index) = open {
        ranges[index].end = reply.len();
    }
    ranges
}

/// How many bytes of `rest` a token of this text wrote, if it did. A reply may lack the space before its first word.
fn written(rest: &str, text: &str) -> Option<usize> {
    if rest.starts_with(text) {
        return Some(text.len());
    }
    let (after, word) = (rest.trim_start(), text.trim_start());
    (!word.is_empty() && after.starts_with(word)).then(|| rest.len() - after.len() + word.len())
}

#[cfg(test)]
mod tests {
    use super::ranges;
    use crate::generation::TokenLogprob;

    fn parts<'a>(reply: &'a str, tokens: &[&str]) -> Vec<&'a str> {
        let token = |text: &&str| TokenLogprob {
            id: None,
            text: (*text).to_owned(),
            logprob: 0.0,
            top: Vec::new(),
            watched: Vec::new(),
        };
        let tokens: Vec<TokenLogprob> = tokens.iter().map(token).collect();
        ranges(reply, &tokens).into_iter().map(|range| &reply[range]).collect()
    }

    #[test]
    fn tokens_make_up_the_reply() {
        assert_eq!(parts("Mira was born.", &["Mira", " was", " bor", "n", "."]), ["Mira", " was", " bor", "n", "."]);
        // Words without their spaces, and a first word whose space was dropped.
        assert_eq!(parts("Mira was", &[" Mira", "was"]), ["Mira", " was"]);
        // Control tokens and a token after a stop text are not in the reply.
        assert_eq!(parts("Yes. No.", &["", "Yes.", "", " No.", "\n"]), ["", "Yes.", "", " No.", ""]);
        assert_eq!(parts("Yes.", &["[Relevant]", "Yes", ".", "[Utility:5]"]), ["", "Yes", ".", ""]);
    }

    #[test]
    fn a_character_of_several_tokens_belongs_to_the_last() {
        assert_eq!(
            parts("in Łódź so", &["in", " \u{fffd}", "\u{fffd}", "ód", "\u{fffd}", "\u{fffd}", " so"]),
            ["in", " ", "Ł", "ód", "", "ź", " so"]
        );
        assert_eq!(parts("a橋", &["a", "\u{fffd}", "", "\u{fffd}"]), ["a", "", "", "橋"]);
        // A reply that was cut within a character has the mark itself.
        assert_eq!(parts("a\u{fffd}", &["a", "\u{fffd}"]), ["a", "\u{fffd}"]);
    }
}

//! Character references of markup: `&amp;`, `&#233;`.

use super::tokens::{Token, tokens};

/// The longest prefix of `text` that can be a character reference.
pub(super) fn reference(text: &str) -> &str {
    let name = text[1..].find(|c: char| !c.is_ascii_alphanumeric() && c != '#').map_or(text.len(), |at| 1 + at);
    &text[..name + usize::from(text[name..].starts_with(';'))]
}

/// Decodes a character reference.
pub(super) fn decode(reference: &str) -> String {
    let mut text = String::new();
    for token in tokens(reference).map_while(Result::ok) {
        if let Token::Text { text: part, .. } = token {
            text.push_str(&part);
        }
    }
    text
}

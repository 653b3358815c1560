//! Texts of the page, each stored once and known by its number.

use crate::escape;
use serde_json::Value;
use std::collections::HashMap;

/// Texts by number. A text is stored as it is shown: without characters that steer or cannot be seen (`escape`).
#[derive(Default)]
pub(super) struct Texts {
    list: Vec<String>,
    numbers: HashMap<String, usize>,
}

impl Texts {
    /// The number of `text`.
    pub(super) fn add(&mut self, text: &str) -> usize {
        let shown = escape::lines(text);
        if let Some(&number) = self.numbers.get(&shown) {
            return number;
        }
        let number = self.list.len();
        self.list.push(shown.clone());
        self.numbers.insert(shown, number);
        number
    }

    /// As [`Texts::add`], `null` for an empty text.
    pub(super) fn add_some(&mut self, text: &str) -> Value {
        if text.trim().is_empty() { Value::Null } else { self.add(text).into() }
    }

    /// All texts, by number.
    pub(super) fn list(&self) -> &[String] {
        &self.list
    }
}

/// JSON that is safe in an element of HTML: the same value, without a character that HTML reads as markup, and without
/// characters that steer (`escape::json`, U+2028 and U+2029 among them).
pub(super) fn embedded(value: &impl serde::Serialize) -> String {
    // Texts, numbers and lists of them always serialise.
    let text = escape::json(&serde_json::to_string(value).unwrap_or_else(|_| "null".into()));
    let mut out = String::with_capacity(text.len() + text.len() / 16);
    for c in text.chars() {
        // Outside strings JSON has none of these.
        match c {
            '<' => out.push_str("\\u003c"),
            '>' => out.push_str("\\u003e"),
            '&' => out.push_str("\\u0026"),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{Texts, embedded};
    use serde_json::{Value, json};

    #[test]
    fn a_text_is_stored_once_and_as_it_is_shown() {
        let mut texts = Texts::default();
        let (a, b, again) = (texts.add("one\ntwo\u{202e}"), texts.add("x\u{0}\u{200b}y"), texts.add("one\ntwo "));
        assert_eq!((a, b, again), (0, 1, 0));
        assert_eq!(texts.list(), ["one\ntwo ", "x y"]);
        assert_eq!((texts.add_some("  \n"), texts.add_some("one\ntwo ")), (Value::Null, json!(0)));
    }

    #[test]
    fn embedded_json_is_the_same_value_and_no_markup() {
        let value = json!({"</script>": ["<!--<img onerror=x>", "a&b", "\u{2028}\u{2029}\u{202e}", "\"\\"]});
        let text = embedded(&value);
        assert!(!text.contains(['<', '>', '&', '\u{2028}', '\u{2029}', '\u{202e}']), "{text}");
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
    }
}

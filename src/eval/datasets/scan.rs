//! Splits one large JSON value into its members without parsing them, so that an error names the member's own line.

use crate::jsonl::MAX_VALUES;
use std::borrow::Cow;
use std::ops::Range;

/// One element of an array, or one entry of an object.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Member {
    /// The key in an object; `None` in an array.
    pub(super) key: Option<String>,
    /// The line of the file that the value starts on, from 1.
    pub(super) line: usize,
    /// Bytes of the value, without white space around it.
    pub(super) span: Range<usize>,
}

/// Where the text stops being an array or an object, and why.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Fault {
    /// From 1.
    pub(super) line: usize,
    /// The content found, for an error.
    pub(super) found: String,
}

/// The members of the array or object that `text[within]` is. Values are only delimited, by brackets, commas and
/// strings; whether each is JSON is found when it is parsed.
pub(super) fn members(text: &str, within: Range<usize>) -> Result<Vec<Member>, Fault> {
    let line = 1 + count_lines(&text.as_bytes()[..within.start]);
    let mut scanner = Scanner { bytes: &text.as_bytes()[..within.end], at: within.start, line };
    let members = scanner.members(text)?;
    scanner.space();
    match scanner.peek() {
        None => Ok(members),
        Some(_) => Err(scanner.fault("text after the end of the JSON value")),
    }
}

fn count_lines(bytes: &[u8]) -> usize {
    bytes.iter().filter(|&&b| b == b'\n').count()
}

struct Scanner<'a> {
    bytes: &'a [u8],
    at: usize,
    line: usize,
}

impl Scanner<'_> {
    fn members(&mut self, text: &str) -> Result<Vec<Member>, Fault> {
        self.space();
        let keyed = match self.peek() {
            Some(b'[') => false,
            Some(b'{') => true,
            _ => return Err(self.fault("neither an array nor an object")),
        };
        let close = if keyed { b'}' } else { b']' };
        self.step();
        let mut members = Vec::new();
        self.space();
        if self.peek() == Some(close) {
            self.step();
            return Ok(members);
        }
        loop {
            self.space();
            let key = if keyed { Some(self.key(text)?) } else { None };
            self.space();
            let (start, line) = (self.at, self.line);
            self.value()?;
            let end = start + text[start..self.at].trim_end().len();
            if end == start {
                return Err(self.fault("no value where one was due"));
            }
            if members.len() == MAX_VALUES {
                return Err(self.fault(&format!("more than {MAX_VALUES} items; JSON lines may hold more")));
            }
            members.push(Member { key, line, span: start..end });
            match self.peek() {
                Some(b',') => self.step(),
                Some(b) if b == close => {
                    self.step();
                    return Ok(members);
                }
                Some(_) => return Err(self.fault("brackets that do not match")),
                None => return Err(self.fault("JSON that ends too early")),
            }
        }
    }

    fn key(&mut self, text: &str) -> Result<String, Fault> {
        let start = self.at;
        if self.peek() != Some(b'"') {
            return Err(self.fault("no name in quotes where one was due"));
        }
        self.string()?;
        let key = serde_json::from_str(&text[start..self.at]).map_err(|_| self.fault("a broken name"))?;
        self.space();
        if self.peek() != Some(b':') {
            return Err(self.fault("no colon after a name"));
        }
        self.step();
        Ok(key)
    }

    /// Moves to the comma or the bracket that ends the value.
    fn value(&mut self) -> Result<(), Fault> {
        let mut depth = 0_usize;
        while let Some(b) = self.peek() {
            match b {
                b'"' => {
                    self.string()?;
                    continue;
                }
                b'[' | b'{' => depth += 1,
                b']' | b'}' | b',' if depth == 0 => return Ok(()),
                // Above 0: at depth 0 the arm before it has returned.
                b']' | b'}' => depth -= 1,
                _ => {}
            }
            self.step();
        }
        Ok(())
    }

    /// Moves behind the string that starts here.
    fn string(&mut self) -> Result<(), Fault> {
        self.step();
        while let Some(b) = self.peek() {
            self.step();
            match b {
                b'"' => return Ok(()),
                b'\\' if self.peek().is_some() => self.step(),
                _ => {}
            }
        }
        Err(self.fault("JSON that ends within a string"))
    }

    fn space(&mut self) {
        while self.peek().is_some_and(|b| b.is_ascii_whitespace()) {
            self.step();
        }
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn step(&mut self) {
        self.line += usize::from(self.bytes[self.at] == b'\n');
        self.at += 1;
    }

    fn fault(&self, found: &str) -> Fault {
        Fault { line: self.line, found: found.to_owned() }
    }
}

/// `text` with the bare words `NaN`, `Infinity` and `-Infinity`, which Python's `json` writes, as `null`.
/// Strings stay as they are.
pub(super) fn without_bare_numbers(text: &str) -> Cow<'_, str> {
    let mut out = String::new();
    let mut copied = 0;
    let mut scanner = Scanner { bytes: text.as_bytes(), at: 0, line: 1 };
    while let Some(b) = scanner.peek() {
        if b == b'"' {
            // A string without an end: the parser reports it.
            let _ = scanner.string();
            continue;
        }
        if let Some(word) = bare(text, scanner.at) {
            out.push_str(&text[copied..scanner.at]);
            out.push_str("null");
            scanner.at += word;
            copied = scanner.at;
            continue;
        }
        scanner.step();
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    out.push_str(&text[copied..]);
    Cow::Owned(out)
}

/// Bytes of the bare word at `at`, if there is one by itself.
fn bare(text: &str, at: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let joins = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'-' | b'+') || !b.is_ascii();
    if at > 0 && joins(&bytes[at - 1]) {
        return None;
    }
    let word = ["NaN", "Infinity", "-Infinity"].into_iter().find(|word| bytes[at..].starts_with(word.as_bytes()))?;
    (!bytes.get(at + word.len()).is_some_and(joins)).then_some(word.len())
}

#[cfg(test)]
mod tests {
    use super::{Fault, members, without_bare_numbers};
    use proptest::prelude::*;

    /// Key, line and text of a member.
    type Split<'a> = (Option<String>, usize, &'a str);

    fn split(text: &str) -> Result<Vec<Split<'_>>, Fault> {
        Ok(members(text, 0..text.len())?.into_iter().map(|m| (m.key, m.line, &text[m.span])).collect())
    }

    #[test]
    fn members_with_their_lines() {
        let array = split("[\n {\"a\": \"]\\\",[\"},\n 2 ,\n[3, {}]\n]\n").unwrap();
        assert_eq!(array, [(None, 2, "{\"a\": \"]\\\",[\"}"), (None, 3, "2"), (None, 4, "[3, {}]")]);
        let object = split("{\"x\\n\":{}, \"y\" : [1,\n2]}").unwrap();
        assert_eq!(object, [(Some("x\n".into()), 1, "{}"), (Some("y".into()), 1, "[1,\n2]")]);
        assert_eq!(split(" [ ] ").unwrap(), []);
        for (text, line) in
            [("[1,\n2", 2), ("[1\n}", 2), ("[1] 2", 1), ("{1: 2}", 1), ("[,]", 1), ("[\"a", 1), ("3", 1), ("", 1)]
        {
            assert_eq!(split(text).unwrap_err().line, line, "{text}");
        }
    }

    #[test]
    fn bare_words_outside_strings() {
        for (text, want) in [
            (r#"{"a": NaN, "b": [-Infinity,Infinity]}"#, r#"{"a": null, "b": [null,null]}"#),
            (r#"{"a": "NaN, \" NaN", "NaN": NaN}"#, r#"{"a": "NaN, \" NaN", "NaN": null}"#),
            (r#"{"a": NaNs}"#, r#"{"a": NaNs}"#),
            ("1NaN", "1NaN"),
        ] {
            assert_eq!(without_bare_numbers(text), want);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn no_text_panics(text in "[\\[\\]{}\",:\\\\a1 \\n\u{e9}]{0,40}") {
            let _ = split(&text);
            let _ = without_bare_numbers(&text);
        }

        #[test]
        fn output_of_serde_is_split_as_serde_reads_it(texts in prop::collection::vec(any::<String>(), 0..5)) {
            let text = serde_json::to_string_pretty(&texts).unwrap();
            let found: Vec<String> = split(&text).unwrap().iter().map(|m| serde_json::from_str(m.2).unwrap()).collect();
            prop_assert_eq!(found, texts);
        }
    }
}

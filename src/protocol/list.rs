//! Lists of texts in replies: `["X", "Y"]`. The one writer and the one reader of them.
//!
//! An item is written between quotation marks. [`written`] puts a backslash before each quotation mark and each backslash of an item,
//! which is read back as it was. Small models also write backslashes as the document has them (`"C:\data\pump.txt"`), so the
//! reader decides item by item:
//!
//! - Where every backslash of an item begins `\"`, `\\`, `\/` or `\uXXXX`, the item is JSON. `\n` and the like are not among them:
//!   they begin `\new` as often.
//! - In any other item a backslash is itself, but before a quotation mark: there `\"` is that mark and `\\` a backslash, as in
//!   arguments of Windows programs.
//!
//! A path that ends in a backslash ends its item too (`["C:\data\", "D:\logs\"]`) where the list cannot be read otherwise.

use std::borrow::Cow;

/// The list of `items`, each on one line.
pub(super) fn written(items: &[String]) -> String {
    let item = |item: &String| format!("\"{}\"", one_line(item).replace('\\', r"\\").replace('"', "\\\""));
    format!("[{}]", items.iter().map(item).collect::<Vec<_>>().join(", "))
}

/// A line's worth of text: no line ends, single spaces, nothing that cannot be printed.
pub(super) fn one_line(text: &str) -> String {
    let printed: String = text.chars().filter(|c| !c.is_control() || c.is_whitespace()).collect();
    printed.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The items of a list whose `[` was read.
pub(super) struct Read<'a> {
    /// Trimmed.
    pub(super) items: Vec<String>,
    /// The text after its `]`; `None` if the text ends before.
    pub(super) rest: Option<&'a str>,
}

/// Reads a list whose `[` was read, as a model writes it: single and curly quotation marks and bare words pass. `None`
/// for text that is not a list. A list that was cut has its whole items.
pub(super) fn read(text: &str) -> Option<Read<'_>> {
    let strict = read_by(text, Ends::Strict);
    match &strict {
        Some(Read { rest: Some(_), .. }) => strict,
        _ => read_by(text, Ends::Lenient).filter(|read| read.rest.is_some()).or(strict),
    }
}

/// Where an item in double quotation marks ends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ends {
    /// At a mark without a backslash of its own.
    Strict,
    /// Also at a mark with a backslash, if the list continues or ends after it.
    Lenient,
}

fn read_by(text: &str, ends: Ends) -> Option<Read<'_>> {
    let mut items = Vec::new();
    let mut rest = text.trim_start();
    loop {
        if let Some(after) = rest.strip_prefix(']') {
            return Some(Read { items, rest: Some(after) });
        }
        let cut = |items: Vec<String>| Some(Read { items, rest: None });
        if rest.is_empty() {
            return cut(items);
        }
        let Some((item, after)) = item(rest, ends) else { return if is_open(rest) { cut(items) } else { None } };
        let after = after.trim_start();
        items.push(item.trim().to_owned());
        rest = match after.strip_prefix(',') {
            Some(more) => more.trim_start(),
            None if after.starts_with(']') || after.is_empty() => after,
            None => return None,
        };
    }
}

/// Whether `text` can be the beginning of an item that was cut.
fn is_open(text: &str) -> bool {
    text.starts_with(['"', '\'', '‘', '“', '”']) || !text.contains(['[', '"', '\n'])
}

/// An item and what follows it.
fn item(text: &str, ends: Ends) -> Option<(Cow<'_, str>, &str)> {
    let first = text.chars().next()?;
    let inner = &text[first.len_utf8()..];
    match first {
        '"' => {
            let end = end(inner, ends)?;
            Some((decoded(&inner[..end]), &inner[end + 1..]))
        }
        '\'' | '‘' | '“' | '”' => {
            let end = inner.char_indices().find(|&(at, c)| closes(first, c) && goes_on(&inner[at + c.len_utf8()..]));
            let (at, c) = end?;
            Some((Cow::Borrowed(&inner[..at]), &inner[at + c.len_utf8()..]))
        }
        _ => {
            let end = text.find([',', ']', '[', '"', '\n'])?;
            (end > 0).then(|| (Cow::Borrowed(&text[..end]), &text[end..]))
        }
    }
}

/// The position of the quotation mark that ends an item: one after which the list goes on. A mark within an item need
/// not have a backslash.
fn end(inner: &str, ends: Ends) -> Option<usize> {
    for (at, _) in inner.match_indices('"') {
        let (escaped, after) = (backslashes(&inner[..at]) % 2 == 1, &inner[at + 1..]);
        if escaped && ends == Ends::Lenient && must_go_on(after) || !escaped && goes_on(after) {
            return Some(at);
        }
        // Two items without a comma between them: this is not a list.
        if !escaped && after.trim_start().starts_with('"') {
            return None;
        }
    }
    None
}

/// A comma, the end of the list, or the end of a text that was cut follows.
fn goes_on(after: &str) -> bool {
    let after = after.trim_start();
    after.is_empty() || after.starts_with([',', ']'])
}

/// The next item's quotation mark follows, or the end of the list with the end of the text or an explanation.
fn must_go_on(after: &str) -> bool {
    let after = after.trim_start();
    if let Some(next) = after.strip_prefix(',') {
        return next.trim_start().starts_with('"');
    }
    let Some(behind) = after.strip_prefix(']') else { return false };
    let behind = behind.trim_start_matches(|c: char| c.is_whitespace() || matches!(c, '.' | '*' | '_'));
    behind.is_empty() || behind.get(.."explanation".len()).is_some_and(|word| word.eq_ignore_ascii_case("explanation"))
}

fn closes(open: char, c: char) -> bool {
    match open {
        '\'' | '‘' => matches!(c, '\'' | '’'),
        _ => matches!(c, '“' | '”' | '"'),
    }
}

/// Backslashes that a text ends with.
fn backslashes(text: &str) -> usize {
    text.len() - text.trim_end_matches('\\').len()
}

/// An item as it stood between its quotation marks.
fn decoded(item: &str) -> Cow<'_, str> {
    if !item.contains('\\') {
        return Cow::Borrowed(item);
    }
    Cow::Owned(as_json(item).unwrap_or_else(|| as_argument(item)))
}

/// The item where each of its backslashes begins `\"`, `\\`, `\/` or `\uXXXX`.
fn as_json(item: &str) -> Option<String> {
    let mut out = String::with_capacity(item.len());
    let mut rest = item;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        match rest.chars().next()? {
            c @ ('"' | '\\' | '/') => {
                out.push(c);
                rest = &rest[1..];
            }
            'u' => {
                let (c, after) = code_point(&rest[1..])?;
                out.push(c);
                rest = after;
            }
            _ => return None,
        }
    }
    out.push_str(rest);
    Some(out)
}

/// The character of four hexadecimal digits, or of two such escapes that are a pair of surrogates.
fn code_point(text: &str) -> Option<(char, &str)> {
    let unit = |text: &str| {
        let digits = text.get(..4).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()))?;
        u16::from_str_radix(digits, 16).ok()
    };
    let first = unit(text)?;
    if let Some(c) = char::from_u32(u32::from(first)) {
        return Some((c, &text[4..]));
    }
    let second = unit(text[4..].strip_prefix("\\u")?)?;
    let c = char::decode_utf16([first, second]).next()?.ok()?;
    Some((c, &text[10..]))
}

/// The item as arguments of Windows programs are read. Two backslashes before a quotation mark or at the end are one. A
/// single one before a quotation mark is dropped. All others are kept.
fn as_argument(item: &str) -> String {
    let mut out = String::with_capacity(item.len());
    let mut rest = item;
    while let Some(at) = rest.find('"') {
        let run = backslashes(&rest[..at]);
        out.push_str(&rest[..at - run]);
        out.push_str(&"\\".repeat(run / 2));
        out.push('"');
        rest = &rest[at + 1..];
    }
    let run = backslashes(rest);
    out.push_str(&rest[..rest.len() - run]);
    out.push_str(&"\\".repeat(run.div_ceil(2)));
    out
}

#[cfg(test)]
mod tests {
    use super::{read, written};
    use proptest::prelude::*;

    fn items(text: &str) -> Option<Vec<String>> {
        let read = read(text.strip_prefix('[').unwrap())?;
        read.rest.map(|_| read.items)
    }

    #[test]
    fn backslashes_as_a_document_has_them() {
        for (text, want) in [
            (r#"["C:\data\pump.txt", "D:\logs\pump.txt"]"#, &[r"C:\data\pump.txt", r"D:\logs\pump.txt"][..]),
            (r#"["C:\\data\\pump.txt"]"#, &[r"C:\data\pump.txt"]),
            (r#"["C:\new\table", "\\server\share"]"#, &[r"C:\new\table", r"\\server\share"]),
            (r#"["\d+\.\w*", "\alpha \\ \beta"]"#, &[r"\d+\.\w*", r"\alpha \\ \beta"]),
            (r#"["C:\data\", "D:\logs\"]"#, &[r"C:\data\", r"D:\logs\"]),
            (r#"["C:\data\\", "D:\x\\"]"#, &[r"C:\data\", r"D:\x\"]),
            (r#"["the \"Old\" Mill", "{\"a\": [1, \"b\"]}"]"#, &[r#"the "Old" Mill"#, r#"{"a": [1, "b"]}"#]),
            (r#"["the "Old" Mill", "x"]"#, &[r#"the "Old" Mill"#, "x"]),
            (r#"["caf\u00e9 \ud83c\udf09", "C:\users\udo"]"#, &["café 🌉", r"C:\users\udo"]),
            (r#"["https:\/\/a.b\/c"]"#, &["https://a.b/c"]),
            (r#"['it''s', “so”, bare]"#, &["it''s", "so", "bare"]),
            ("[]", &[]),
        ] {
            assert_eq!(
                items(text).as_deref(),
                Some(&want.iter().map(|&w| w.to_owned()).collect::<Vec<_>>()[..]),
                "{text}"
            );
        }
        for none in [r#"["a" "b"]"#, r#"[["a"]]"#] {
            assert!(read(&none[1..]).and_then(|read| read.rest).is_none(), "{none}");
        }
    }

    #[test]
    fn a_list_that_was_cut_has_its_whole_items() {
        for (text, want) in [(r#""a", "b"#, &["a"][..]), (r#""a", "b""#, &["a", "b"]), (r#""a", "#, &["a"]), ("", &[])]
        {
            let read = read(text).unwrap();
            assert!(read.rest.is_none(), "{text}");
            assert_eq!(read.items, want, "{text}");
        }
    }

    #[test]
    fn text_after_the_list_is_no_item() {
        let text = r#""C:\data\", "D:\logs\"]. Explanation: Agents 1 and 2 say "so"."#;
        let found = read(text).unwrap();
        assert_eq!(found.items, [r"C:\data\", r"D:\logs\"]);
        assert_eq!(found.rest, Some(r#". Explanation: Agents 1 and 2 say "so"."#));
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn a_written_value_is_read_back(items in prop::collection::vec("[a-c\\\\\"'\\[\\]{},;:/u0-9é🌉“. ]{0,12}", 0..5)) {
            let items: Vec<String> = items.iter().map(|item| super::one_line(item)).collect();
            let text = written(&items);
            let found = read(&text[1..]).unwrap();
            prop_assert_eq!(found.rest, Some(""));
            prop_assert_eq!(found.items, items);
        }

        #[test]
        fn nothing_panics(text in "[a-c\\\\\"'\\[\\]{},;:/ud8é🌉“. \\n]{0,24}") {
            let _ = read(&text);
        }
    }
}

//! Text from files, models and servers on its way to a person's terminal, or into JSON that ends there.
//!
//! Removes characters that could control a terminal or make one line read as another: control characters (C0, C1, DEL) and
//! with them every escape sequence; changes of writing direction; characters that cannot be seen.

/// Whether `c` changes how a terminal or a reader shows the text around it.
fn steers(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}' | '\u{2029}') || directs(c) || is_unseen(c)
}

/// Changes of writing direction (Unicode Standard Annex 9).
fn directs(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Zero-width characters that only hide text or make equal-looking lines differ. Joiners are not among them: some scripts
/// need them.
#[must_use]
fn is_unseen(c: char) -> bool {
    matches!(
        c,
        '\u{180e}' | '\u{200b}' | '\u{2060}'..='\u{2065}' | '\u{206a}'..='\u{206f}' | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}'
    )
}

/// Characters that Unicode says to show as nothing (`Default_Ignorable_Code_Point`), joiners and soft hyphens among them, and
/// those of [`is_unseen`]: a text with them between its letters reads as without.
#[must_use]
pub(crate) fn is_ignorable(c: char) -> bool {
    is_unseen(c)
        || directs(c)
        || matches!(
            c,
            '\u{ad}' | '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
                | '\u{200c}' | '\u{200d}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{ffa0}' | '\u{fff0}'..='\u{fff8}'
                | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0080}'..='\u{e0fff}'
        )
}

/// `text` without the characters that control a terminal or a reader. Tabs become spaces; line ends too where `one` is set.
fn harmless(text: &str, one: bool) -> String {
    let keep = |c: char| match c {
        '\n' if !one => Some(c),
        c if is_unseen(c) => None,
        c if steers(c) => Some(' '),
        c => Some(c),
    };
    text.chars().filter_map(keep).collect()
}

/// One line, its white space folded.
#[must_use]
pub fn line(text: &str) -> String {
    harmless(text, true).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The first `most` characters of `text`, with three dots where more follow.
#[must_use]
pub fn beginning(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}

/// Characters of an [`excerpt`].
const EXCERPT: usize = 300;

/// The beginning of [`line()`], as much as a message takes: a library's message repeats what it found, however long it is.
#[must_use]
pub(crate) fn excerpt(text: &str) -> String {
    // Of a long text the beginning alone is looked at: white space that is folded ends the excerpt early.
    let (start, more) = match text.char_indices().nth(4 * EXCERPT) {
        Some((end, _)) => (&text[..end], true),
        None => (text, false),
    };
    let excerpt = beginning(&line(start), EXCERPT);
    if more && !excerpt.ends_with("...") { excerpt + "..." } else { excerpt }
}

/// One line, its white space as it is: the cell of a table.
#[must_use]
pub fn cell(text: &str) -> String {
    harmless(text, true)
}

/// Lines that have no styles of their own.
#[must_use]
pub fn lines(text: &str) -> String {
    harmless(text, false)
}

/// Lines with styles of this program's: as [`lines`], but colours stay. The last check before a terminal, for text that a
/// printer took from a file by mistake.
#[must_use]
pub fn styled(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let style = style_at(rest);
        if style > 0 {
            out.push_str(&rest[..style]);
        } else if c == '\t' || !is_unseen(c) {
            out.push(if c == '\t' || c == '\n' || !steers(c) { c } else { ' ' });
        }
        rest = &rest[style.max(c.len_utf8())..];
    }
    out
}

/// Bytes of the sequence at the beginning of `text` that sets colours (`ESC [ 1 ; 31 m`); 0 where there is none.
fn style_at(text: &str) -> usize {
    let Some(numbers) = text.strip_prefix("\x1b[") else { return 0 };
    match numbers.find(|c: char| !c.is_ascii_digit() && c != ';') {
        Some(end) if numbers[end..].starts_with('m') => "\x1b[".len() + end + 1,
        _ => 0,
    }
}

/// A JSON text with the characters that control a terminal or a reader as `\u` escapes: the same values.
#[must_use]
pub fn json(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        // A serializer writes a control character below 0x20 only between values.
        if c >= '\u{7f}' && steers(c) {
            let mut units = [0; 2];
            for unit in c.encode_utf16(&mut units) {
                out.push_str(&format!("\\u{unit:04x}"));
            }
        } else {
            out.push(c);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{cell, excerpt, json, line, lines};

    /// ESC, OSC with its end, C1's CSI and OSC, BEL, backspace, bidi controls, a zero-width space, a tag.
    const HOSTILE: &str =
        "a\x1b[2Jb\x1b]0;t\x07c\u{9b}31md\u{9d}e\x08\u{202e}f\u{61c}g\u{200b}h\u{e0041}i\u{2066}\u{2028}j\x7f";

    #[test]
    fn no_control_character_is_left() {
        for text in [line(HOSTILE), cell(HOSTILE), lines(HOSTILE)] {
            assert!(!text.chars().any(super::steers), "{text:?}");
            assert!(text.starts_with("a [2Jb") && text.contains("ghi"), "{text:?}");
        }
        assert_eq!(
            (line(" a \n b "), cell(" a \n b"), lines(" a \n b")),
            ("a b".into(), " a   b".into(), " a \n b".into())
        );
        // Joiners and accents are text.
        let text = "e\u{301} \u{646}\u{200c}\u{645} \u{1f469}\u{200d}\u{1f4bb} \u{ad}";
        assert_eq!(cell(text), text);
    }

    #[test]
    fn colours_alone_stay_in_styled_lines() {
        let colour = "\x1b[1m\x1b[38;5;9mred\x1b[0m\tand\x1b[m\n";
        assert_eq!(super::styled(colour), colour);
        assert_eq!(super::styled(HOSTILE), lines(HOSTILE));
        assert_eq!(super::styled("a\x1b[2Jb\x1b[31"), "a [2Jb [31");
    }

    #[test]
    fn an_excerpt_is_a_short_line() {
        assert_eq!((excerpt(" a \n\x1b b"), excerpt(&"é".repeat(300))), ("a b".into(), "é".repeat(300)));
        for long in ["é".repeat(301), "é".repeat(1_000_000), format!("é{}a", " ".repeat(5000))] {
            let found = excerpt(&long);
            assert!(found.starts_with('é') && found.ends_with("...") && found.chars().count() <= 303, "{found}");
        }
    }

    #[test]
    fn escaped_json_has_the_same_value() {
        let value = serde_json::json!({ "model": HOSTILE, HOSTILE: [1, "\u{e9}\n"] });
        let text = json(&serde_json::to_string_pretty(&value).unwrap());
        assert!(!text.chars().any(|c| c != '\n' && super::steers(c)), "{text:?}");
        assert!(text.contains('\u{e9}') && text.contains("\\u202e") && text.contains("\\udb40\\udc41"));
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), value);
    }
}

//! Text in a terminal's columns: shortened, wrapped and padded.

use crate::escape;
use std::collections::BTreeSet;

pub(crate) use crate::escape::line as printable;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Columns that `text` fills.
#[must_use]
pub fn width(text: &str) -> usize {
    text.width()
}

/// `text` shortened to at most `columns`, with an ellipsis after a whole word; a first word that alone is too long is cut.
#[must_use]
pub fn shorten(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let head = prefix(text, columns.saturating_sub(1));
    let ends = text[head.len()..].starts_with(' ');
    let whole = if ends { head } else { head.rfind(' ').map_or(head, |end| &head[..end]) };
    fit(whole.trim_end_matches([' ', ',', ';', '.', ':']).to_owned(), "", columns)
}

/// `text` shortened to at most `columns`, with an ellipsis in the middle: a name's folder and its ending both stay.
#[must_use]
pub fn shorten_middle(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let room = columns.saturating_sub(1);
    let tail = suffix(text, room / 2);
    fit(prefix(text, room - room / 2).to_owned(), tail, columns)
}

/// Names shortened to at most `columns` each, so that they still differ: in the middle; else what all begin with is cut, up to
/// the word in which they part; and where that does not tell them apart they stay whole.
#[must_use]
pub fn shorten_apart(names: &[&str], columns: usize) -> Vec<String> {
    let differ = |short: &Vec<String>| {
        let all: BTreeSet<&String> = short.iter().collect();
        all.len() == short.len()
    };
    let middle = || names.iter().map(|name| shorten_middle(name, columns)).collect();
    let parted = || {
        let first = names.first().copied().unwrap_or_default();
        let shared = names.iter().fold(first, |shared, name| common_start(shared, name));
        let word = shared.rfind(|c: char| !c.is_alphanumeric()).unwrap_or(0);
        names.iter().map(|name| shorten(&format!("…{}", &name[word..]), columns)).collect()
    };
    let short = Some(middle()).filter(differ).or_else(|| Some(parted()).filter(differ));
    short.unwrap_or_else(|| names.iter().map(|&name| name.to_owned()).collect())
}

/// The longest common prefix of both texts.
fn common_start<'a>(a: &'a str, b: &str) -> &'a str {
    let end = a.char_indices().zip(b.chars()).find(|((_, a), b)| a != b).map(|((at, _), _)| at);
    &a[..end.unwrap_or_else(|| a.len().min(b.len()))]
}

/// `head` and `tail` with an ellipsis between them, `head` cut further until it fits: characters next to each other may be
/// wider than each alone (emoji sequences).
fn fit(mut head: String, tail: &str, columns: usize) -> String {
    let mut tail = tail.to_owned();
    loop {
        let short = format!("{head}…{tail}");
        if width(&short) <= columns || head.is_empty() && tail.is_empty() {
            return short;
        }
        if head.pop().is_none() {
            tail.remove(0);
        }
    }
}

/// `text` wrapped to lines of at most `columns` (at least one line). A word longer than a line is broken after a slash, a dash
/// or another sign between its parts where it has one, as a path or an address has.
#[must_use]
pub fn wrap(text: &str, columns: usize) -> Vec<String> {
    let columns = columns.max(1);
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let mut word = word;
        let line = lines.last_mut().expect("there is always a line (bug)");
        if !line.is_empty() && width(line) + 1 + width(word) <= columns {
            line.push(' ');
            line.push_str(word);
            continue;
        }
        if !line.is_empty() {
            lines.push(String::new());
        }
        while width(word) > columns {
            let head = match prefix(word, columns) {
                // A character that is wider than the line is taken alone: the loop would not end otherwise.
                "" => &word[..word.chars().next().map_or(word.len(), char::len_utf8)],
                head => parts(head),
            };
            *lines.last_mut().expect("there is always a line (bug)") = head.to_owned();
            lines.push(String::new());
            word = &word[head.len()..];
        }
        lines.last_mut().expect("there is always a line (bug)").push_str(word);
    }
    if lines.len() > 1 && lines.last().is_some_and(String::is_empty) {
        lines.pop();
    }
    lines
}

/// `text` padded with spaces to `columns`.
#[must_use]
pub(crate) fn pad(text: &str, columns: usize) -> String {
    format!("{text}{}", " ".repeat(columns.saturating_sub(width(text))))
}

/// Rows as aligned columns, without trailing spaces.
#[must_use]
pub(crate) fn table(rows: &[Vec<String>]) -> String {
    let rows: Vec<Vec<String>> = rows.iter().map(|row| row.iter().map(|cell| escape::cell(cell)).collect()).collect();
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let widest = |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| width(cell)).max();
    let widths: Vec<usize> = (0..columns).map(|column| widest(column).unwrap_or(0)).collect();
    let line = |row: &Vec<String>| {
        let cells: Vec<String> = row.iter().zip(&widths).map(|(cell, &width)| pad(cell, width)).collect();
        format!("{}\n", cells.join("  ").trim_end())
    };
    rows.iter().map(line).collect()
}

/// The start of a long word up to its last sign between parts; all of it where its second half has no such sign.
fn parts(head: &str) -> &str {
    let end = head.rfind(['/', '\\', '-', '_', '?', '&', '=', '#']).map(|at| at + 1);
    end.filter(|&end| end * 2 >= head.len()).map_or(head, |end| &head[..end])
}

/// The longest suffix of whole characters that fits `columns`.
fn suffix(text: &str, columns: usize) -> &str {
    let mut used = 0;
    for (at, c) in text.char_indices().rev() {
        used += c.width().unwrap_or(0);
        if used > columns {
            return &text[at + c.len_utf8()..];
        }
    }
    text
}

/// The longest prefix of whole characters that fits `columns`.
fn prefix(text: &str, columns: usize) -> &str {
    let mut used = 0;
    for (at, c) in text.char_indices() {
        used += c.width().unwrap_or(0);
        if used > columns {
            return &text[..at];
        }
    }
    text
}

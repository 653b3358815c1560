//! Text of rows: spaces, line breaks and paragraphs.

use super::direction::{Item, reading_order};
use super::glyph::Glyph;
use super::judge::is_from_right;
use super::rows::{Row, WORD, Word};
use crate::unicode::baseline;

/// Minimum distance between paragraphs of few lines, in letter heights; lines are 1.2 apart, with wide spacing 1.5.
const PARAGRAPH: f64 = 1.9;
/// Minimum distance between paragraphs, in distances of lines.
const PARAGRAPH_LINES: f64 = 1.4;
/// Minimum ratio of the letters' heights of paragraphs that follow each other without a distance.
const HEADING: f64 = 1.15;
/// Minimum share of a word that a copy of it covers, which is drawn again to make it bold.
const COPY: f64 = 0.7;

/// Direction of letters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Letters {
    /// As they are seen.
    Visual,
    /// In reading order from left to right, whatever their script.
    Logical,
}

/// The text of parts of a page.
pub(super) fn text(parts: &[Vec<Row>], glyphs: &[Glyph], letters: Letters) -> String {
    let mut text = String::new();
    for part in parts {
        let start = text.len();
        let mut own = String::new();
        append(&mut own, part, glyphs, letters);
        if own.is_empty() {
            continue;
        }
        if start > 0 {
            text.push_str(if goes_on(&text, &own) { "\n" } else { "\n\n" });
        }
        text.push_str(&own);
    }
    text
}

/// Whether a sentence goes on from `before` to `after`, the next part.
fn goes_on(before: &str, after: &str) -> bool {
    let is_span = before.trim_end_matches(['-', '\u{2010}', '\u{2013}']).len() < before.len();
    let is_broken = is_span && after.starts_with(|c: char| c.is_ascii_digit());
    is_broken || (after.starts_with(char::is_lowercase) && !before.ends_with(['.', '!', '?', ':']))
}

fn append(text: &mut String, rows: &[Row], glyphs: &[Glyph], letters: Letters) {
    let mut distances: Vec<f64> = rows.windows(2).map(|pair| pair[0].y - pair[1].y).collect();
    distances.sort_by(f64::total_cmp);
    let usual = (distances.len() >= 3).then(|| distances[distances.len() / 2]);
    let from_right = is_text_from_right(rows, glyphs);
    let mut last: Option<&Row> = None;
    for row in rows {
        if let Some(last) = last {
            let size = row.size.max(last.size);
            let least = usual.map_or(PARAGRAPH * size, |usual| (PARAGRAPH_LINES * usual).max(1.3 * size));
            let is_apart = last.y - row.y > least || size > HEADING * row.size.min(last.size);
            text.truncate(text.trim_end().len());
            text.push_str(if is_apart { "\n\n" } else { "\n" });
        }
        let items = items(row, glyphs);
        let from_right = from_right || is_from_right_alone(&items);
        let items = if letters == Letters::Visual { reading_order(items, from_right) } else { items };
        write(text, &items);
        last = Some(row);
    }
    text.truncate(text.trim_end().len());
}

/// Whether letters of a row are written from the right, and none from the left.
fn is_from_right_alone(items: &[Item]) -> bool {
    let letters = || items.iter().flat_map(|item| item.text.chars()).filter(|letter| letter.is_alphabetic());
    letters().next().is_some() && letters().all(is_from_right)
}

/// Whether most letters are written from the right.
fn is_text_from_right(rows: &[Row], glyphs: &[Glyph]) -> bool {
    let words = rows.iter().flat_map(Row::solid);
    let letters = words.flat_map(|word| glyphs[word.glyphs.clone()].iter()).flat_map(|glyph| glyph.text.chars());
    let (mut right, mut left) = (0_usize, 0_usize);
    for letter in letters.filter(|letter| letter.is_alphabetic()) {
        *if is_from_right(letter) { &mut right } else { &mut left } += 1;
    }
    right > left
}

/// The letters of a row and the spaces between them, from left to right.
fn items(row: &Row, glyphs: &[Glyph]) -> Vec<Item> {
    let mut items: Vec<Item> = Vec::new();
    let mut is_spaced = false;
    let mut last: Option<&Word> = None;
    for word in &row.words {
        if word.is_blank {
            is_spaced = true;
            continue;
        }
        if let Some(last) = last {
            if is_copy(last, word, glyphs) {
                continue;
            }
            let gap = (word.x0 - last.x1) / word.size.max(last.size);
            // There is a small gap between a word and the mark of its note.
            let least = if word.level.is_some() && last.level.is_none() { 0.6 } else { WORD };
            if is_spaced || gap > least {
                let level = word.level.filter(|_| word.level == last.level);
                items.push(Item { text: " ".to_owned(), level });
            }
        }
        is_spaced = false;
        let letters = glyphs[word.glyphs.clone()].iter().filter(|glyph| !glyph.is_blank());
        items.extend(letters.map(|glyph| Item { text: glyph.text.clone(), level: word.level }));
        last = Some(word);
    }
    items
}

fn is_copy(word: &Word, copy: &Word, glyphs: &[Glyph]) -> bool {
    let letters = |word: &Word| glyphs[word.glyphs.clone()].iter().map(|glyph| glyph.text.as_str());
    let shared = word.x1.min(copy.x1) - word.x0.max(copy.x0);
    shared > COPY * (word.x1 - word.x0).max(copy.x1 - copy.x0) && letters(word).eq(letters(copy))
}

/// Writes items in reading order; runs above and below the line as [`baseline::written`] does.
fn write(text: &mut String, items: &[Item]) {
    let mut rest = items;
    while let Some(first) = rest.first() {
        let length = rest.iter().take_while(|item| item.level == first.level).count();
        let (run, after) = rest.split_at(length);
        let letters: String = run.iter().map(|item| item.text.as_str()).collect();
        match first.level {
            None => text.push_str(&letters),
            Some(level) => {
                let next = after.first().and_then(|item| item.text.chars().next());
                text.push_str(&baseline::written(text, &letters, next, level));
            }
        }
        rest = after;
    }
}

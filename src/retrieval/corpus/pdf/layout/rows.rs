//! Words and rows of a page.

use super::glyph::Glyph;
use crate::unicode::baseline::Shift;
use std::ops::Range;

/// Minimum gap along the line between words: a narrow space is 0.25 of the letters' height, letter-spacing less than 0.1.
pub(super) const WORD: f64 = 0.18;
/// Maximum distance of the baselines of one row.
const BASELINE: f64 = 0.2;
/// Maximum distance of the baselines of one row, of words that do not stand above each other.
const LOOSE_BASELINE: f64 = 0.5;

/// Rows, and words of a row, that are looked at around a word. Pages have fewer; a bound on the work for others.
const NEAR_ROWS: usize = 8;

/// Letters that are drawn one after the other, without a gap.
#[derive(Debug, Clone)]
pub(super) struct Word {
    /// Its letters, in the order in which they are drawn.
    pub(super) glyphs: Range<usize>,
    pub(super) x0: f64,
    pub(super) x1: f64,
    pub(super) y: f64,
    pub(super) size: f64,
    pub(super) level: Option<Shift>,
    pub(super) is_blank: bool,
}

/// Words beside each other, from left to right.
#[derive(Debug, Clone)]
pub(super) struct Row {
    pub(super) words: Vec<Word>,
    /// Its line, and the height of its letters.
    pub(super) y: f64,
    pub(super) size: f64,
}

impl Row {
    /// A row of these words, of which one is not blank.
    pub(super) fn new(mut words: Vec<Word>) -> Option<Self> {
        words.sort_by(|a, b| a.x0.total_cmp(&b.x0));
        let solid = || words.iter().filter(|word| !word.is_blank && word.level.is_none());
        let mut sizes: Vec<(f64, f64)> = solid().map(|word| (word.size, word.y)).collect();
        if sizes.is_empty() {
            sizes = words.iter().filter(|word| !word.is_blank).map(|word| (word.size, word.y)).collect();
        }
        let middle = sizes.len() / 2;
        sizes.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (size, _) = *sizes.get(middle)?;
        sizes.sort_by(|a, b| a.1.total_cmp(&b.1));
        Some(Self { size, y: sizes[middle].1, words })
    }

    /// Its words at both sides of `middle`.
    pub(super) fn parted(&self, middle: f64) -> (Option<Self>, Option<Self>) {
        let (left, right) = self.words.iter().cloned().partition(|word| f64::midpoint(word.x0, word.x1) < middle);
        (Self::new(left), Self::new(right))
    }

    pub(super) fn solid(&self) -> impl DoubleEndedIterator<Item = &Word> {
        self.words.iter().filter(|word| !word.is_blank)
    }

    /// Whether words of both stand above each other.
    fn overlaps(&self, other: &Self) -> bool {
        let (mut left, mut right) = (self.solid().peekable(), other.solid().peekable());
        while let (Some(a), Some(b)) = (left.peek(), right.peek()) {
            if a.x1.min(b.x1) - a.x0.max(b.x0) > 0.2 * self.size {
                return true;
            }
            if a.x1 < b.x1 {
                left.next()
            } else {
                right.next()
            };
        }
        false
    }
}

/// The rows of a page, from top to bottom.
pub(super) fn rows(glyphs: &[Glyph]) -> Vec<Row> {
    let mut words = words(glyphs);
    words.sort_by(|a, b| b.y.total_cmp(&a.y));
    let mut rows: Vec<Vec<Word>> = Vec::new();
    for word in words {
        match rows.last_mut() {
            Some(row) if row[0].y - word.y <= BASELINE * word.size.min(row[0].size) => row.push(word),
            _ => rows.push(vec![word]),
        }
    }
    let rows = rows.into_iter().filter_map(Row::new).collect();
    // Joined last: raised words would become words of the line.
    joined(drop_caps(levelled(rows)))
}

/// Words in the order in which they are drawn.
fn words(glyphs: &[Glyph]) -> Vec<Word> {
    let mut words: Vec<Word> = Vec::new();
    for (at, glyph) in glyphs.iter().enumerate() {
        if let Some(word) = words.last_mut().filter(|word| continues(word, glyph)) {
            word.glyphs.end = at + 1;
            word.x0 = word.x0.min(glyph.x0);
            word.x1 = word.x1.max(glyph.x1);
            continue;
        }
        words.push(Word {
            glyphs: at..at + 1,
            x0: glyph.x0.min(glyph.x1),
            x1: glyph.x1.max(glyph.x0),
            y: glyph.y,
            size: glyph.size,
            level: None,
            is_blank: glyph.is_blank(),
        });
    }
    words
}

fn continues(word: &Word, glyph: &Glyph) -> bool {
    let ratio = glyph.size / word.size;
    let gap = (glyph.x0 - word.x1) / word.size;
    word.is_blank == glyph.is_blank()
        && (0.85..1.18).contains(&ratio)
        && (glyph.y - word.y).abs() <= 0.1 * word.size
        && (-0.3..WORD).contains(&gap)
}

/// Moves raised and lowered words to the row of the word that they belong to.
fn levelled(mut rows: Vec<Row>) -> Vec<Row> {
    let mut moves: Vec<(usize, usize, usize, Shift)> = Vec::new();
    for (at, row) in rows.iter().enumerate() {
        let mut last: Option<(f64, usize, Shift)> = None;
        for (index, word) in row.words.iter().enumerate().filter(|(_, word)| !word.is_blank) {
            let beside = last.filter(|(end, ..)| word.x0 - end < 0.4 * word.size).map(|(_, to, level)| (to, level));
            let found = beside.or_else(|| base_of(word, at, &rows));
            if let Some((to, level)) = found {
                moves.push((at, index, to, level));
            }
            last = found.map(|(to, level)| (word.x1, to, level));
        }
    }
    for &(at, index, to, level) in &moves {
        let word = Word { level: Some(level), ..rows[at].words[index].clone() };
        rows[to].words.push(word);
    }
    // From the back, so that the indices before it stay.
    for &(at, index, ..) in moves.iter().rev() {
        rows[at].words.remove(index);
    }
    rows.into_iter().filter_map(|row| Row::new(row.words)).collect()
}

/// The row of the word to which `word` of row `at` is a superscript or a subscript, if any.
fn base_of(word: &Word, at: usize, rows: &[Row]) -> Option<(usize, Shift)> {
    let near = |index: &usize| (rows[*index].y - word.y).abs() < word.size.max(rows[*index].size);
    let above = (0..at).rev().take_while(near).take(NEAR_ROWS);
    let below = (at + 1..rows.len()).take_while(near).take(NEAR_ROWS);
    below.chain(above).find_map(|index| Some((index, level_beside(word, &rows[index])?)))
}

/// The level of `word` beside a word of `row`: smaller letters, or a clear step right behind it.
fn level_beside(word: &Word, row: &Row) -> Option<Shift> {
    let behind = row.words.partition_point(|other| other.x0 <= word.x0);
    let solid = |other: &&Word| !other.is_blank;
    let before = row.words[..behind].iter().rev().take(NEAR_ROWS).find(solid).filter(|base| {
        let gap = (word.x0 - base.x1) / base.size;
        let reach = if word.size <= 0.85 * base.size { 0.6 } else { 0.15 };
        (-0.3..reach).contains(&gap)
    });
    // The mark of a note comes before its text.
    let after = || {
        row.words[behind..].iter().take(NEAR_ROWS).find(solid).filter(|base| {
            let gap = (base.x0 - word.x1) / base.size;
            word.size <= 0.85 * base.size && (-0.2..0.4).contains(&gap)
        })
    };
    let base = before.or_else(after)?;
    let step = (word.y - base.y) / base.size;
    let small = word.size <= 0.85 * base.size;
    match step {
        0.12..0.8 if small => Some(Shift::Raised),
        -0.5..-0.06 if small => Some(Shift::Lowered),
        0.25..0.55 if word.size <= 1.05 * base.size => Some(Shift::Raised),
        -0.4..-0.15 if word.size <= 1.05 * base.size => Some(Shift::Lowered),
        _ => None,
    }
}

/// Moves a large first letter (a drop cap), whose baseline is that of a later row, to the row that it begins.
fn drop_caps(mut rows: Vec<Row>) -> Vec<Row> {
    let mut moves = Vec::new();
    for (at, row) in rows.iter().enumerate() {
        for (index, word) in row.words.iter().enumerate() {
            if word.glyphs.len() == 1 && !word.is_blank {
                let mut above = (0..at).rev().take(NEAR_ROWS);
                moves.extend(above.find_map(|to| Some((at, index, to, begun(word, &rows[to])?))));
            }
        }
    }
    for &(at, index, to, end) in &moves {
        let word = Word { y: rows[to].y, x1: end, ..rows[at].words[index].clone() };
        rows[to].words.push(word);
    }
    for &(at, index, ..) in moves.iter().rev() {
        rows[at].words.remove(index);
    }
    rows.into_iter().filter_map(|row| Row::new(row.words)).collect()
}

/// The start of the word that the large letter `word` begins in `row`, if it does.
fn begun(word: &Word, row: &Row) -> Option<f64> {
    let top = |y: f64, size: f64| y + 0.7 * size;
    if word.size < 1.7 * row.size || (top(word.y, word.size) - top(row.y, row.size)).abs() > 0.4 * row.size {
        return None;
    }
    let next = row.words.get(row.words.partition_point(|next| next.x0 < word.x0))?;
    ((next.x0 - word.x1).abs() < row.size).then_some(next.x0)
}

/// Joins rows whose baselines differ a little, as those of scanned text and of forms do.
fn joined(rows: Vec<Row>) -> Vec<Row> {
    let mut joined: Vec<Row> = Vec::new();
    for row in rows {
        let near =
            |last: &&mut Row| (last.y - row.y) <= LOOSE_BASELINE * last.size.min(row.size) && !last.overlaps(&row);
        match joined.last_mut().filter(near) {
            Some(last) => {
                last.words.extend(row.words);
                last.words.sort_by(|a, b| a.x0.total_cmp(&b.x0));
            }
            None => joined.push(row),
        }
    }
    joined
}

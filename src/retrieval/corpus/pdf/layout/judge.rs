//! Whether the text at both sides of a gutter is two columns or the cells of a table's rows.
//!
//! Columns have lines of several words that go on from line to line; often the lines of two columns are not on one level,
//! and they are drawn one column after the other. Cells are short, begin anew, and lie side by side. Either can be
//! drawn row by row.

use super::glyph::Glyph;
use super::gutter::GUTTER;
use super::rows::{Row, WORD, Word};

/// How the rows at both sides of a gutter are read.
pub(super) struct Reading {
    pub(super) order: Order,
    pub(super) is_certain: bool,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// Row by row.
    Rows,
    /// One column after the other, in each group of rows. Groups are given by the numbers of their last rows, plus one.
    Columns { groups: Vec<usize>, from_right: bool },
}

/// A row's parts at both sides of a gutter.
type Pair = (Option<Row>, Option<Row>);

/// Minimum share of lines of one column that are on the level of a line of the other, for a table.
const LEVEL: f64 = 0.6;
/// Maximum difference of distances of baselines that count as one level, in letter heights.
const LEVEL_STEP: f64 = 0.12;
/// Minimum distance between rows of a table whose cells have several lines, in distances of lines.
const APART: f64 = 1.35;

/// Judges rows parted by a gutter; each side has rows.
pub(super) fn judge(pairs: &[Pair], glyphs: &[Glyph]) -> Reading {
    let left = Side::new(pairs.iter().filter_map(|(left, _)| left.as_ref()), glyphs);
    let right = Side::new(pairs.iter().filter_map(|(_, right)| right.as_ref()), glyphs);
    let from_right = left.letters_from_right + right.letters_from_right > (left.letters + right.letters) / 2;
    let columns = |is_certain| Reading { order: Order::Columns { groups: vec![pairs.len()], from_right }, is_certain };
    let rows = |is_certain| Reading { order: Order::Rows, is_certain };
    let by_column = is_drawn_by_column(pairs);
    if !is_level(pairs) {
        return columns(true);
    }
    if !by_column && let Some(groups) = cells(pairs, glyphs) {
        return Reading { order: Order::Columns { groups, from_right }, is_certain: true };
    }
    let numbers = left.is_numbers() || right.is_numbers();
    match (left.prose(), right.prose()) {
        (Prose::Yes, Prose::Yes) if !by_column && left.is_list() && right.is_list() => rows(false),
        (Prose::Yes, Prose::Yes) => columns(true),
        (Prose::No, Prose::No) if by_column => rows(numbers),
        (Prose::No, _) | (_, Prose::No) if numbers => rows(true),
        (Prose::No, Prose::No) => rows(left.words.min(right.words) < 2.5),
        (Prose::No, _) | (_, Prose::No) if by_column => columns(false),
        (Prose::No, _) => rows(left.words < 2.5),
        (_, Prose::No) => rows(right.words < 2.5),
        _ => columns(by_column),
    }
}

/// Whether most lines of the shorter side are on one level with a line of the other side.
fn is_level(pairs: &[Pair]) -> bool {
    let steps = pairs.iter().filter_map(|(left, right)| {
        let (left, right) = (left.as_ref()?, right.as_ref()?);
        Some((left.y - right.y) / left.size.max(right.size))
    });
    let mut steps: Vec<f64> = steps.collect();
    steps.sort_by(f64::total_cmp);
    let Some(&middle) = steps.get(steps.len() / 2) else { return false };
    let level = steps.iter().filter(|step| (**step - middle).abs() <= LEVEL_STEP).count();
    let left = pairs.iter().filter(|(left, _)| left.is_some()).count();
    let right = pairs.iter().filter(|(_, right)| right.is_some()).count();
    level as f64 >= LEVEL * left.min(right) as f64
}

/// Whether one side is drawn before the other, but for a few words.
fn is_drawn_by_column(pairs: &[Pair]) -> bool {
    let side = |row: &Option<Row>, side| {
        let words = row.iter().flat_map(|row| row.solid().map(move |word| (word.glyphs.start, side)));
        words.collect::<Vec<_>>()
    };
    let mut drawn: Vec<(usize, bool)> =
        pairs.iter().flat_map(|(left, right)| [side(left, false), side(right, true)].concat()).collect();
    drawn.sort_unstable();
    let changes = drawn.windows(2).filter(|pair| pair[0].1 != pair[1].1).count();
    let both = pairs.iter().filter(|(left, right)| left.is_some() && right.is_some()).count();
    changes * 2 <= both
}

/// The groups of lines that are the rows of a table whose cells have several lines: each begins with a line at both sides that
/// does not go on from the line before.
fn cells(pairs: &[Pair], glyphs: &[Glyph]) -> Option<Vec<usize>> {
    let level = |(left, right): &Pair| {
        let heights = left.iter().chain(right).map(|row| row.y);
        heights.fold(f64::NEG_INFINITY, f64::max)
    };
    let distances: Vec<f64> = pairs.windows(2).map(|pair| level(&pair[0]) - level(&pair[1])).collect();
    let mut sorted = distances.clone();
    sorted.sort_by(f64::total_cmp);
    let usual = *sorted.get(sorted.len() / 4)?;
    let ends = distances.iter().enumerate().filter(|(_, distance)| **distance > APART * usual).map(|(at, _)| at + 1);
    let ends: Vec<usize> = ends.chain([pairs.len()]).collect();
    let starts = [0].into_iter().chain(ends.iter().copied());
    let begins = |row: &Option<Row>| {
        row.as_ref().is_some_and(|row| first_letter(row, glyphs).is_some_and(|first| !first.is_lowercase()))
    };
    let begun = starts.take(ends.len()).filter(|start| begins(&pairs[*start].0) && begins(&pairs[*start].1)).count();
    let lines = pairs.len();
    (ends.len() >= 3 && lines > ends.len() && begun == ends.len()).then_some(ends)
}

/// Number of lines that have no room for the first word of the next line.
fn full(rows: &[&Row]) -> usize {
    let end = |row: &Row| row.solid().map(|word| word.x1).fold(f64::NEG_INFINITY, f64::max);
    let widest = rows.iter().map(|row| end(row)).fold(f64::NEG_INFINITY, f64::max);
    let is_full = |pair: &&[&Row]| {
        let next = pair[1].solid().next().map_or(0.0, |word| word.x1 - word.x0);
        end(pair[0]) + WORD * pair[0].size + next > widest
    };
    rows.windows(2).filter(is_full).count()
}

fn first_letter(row: &Row, glyphs: &[Glyph]) -> Option<char> {
    let word = row.solid().next()?;
    glyphs[word.glyphs.clone()].iter().flat_map(|glyph| glyph.text.chars()).next()
}

/// Whether a side's lines are prose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Prose {
    Yes,
    Maybe,
    No,
}

/// Statistics of the cells on one side of a gutter.
#[derive(Debug, Default)]
struct Side {
    cells: usize,
    /// Words of a cell, on average.
    words: f64,
    /// Cells that begin with a lower-case letter, and with a letter that has no case.
    lower: usize,
    caseless: usize,
    /// Whether the first line begins with a lower-case letter.
    begins_lower: bool,
    /// Pairs of lines, and those whose second line's first word had no room in the first line.
    pairs: usize,
    full: usize,
    /// Cells that are numbers.
    numbers: usize,
    letters: usize,
    letters_from_right: usize,
}

impl Side {
    fn new<'r>(rows: impl Iterator<Item = &'r Row>, glyphs: &[Glyph]) -> Self {
        let rows: Vec<&Row> = rows.collect();
        let mut side = Self::default();
        let first = rows.first().and_then(|row| first_letter(row, glyphs));
        side.begins_lower = first.is_some_and(char::is_lowercase);
        side.pairs = rows.len().saturating_sub(1);
        side.full = full(&rows);
        for row in rows {
            let words: Vec<&Word> = row.solid().collect();
            for cell in words.chunk_by(|a, b| b.x0 - a.x1 < GUTTER * row.size) {
                side.cell(cell, glyphs);
            }
        }
        side.words /= side.cells.max(1) as f64;
        side
    }

    fn cell(&mut self, words: &[&Word], glyphs: &[Glyph]) {
        let letters = || words.iter().flat_map(|word| glyphs[word.glyphs.clone()].iter()).flat_map(|g| g.text.chars());
        let count = letters().count();
        let digits = letters().filter(char::is_ascii_digit).count();
        // Written without spaces, two letters are about a word.
        let ideographs =
            letters().filter(|letter| matches!(letter, '\u{3040}'..='\u{30ff}' | '\u{4e00}'..='\u{9fff}')).count();
        let gaps = words.windows(2).filter(|pair| pair[1].x0 - pair[0].x1 > WORD * pair[0].size).count();
        self.cells += 1;
        self.words += (gaps + 1 + ideographs / 2) as f64;
        self.numbers += usize::from(digits * 2 >= count);
        self.letters += count;
        self.letters_from_right += letters().filter(|letter| is_from_right(*letter)).count();
        if let Some(first) = letters().next() {
            self.lower += usize::from(first.is_lowercase());
            self.caseless += usize::from(first.is_alphabetic() && !first.is_lowercase() && !first.is_uppercase());
        }
    }

    /// Whether its lines may be items of a list, in lower case: each has room for the next one's first word.
    fn is_list(&self) -> bool {
        self.begins_lower && self.full * 2 < self.pairs
    }

    fn is_numbers(&self) -> bool {
        self.numbers * 5 >= self.cells * 2
    }

    fn prose(&self) -> Prose {
        let share = self.lower as f64 / (self.cells - self.caseless).max(1) as f64;
        let caseless = self.caseless * 2 > self.cells;
        match () {
            () if self.is_numbers() || self.words < 2.0 => Prose::No,
            () if caseless && self.words >= 4.0 => Prose::Yes,
            () if !caseless && share >= 0.3 && self.words >= 2.5 => Prose::Yes,
            () if caseless || share >= 0.15 || self.words >= 6.0 => Prose::Maybe,
            () => Prose::No,
        }
    }
}

/// Whether a letter is of a script that is written from right to left.
pub(super) fn is_from_right(letter: char) -> bool {
    matches!(letter, '\u{590}'..='\u{8ff}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}' | '\u{10800}'..='\u{10fff}')
}

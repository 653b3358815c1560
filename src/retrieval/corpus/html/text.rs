//! The text of a page as it is assembled: where in the markup it came from, and what blocks it has.

use super::content::{Block, Context};
use crate::retrieval::corpus::document::TextRun;
use crate::retrieval::corpus::flow::Gap;
use crate::retrieval::corpus::marks::{Head, Marks, Tables};
use crate::retrieval::corpus::spans::Spans;
use std::ops::Range;

/// Bytes before a run above or below the line that decide how it is written.
const BEFORE: usize = 200;

/// Text, runs and blocks.
pub(super) struct Text {
    pub(super) text: String,
    pub(super) runs: Vec<TextRun>,
    pub(super) blocks: Vec<Block>,
    /// Rows and items, once all tables are ended.
    pub(super) marks: Marks,
    tables: Tables,
    spans: Spans,
    /// White space since the last text; the widest counts.
    gap: Gap,
}

/// Bytes of the markup that a text came from.
#[derive(Clone, Copy)]
pub(super) struct Source {
    pub(super) from: usize,
    pub(super) to: usize,
    /// The text equals them byte for byte.
    pub(super) same: bool,
}

impl Default for Text {
    fn default() -> Self {
        Self {
            text: String::new(),
            runs: Vec::new(),
            blocks: Vec::new(),
            marks: Marks::default(),
            tables: Tables::default(),
            spans: Spans::default(),
            gap: Gap::None,
        }
    }
}

impl Text {
    /// Adds `text` with white space collapsed.
    pub(super) fn push(&mut self, text: &str, source: Source, context: Context) {
        let mut at = 0;
        for word in text.split_inclusive(char::is_whitespace) {
            let bare = word.trim_end();
            if !bare.is_empty() {
                let offset = if source.same { at } else { 0 };
                self.word(bare, Source { from: source.from + offset, ..source }, context);
            }
            if bare.len() < word.len() {
                self.widen(Gap::Space);
            }
            at += word.len();
        }
    }

    fn word(&mut self, word: &str, source: Source, context: Context) {
        let gap = std::mem::replace(&mut self.gap, Gap::None);
        if !self.text.is_empty() {
            self.text.push_str(gap.text());
        }
        let begins = gap >= Gap::Paragraph || self.blocks.last().is_none_or(|block| !block.takes(context));
        if begins {
            self.blocks.push(Block::new(self.text.len(), context));
        }
        if let Some(block) = self.blocks.last_mut() {
            block.count(word, context);
        }
        let run = TextRun::new(self.text.len(), source.from, (!source.same).then_some(source.to));
        if begins || !self.runs.last().is_some_and(|last| last.covers(&run)) {
            self.runs.push(run);
        }
        self.text.push_str(word);
    }

    /// Records white space.
    pub(super) fn widen(&mut self, gap: Gap) {
        self.gap = self.gap.max(gap);
    }

    /// Forgets a space since the last text.
    pub(super) fn close_up(&mut self) {
        if self.gap == Gap::Space {
            self.gap = Gap::None;
        }
    }

    /// The end of the text, with the white space behind it.
    pub(super) fn before(&self) -> String {
        let start = self.text.len().saturating_sub(BEFORE);
        let start = (start..=self.text.len()).find(|at| self.text.is_char_boundary(*at)).unwrap_or(0);
        format!("{}{}", &self.text[start..], self.gap.text())
    }

    /// Changes the open tables.
    pub(super) fn tables(&mut self, change: impl FnOnce(&mut Tables, usize)) {
        change(&mut self.tables, self.text.len());
    }

    /// Changes the cells of several rows of the open tables; beside them is the text so far.
    pub(super) fn spans<T>(&mut self, change: impl FnOnce(&mut Spans, &str) -> T) -> T {
        change(&mut self.spans, &self.text)
    }

    pub(super) fn end_tables(&mut self) {
        self.marks = std::mem::take(&mut self.tables).finish(&self.text);
    }

    /// Leaves out the blocks that `kept` does not hold, one flag for each.
    pub(super) fn keep(&mut self, kept: &[bool]) {
        if kept.iter().all(|kept| *kept) {
            return;
        }
        let whole = std::mem::take(self);
        let (mut runs, mut before) = (whole.runs.into_iter().peekable(), None);
        let mut pieces = Vec::new();
        for (number, block) in whole.blocks.iter().enumerate() {
            let range = block.start()..whole.blocks.get(number + 1).map_or(whole.text.len(), Block::start);
            if !kept[number] {
                while runs.next_if(|run| run.start() < range.end).is_some() {}
                continue;
            }
            // Blocks that were beside each other keep the white space between them.
            let beside = number.checked_sub(1).filter(|previous| before == Some(*previous));
            let gap =
                beside.map_or("\n\n", |previous| gap_before(&whole.text, whole.blocks[previous].start()..range.start));
            self.text.truncate(self.text.trim_end().len());
            if !self.text.is_empty() {
                self.text.push_str(gap);
            }
            let moved = range.start - self.text.len();
            while let Some(run) = runs.next_if(|run| run.start() < range.end) {
                self.runs.push(run.moved(moved));
            }
            pieces.push((range.clone(), self.text.len()));
            self.text.push_str(&whole.text[range]);
            before = Some(number);
        }
        self.text.truncate(self.text.trim_end().len());
        let heads = whole.marks.heads.iter().filter_map(|head| moved(head, &pieces)).collect();
        let items = whole.marks.items.iter().filter_map(|item| new_byte(*item, &pieces)).collect();
        self.marks = Marks { heads, items };
    }
}

/// A table's first row in a text of which these pieces are left, each with its new first byte; `None` where the row is not left.
fn moved(head: &Head, pieces: &[(Range<usize>, usize)]) -> Option<Head> {
    let row = new_byte(head.row.start, pieces)?..new_byte(head.row.end - 1, pieces)? + 1;
    // A row that lost text is dropped: it must be as long as before.
    (row.len() == head.row.len()).then_some(Head { row, end: new_byte(head.end, pieces)? })
}

/// Where a byte, or the last one in front of it that is left, has moved to.
fn new_byte(byte: usize, pieces: &[(Range<usize>, usize)]) -> Option<usize> {
    let (piece, new) = pieces[..pieces.partition_point(|(piece, _)| piece.start <= byte)].last()?;
    Some(new + byte.min(piece.end) - piece.start)
}

/// The white space that `text` has at the end of `range`.
fn gap_before(text: &str, range: Range<usize>) -> &str {
    let block = &text[range];
    &block[block.trim_end().len()..]
}

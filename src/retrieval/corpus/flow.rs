//! Text assembled from runs of letters: white space within a run is collapsed, breaks between runs are kept.

use super::marks::{Marks, Tables};
use super::spans::Spans;
use crate::unicode::baseline::{self, Shift};
use std::borrow::Cow;

/// White space between two runs of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Gap {
    None,
    Space,
    Line,
    Paragraph,
}

impl Gap {
    pub(super) fn text(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Space => " ",
            Self::Line => "\n",
            Self::Paragraph => "\n\n",
        }
    }
}

/// Maximum bytes of a title or an author: each document and each passage has its own copy.
pub(super) const MAX_TITLE: usize = 1000;

/// The words of `text` with single spaces, as many as [`MAX_TITLE`] bytes hold.
pub(super) fn first_words(text: &str) -> String {
    words_within(text, MAX_TITLE)
}

/// The words of `text` with single spaces, as many as fewer than `most` bytes hold. Of a first word that is longer its beginning
/// is kept: some scripts put no spaces between words.
pub(super) fn words_within(text: &str, most: usize) -> String {
    let mut words = String::new();
    for word in text.split_whitespace() {
        if words.len() + word.len() >= most {
            if words.is_empty() {
                let end = (0..most).rev().find(|end| word.is_char_boundary(*end)).unwrap_or(0);
                words.push_str(&word[..end]);
            }
            break;
        }
        if !words.is_empty() {
            words.push(' ');
        }
        words.push_str(word);
    }
    words
}

/// A text being assembled.
#[derive(Debug)]
pub(super) struct Flow {
    text: String,
    /// White space since the last letter; the widest counts.
    gap: Gap,
    /// A raised or lowered run: how it is written depends on the character behind it.
    run: Option<(Shift, String)>,
}

impl Default for Flow {
    fn default() -> Self {
        Self { text: String::new(), gap: Gap::None, run: None }
    }
}

impl Flow {
    /// Adds `text` with white space collapsed.
    pub(super) fn push(&mut self, text: &str) {
        if let Some(first) = text.chars().next() {
            self.write_run(Some(first));
        }
        for word in text.split_inclusive(char::is_whitespace) {
            let bare = word.trim_end();
            if !bare.is_empty() {
                self.write(bare);
            }
            if bare.len() < word.len() {
                self.widen(Gap::Space);
            }
        }
    }

    /// As [`Flow::push`]; `level` says whether the letters are above or below the line.
    pub(super) fn push_at(&mut self, text: &str, level: Option<Shift>) {
        let Some(level) = level else { return self.push(text) };
        match &mut self.run {
            Some((open, run)) if *open == level => run.push_str(text),
            _ => {
                self.write_run(text.trim_start().chars().next());
                if text.starts_with(char::is_whitespace) {
                    self.widen(Gap::Space);
                }
                self.run = Some((level, text.trim_start().to_owned())).filter(|(_, run)| !run.is_empty());
            }
        }
    }

    /// Adds the paragraphs of `other`, white space within them as it is.
    pub(super) fn append(&mut self, other: Self) {
        let other = other.finish();
        self.write_run(Some('\n'));
        if !other.is_empty() {
            self.write(&other);
        }
    }

    /// Records white space.
    pub(super) fn widen(&mut self, gap: Gap) {
        self.write_run(Some(' '));
        self.gap = self.gap.max(gap);
    }

    /// Keeps a number that follows apart from one before it.
    pub(super) fn part_numbers(&mut self) {
        self.write_run(None);
        if self.gap == Gap::None && self.text.ends_with(|c: char| c.is_ascii_digit()) {
            self.gap = Gap::Space;
        }
    }

    /// The text, without white space at its ends.
    pub(super) fn finish(mut self) -> String {
        self.write_run(None);
        self.text
    }

    /// Writes the raised or lowered run in front of the character `after`.
    fn write_run(&mut self, after: Option<char>) {
        let Some((level, run)) = self.run.take() else { return };
        let before = if self.text.is_empty() || self.gap == Gap::None {
            Cow::Borrowed(baseline::tail(&self.text))
        } else {
            Cow::Owned(format!("{}{}", baseline::tail(&self.text), self.gap.text()))
        };
        let written = baseline::written(&before, run.trim(), after, level);
        self.push(&written);
        if run.ends_with(char::is_whitespace) {
            self.widen(Gap::Space);
        }
    }

    fn write(&mut self, letters: &str) {
        if !self.text.is_empty() {
            self.text.push_str(self.gap.text());
        }
        self.gap = Gap::None;
        self.text.push_str(letters);
    }
}

/// A text whose paragraphs may hold text boxes: a box follows the paragraph that it is anchored in, or the box would be
/// read as a part of the sentence around it.
#[derive(Debug, Default)]
pub(super) struct Story {
    text: Layer,
    /// Open boxes, each within the one before it.
    boxes: Vec<Layer>,
    /// Tables outside of boxes, and their cells of several rows.
    tables: Tables,
    spans: Spans,
}

/// The text outside of boxes, or the text of one.
#[derive(Debug, Default)]
struct Layer {
    flow: Flow,
    /// Boxes of the open paragraph.
    anchored: Vec<Flow>,
    /// Open paragraphs and cells.
    paragraphs: usize,
    cells: usize,
}

impl Story {
    fn layer(&mut self) -> &mut Layer {
        self.boxes.last_mut().unwrap_or(&mut self.text)
    }

    /// The text that letters belong to.
    pub(super) fn flow(&mut self) -> &mut Flow {
        &mut self.layer().flow
    }

    /// Whether a paragraph of the innermost box is open.
    pub(super) fn in_paragraph(&self) -> bool {
        self.boxes.last().unwrap_or(&self.text).paragraphs > 0
    }

    pub(super) fn start_paragraph(&mut self) {
        self.layer().paragraphs += 1;
    }

    pub(super) fn end_paragraph(&mut self) {
        let layer = self.layer();
        layer.paragraphs = layer.paragraphs.saturating_sub(1);
        layer.end();
    }

    pub(super) fn start_table(&mut self) {
        self.in_tables(Tables::start);
        self.in_spans(|spans, _| spans.start_table());
    }

    pub(super) fn start_row(&mut self) {
        self.in_tables(Tables::row);
        self.in_spans(|spans, _| spans.start_row());
    }

    pub(super) fn start_cell(&mut self) {
        self.layer().cells += 1;
        self.in_tables(|tables, _| tables.cell(true));
        self.in_spans(|spans, text| spans.start_cell(1, 1, text.len()));
    }

    /// Begins a cell of this many columns and rows, in a format that has no cells in the later rows: behind the cells of earlier
    /// rows.
    pub(super) fn start_cell_of(&mut self, columns: usize, rows: usize) {
        self.write_above();
        self.start_cell();
        // Instead of the cell of one column and one row that `start_cell` opened.
        self.in_spans(|spans, text| spans.start_cell(columns, rows, text.len()));
    }

    /// Writes the cells of earlier rows that the open row has here.
    fn write_above(&mut self) {
        let above = self.in_spans(|spans, text| spans.above(text.len()));
        self.write_again(above);
    }

    /// Says that the open cell, whose format has a cell in each row, begins one of several rows or goes on from the row above.
    pub(super) fn join_cell(&mut self, begins: bool) {
        let above = self.in_spans(|spans, text| spans.joins(begins, text.len()));
        self.write_again(above);
    }

    fn write_again(&mut self, above: Option<Vec<String>>) {
        for text in above.into_iter().flatten() {
            self.flow().push(&text);
            self.flow().widen(Gap::Space);
        }
    }

    /// Sets the number of columns of the open cell.
    pub(super) fn widen_cell(&mut self, columns: usize) {
        self.in_spans(|spans, _| spans.widen(columns));
    }

    pub(super) fn end_row(&mut self) {
        self.write_above();
        self.flow().widen(Gap::Paragraph);
    }

    pub(super) fn end_table(&mut self) {
        self.layer().flow.widen(Gap::Paragraph);
        self.in_tables(Tables::end);
        self.in_spans(|spans, _| spans.end_table());
    }

    /// Changes the spans of the open tables, unless these are in a box; beside them is the text so far.
    fn in_spans<T>(&mut self, change: impl FnOnce(&mut Spans, &str) -> T) -> Option<T> {
        self.boxes.is_empty().then(|| change(&mut self.spans, &self.text.flow.text))
    }

    fn in_tables(&mut self, change: impl FnOnce(&mut Tables, usize)) {
        if self.boxes.is_empty() {
            change(&mut self.tables, self.text.flow.text.len());
        }
    }

    pub(super) fn end_cell(&mut self) {
        let layer = self.layer();
        layer.cells = layer.cells.saturating_sub(1);
        layer.flow.widen(Gap::Space);
        self.in_spans(Spans::end_cell);
    }

    pub(super) fn open_box(&mut self) {
        self.boxes.push(Layer::default());
    }

    pub(super) fn close_box(&mut self) {
        let Some(mut closed) = self.boxes.pop() else { return };
        closed.paragraphs = 0;
        closed.end();
        let outer = self.layer();
        outer.anchored.push(closed.flow);
        if outer.paragraphs == 0 {
            outer.end();
        }
    }

    /// The text, without white space at its ends.
    pub(super) fn finish(self) -> String {
        self.finish_with_marks().0
    }

    /// Ends what is open but tables: of a part of the text that broke off.
    pub(super) fn end_part(&mut self) {
        while !self.boxes.is_empty() {
            self.close_box();
        }
        self.text.paragraphs = 0;
        self.text.end();
        self.text.cells = 0;
        self.text.flow.widen(Gap::Paragraph);
    }

    /// The text, without white space at its ends, and its marks.
    pub(super) fn finish_with_marks(mut self) -> (String, Marks) {
        self.end_part();
        let text = self.text.flow.finish();
        let marks = self.tables.finish(&text);
        (text, marks)
    }
}

impl Layer {
    /// Ends a paragraph. If it is the outermost one, its boxes are appended after it.
    fn end(&mut self) {
        let gap = if self.cells > 0 { Gap::Space } else { Gap::Paragraph };
        self.flow.widen(gap);
        if self.paragraphs == 0 {
            for text in self.anchored.drain(..) {
                self.flow.append(text);
                self.flow.widen(gap);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Flow, Gap, Shift, Story};

    #[test]
    fn raised_runs_are_written_by_their_context() {
        let mut flow = Flow::default();
        flow.push("In 1788");
        flow.push_at("1", Some(Shift::Raised));
        flow.push_at("2", Some(Shift::Raised));
        flow.push(" the mill cost 10");
        flow.push_at("6 ", Some(Shift::Raised));
        flow.push("crowns, H");
        flow.push_at("2", Some(Shift::Lowered));
        flow.push("O of 10");
        flow.push_at("3", Some(Shift::Raised));
        flow.widen(Gap::Paragraph);
        flow.push_at("3", Some(Shift::Raised));
        assert_eq!(flow.finish(), "In 1788 [12] the mill cost 10^6 crowns, H2O of 10^3\n\n[3]");
    }

    #[test]
    fn boxes_follow_the_paragraph_that_holds_them() {
        let mut story = Story::default();
        story.start_paragraph();
        story.flow().push("The mill");
        story.open_box();
        for line in ["Box", "of two"] {
            story.start_paragraph();
            story.flow().push(line);
            story.end_paragraph();
        }
        story.close_box();
        story.flow().push(" burned.");
        story.end_paragraph();
        story.start_paragraph();
        story.flow().push("It was rebuilt.");
        story.end_paragraph();
        assert_eq!(story.finish(), "The mill burned.\n\nBox\n\nof two\n\nIt was rebuilt.");
    }
}

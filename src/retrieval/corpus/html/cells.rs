//! Cells of tables that go on over several rows, which are written in each of them.

use super::Reading;
use super::tokens::Tag;
use crate::retrieval::corpus::flow::Gap;
use crate::retrieval::corpus::spans::Spans;

impl Reading<'_> {
    /// Begins a cell, after those of earlier rows that reach into this row before it.
    pub(super) fn start_cell(&mut self, tag: &Tag) {
        self.write_above();
        let count = |name: &str| tag.value(name).and_then(|count| count.trim().parse::<usize>().ok()).unwrap_or(1);
        // Of no rows: of all rows of its part of the table.
        let rows = if count("rowspan") == 0 { usize::MAX } else { count("rowspan") };
        self.text.spans(|spans, text| spans.start_cell(count("colspan"), rows, text.len()));
    }

    /// Ends the open cell, or the open row, where a tag called `name` does that.
    pub(super) fn end_cells(&mut self, name: &str) {
        match name {
            "td" | "th" => self.end_cell(),
            "tr" | "tbody" | "thead" | "tfoot" => self.end_row(),
            _ => {}
        }
    }

    fn end_cell(&mut self) {
        self.settle(None);
        self.text.spans(Spans::end_cell);
    }

    /// Ends the open row with the cells of earlier rows that it has at its end.
    pub(super) fn end_row(&mut self) {
        self.end_cell();
        self.write_above();
    }

    fn write_above(&mut self) {
        for text in self.text.spans(|spans, text| spans.above(text.len())) {
            self.text.widen(Gap::Space);
            self.insert(&text);
            self.text.widen(Gap::Space);
        }
    }
}

//! Marks of a text: first rows of tables, and where rows and list items begin. A passage of later rows begins with the names of
//! its columns, without which a row says little.

use std::ops::Range;

/// Maximum bytes of a first row that is repeated: a longer one is not a row of names.
const MAX_ROW: usize = 200;

/// Parts of a text that its format marks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Marks {
    /// First rows of tables, in order, none within another table.
    pub(super) heads: Vec<Head>,
    /// Where rows of tables and items of lists begin, in order; white space may follow.
    pub(super) items: Vec<usize>,
}

impl Marks {
    /// The first row of the table in which a passage begins at byte `start`, unless it begins in that row.
    pub(crate) fn above<'t>(&self, text: &'t str, start: usize) -> Option<&'t str> {
        let before = &self.heads[..self.heads.partition_point(|head| head.row.end <= start)];
        before.last().filter(|head| start < head.end).and_then(|head| text.get(head.row.clone()))
    }

    /// Whether a first row of a table begins at byte `start`.
    pub(crate) fn is_head(&self, start: usize) -> bool {
        self.heads.iter().any(|head| head.row.start == start)
    }

    /// The parts of `range` that begin with it and with the rows and items within it, without the white space at their ends.
    pub(crate) fn items_within(&self, text: &str, range: Range<usize>) -> Vec<Range<usize>> {
        let first = self.items.partition_point(|item| *item <= range.start);
        let last = self.items.partition_point(|item| *item < range.end).max(first);
        let starts: Vec<usize> = [range.start].into_iter().chain(self.items[first..last].iter().copied()).collect();
        let ends = starts.iter().skip(1).copied().chain([range.end]);
        let trimmed = |(start, end): (usize, usize)| {
            let own = &text[start..end];
            let start = start + own.len() - own.trim_start().len();
            start..start + own.trim().len()
        };
        starts.iter().copied().zip(ends).map(trimmed).filter(|range| !range.is_empty()).collect()
    }

    /// Whether a row or an item begins at byte `start` of `text`, white space between them aside.
    pub(crate) fn is_item(&self, text: &str, start: usize) -> bool {
        let before = &self.items[..self.items.partition_point(|item| *item <= start)];
        before.last().is_some_and(|item| text[*item..start].trim().is_empty())
    }
}

/// The first row of a table in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Head {
    /// Bytes of the row.
    pub(super) row: Range<usize>,
    /// The end of the table.
    pub(super) end: usize,
}

/// `head` without white space around its row; `None` for a row that is not repeated.
fn trimmed(head: &Head, text: &str) -> Option<Head> {
    let row = &text[head.row.clone()];
    let start = head.row.start + row.len() - row.trim_start().len();
    let row = start..start + row.trim().len();
    (1..=MAX_ROW).contains(&row.len()).then_some(Head { row, end: head.end })
}

/// The tables of a text that is being assembled. Positions are lengths of the text so far.
#[derive(Debug, Default)]
pub(super) struct Tables {
    open: Vec<Open>,
    heads: Vec<Head>,
    items: Vec<usize>,
}

#[derive(Debug)]
struct Open {
    start: usize,
    /// Of the first row: cells, and whether all of them are names.
    cells: usize,
    names: bool,
    /// Rows begun.
    rows: usize,
    /// The end of the first row.
    first: usize,
}

impl Tables {
    pub(super) fn start(&mut self, at: usize) {
        self.open.push(Open { start: at, cells: 0, names: true, rows: 0, first: at });
    }

    /// Begins an item of a list.
    pub(super) fn item(&mut self, at: usize) {
        self.items.push(at);
    }

    /// Begins a row, which ends the one before it.
    pub(super) fn row(&mut self, at: usize) {
        self.item(at);
        if let Some(table) = self.open.last_mut() {
            table.rows += 1;
            if table.rows == 2 {
                table.first = at;
            }
        }
    }

    /// Begins a cell; `names`: it is marked as the name of a column, or its format marks none.
    pub(super) fn cell(&mut self, names: bool) {
        if let Some(table) = self.open.last_mut().filter(|table| table.rows == 1) {
            table.cells += 1;
            table.names &= names;
        }
    }

    pub(super) fn end(&mut self, at: usize) {
        let Some(table) = self.open.pop() else { return };
        if table.rows > 2 && table.cells > 1 && table.names && table.start < table.first {
            // A table within this one has no head of its own: later passages of both begin with the first row of this one.
            let within = self.heads.partition_point(|head| head.row.start < table.start);
            self.heads.truncate(within);
            self.heads.push(Head { row: table.start..table.first, end: at });
        }
    }

    /// The marks of the whole text.
    pub(super) fn finish(mut self, text: &str) -> Marks {
        while !self.open.is_empty() {
            self.end(text.len());
        }
        let heads = self.heads.iter().filter_map(|head| trimmed(head, text)).collect();
        Marks { heads, items: self.items.into_iter().filter(|item| text.is_char_boundary(*item)).collect() }
    }
}

/// The first rows of tables in Markdown: a line of names, and one of dashes below it.
pub(super) fn markdown(text: &str) -> Marks {
    let mut heads: Vec<Head> = Vec::new();
    let (mut at, mut before, mut is_open) = (0, 0..0, false);
    for line in text.split_inclusive('\n') {
        let range = at..at + line.len();
        at = range.end;
        let is_row = line.contains('|');
        let names = text[before.clone()].contains('|');
        if is_row && names && !is_open && is_rule(line) {
            heads.push(Head { row: before.start..range.end, end: range.end });
            is_open = true;
        } else if let Some(head) = heads.last_mut().filter(|_| is_row && is_open) {
            head.end = range.end;
        } else {
            is_open = false;
        }
        before = range;
    }
    Marks { heads: heads.iter().filter_map(|head| trimmed(head, text)).collect(), items: Vec::new() }
}

/// A line such as `|---|:--:|`.
fn is_rule(line: &str) -> bool {
    line.contains('-') && line.trim().chars().all(|c| matches!(c, '|' | '-' | ':' | ' '))
}

#[cfg(test)]
mod tests {
    use super::{Head, Marks, Tables, markdown};

    #[test]
    fn a_line_above_dashes_is_the_first_row() {
        let text = "Fees\n\n| Boat | Fee |\n|---|--:|\n| Aurora | 3 |\n| Minor | 4 |\n\nEnd | of it\n";
        let marks = markdown(text);
        assert_eq!(marks.heads.len(), 1);
        let at = |word: &str| marks.above(text, text.find(word).unwrap());
        assert_eq!((at("Fees"), at("Boat"), at("End")), (None, None, None));
        assert_eq!(at("| Minor"), Some("| Boat | Fee |\n|---|--:|"));
        assert_eq!(markdown("a | b\n\n---|---\n"), Marks::default());
    }

    #[test]
    fn a_table_of_names_in_its_first_row_has_a_head() {
        let heads = |cells: &[bool], rows: usize| {
            let mut tables = Tables::default();
            tables.start(10);
            for row in 0..rows {
                tables.row(10 + row * 10);
                cells.iter().for_each(|names| tables.cell(*names));
            }
            tables.finish(&"\n\nRow more".repeat(9)).heads
        };
        assert_eq!(heads(&[true, true], 3), [Head { row: 12..20, end: 90 }]);
        for (cells, rows) in [(&[true, false][..], 3), (&[true], 3), (&[true, true], 2)] {
            assert_eq!(heads(cells, rows), []);
        }
    }

    #[test]
    fn of_tables_within_each_other_the_outer_one_with_a_head_counts() {
        let mut tables = Tables::default();
        for start in [0, 20] {
            tables.start(start);
            for row in 0..3 {
                tables.row(start + 5 * row);
                tables.cell(true);
                tables.cell(true);
            }
        }
        tables.end(40);
        assert_eq!(tables.finish(&"Row ".repeat(12)).heads, [Head { row: 0..5, end: 48 }]);
    }
}

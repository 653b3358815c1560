//! Cells of tables that go on over several rows: their text is written in each of these rows, which would lack it otherwise.

/// Maximum columns of a table whose cells are followed.
const MAX_COLUMNS: usize = 64;
/// Maximum bytes of a cell's text that is written again.
const MAX_CELL: usize = 200;
/// Bytes that may be written again in a short text; in a longer one, as many as it has otherwise.
const FREE: usize = 4096;

/// The tables of a text that is being assembled, each within the one before it.
#[derive(Debug, Default)]
pub(super) struct Spans {
    tables: Vec<Table>,
    /// Bytes written again so far.
    repeated: usize,
}

#[derive(Debug, Default)]
struct Table {
    /// The column of the next cell.
    column: usize,
    /// By column, the last cell that began there.
    cells: Vec<Cell>,
    open: Option<Open>,
}

/// A cell that has ended.
#[derive(Debug, Default, Clone)]
struct Cell {
    columns: usize,
    /// Rows from the current one on that it is in, once the row of its beginning has ended.
    rows: usize,
    /// Empty where it is too long to be repeated.
    text: String,
}

/// The open cell.
#[derive(Debug)]
struct Open {
    /// Its first byte in the text.
    start: usize,
    column: usize,
    columns: usize,
    rows: usize,
}

impl Spans {
    pub(super) fn start_table(&mut self) {
        self.tables.push(Table::default());
    }

    pub(super) fn end_table(&mut self) {
        self.tables.pop();
    }

    /// Begins a row.
    pub(super) fn start_row(&mut self) {
        if let Some(table) = self.tables.last_mut() {
            table.column = 0;
            table.cells.iter_mut().for_each(|cell| cell.rows = cell.rows.saturating_sub(1));
        }
    }

    /// The texts of cells of earlier rows in front of the next cell. `length`: that of the text so far.
    pub(super) fn above(&mut self, length: usize) -> Vec<String> {
        let Some(table) = self.tables.last_mut() else { return Vec::new() };
        let mut texts = Vec::new();
        while let Some(cell) = table.cells.get(table.column).filter(|cell| cell.rows > 0) {
            table.column += cell.columns.max(1);
            texts.push(cell.text.clone());
        }
        self.within_bounds(texts, length)
    }

    /// Begins a cell of this many columns and rows, after [`Spans::above`].
    pub(super) fn start_cell(&mut self, columns: usize, rows: usize, length: usize) {
        if let Some(table) = self.tables.last_mut() {
            table.open = Some(Open { start: length, column: table.column, columns, rows });
        }
    }

    /// Says that the open cell, whose format has a cell in each row, begins one of several rows or goes on from the row above;
    /// the text of the cell above.
    pub(super) fn joins(&mut self, begins: bool, length: usize) -> Vec<String> {
        let Some((table, open)) = self.tables.last_mut().and_then(|table| Some((&table.cells, table.open.as_mut()?)))
        else {
            return Vec::new();
        };
        // How many rows follow is not said here: the cell of each later row says whether it goes on.
        open.rows = usize::MAX;
        let above = table.get(open.column).filter(|cell| !begins && cell.rows > 0);
        let texts = above.map(|cell| cell.text.clone()).into_iter().collect();
        self.within_bounds(texts, length)
    }

    /// Sets the number of columns of the open cell.
    pub(super) fn widen(&mut self, columns: usize) {
        if let Some(open) = self.tables.last_mut().and_then(|table| table.open.as_mut()) {
            open.columns = columns;
        }
    }

    /// Ends the open cell, if there is one. `text`: the text so far.
    pub(super) fn end_cell(&mut self, text: &str) {
        let Some(table) = self.tables.last_mut() else { return };
        let Some(Open { start, column, columns, rows }) = table.open.take() else { return };
        table.column = column.saturating_add(columns.max(1));
        if column >= MAX_COLUMNS || (rows < 2 && column >= table.cells.len()) {
            return;
        }
        let own = text.get(start..).unwrap_or_default().trim();
        let own = if rows > 1 && own.len() <= MAX_CELL && !own.contains('\n') { own } else { "" };
        if table.cells.len() <= column {
            table.cells.resize(column + 1, Cell::default());
        }
        table.cells[column] = Cell { columns, rows: if rows > 1 { rows } else { 0 }, text: own.to_owned() };
    }

    fn within_bounds(&mut self, mut texts: Vec<String>, length: usize) -> Vec<String> {
        texts.retain(|text| {
            let is_kept = !text.is_empty() && self.repeated + text.len() <= FREE + length / 2;
            self.repeated += if is_kept { text.len() } else { 0 };
            is_kept
        });
        texts
    }
}

#[cfg(test)]
mod tests {
    use super::Spans;

    /// A row of cells with their columns and rows, behind those of earlier rows.
    fn row(spans: &mut Spans, text: &mut String, cells: &[(&str, usize, usize)]) -> String {
        let start = text.len();
        let above = |spans: &mut Spans, text: &mut String| {
            for again in spans.above(text.len()) {
                *text += &format!("{again} ");
            }
        };
        spans.start_row();
        for &(cell, columns, rows) in cells {
            above(spans, text);
            spans.start_cell(columns, rows, text.len());
            *text += &format!("{cell} ");
            spans.end_cell(text);
        }
        above(spans, text);
        text[start..].trim().to_owned()
    }

    #[test]
    fn cells_of_several_rows_are_in_each_of_them() {
        let (mut spans, mut text) = (Spans::default(), String::new());
        spans.start_table();
        assert_eq!(row(&mut spans, &mut text, &[("Mill", 1, 2), ("Year", 2, 1), ("Owner", 1, 2)]), "Mill Year Owner");
        assert_eq!(row(&mut spans, &mut text, &[("Built", 1, 1), ("Burned", 1, 1)]), "Mill Built Burned Owner");
        assert_eq!(row(&mut spans, &mut text, &[("Orrin", 1, 9), ("1788", 1, 1)]), "Orrin 1788");
        assert_eq!(row(&mut spans, &mut text, &[("1810", 1, 1)]), "Orrin 1810");
        spans.start_table();
        assert_eq!(row(&mut spans, &mut text, &[("inner", 1, 1)]), "inner");
        spans.end_table();
        assert_eq!(row(&mut spans, &mut text, &[]), "Orrin");
    }

    #[test]
    fn what_is_written_again_is_bounded_by_the_text() {
        let (mut spans, mut text) = (Spans::default(), String::new());
        spans.start_table();
        row(&mut spans, &mut text, &[("x".repeat(200).as_str(), 1, usize::MAX), ("y".repeat(201).as_str(), 1, 9)]);
        for _ in 0..100_000 {
            row(&mut spans, &mut text, &[("a", 1, 1)]);
        }
        assert!(text.len() < 100_000 * 5, "{}", text.len());
        assert_eq!(text.matches('y').count(), 201);
    }
}

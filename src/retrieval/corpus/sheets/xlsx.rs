//! Workbooks of Office Open XML (ISO/IEC 29500, SpreadsheetML).

use super::format::Format;
use super::grid::{Book, MAX_SHEETS};
use crate::retrieval::corpus::flow::Flow;
use crate::retrieval::corpus::package::xml::{self, Tag, Visit};
use crate::retrieval::corpus::package::{Fault, Package, fault, relations};
use crate::unicode::baseline::Shift;
use std::collections::HashMap;

const WORKBOOK: &str = "xl/workbook.xml";

/// The sheets of a workbook.
///
/// # Errors
/// An archive that is not a workbook, that is broken or exceeds the limits. A sheet that is missing or broken is
/// reported in the notes.
pub(super) fn read(bytes: Vec<u8>) -> Result<Book, Fault> {
    const WHAT: &str = "a workbook (.xlsx)";
    let mut package = Package::open(bytes, WHAT)?;
    let mut book = Book::default();
    let mut workbook = Workbook::default();
    xml::read(WORKBOOK, &package.needed(WORKBOOK, WHAT)?, &mut workbook)?;
    if workbook.sheets.len() > MAX_SHEETS {
        return Err(fault(format!("at most {MAX_SHEETS} sheets"), workbook.sheets.len().to_string()));
    }
    let parts = relations::of(&mut package, WORKBOOK)?;
    let of_kind = |kind: &str| parts.values().find(|(found, _)| found == kind).map(|(_, name)| name.clone());
    let mut styles = Styles::default();
    if let Some(name) = of_kind("styles")
        && let Some(markup) = package.optional(&name, &mut book.notes)?
    {
        xml::read_or_note(&name, &markup, &mut styles, &mut book.notes);
    }
    let mut shared = Shared::default();
    if let Some(name) = of_kind("sharedStrings")
        && let Some(markup) = package.part(&name)?
    {
        // Cells name strings by number: a part that broke off would leave some without text.
        xml::read(&name, &markup, &mut shared)?;
    }
    for (name, id, hidden) in &workbook.sheets {
        let Some((kind, part)) = parts.get(id) else {
            book.notes.add(format!("sheet {name} is missing"));
            continue;
        };
        match kind.as_str() {
            "worksheet" if *hidden => book.hide(name),
            "worksheet" => {
                let mut notes = std::mem::take(&mut book.notes);
                let markup = package.optional(part, &mut notes)?;
                book.notes = notes;
                if let Some(markup) = markup {
                    sheet(
                        &mut book,
                        name,
                        (part, &markup),
                        Known { workbook: &workbook, styles: &styles, shared: &shared },
                    )?;
                }
            }
            kind => book.notes.add(format!("{kind} {name} is not read")),
        }
    }
    package.note_unread(&["xl/media/", "xl/embeddings/", "xl/charts/chart"], &mut book.notes);
    Ok(book)
}

/// The styles and strings that the cells of all sheets refer to.
#[derive(Clone, Copy)]
struct Known<'a> {
    workbook: &'a Workbook,
    styles: &'a Styles,
    shared: &'a Shared,
}

fn sheet(book: &mut Book, name: &str, (part, markup): (&str, &str), known: Known<'_>) -> Result<(), Fault> {
    book.start(name);
    let mut cells = Cells { book, known, state: State::default(), fault: None };
    let read = xml::read(part, markup, &mut cells);
    if let Some(fault) = cells.fault {
        return Err(fault);
    }
    if let Err((expected, found)) = read {
        book.notes.add(format!("sheet {name} is read in part: expected {expected}, found {found}"));
    }
    book.end();
    Ok(())
}

/// Names, relation ids and visibility of the sheets.
#[derive(Default)]
struct Workbook {
    sheets: Vec<(String, String, bool)>,
    from_1904: bool,
}

impl Visit for Workbook {
    fn start(&mut self, tag: &Tag<'_>) {
        match tag.name().as_str() {
            "sheet" => {
                let hidden = tag.value("state").is_some_and(|state| state != "visible");
                let named = tag.value("name").zip(tag.prefixed("id"));
                self.sheets.extend(named.map(|(name, id)| (name, id, hidden)));
            }
            "workbookPr" => self.from_1904 = tag.is("date1904"),
            _ => {}
        }
    }

    fn end(&mut self, _: &str) {}

    fn letters(&mut self, _: &str) {}
}

/// The number format of each style of cells.
#[derive(Default)]
struct Styles {
    codes: HashMap<u32, Format>,
    /// By style: the number of its format.
    cells: Vec<u32>,
    in_cells: bool,
}

impl Styles {
    /// `value` in the format of the style.
    fn show(&self, style: usize, value: f64, from_1904: bool) -> String {
        let id = self.cells.get(style).copied().unwrap_or_default();
        match self.codes.get(&id) {
            Some(format) => format.show(value, from_1904),
            None => Format::builtin(id).show(value, from_1904),
        }
    }
}

impl Visit for Styles {
    fn start(&mut self, tag: &Tag<'_>) {
        let number = |name: &str| tag.value(name).and_then(|id| id.parse::<u32>().ok());
        match tag.name().as_str() {
            "numFmt" => {
                let code = tag.value("formatCode").unwrap_or_default();
                self.codes.extend(number("numFmtId").map(|id| (id, Format::of_code(&code))));
            }
            "cellXfs" => self.in_cells = true,
            "xf" if self.in_cells => self.cells.push(number("numFmtId").unwrap_or_default()),
            _ => {}
        }
    }

    fn end(&mut self, name: &str) {
        self.in_cells &= name != "cellXfs";
    }

    fn letters(&mut self, _: &str) {}
}

/// Letters of a string: its runs, without the readings of ideographs.
#[derive(Default)]
struct Letters {
    flow: Flow,
    level: Option<Shift>,
    /// The run is struck through.
    struck: bool,
    texts: usize,
    readings: usize,
}

impl Letters {
    fn start(&mut self, name: &str, tag: &Tag<'_>) {
        match name {
            "t" => self.texts += 1,
            "rPh" => self.readings += 1,
            "r" => (self.level, self.struck) = (None, false),
            "strike" => self.struck = tag.value("val").is_none_or(|value| !matches!(value.as_str(), "0" | "false")),
            "vertAlign" => {
                self.level = match tag.value("val").as_deref() {
                    Some("superscript") => Some(Shift::Raised),
                    Some("subscript") => Some(Shift::Lowered),
                    _ => None,
                }
            }
            _ => {}
        }
    }

    fn end(&mut self, name: &str) {
        match name {
            "t" => self.texts = self.texts.saturating_sub(1),
            "rPh" => self.readings = self.readings.saturating_sub(1),
            "r" => (self.level, self.struck) = (None, false),
            _ => {}
        }
    }

    fn letters(&mut self, text: &str) {
        if self.texts > 0 && self.readings == 0 && !self.struck {
            self.flow.push_at(text, self.level);
        }
    }

    fn take(&mut self) -> String {
        std::mem::take(&mut self.flow).finish()
    }
}

/// The strings that cells refer to by number.
#[derive(Default)]
struct Shared {
    strings: Vec<String>,
    letters: Letters,
}

impl Visit for Shared {
    fn start(&mut self, tag: &Tag<'_>) {
        self.letters.start(&tag.name(), tag);
    }

    fn end(&mut self, name: &str) {
        self.letters.end(name);
        if name == "si" {
            self.strings.push(self.letters.take());
        }
    }

    fn letters(&mut self, text: &str) {
        self.letters.letters(text);
    }
}

/// The cells of one sheet.
struct Cells<'a> {
    book: &'a mut Book,
    known: Known<'a>,
    state: State,
    /// A limit that was exceeded.
    fault: Option<Fault>,
}

#[derive(Default)]
struct State {
    /// From 1.
    row: u64,
    /// Of the next cell, from 0.
    column: u32,
    hidden_row: bool,
    /// Ranges of hidden columns, from 0, inclusive.
    hidden_columns: Vec<(u32, u32)>,
    style: usize,
    kind: String,
    /// The content of `v`.
    value: String,
    in_value: bool,
    /// The cell has a formula, and a value.
    computed: (bool, bool),
    letters: Letters,
}

impl Cells<'_> {
    fn start_cell(&mut self, tag: &Tag<'_>) {
        let state = &mut self.state;
        if let Some((column, row)) = tag.value("r").as_deref().and_then(reference) {
            (state.column, state.row) = (column, row);
        }
        state.style = tag.value("s").and_then(|style| style.parse().ok()).unwrap_or_default();
        state.kind = tag.value("t").unwrap_or_default();
        state.value.clear();
        state.computed = (false, false);
        state.letters = Letters::default();
    }

    fn end_cell(&mut self) {
        let state = &mut self.state;
        let column = state.column;
        state.column = column.saturating_add(1);
        let hidden = state.hidden_columns.iter().any(|(from, to)| (*from..=*to).contains(&column));
        if state.hidden_row || hidden || self.fault.is_some() {
            return;
        }
        self.book.uncomputed += usize::from(state.computed == (true, false));
        let inline = state.letters.take();
        let value = std::mem::take(&mut state.value);
        let (row, kind, style) = (state.row, state.kind.as_str(), state.style);
        let shown = match (kind, value.trim().parse::<f64>()) {
            ("s", _) => {
                let strings = &self.known.shared.strings;
                value.trim().parse::<usize>().ok().and_then(|at| strings.get(at)).cloned().unwrap_or_default()
            }
            ("inlineStr", _) => inline,
            ("b", _) => if value.trim() == "1" { "TRUE" } else { "FALSE" }.to_owned(),
            ("d", _) => value.strip_suffix("T00:00:00").unwrap_or(&value).to_owned(),
            ("str" | "e", _) | (_, Err(_)) => value,
            (_, Ok(number)) if number.is_finite() => {
                self.known.styles.show(style, number, self.known.workbook.from_1904)
            }
            (_, Ok(_)) => value,
        };
        self.fault = self.book.push(row, column, &shown).err();
    }
}

impl Visit for Cells<'_> {
    fn start(&mut self, tag: &Tag<'_>) {
        let name = tag.name();
        match name.as_str() {
            "row" => {
                let state = &mut self.state;
                state.row = tag.value("r").and_then(|row| row.parse().ok()).unwrap_or(state.row.saturating_add(1));
                state.column = 0;
                state.hidden_row = tag.is("hidden");
                self.book.hidden += usize::from(state.hidden_row);
            }
            "col" if tag.is("hidden") => {
                let number = |name: &str| tag.value(name).and_then(|column| column.parse::<u32>().ok());
                if let Some((from, to)) =
                    number("min").zip(number("max")).filter(|_| self.state.hidden_columns.len() < 1000)
                {
                    self.state.hidden_columns.push((from.saturating_sub(1), to.saturating_sub(1)));
                    self.book.hidden += 1;
                }
            }
            "c" => self.start_cell(tag),
            "mergeCell" => {
                let range = tag.value("ref");
                let (from, to) = range.as_deref().and_then(|range| range.split_once(':')).unwrap_or_default();
                if let Some(((column, first), (_, last))) = reference(from).zip(reference(to)) {
                    self.book.merge(column, first, last);
                }
            }
            "v" => (self.state.in_value, self.state.computed.1) = (true, true),
            "f" => self.state.computed.0 = true,
            name => self.state.letters.start(name, tag),
        }
    }

    fn end(&mut self, name: &str) {
        match name {
            "c" => self.end_cell(),
            "v" => self.state.in_value = false,
            name => self.state.letters.end(name),
        }
    }

    fn letters(&mut self, text: &str) {
        if self.state.in_value {
            self.state.value.push_str(text);
        } else {
            self.state.letters.letters(text);
        }
    }
}

/// Column from 0 and row from 1 of a reference: `B12`.
fn reference(text: &str) -> Option<(u32, u64)> {
    let letters = text.bytes().take_while(u8::is_ascii_alphabetic).count();
    let mut column = 0_u32;
    for letter in text.as_bytes().get(..letters).filter(|letters| (1..=3).contains(&letters.len()))? {
        column = column * 26 + u32::from(letter.to_ascii_uppercase() - b'A') + 1;
    }
    Some((column - 1, text[letters..].parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::reference;

    #[test]
    fn references_name_columns_by_letters() {
        let cases = [
            ("A1", Some((0, 1))),
            ("b12", Some((1, 12))),
            ("XFD9", Some((16_383, 9))),
            ("A", None),
            ("12", None),
            ("ABCD1", None),
        ];
        for (text, expected) in cases {
            assert_eq!(reference(text), expected, "{text}");
        }
    }
}

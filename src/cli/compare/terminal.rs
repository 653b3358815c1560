//! The comparison in a terminal: prose is wrapped, and tables are divided between records.

use crate::cli::terminal::columns::{shorten_apart, wrap};
use crate::escape;
use crate::eval::compare::Compared;
use crate::eval::compare::tables::{self, NOTE, Table};
use crate::eval::scores::{self, aligned};
use std::ops::Range;

/// Columns of a record's name in tables; the legend has it whole.
const NAME: usize = 24;

/// The comparison in lines of at most `columns`, but for tables that a single record makes wider.
#[must_use]
pub fn tables(compared: &Compared, columns: usize) -> String {
    let names: Vec<String> = compared.records.iter().map(|record| escape::line(&record.name)).collect();
    let short = shorten_apart(&names.iter().map(String::as_str).collect::<Vec<_>>(), NAME);
    let shortened = |cell: &str| names.iter().position(|name| name == cell).map_or(cell, |at| &short[at]).to_owned();
    let mut text = String::new();
    let mut say = |line: &str| wrap(line, columns).iter().for_each(|line| text.push_str(&format!("{line}\n")));
    tables::legend(compared).iter().for_each(|line| say(line));
    for table in compared.parts.iter().flat_map(|part| tables::tables(compared, part)) {
        text.push_str(&format!("\n{}\n{}", table.title, divided(&table, columns, &shortened)));
    }
    text.push('\n');
    wrap(&format!("[{NOTE}]"), columns).iter().for_each(|line| text.push_str(&format!("{line}\n")));
    text
}

/// As many tables below each other as the width needs, each with as many records as fit, records by their `shortened` names.
fn divided(table: &Table, columns: usize, shortened: &dyn Fn(&str) -> String) -> String {
    let records = match table.columns {
        0 => {
            let named = |row: &Vec<String>| row.iter().map(|cell| shortened(cell)).collect();
            return aligned(&table.rows.iter().map(named).collect::<Vec<Vec<String>>>());
        }
        each => (table.rows.first().map_or(0, Vec::len).saturating_sub(1)) / each,
    };
    let of = |part: Range<usize>| {
        let cells = |row: &Vec<String>| {
            let own = &row[1 + part.start * table.columns..1 + part.end * table.columns];
            row.iter().take(1).chain(own).cloned().collect()
        };
        let mut rows: Vec<Vec<String>> = table.rows.iter().map(cells).collect();
        rows[0].iter_mut().for_each(|name| *name = shortened(name));
        aligned(&rows)
    };
    scores::divided(records, columns, of).join("\n")
}

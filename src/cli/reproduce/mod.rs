//! `moot lab reproduce`: a paper's table or figure, what it needs, and our numbers next to the published ones.

mod args;
mod given;
mod text;

pub(crate) use args::{Args, Format};

use crate::cli::terminal::runs::print_reports;
use crate::cli::terminal::{interrupt, output, tell};
use crate::error::{MootError, Result};
use crate::escape;
use crate::eval::compare::tables::{csv_rows, markdown_table};
use crate::eval::reproduce::{Beside, PaperTable, derived, drawn, tables};
use crate::eval::scores::aligned;
use crate::files::outputs;
use crate::workspace::Reproduction;
use clap::Command;
use serde_json::json;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Lists the tables, describes one, or runs it on the datasets that are given and prints the numbers. `program` has the
/// subcommands that figures without rows are made by.
///
/// # Errors
/// An unknown table, dataset or row; what ends a run.
pub(crate) fn run(args: &Args, program: &Command) -> Result<()> {
    let Some(name) = &args.table else { return output::print(&list()) };
    let table = PaperTable::named(name)?;
    let (commands, unused) = args.given.passed_on(table.made_by, program)?;
    if table.rows.is_empty() && args.output.is_some() {
        return Err(elsewhere(table, &commands));
    }
    if table.rows.is_empty() && !unused.is_empty() {
        tell(&format!("note: no command of this figure takes {}", unused.join(", ")));
    }
    let reproduction = Reproduction::new(table, args.row.clone(), data(table, &args.data)?, args.options(table))?;
    let folder = args.output.as_deref();
    let mut unanswered = None;
    // Without data nothing runs, so there is nothing to interrupt.
    let control = if args.data.is_empty() { None } else { Some(interrupt::listen()?) };
    if let Some((folder, control)) = folder.zip(control.as_ref()) {
        unanswered = print_reports(reproduction.run(folder, control)?);
    }
    let all = reproduction.beside(folder, control.as_ref())?;
    folder.map_or(Ok(()), |folder| draw(table, &all, folder))?;
    let derived = derived(table, &all);
    output::print(&match args.format {
        Format::Terminal => {
            let numbers = escape::lines(&aligned(&text::cells(&all, &derived)));
            let described = text::described(&reproduction, &commands)?;
            if table.rows.is_empty() { described } else { described + "\n" + &numbers + &text::footnotes(&all) }
        }
        Format::Markdown if table.rows.is_empty() => text::settings(table, &commands),
        Format::Markdown => {
            text::settings(table, &commands) + &markdown_table(&text::cells(&all, &derived)) + &text::footnotes(&all)
        }
        Format::Csv => csv_rows(&text::cells_with_differences(&all, &derived))?,
        Format::Json => {
            let value = json!({
                "table": table.name, "paper": table.paper, "settings": table.settings,
                "max_tokens": table.max_tokens, "numbers": all, "derived": derived, "made_by": commands,
            });
            format!("{}\n", escape::json(&value.to_string()))
        }
    })?;
    unanswered.map_or(Ok(()), Err)
}

/// The error of a figure that has no rows to run.
fn elsewhere(table: &PaperTable, commands: &[String]) -> MootError {
    let why = match commands.last() {
        Some(command) => format!("another command makes it: {command}"),
        None => table.settings.last().map_or_else(|| "nothing here makes it".to_owned(), |line| (*line).to_owned()),
    };
    MootError::Usage(format!("{} has no rows to run into -o: {why}", table.name))
}

fn list() -> String {
    let rows = tables().map(|table| vec![table.name.to_owned(), format!("{}: {}", table.paper, table.about)]);
    rows.map(|row| format!("{:<19}  {}\n", row[0], row[1])).collect()
}

/// Writes the charts of a figure, and its numbers as CSV, into the folder of the records.
fn draw(table: &PaperTable, all: &[Beside], folder: &Path) -> Result<()> {
    let charts = drawn(table, all);
    if charts.is_empty() {
        return Ok(());
    }
    for drawn in &charts {
        let path = folder.join(format!("{}{}.svg", table.name, drawn.suffix));
        outputs::write(&path, drawn.chart.picture(&drawn.title, &drawn.names)?.as_bytes())?;
    }
    let path = folder.join(format!("{}.csv", table.name));
    outputs::write(&path, csv_rows(&text::cells_with_differences(all, &derived(table, all)))?.as_bytes())?;
    let count = charts.len();
    let charts = if count == 1 { format!("{}.svg", table.name) } else { format!("{count} charts") };
    tell(&format!("{charts} and {}.csv are in {}", table.name, text::path(folder)));
    Ok(())
}

/// The files of `--data`, by the name of their dataset.
fn data(table: &PaperTable, typed: &[String]) -> Result<BTreeMap<&'static str, PathBuf>> {
    let mut files = BTreeMap::new();
    for typed in typed {
        let wrong = || MootError::Usage(format!("--data {typed}: expected NAME=FILE, found no `=`"));
        let (name, path) = typed.split_once('=').ok_or_else(wrong)?;
        let needed = table.dataset(name.trim())?;
        if files.insert(needed.name, PathBuf::from(path.trim())).is_some() {
            return Err(MootError::Usage(format!("--data {typed}: {name} is given twice")));
        }
    }
    Ok(files)
}

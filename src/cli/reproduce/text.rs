//! A table in text: what it needs, its numbers, and how rows differ from the paper.

use crate::cli::terminal::columns::printable;
use crate::error::Result;
use crate::escape;
use crate::eval::reproduce::{Beside, DerivedBeside, PaperTable};
use crate::workspace::Reproduction;
use std::path::Path;

/// A path as text.
pub(super) fn path(path: &Path) -> String {
    printable(&path.display().to_string())
}

/// Paper, settings, datasets and methods, each with its file or with what is missing; of a table without rows its `commands`.
pub(super) fn described(reproduction: &Reproduction, commands: &[String]) -> Result<String> {
    let table = reproduction.table();
    let mut text = format!("{}: {}\n", table.paper, table.about);
    table.settings.iter().for_each(|line| text.push_str(&format!("  {line}\n")));
    if table.rows.is_empty() {
        text.push_str(if commands.is_empty() { "" } else { "Commands\n" });
        commands.iter().for_each(|command| text.push_str(&format!("  {}\n", escape::line(command))));
        return Ok(text);
    }
    text.push_str(&format!("  {}\n", limit(table)));
    text.push_str("Datasets\n");
    for needed in table.data {
        let found = match reproduction.data().get(needed.name) {
            Some(file) => format!("found: {}", path(file)),
            None => format!("missing: {} (--data {}=FILE)", needed.get, needed.name),
        };
        text.push_str(&format!("  {}: {found}\n", needed.name));
    }
    text.push_str("Methods (--row NAME)\n");
    for row in table.rows {
        let lacking = reproduction.lacks(row)?;
        let missing = (!lacking.is_empty()).then(|| format!("missing: needs {}", lacking.join(" and ")));
        let more = [row.needs, row.note].into_iter().filter(|more| !more.is_empty()).map(str::to_owned);
        let more = missing.into_iter().chain(more).map(|more| format!(" ({more})")).collect::<String>();
        text.push_str(&format!("  {}: {}: {}{more}\n", row.name, row.label, row.typed()));
    }
    Ok(text)
}

/// The limit of a reply, among the settings.
fn limit(table: &PaperTable) -> String {
    let tokens = table.max_tokens;
    format!("at most {tokens} new tokens a reply where its method sets no limit of its own (--max-tokens)")
}

/// Paper and settings in Markdown, and the `commands` of a table without rows.
pub(super) fn settings(table: &PaperTable, commands: &[String]) -> String {
    let limit = (!table.rows.is_empty()).then(|| limit(table));
    let commands = commands.iter().map(|command| format!("`{}`", escape::line(command)));
    let settings = table.settings.iter().map(|&line| line.to_owned());
    let lines: String = settings.chain(limit).chain(commands).map(|line| format!("- {line}\n")).collect();
    format!("{}: {}\n\n{lines}\n", table.paper, table.about)
}

/// The numbers as a table with a head: a line for each row and column, then the numbers of the paper's text. A row that
/// differs from the paper has the number of its [`footnotes`].
pub(super) fn cells(all: &[Beside], derived: &[DerivedBeside]) -> Vec<Vec<String>> {
    let notes = notes(all);
    numbers(all, derived, &|one| {
        let deviates = |note: &str| one.deviates.iter().any(|own| own == note);
        let marks = notes.iter().enumerate().filter(|(_, note)| deviates(note));
        format!("{}{}", one.row, marks.map(|(at, _)| format!(" [{}]", at + 1)).collect::<String>())
    })
}

/// The same for programs: the differences from the paper are in the last column.
pub(super) fn cells_with_differences(all: &[Beside], derived: &[DerivedBeside]) -> Vec<Vec<String>> {
    let mut rows = numbers(all, derived, &|one| one.row.to_owned());
    let differences = all.iter().map(|one| escape::line(&one.deviates.join("; ")));
    let column = std::iter::once("differences".to_owned()).chain(differences).chain(std::iter::repeat(String::new()));
    rows.iter_mut().zip(column).for_each(|(row, cell)| row.push(cell));
    rows
}

/// The table, with the name of each row by `name`.
fn numbers(all: &[Beside], derived: &[DerivedBeside], name: &dyn Fn(&Beside) -> String) -> Vec<Vec<String>> {
    let mut models: Vec<&str> = Vec::new();
    for (model, _) in all.iter().flat_map(|one| &one.published) {
        if !models.contains(model) {
            models.push(model);
        }
    }
    if models.is_empty() {
        models.push("paper");
    }
    let ours = all.iter().find_map(|one| one.model.clone()).unwrap_or_else(|| "ours".into());
    let mut head = vec!["method".to_owned(), "measure".to_owned()];
    head.extend(models.iter().map(|model| (*model).to_owned()));
    head.extend([format!("here: {}", escape::line(&ours)), "n".to_owned()]);
    let mut rows = vec![head];
    for one in all {
        let number = |model: &&str| one.published.iter().find(|(known, _)| known == model).map(|(_, value)| *value);
        let mut row = vec![name(one), one.column.to_owned()];
        let digits =
            if !one.published.is_empty() && one.published.iter().all(|(_, value)| *value <= 1.0) { 4 } else { 2 };
        row.extend(
            models.iter().map(|model| number(model).map_or("-".to_owned(), |value| format!("{value:.digits$}"))),
        );
        row.push(
            one.ours
                .map_or("-".to_owned(), |e| format!("{:.digits$} [{:.digits$}, {:.digits$}]", e.mean, e.low, e.high)),
        );
        row.push(one.ours.map_or("-".to_owned(), |e| e.n.to_string()));
        rows.push(row);
    }
    for one in derived {
        let mut row = vec!["(text)".to_owned(), one.label.to_owned(), format!("{:.2}", one.published)];
        row.extend(models.iter().skip(1).map(|_| "-".to_owned()));
        row.extend([one.ours.map_or("-".to_owned(), |ours| format!("{ours:.2}")), "-".to_owned()]);
        rows.push(row);
    }
    rows
}

/// How rows differ from the paper, each once, in the order of the rows.
fn notes(all: &[Beside]) -> Vec<&str> {
    let mut notes: Vec<&str> = Vec::new();
    for note in all.iter().flat_map(|one| &one.deviates) {
        if !notes.contains(&note.as_str()) {
            notes.push(note);
        }
    }
    notes
}

/// The differences from the paper by the numbers that [`cells`] has behind rows; nothing where there are none.
pub(super) fn footnotes(all: &[Beside]) -> String {
    let notes = notes(all);
    let lines: String = notes.iter().enumerate().map(|(at, note)| format!("[{}] {note}\n", at + 1)).collect();
    if lines.is_empty() { lines } else { format!("\n{}", escape::lines(&lines)) }
}

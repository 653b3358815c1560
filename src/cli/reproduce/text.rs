//! A table in text: what it needs, its numbers, and how rows differ from the paper.

use crate::cli::terminal::columns::printable;
use crate::error::Result;
use crate::escape;
use crate::eval::reproduce::{Beside, DerivedBeside};
use crate::workspace::Reproduction;
use std::path::Path;

/// A path as text.
pub(super) fn path(path: &Path) -> String {
    printable(&path.display().to_string())
}

/// Paper, settings, datasets and methods, each with its file or with what is missing.
pub(super) fn described(reproduction: &Reproduction) -> Result<String> {
    let table = reproduction.table();
    let mut text = format!("{}: {}\n", table.paper, table.about);
    table.settings.iter().for_each(|line| text.push_str(&format!("  {line}\n")));
    if table.rows.is_empty() {
        text.push_str(if table.made_by.is_empty() { "" } else { "Commands\n" });
        table.made_by.iter().for_each(|command| text.push_str(&format!("  {command}\n")));
        return Ok(text);
    }
    text.push_str(&format!(
        "  at most {} new tokens a reply where its method sets no limit of its own (--max-tokens)\n",
        table.max_tokens
    ));
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

/// The numbers as a table with a head: a line for each row and column, then the numbers of the paper's text. A row that
/// differs from the paper has the number of its [`footnotes`].
pub(super) fn cells(all: &[Beside], derived: &[DerivedBeside]) -> Vec<Vec<String>> {
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
    let notes = notes(all);
    for one in all {
        let number = |model: &&str| one.published.iter().find(|(known, _)| known == model).map(|(_, value)| *value);
        let marks: String = notes
            .iter()
            .enumerate()
            .filter(|(_, note)| one.deviates.iter().any(|own| own == *note))
            .map(|(at, _)| format!(" [{}]", at + 1))
            .collect();
        let mut row = vec![format!("{}{marks}", one.row), one.column.to_owned()];
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

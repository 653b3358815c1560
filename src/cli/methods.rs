//! `moot methods`: prints the table of methods, or explains one.

use crate::cli::terminal::columns::{pad, width, wrap};
use crate::cli::terminal::output;
use crate::error::Result;
use crate::methods::{ASK, METHODS, RUN};
use crate::protocol::Row;
use crate::protocol::presets::Preset;
use serde_json::{Value, json};

const EXAMPLES: &str = "\
Examples:
  moot methods                    every method with its paper
  moot methods madam-rag          the protocol, calls per question, roles, switches and presets of one";

/// List the methods, or explain one
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The method to explain
    #[arg(value_name = "METHOD")]
    pub method: Option<String>,
    /// Print one JSON array
    #[arg(long)]
    pub json: bool,
}

/// Prints the table or one method.
///
/// # Errors
/// An unknown method.
pub(crate) fn run(args: &Args) -> Result<()> {
    let rows: Vec<&Row> = match &args.method {
        Some(name) => vec![Row::named(name)?],
        None => METHODS.to_vec(),
    };
    if args.json {
        return output::print(&format!("{}\n", Value::from(rows.into_iter().map(object).collect::<Vec<_>>())));
    }
    let columns = output::columns();
    match &args.method {
        Some(_) => output::print_lines(&rows.into_iter().map(|row| explained(row, columns)).collect::<String>()),
        None => output::print(&(table(&rows, columns) + &presets(&rows, columns))),
    }
}

fn table(rows: &[&Row], columns: usize) -> String {
    let name = rows.iter().map(|row| width(row.name)).max().unwrap_or(0);
    let mut text = String::new();
    for row in rows {
        let default = match row.name {
            ASK => "; moot ask's default",
            RUN => "; moot run's default",
            _ => "",
        };
        text.push_str(&indented(&pad(row.name, name), &format!("{}{default}", row.about), columns));
        text.push_str(&indented(&pad("", name), row.paper, columns));
    }
    text
}

/// The presets of these methods with their switches, under a heading; nothing where there are none.
fn presets(rows: &[&Row], columns: usize) -> String {
    let line = |row: &Row, preset: &Preset| {
        let switches = preset.switches.iter().map(|(name, value)| format!(" --set {name}={value}"));
        let about = format!("{} (--method {}{})", preset.about, row.name, switches.collect::<String>());
        indented(&format!("  {}", preset.name), &about, columns)
    };
    let lines: String = rows.iter().flat_map(|row| row.presets.iter().map(|preset| line(row, preset))).collect();
    if lines.is_empty() { lines } else { format!("Presets (--preset NAME)\n{lines}") }
}

fn explained(row: &Row, columns: usize) -> String {
    let mut text = indented("Method  ", &format!("{}: {}", row.name, row.about), columns);
    text.push_str(&indented("Paper   ", row.paper, columns));
    text.push_str(&indented("Calls   ", row.calls, columns));
    text.push_str(&indented("Needs   ", &needs(row), columns));
    text.push_str(&indented("Roles   ", &row.all_roles().collect::<Vec<_>>().join(", "), columns));
    if !row.headline.is_empty() {
        text.push_str(&indented("Numbers ", row.headline, columns));
    }
    text.push_str("Protocol\n");
    row.protocol.lines().for_each(|line| text.push_str(&format!("  {line}\n")));
    if !row.switches.is_empty() {
        text.push_str("Switches (--set NAME=VALUE)\n");
    }
    for switch in row.switches {
        let about = format!("{}; {}; default {}", switch.about, switch.kind.expected(), switch.default);
        text.push_str(&indented(&format!("  {}", switch.name), &about, columns));
    }
    text + &presets(&[row], columns)
}

/// A row's needs as text.
#[must_use]
pub fn needs(row: &Row) -> String {
    let needs = &row.needs;
    let mut all = Vec::new();
    all.extend(needs.documents.then_some("documents (--docs, --corpus, or the dataset's)"));
    all.extend(needs.passages.then_some("documents, or a corpus to search instead (--corpus)"));
    all.extend(needs.retriever.then_some("a corpus to search (--corpus)"));
    all.extend(needs.entailment.then_some("entailment (--classifier, or a model in the role `entailment`)"));
    all.extend(
        needs
            .equality
            .then_some("for equality by meaning, entailment (--classifier, or the role `entailment`) or an embedder"),
    );
    all.extend(needs.embedder.then_some("an embedder, if there is one (--embedder)"));
    all.extend(needs.model.missing_from(crate::llm::Capabilities::default()));
    if all.is_empty() { "nothing but a model".to_owned() } else { all.join("; ") }
}

fn object(row: &Row) -> Value {
    let switch = |switch: &crate::protocol::switches::Switch| {
        json!({
            "name": switch.name, "about": switch.about, "values": switch.kind.expected(), "default": switch.default,
        })
    };
    let preset = |preset: &Preset| {
        let switches: serde_json::Map<String, Value> =
            preset.switches.iter().map(|&(name, value)| (name.to_owned(), value.into())).collect();
        json!({ "name": preset.name, "about": preset.about, "switches": switches })
    };
    json!({
        "name": row.name,
        "about": row.about,
        "paper": row.paper,
        "protocol": row.protocol,
        "calls": row.calls,
        "headline": row.headline,
        "roles": row.all_roles().collect::<Vec<_>>(),
        "needs": needs(row),
        "switches": row.switches.iter().map(switch).collect::<Vec<_>>(),
        "presets": row.presets.iter().map(preset).collect::<Vec<_>>(),
        "files": row.files().map(|file| file.name).collect::<Vec<_>>(),
    })
}

/// `head`, then `text` wrapped with a hanging indent.
fn indented(head: &str, text: &str, columns: usize) -> String {
    let margin = width(head) + 2;
    let lines = wrap(text, columns.saturating_sub(margin).max(24));
    let first = |at| if at == 0 { pad(head, margin) } else { " ".repeat(margin) };
    lines.iter().enumerate().map(|(at, line)| format!("{}{}\n", first(at), line.trim_end())).collect()
}

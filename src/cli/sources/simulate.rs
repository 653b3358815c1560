//! `moot sources simulate`.

use crate::cli::args::values;
use crate::cli::terminal::output;
use crate::error::{MootError, Result};
use crate::eval::sources::simulate::figures::{COLLAPSE, FIGURES, Figure, Outcome};
use crate::files::outputs;
use std::path::PathBuf;

/// Simulate sources without a model: the paper's shapes, and copies among sources
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The figures to compute; all without a name
    #[arg(value_name = "FIGURE")]
    figures: Vec<String>,
    /// Trials, whose mean is shown
    #[arg(long, value_name = "N", default_value_t = 30, value_parser = values::count, allow_negative_numbers = true)]
    trials: usize,
    /// Seeds the trials
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = values::whole::<u64>, allow_negative_numbers = true)]
    seed: u64,
    /// Also write each figure as sources-FIGURE.svg into this folder
    #[arg(short, long, value_name = "FOLDER")]
    output: Option<PathBuf>,
}

pub(super) fn run(args: &Args) -> Result<()> {
    let named = |name: &String| {
        FIGURES.iter().find(|figure| figure.name == name).ok_or_else(|| MootError::UnknownName {
            kind: "figure",
            name: name.clone(),
            known: FIGURES.iter().map(|figure| figure.name).collect::<Vec<_>>().join(", "),
        })
    };
    let chosen: Vec<&Figure> = match args.figures.as_slice() {
        [] => FIGURES.iter().collect(),
        names => names.iter().map(named).collect::<Result<_>>()?,
    };
    if let Some(folder) = &args.output {
        std::fs::create_dir_all(folder).map_err(|e| MootError::io(folder, "create", e))?;
    }
    for figure in chosen {
        let outcome = figure.run(args.trials, args.seed);
        output::print(&table(figure, &outcome, args.trials))?;
        if let Some(folder) = &args.output {
            let path = folder.join(format!("sources-{}.svg", figure.name));
            outputs::write(&path, outcome.chart.picture(figure.title, &figure.names())?.as_bytes())?;
        }
    }
    Ok(())
}

/// A Markdown table: a row an x, a column a line; in brackets the trials that collapsed.
fn table(figure: &Figure, outcome: &Outcome, trials: usize) -> String {
    let series = &outcome.chart.series;
    let names = figure.names();
    let head: String = names.iter().map(|name| format!(" {name} |")).collect();
    let mut text = format!(
        "{} ({}; {}, mean of {trials} trials with its 95 % interval)\n\n| {} |{head}\n|---|{}\n",
        figure.title,
        figure.name,
        figure.paper,
        figure.x,
        "---|".repeat(series.len())
    );
    for (row, &x) in figure.at.iter().enumerate() {
        text.push_str(&format!("| {x} |"));
        for (line, series) in series.iter().enumerate() {
            let collapsed = outcome.collapsed[row][line];
            let bracket =
                if figure.counts_collapses() && collapsed > 0 { format!(" ({collapsed})") } else { String::new() };
            let y = series.points[row].y;
            text.push_str(&format!(" {:.3} ±{:.3}{bracket} |", y.mean, y.high - y.mean));
        }
        text.push('\n');
    }
    if figure.counts_collapses() {
        let last = names.last().unwrap_or(&"");
        text.push_str(&format!("\nIn brackets: trials that end {COLLAPSE} and more below {last}.\n"));
    }
    text + "\n"
}

//! `moot sources simulate`.

use crate::cli::args::values;
use crate::cli::terminal::output;
use crate::error::{MootError, Result};
use crate::eval::chart::Point;
use crate::eval::compare::tables::csv_rows;
use crate::eval::sources::simulate::changes::Changes;
use crate::eval::sources::simulate::figures::{COLLAPSE, FIGURES, Figure, Outcome};
use crate::files::outputs;
use std::path::PathBuf;

/// The largest `--sources`.
const MOST_SOURCES: f64 = 100.0;

/// The largest `--wrong`.
const MOST_WRONG: f64 = 1000.0;

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
    /// Sources (N)
    #[arg(long, value_name = "N", value_parser = values::count, allow_negative_numbers = true)]
    sources: Option<usize>,
    /// The probability that a source has relevant documents on a question (r)
    #[arg(long, value_name = "R", value_parser = values::number::<f64>, allow_negative_numbers = true)]
    coverage: Option<f64>,
    /// Mean of the reliabilities, drawn from Beta(2 w / (1 - w), 2)
    #[arg(long, value_name = "W", value_parser = values::number::<f64>, allow_negative_numbers = true)]
    mean: Option<f64>,
    /// Wrong answers of a question
    #[arg(long, value_name = "N", value_parser = values::count, allow_negative_numbers = true)]
    wrong: Option<usize>,
    /// Sources that RA-RAG selects
    #[arg(long, value_name = "N", value_parser = values::count, allow_negative_numbers = true)]
    kappa: Option<usize>,
    /// Also write each figure into this folder, as sources-FIGURE.svg and .csv
    #[arg(short, long, value_name = "FOLDER")]
    output: Option<PathBuf>,
}

impl Args {
    /// The settings that differ from the figures' own.
    fn changes(&self) -> Result<Changes> {
        let within = |option: &str, value: f64, from: f64, to: f64| {
            let expected = || MootError::Usage(format!("{option} {value}: expected a number from {from} to {to}"));
            if (from..=to).contains(&value) { Ok(()) } else { Err(expected()) }
        };
        self.sources.map_or(Ok(()), |sources| within("--sources", sources as f64, 2.0, MOST_SOURCES))?;
        self.coverage.map_or(Ok(()), |coverage| within("--coverage", coverage, 0.0, 1.0))?;
        self.mean.map_or(Ok(()), |mean| within("--mean", mean, 0.01, 0.99))?;
        self.wrong.map_or(Ok(()), |wrong| within("--wrong", wrong as f64, 1.0, MOST_WRONG))?;
        Ok(Changes {
            sources: self.sources,
            coverage: self.coverage,
            mean: self.mean,
            wrong: self.wrong.and_then(|wrong| u16::try_from(wrong).ok()),
            kappa: self.kappa,
        })
    }
}

/// Refuses a setting that one of the figures varies itself, or does not have.
fn check(chosen: &[&Figure], changes: &Changes) -> Result<()> {
    let refusing = chosen.iter().filter_map(|figure| Some((figure.name, figure.refuses(changes)?)));
    let refusing: Vec<_> = refusing.collect();
    let Some((_, setting)) = refusing.first() else { return Ok(()) };
    let names: Vec<&str> = refusing.iter().filter(|(_, own)| own == setting).map(|(name, _)| *name).collect();
    let able: Vec<&str> = FIGURES.iter().filter(|f| f.refuses(changes).is_none()).map(|f| f.name).collect();
    let able = if able.is_empty() {
        "none takes all that is set".into()
    } else {
        format!("figures for it: {}", able.join(" "))
    };
    let option = setting.option();
    Err(MootError::Usage(format!(
        "{option} does not apply to the figure {}: it is fixed or varied there ({able})",
        names.join(", ")
    )))
}

pub(super) fn run(args: &Args) -> Result<()> {
    let changes = args.changes()?;
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
    check(&chosen, &changes)?;
    if let Some(folder) = &args.output {
        std::fs::create_dir_all(folder).map_err(|e| MootError::io(folder, "create", e))?;
    }
    for figure in chosen {
        let outcome = figure.run(args.trials, args.seed, &changes);
        output::print(&table(figure, &outcome, args.trials, &changes))?;
        if let Some(folder) = &args.output {
            let path = |end: &str| folder.join(format!("sources-{}.{end}", figure.name));
            let names = figure.names(&changes);
            let lines: Vec<&str> = names.iter().map(String::as_str).collect();
            let picture = outcome.chart.picture(&figure.titled(&changes), &lines)?;
            outputs::write(&path("svg"), picture.as_bytes())?;
            outputs::write(&path("csv"), csv_rows(&rows(figure, &outcome, &names))?.as_bytes())?;
        }
    }
    Ok(())
}

/// The numbers of a figure, with a head: a row for each x and line.
fn rows(figure: &Figure, outcome: &Outcome, names: &[String]) -> Vec<Vec<String>> {
    let head = [figure.x, "line", "mean", "low", "high", "trials", "collapsed"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    for (at, collapsed) in outcome.collapsed.iter().enumerate() {
        for ((series, name), collapsed) in outcome.chart.series.iter().zip(names).zip(collapsed) {
            let Point { x, y } = series.points[at];
            let collapsed = if figure.counts_collapses() { collapsed.to_string() } else { String::new() };
            let numbers = [y.mean, y.low, y.high].map(|number| format!("{number:.6}"));
            let row = [x.to_string(), name.clone()].into_iter().chain(numbers);
            rows.push(row.chain([y.n.to_string(), collapsed]).collect());
        }
    }
    rows
}

/// A Markdown table: a row an x, a column a line; in brackets the trials that collapsed.
fn table(figure: &Figure, outcome: &Outcome, trials: usize, changes: &Changes) -> String {
    let series = &outcome.chart.series;
    let names = figure.names(changes);
    let head: String = names.iter().map(|name| format!(" {name} |")).collect();
    let mut text = format!(
        "{} ({}; {}, mean of {trials} trials with its 95 % interval)\n\n| {} |{head}\n|---|{}\n",
        figure.titled(changes),
        figure.name,
        figure.paper,
        figure.x,
        "---|".repeat(series.len())
    );
    for (row, &x) in figure.steps(changes).iter().enumerate() {
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
        let last = names.last().map_or("", String::as_str);
        text.push_str(&format!("\nIn brackets: trials that end {COLLAPSE} and more below {last}.\n"));
    }
    text + "\n"
}

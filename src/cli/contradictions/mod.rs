//! `moot contradictions`: where the documents of a folder contradict each other.

mod args;
mod page;
mod watch;

pub(crate) use args::Args;

use crate::cli::args::form::Form;
use crate::cli::terminal::{interrupt, output, tell};
use crate::contradictions::{Folder, Report, html, markdown};
use crate::error::{MootError, Result};
use crate::escape;
use crate::files::outputs;
use crate::workspace::{Changed, Workspace, note_pdf_workers};
use std::path::Path;
use watch::Bars;

/// Compares and prints.
///
/// # Errors
/// Documents or a model that cannot be used; an output that cannot be written; [`MootError::Differ`] where a contradiction is at
/// least as probable as `--fail-above`.
pub(crate) fn run(args: &Args) -> Result<()> {
    args.check()?;
    let control = interrupt::listen()?;
    let outputs: Vec<(&str, &Path)> = args.output.iter().map(|path| ("-o", path.as_path())).collect();
    let all: Vec<_> =
        outputs.iter().copied().chain(args.pairs.iter().map(|path| ("--pairs", path.as_path()))).collect();
    outputs::distinct(&all, &args.inputs())?;
    for (_, path) in &all {
        outputs::check(path)?;
    }
    let forms = args.output.iter().map(|path| Form::of(path)).collect::<Result<Vec<Form>>>()?;
    let changed = args.since.as_deref().map(|since| Changed::since(since, &args.paths)).transpose()?;
    changed.iter().for_each(|changed| tell(&changed.told()));
    let folder = Folder::read(&args.paths, changed.as_ref().map(|changed| &changed.files))?;
    folder.notes.iter().for_each(|note| tell(note));
    note_pdf_workers(&control);
    let options = args.options()?;
    if args.dry_run {
        return output::print(&format!("{}\n", folder.estimate(&options)));
    }
    tell(&folder.estimate(&options));
    let workspace = Workspace::open_contradictions(args.plan(), &args.embedder(), &control)?;
    let bars = Bars::new(control.clone());
    let report = workspace.contradictions(&folder, &options, &bars);
    bars.clear();
    let report = report.inspect_err(|error| {
        if matches!(error, MootError::Interrupted) && options.cache.is_some() {
            tell("finished work is kept; run the same command to resume");
        }
    })?;
    print(args.form(), &report)?;
    for (path, form) in args.output.iter().zip(forms) {
        outputs::write(path, written(form, &report)?.as_bytes())?;
    }
    if let Some(path) = &args.pairs {
        let lines: String = report.labelled.iter().map(|pair| format!("{pair}\n")).collect();
        outputs::write(path, lines.as_bytes())?;
    }
    let fails = |least: f64| report.findings().any(|finding| finding.probability >= least);
    if args.fail_above.is_some_and(fails) { Err(MootError::Differ) } else { Ok(()) }
}

fn print(form: Form, report: &Report) -> Result<()> {
    match form {
        Form::Text => output::print(&page::page(report, output::columns())),
        // A page keeps marks of writing direction, which a browser needs.
        Form::Html => output::write(written(form, report)?.as_bytes()).map(drop),
        Form::Json | Form::Markdown => output::print(&written(form, report)?),
    }
}

fn written(form: Form, report: &Report) -> Result<String> {
    match form {
        Form::Text => Ok(page::page(report, output::columns())),
        Form::Markdown => Ok(markdown::page(report)),
        Form::Html => Ok(html::page(report)),
        Form::Json => {
            let json = serde_json::to_string_pretty(report);
            let json = json.map_err(|e| MootError::Usage(format!("the report cannot be JSON: {e} (bug)")))?;
            Ok(escape::json(&json) + "\n")
        }
    }
}

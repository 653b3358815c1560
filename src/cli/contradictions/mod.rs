//! `moot contradictions`: where the documents of a folder contradict each other.

mod args;
mod page;
mod watch;

pub(crate) use args::Args;

use crate::cli::args::form::Form;
use crate::cli::terminal::{interrupt, output, tell};
use crate::contradictions::{Folder, Options, Report, html, markdown, without_pairs};
use crate::error::{MootError, Result};
use crate::files::outputs;
use crate::units::plural;
use crate::workspace::{Changed, Control, Workspace, note_pdf_workers};
use std::path::Path;
use watch::Bars;

/// Compares and prints.
///
/// # Errors
/// Documents or a model that cannot be used; an output that cannot be written; [`MootError::Differ`] where a contradiction is at
/// least as probable as `--fail-above`; [`MootError::Unlabelled`] where missing labels leave that open.
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
    let folder = Folder::unchecked(&args.paths, changed.as_ref().map(|changed| &changed.files))?;
    // Before the check: they say why a document is missing.
    folder.notes.iter().for_each(|note| tell(note));
    note_pdf_workers(&control);
    folder.check(&args.paths)?;
    let options = args.options()?;
    if args.dry_run {
        return output::print(&format!("{}\n", folder.estimate(&options)));
    }
    tell(&folder.estimate(&options));
    let report = match without_pairs(&folder) {
        Some(report) => report,
        None => compared(args, &folder, &options, &control)?,
    };
    print(args.form(), &report)?;
    for (path, form) in args.output.iter().zip(forms) {
        outputs::write(path, written(form, &report)?.as_bytes())?;
    }
    if let Some(path) = &args.pairs {
        let lines: String = report.labelled.iter().map(|pair| format!("{pair}\n")).collect();
        outputs::write(path, lines.as_bytes())?;
    }
    args.fail_above.map_or(Ok(()), |least| passed(&report, least))
}

/// Opens the models and compares the documents of `folder`.
fn compared(args: &Args, folder: &Folder, options: &Options, control: &Control) -> Result<Report> {
    let workspace = Workspace::open_contradictions(args.plan(), &args.embedder(), control)?;
    let bars = Bars::new(control.clone());
    let report = workspace.contradictions(folder, options, &bars);
    bars.clear();
    report.inspect_err(|error| {
        if matches!(error, MootError::Interrupted) && options.cache.is_some() {
            tell("finished work is kept; run the same command to resume");
        }
    })
}

/// Fails if a contradiction is at least as probable as `least`, or if missing labels leave that open.
fn passed(report: &Report, least: f64) -> Result<()> {
    let found = report.findings().filter(|finding| finding.probability >= least).count();
    if found > 0 {
        let found = plural(found, "contradiction", "contradictions");
        tell(&format!("{found} of {least} or more (--fail-above)"));
        return Err(MootError::Differ);
    }
    let counts = &report.counts;
    match (report.unlabelled, counts.failed) {
        (0, 0) => Ok(()),
        // Calls of the reader failed: its sentences were compared without their subjects.
        (0, failed) => Err(MootError::Unlabelled { missing: failed, of: counts.calls, what: "calls failed" }),
        (missing, _) => Err(MootError::Unlabelled { missing, of: counts.pairs, what: "labels are missing" }),
    }
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
        Form::Json => output::pretty_json(report),
    }
}

#[cfg(test)]
mod tests {
    use super::passed;
    use crate::contradictions::{Counts, Finding, Group, Kind, Report};
    use crate::error::MootError;

    fn report(probability: f64, unlabelled: usize, failed: usize) -> Report {
        let finding = Finding { probability, kind: Kind::Number, sides: Vec::new() };
        let counts = Counts { pairs: 8, calls: 32, failed, ..Counts::default() };
        let groups = vec![Group { subject: String::new(), findings: vec![finding] }];
        Report { groups, counts, unlabelled, ..Report::default() }
    }

    #[test]
    fn missing_labels_fail_a_check_that_nothing_else_fails() {
        assert!(passed(&report(0.8, 0, 0), 0.9).is_ok());
        assert!(matches!(passed(&report(0.9, 0, 0), 0.9), Err(MootError::Differ)));
        assert!(matches!(passed(&report(0.9, 3, 3), 0.9), Err(MootError::Differ)), "one is found all the same");
        let missing = |unlabelled, failed| match passed(&report(0.8, unlabelled, failed), 0.9) {
            Err(MootError::Unlabelled { missing, of, .. }) => (missing, of),
            other => panic!("{other:?}"),
        };
        assert_eq!((missing(3, 5), missing(3, 0), missing(0, 1)), ((3, 8), (3, 8), (1, 32)));
    }
}

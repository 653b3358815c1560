//! `moot conflict`: the claims of a text, and the documents that support and that contradict each.

mod args;
pub(crate) mod calibrate;
pub(crate) mod correct;
mod input;
mod printed;

pub(crate) use args::{Args, FailOn, Subcommand};

use crate::assess::Assessment;
use crate::assess::assessment::{Claim, Unsupported};
use crate::cli::terminal::columns::printable;
use crate::cli::terminal::{bar, interrupt, tell};
use crate::error::{MootError, Result};
use crate::files::outputs;
use crate::protocol::ctx::Observer;
use crate::question::LabelFault;
use crate::transcript::CallRecord;
use crate::units::plural;
use crate::workspace::{ConflictInput, Plan, Workspace};
use indicatif::ProgressBar;
use printed::print;
use std::path::Path;

/// Labels and prints.
///
/// # Errors
/// A text, documents, a record or a model that cannot be used; a text without words; a single document without a text; a call
/// that failed.
pub(crate) fn run(args: &Args) -> Result<()> {
    match &args.command {
        Some(Subcommand::Calibrate(args)) => return calibrate::run(args),
        Some(Subcommand::Correct(args)) => return correct::run(args),
        None => {}
    }
    let control = interrupt::listen()?;
    let plan = Plan::of(args.options()?, &control)?;
    let input = input::options(args)?.read(&plan, &control)?;
    if matches!(input, ConflictInput::All(_)) && !args.fail_on.is_empty() {
        let text = "--fail-on: expected a text, or one answer of a record; found all answers of a record";
        return Err(MootError::Usage(text.into()));
    }
    if let Some(path) = &args.output {
        outputs::distinct(&[("-o", path)], &args.inputs())?;
        outputs::check(path)?;
        // All answers of a record can be continued; a single one would be written twice.
        if matches!(input, ConflictInput::One(_)) {
            outputs::refuse_existing(path)?;
        }
    }
    let workspace = Workspace::open(plan, &control)?;
    let question = match input {
        ConflictInput::One(question) => question,
        ConflictInput::All(questions) => {
            let path = args.output.as_deref().unwrap_or(Path::new(""));
            let ended = workspace.record_all(path, &questions);
            let path = printable(&path.display().to_string());
            tell(&format!("recorded in {path}; `moot score {path}` scores it, `moot record show {path} N` shows one"));
            return ended;
        }
    };
    let watch = Watch { bar: bar(0, "{bar:24} {pos}/{len}  {eta} left").unwrap_or_else(ProgressBar::hidden) };
    let record = workspace.conflict(&question, args.output.as_deref(), &watch);
    watch.bar.finish_and_clear();
    workspace.note_counts();
    let assessment = print(args.format, args.neither, &record?, &workspace.header())?;
    passed(&args.fail_on, &assessment)
}

/// Fails if claims are as `--fail-on` forbids, or if missing labels leave that open.
fn passed(on: &[FailOn], assessment: &Assessment) -> Result<()> {
    let missing = |label: &Unsupported| matches!(label.fault, LabelFault::Malformed | LabelFault::Failed);
    // A claim with a label that is missing may have the document that it seems to lack.
    let is_open = |claim: &&Claim| claim.unsupported.iter().any(missing);
    let claims = || assessment.claims.iter();
    let unsupported = || claims().filter(|claim| claim.supporters.is_empty());
    let kinds = [
        (
            FailOn::Contradicted,
            claims().filter(|claim| !claim.contradictors.is_empty()).count(),
            claims().filter(|claim| claim.contradictors.is_empty()).any(|claim| is_open(&claim)),
            "with a contradictor",
        ),
        (
            FailOn::Unsupported,
            unsupported().filter(|claim| !is_open(claim)).count(),
            unsupported().any(|claim| is_open(&claim)),
            "without a supporter",
        ),
    ];
    let asked = || kinds.iter().filter(|(kind, ..)| on.contains(kind));
    let found: Vec<String> = asked()
        .filter(|(_, count, ..)| *count > 0)
        .map(|(_, count, _, what)| format!("{} {what}", plural(*count, "claim", "claims")))
        .collect();
    if !found.is_empty() {
        tell(&format!("--fail-on: {}", found.join(", ")));
        return Err(MootError::Differ);
    }
    if asked().any(|(_, _, is_open, _)| *is_open) {
        let scores = &assessment.scores;
        let (missing, of) = (scores.malformed + scores.failed, scores.labels);
        return Err(MootError::Unlabelled { missing, of, what: "labels are missing (malformed or failed)" });
    }
    Ok(())
}

/// Counts calls on a terminal while they are made.
struct Watch {
    bar: ProgressBar,
}

impl Observer for Watch {
    fn stage(&self, _: usize, count: usize) {
        self.bar.set_length(self.bar.position() + count as u64);
    }

    fn call(&self, _: usize, _: &CallRecord) {
        self.bar.inc(1);
    }
}

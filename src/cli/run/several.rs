//! Runs of several methods and models: a record for each combination.
//!
//! One record a combination, because a header names one method and one model, and everything that reads records (compare,
//! report, merge, replay, resuming) takes it by that.

use super::{Args, Prepared, dry};
use crate::cli::interrupt::Interrupt;
use crate::cli::model;
use crate::cli::run::display::say;
use crate::error::{MootError, Result};
use crate::llm::roles::Assignment;
use crate::protocol::ctx::Tools;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The models of `--model`, each for a run of its own: `x,y`. What gives models to roles is one run.
///
/// # Errors
/// [`MootError::Usage`] for a model that is there twice.
pub(super) fn models(typed: &str) -> Result<Vec<&str>> {
    let parts: Vec<&str> = typed.split(',').map(str::trim).collect();
    let alone = |part: &&str| Assignment::parse(part).is_ok_and(|one| one.only("a run").is_ok());
    if parts.len() < 2 || !parts.iter().all(alone) {
        return Ok(vec![typed]);
    }
    match twice(&parts) {
        Some(name) => {
            Err(MootError::Usage(format!("--model {typed}: expected different models, {name} stands there twice")))
        }
        None => Ok(parts),
    }
}

fn twice<'a>(names: &[&'a str]) -> Option<&'a str> {
    let mut seen = BTreeSet::new();
    names.iter().find(|name| !seen.insert(**name)).copied()
}

/// The record of each method with each model: `-o` itself where there is one of both, else files in the folder `-o`, which is
/// made where it is missing.
///
/// # Errors
/// [`MootError::Usage`] where `-o` cannot be a folder, where neither `-o` nor `--answers` is given, and for `--answers` with
/// several records.
pub(super) fn outputs(args: &Args, methods: &[&str], models: &[&str]) -> Result<Vec<Vec<PathBuf>>> {
    let output = match (&args.output, &args.answers) {
        (Some(output), _) => output.clone(),
        (None, Some(answers)) => answers.with_extension("record.jsonl"),
        (None, None) => return Err(MootError::Usage("no record to write: expected -o FILE, or --answers FILE".into())),
    };
    if methods.len() * models.len() == 1 {
        return Ok(vec![vec![output]]);
    }
    let records = methods.len() * models.len();
    if args.answers.is_some() {
        let found = format!("{} methods and {} models", methods.len(), models.len());
        return Err(MootError::Usage(format!("--answers: expected one method and one model, found {found}")));
    }
    if output.is_file() || (!output.is_dir() && output.extension().is_some_and(|end| end == "jsonl")) {
        let path = output.display();
        return Err(MootError::Usage(format!(
            "-o {path}: expected a folder for {records} records, found a file's name"
        )));
    }
    let labels = labels(models);
    let record = |method: &&str, model: &String| output.join(format!("{method}.{model}.jsonl"));
    let all = labels.iter().map(|model| methods.iter().map(|method| record(method, model)).collect()).collect();
    if args.dry_run {
        return Ok(all);
    }
    std::fs::create_dir_all(&output).map_err(|e| MootError::io(&output, "create", e))?;
    Ok(all)
}

/// A model as a part of a file's name: the last part of a path or an address, letters, digits, dots, dashes.
pub(in crate::cli) fn label(model: &str) -> String {
    let last =
        Path::new(model).file_name().map_or_else(|| model.to_owned(), |name| name.to_string_lossy().into_owned());
    let last = last.strip_suffix(".gguf").unwrap_or(&last);
    let plain = |c: char| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '-' };
    last.chars().map(plain).collect()
}

/// The label of each model, a number behind those that are equal.
fn labels(models: &[&str]) -> Vec<String> {
    let mut labels: Vec<String> = Vec::new();
    for plain in models.iter().map(|model| label(model)) {
        let same = |n: usize| if n < 2 { plain.clone() } else { format!("{plain}-{n}") };
        let free = (1..).map(same).find(|label| !labels.contains(label));
        labels.extend(free);
    }
    labels
}

/// Finds every model, before the first one runs for a night and the second one is misspelt.
///
/// # Errors
/// As [`model::Runtime::look_for`].
pub(super) fn look_for(models: &[&str], model: &model::Args, interrupt: &Interrupt) -> Result<()> {
    let several = if models.len() > 1 { models } else { &[] };
    several.iter().try_for_each(|name| model.runtime.look_for(name, &interrupt.cancel))
}

/// The records, for messages.
pub(super) fn list(batch: &[Prepared]) -> String {
    batch.iter().map(|prepared| prepared.output.display().to_string()).collect::<Vec<_>>().join(", ")
}

/// A dry run of each method.
///
/// # Errors
/// As [`dry::run`].
pub(super) fn dry(batch: &[Prepared], tools: Tools<'_>) -> Result<()> {
    for prepared in batch {
        if batch.len() > 1 {
            say(&format!("{}:", prepared.output.display()));
        }
        dry::run(prepared, tools)?;
    }
    Ok(())
}

/// Says how many prompt tokens several methods shared.
pub(super) fn tell_shared(methods: usize, tools: Tools<'_>) {
    if let Some(stats) = tools.llm.engine_stats().filter(|_| methods > 1) {
        say(&format!("{} prompt tokens of one method had been computed for another one", stats.reused_across_groups));
    }
}

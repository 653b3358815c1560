//! Records of runs of several methods and models: one for each combination.
//!
//! A header names one method and one model, and everything that reads records (compare, report, merge, replay, resuming)
//! relies on that.

use crate::error::{MootError, Result};
use crate::files::outputs;
use crate::llm::roles::Assignment;
use crate::workspace::options::{PlanOptions, RunOptions};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The models of `x,y`, each for a run of its own. An assignment of models to roles is one run.
///
/// # Errors
/// [`MootError::Usage`] for a model that is there twice.
pub(super) fn models(typed: &str) -> Result<Vec<&str>> {
    let parts: Vec<&str> = typed.split(',').map(str::trim).collect();
    let alone = |part: &&str| Assignment::parse(part).is_ok_and(|one| one.only("a run").is_ok());
    if parts.len() < 2 || !parts.iter().all(alone) {
        return Ok(vec![typed]);
    }
    let mut seen = BTreeSet::new();
    match parts.iter().find(|name| !seen.insert(**name)) {
        Some(name) => {
            Err(MootError::Usage(format!("--model {typed}: expected different models, {name} is given twice")))
        }
        None => Ok(parts),
    }
}

/// The record of each method with each model: files in a folder, which is created if needed; for one method and one model the
/// output itself, unless it is a folder.
///
/// # Errors
/// [`MootError::Usage`] where the output cannot be a folder, where neither a record nor a table of answers is given, and for a
/// table of answers with several records.
pub(super) fn of(run: &RunOptions, methods: &[&str], models: &[String]) -> Result<Vec<Vec<PathBuf>>> {
    let output = match (&run.output, &run.answers) {
        (Some(output), _) => output.clone(),
        (None, Some(answers)) => answers.with_extension("record.jsonl"),
        (None, None) => return Err(MootError::Usage("no record to write: expected -o FILE, or --answers FILE".into())),
    };
    let records = methods.len() * models.len();
    if records == 1 && !is_folder(&output) {
        return Ok(vec![vec![output]]);
    }
    if records > 1 && run.answers.is_some() {
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
    if run.dry_run {
        return Ok(all);
    }
    std::fs::create_dir_all(&output).map_err(|e| MootError::io(&output, "create", e))?;
    Ok(all)
}

/// Whether `path` is a folder, or is given as one: `runs/`.
fn is_folder(path: &Path) -> bool {
    path.is_dir() || path.to_string_lossy().ends_with(std::path::is_separator)
}

/// Refuses outputs that are among what `options` read, or the same file.
///
/// # Errors
/// As [`outputs::distinct`].
pub(super) fn check_distinct(options: &PlanOptions, records: &[Vec<PathBuf>]) -> Result<()> {
    let records = records.iter().flatten().map(|path| ("-o", path.as_path()));
    let answers = options.run.iter().filter_map(|run| Some(("--answers", run.answers.as_deref()?)));
    outputs::distinct(&records.chain(answers).collect::<Vec<_>>(), &options.inputs())
}

/// A model as a part of a file's name: the last part of a path or an address, letters, digits, dots, dashes.
#[must_use]
pub(in crate::workspace) fn model_label(model: &str) -> String {
    let last =
        Path::new(model).file_name().map_or_else(|| model.to_owned(), |name| name.to_string_lossy().into_owned());
    let last = last.strip_suffix(".gguf").unwrap_or(&last);
    let plain = |c: char| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '-' };
    last.chars().map(plain).collect()
}

/// The label of each model, a number behind those that are equal.
fn labels(models: &[String]) -> Vec<String> {
    let mut labels: Vec<String> = Vec::new();
    for plain in models.iter().map(|model| model_label(model)) {
        let same = |n: usize| if n < 2 { plain.clone() } else { format!("{plain}-{n}") };
        let free = (1..).map(same).find(|label| !labels.contains(label));
        labels.extend(free);
    }
    labels
}

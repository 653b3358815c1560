//! Runs the rows of a table that can run.

use super::args::{Args, record_path};
use crate::cli::terminal::{runs, tell};
use crate::error::{MootError, Result};
use crate::eval::computed_slices;
use crate::eval::datasets::{self, Dataset};
use crate::eval::reproduce::{Needed, PaperTable, Row};
use crate::eval::reuse::Replies;
use crate::files::outputs;
use crate::llm::remote::Notice;
use crate::workspace::{Control, MethodOptions, MethodPlan, PlanOptions, Recording, RunOptions};
use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What a row lacks to run here; nothing where it can run.
pub(super) fn lacks(table: &PaperTable, row: &Row, args: &Args) -> Result<Vec<&'static str>> {
    let built = row.build()?;
    let needs = built.row.needs;
    // In a table that searches a corpus, a method must not read a question's own documents: its numbers could not be compared with
    // those of an open corpus.
    let searches = needs.retriever || needs.passages && table.corpus;
    let mut lacking = Vec::new();
    lacking.extend((searches && !args.retrieve.options().is_given()).then_some("--corpus"));
    lacking.extend((row.weighs && args.source_weights.is_none()).then_some("--source-weights"));
    Ok(lacking)
}

/// Runs `rows` on every dataset that is given, side by side, into a folder of records. What they need is checked before anything
/// runs.
///
/// # Errors
/// A row that is named and lacks something; options, datasets and outputs that cannot be used; what ends a run.
pub(super) fn run(
    args: &Args,
    table: &PaperTable,
    rows: &[&'static Row],
    data: &BTreeMap<&'static str, PathBuf>,
    (folder, control): (&Path, &Control),
) -> Result<()> {
    let mut able = Vec::new();
    for row in rows {
        let lacking = lacks(table, row, args)?;
        if lacking.is_empty() {
            able.push(*row);
        } else if args.row.is_empty() {
            tell(&format!("{} is left out: it needs {}", row.label, lacking.join(" and ")));
        } else {
            return Err(MootError::Usage(format!("--row {} needs {}", row.name, lacking.join(" and "))));
        }
    }
    let methods = methods(args, table, &able)?;
    let run = RunOptions { in_flight: args.in_flight, retry_errors: args.retry_errors, ..RunOptions::default() };
    let replies = Arc::new(Replies::read(&args.reuse)?);
    let mut batches: Vec<Vec<Recording>> = Vec::new();
    std::fs::create_dir_all(folder).map_err(|e| MootError::io(folder, "create", e))?;
    for (name, path) in data {
        let needed = table.dataset(name)?;
        let dataset = Arc::new(load(args, table, needed, path)?);
        let mut known = HashSet::new();
        let mut batch = Vec::new();
        for (row, method) in able.iter().zip(&methods) {
            let output = record_path(folder, table, row, needed, args);
            if known.insert(output.clone()) {
                batch.push(Recording::new(method.clone(), dataset.clone(), output, replies.clone(), &run));
            }
        }
        batches.push(batch);
        let records: Vec<_> = batches.iter().flatten().map(|recording| ("-o", recording.path())).collect();
        outputs::distinct(&records, &[("--data", path)])?;
    }
    if batches.first().is_none_or(Vec::is_empty) {
        return Ok(());
    }
    let options = PlanOptions {
        corpus: args.retrieve.options(),
        classifier: args.classifier.options(),
        model: args.model.name(),
        runtime: args.model.runtime.options(),
        run: Some(run),
        ..PlanOptions::default()
    };
    runs::make(options, batches, control)
}

/// The method of each row, with what was typed for all of them.
fn methods(args: &Args, table: &PaperTable, rows: &[&'static Row]) -> Result<Vec<Arc<MethodPlan>>> {
    let options = MethodOptions {
        preset: args.preset.clone(),
        prompts: args.prompts.clone(),
        source_weights: args.source_weights.clone(),
        max_tokens: args.max_tokens.unwrap_or(table.max_tokens),
        ..MethodOptions::default()
    };
    let typed: Vec<_> = rows.iter().map(|row| (row.method, row.typed_switches())).collect();
    let plans = options.resolve_rows(&typed, &Notice::new(tell))?;
    let weighed = rows
        .iter()
        .zip(plans)
        .map(|(row, plan)| Arc::new(MethodPlan { weights: plan.weights.filter(|_| row.weighs), ..plan }));
    Ok(weighed.collect())
}

/// The questions of a dataset that are asked; one that lacks every slice that the table measures is refused.
fn load(args: &Args, table: &PaperTable, needed: &Needed, path: &Path) -> Result<Dataset> {
    let mut dataset = datasets::load(path)?;
    if dataset.format != needed.form {
        tell(&format!(
            "note: {} is of the form {}, the table's {} is {}",
            path.display(),
            dataset.format,
            needed.name,
            needed.form
        ));
    }
    let slices: Vec<&str> = table.columns.iter().filter(|column| column.data == needed.name).map(|c| c.slice).collect();
    let of_data = |slice: &&&str| !slice.is_empty() && computed_slices::named(slice).is_none();
    let there = |slice: &str| dataset.questions.iter().any(|question| question.slices.iter().any(|own| own == slice));
    let mut wanted = slices.iter().filter(of_data).peekable();
    if wanted.peek().is_some() && !wanted.clone().any(|slice| there(slice)) {
        return Err(MootError::Input {
            path: path.to_owned(),
            line: None,
            expected: format!("questions of the slice {} ({})", wanted.next().unwrap_or(&""), needed.get),
            found: "none".into(),
        });
    }
    if let Some(count) = args.sample {
        dataset.sample(count, args.sample_seed);
    }
    dataset.questions.truncate(args.limit.unwrap_or(usize::MAX));
    Ok(dataset)
}

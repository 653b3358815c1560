//! Plans of runs: the dataset is read, outputs are checked, methods are resolved, before a model is opened.

use super::outputs;
use super::record_file;
use super::recording::Recording;
use crate::error::{MootError, Result};
use crate::escape::line;
use crate::eval::check::misleading_lines;
use crate::eval::datasets::{self, Dataset};
use crate::eval::reuse::Replies;
use crate::units::plural;
use crate::workspace::control::Control;
use crate::workspace::method::MethodPlan;
use crate::workspace::options::{PlanOptions, RunOptions};
use crate::workspace::plan::Plan;
use crate::workspace::ranges::count;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

impl Plan {
    /// The plans of a run, one for each model of `a,b`, so that each model is loaded once and has the memory for itself. Each
    /// has every method that is named.
    ///
    /// # Errors
    /// An unknown method, a switch that the method does not have, a dataset that cannot be read, an output that cannot be the
    /// run's record.
    pub fn each(options: PlanOptions, control: &Control) -> Result<Vec<Self>> {
        let Some(run) = options.run.clone() else { return Ok(vec![Self::of(options, control)?]) };
        run.check()?;
        let models: Vec<String> = outputs::models(&options.model)?.into_iter().map(str::to_owned).collect();
        let notice = control.notice();
        let methods = models.iter().map(|_| options.method.resolve_all(&notice)).collect::<Result<Vec<_>>>()?;
        Self::of_run(&options, &run, models, methods, control)
    }

    /// The plan of a run with one model by `methods`, each with its name among the records.
    ///
    /// # Errors
    /// As [`Plan::each`]; a method twice.
    pub(in crate::workspace) fn of_run_by(
        options: &PlanOptions,
        run: &RunOptions,
        methods: Vec<(String, MethodPlan)>,
        control: &Control,
    ) -> Result<Self> {
        run.check()?;
        let mut names = BTreeSet::new();
        if let Some((name, _)) = methods.iter().find(|(name, _)| !names.insert(name)) {
            return Err(MootError::Usage(format!("{name} is given twice: expected different methods")));
        }
        let plans = Self::of_run(options, run, vec![options.model.clone()], vec![methods], control)?;
        Ok(plans.into_iter().next().expect("one model has one plan (bug)"))
    }

    /// The plans of a run: `methods` has the methods of each of `models`.
    fn of_run(
        options: &PlanOptions,
        run: &RunOptions,
        models: Vec<String>,
        methods: Vec<Vec<(String, MethodPlan)>>,
        control: &Control,
    ) -> Result<Vec<Self>> {
        let names: Vec<&str> = methods.first().into_iter().flatten().map(|(name, _)| name.as_str()).collect();
        let outputs = outputs::of(run, &names, &models)?;
        outputs::check_distinct(options, &outputs)?;
        let replies = Arc::new(Replies::read(&run.reuse)?);
        let dataset = read(run, &methods, &outputs, control)?;
        let mut plans = Vec::with_capacity(models.len());
        for ((model, methods), outputs) in models.into_iter().zip(methods).zip(outputs) {
            let recording = |((_, method), output): ((String, MethodPlan), PathBuf)| {
                Recording::new(Arc::new(method), dataset.clone(), output, replies.clone(), run)
            };
            let batch: Vec<Recording> = methods.into_iter().zip(outputs).map(recording).collect();
            plans.push(Self::of_batches(PlanOptions { model, ..options.clone() }, vec![batch])?);
        }
        Ok(plans)
    }
}

impl RunOptions {
    /// Checks numbers and names, before a file is read.
    ///
    /// # Errors
    /// A number out of range, a table of answers of another form, options that exclude each other.
    pub(in crate::workspace) fn check(&self) -> Result<()> {
        let counts = [("--limit", self.limit), ("--sample", self.sample), ("--in-flight", Some(self.in_flight))];
        counts.into_iter().try_for_each(|(option, number)| number.map_or(Ok(()), |number| count(option, number)))?;
        let wrong = |text: String| Err(MootError::Usage(text));
        if let Some((part, parts)) = self.shard.filter(|(part, parts)| !(1..=*parts).contains(part)) {
            return wrong(format!("--shard {part}/{parts}: expected a part from 1 to {parts}"));
        }
        let is_table = |path: &PathBuf| path.extension().is_some_and(|end| end == "csv" || end == "jsonl");
        if let Some(path) = self.answers.as_ref().filter(|path| !is_table(path)) {
            return wrong(format!("--answers {}: expected a file that ends in .csv or .jsonl", path.display()));
        }
        if self.limit.is_some() && self.sample.is_some() {
            return wrong("--sample: expected either this or --limit, found both".into());
        }
        if self.dry_run && !self.reuse.is_empty() {
            return wrong("--reuse: expected either this or --dry-run, found both".into());
        }
        Ok(())
    }
}

/// Reads the dataset, checks the outputs, and keeps the questions that are wanted.
fn read(
    run: &RunOptions,
    methods: &[Vec<(String, MethodPlan)>],
    outputs: &[Vec<PathBuf>],
    control: &Control,
) -> Result<Arc<Dataset>> {
    let options = datasets::Options { skip_bad: run.skip_bad, ..datasets::Options::default() };
    let options = run.format.iter().try_fold(options, |options, typed| options.format(typed))?;
    let mut dataset = datasets::load_with(&run.dataset, &options)?;
    for ((_, method), output) in methods.iter().flatten().zip(outputs.iter().flatten()) {
        // The folder of several records is not made by a dry run.
        if !run.dry_run || output.parent().is_none_or(|folder| folder.as_os_str().is_empty() || folder.is_dir()) {
            record_file::check(output, &dataset.identity, method)?;
        }
    }
    note_skipped(&dataset.skipped, control);
    dataset.questions.truncate(run.limit.unwrap_or(usize::MAX));
    if let Some(count) = run.sample {
        dataset.sample(count, run.sample_seed);
    }
    let documents = dataset.questions.iter().flat_map(|question| &question.documents);
    let first = methods.first().and_then(|methods| methods.first());
    if let Some(line) = first.and_then(|(_, method)| method.unknown_sources(documents)) {
        control.note(&line);
    }
    // After the limit and the sample, so that the parts together are the same questions as one run has.
    if let Some((part, parts)) = run.shard {
        let mut index = 0;
        dataset.questions.retain(|_| {
            index += 1;
            (index - 1) % parts == part - 1
        });
    }
    for line in misleading_lines(&dataset.questions) {
        control.note(&format!("note: {line}"));
    }
    Ok(Arc::new(dataset))
}

/// Notes the items that were skipped: the first few, and their number.
fn note_skipped(skipped: &[String], control: &Control) {
    const SHOWN: usize = 10;
    for error in skipped.iter().take(SHOWN) {
        control.note(&format!("skipped {}", line(error)));
    }
    if !skipped.is_empty() {
        control.note(&format!("{} of the dataset skipped", plural(skipped.len(), "bad item", "bad items")));
    }
}

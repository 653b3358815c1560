//! A paper's table made here: its rows run on the datasets that are given, and read from their records.

use crate::error::{MootError, Result};
use crate::eval::check::misleading_lines;
use crate::eval::computed_slices;
use crate::eval::datasets::{self, Dataset};
use crate::eval::record::reader::Record;
use crate::eval::reproduce::{Beside, Needed, PaperTable, Row, beside};
use crate::eval::reuse::Replies;
use crate::files::outputs;
use crate::question::Question;
use crate::workspace::conflict::{JUDGE, kept, labelled};
use crate::workspace::control::Control;
use crate::workspace::method::MethodPlan;
use crate::workspace::opened::Workspace;
use crate::workspace::options::{MethodOptions, PlanOptions, RunOptions};
use crate::workspace::plan::Plan;
use crate::workspace::run::{Recording, RunReport, model_label};
use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Columns whose verdicts a judge gives after the runs.
const JUDGED: [&str; 2] = ["truthful", "informative"];

/// A table or figure of a paper, and what it is made with.
pub struct Reproduction {
    table: &'static PaperTable,
    /// The rows that were named; empty: all that can run.
    named: Vec<String>,
    /// The file of each dataset that is given.
    data: BTreeMap<&'static str, PathBuf>,
    options: PlanOptions,
}

impl Reproduction {
    /// The rows `named` of `table`, or all of them, on the files `data` of its datasets.
    ///
    /// Of `options` a reproduction takes model, runtime, corpus and classifier; the method's preset, prompts, source weights and
    /// `max_tokens`; and of the run its sample or limit, `reuse`, `in_flight` and `retry_errors`.
    ///
    /// # Errors
    /// An unknown row.
    pub fn new(
        table: &'static PaperTable,
        named: Vec<String>,
        data: BTreeMap<&'static str, PathBuf>,
        options: PlanOptions,
    ) -> Result<Self> {
        table.rows(&named)?;
        Ok(Self { table, named, data, options })
    }

    /// The table.
    #[must_use]
    pub fn table(&self) -> &'static PaperTable {
        self.table
    }

    /// The files of its datasets that are given, by their names.
    #[must_use]
    pub fn data(&self) -> &BTreeMap<&'static str, PathBuf> {
        &self.data
    }

    /// The options that a row lacks to run here; none where it can run.
    ///
    /// # Errors
    /// A row whose method cannot be built.
    pub fn lacks(&self, row: &Row) -> Result<Vec<&'static str>> {
        let needs = row.build()?.row.needs;
        // In a table that searches a corpus, a method must not read a question's own documents: its numbers could not be
        // compared with those of an open corpus.
        let searches = needs.retriever || needs.passages && self.table.corpus;
        let mut lacking = Vec::new();
        lacking.extend((searches && !self.options.corpus.is_given()).then_some("--corpus"));
        lacking.extend((row.weighs && self.options.method.source_weights.is_none()).then_some("--source-weights"));
        Ok(lacking)
    }

    /// Runs the rows on every dataset that is given, side by side, into the records in `folder`; the same reproduction
    /// continues them. What the rows need is checked before anything runs.
    ///
    /// # Errors
    /// A row that is named and lacks something; options, datasets and outputs that cannot be used; as [`Workspace::run`].
    pub fn run(&self, folder: &Path, control: &Control) -> Result<Vec<RunReport>> {
        let able = self.able(control)?;
        let methods = self.methods(&able, control)?;
        let run = self.run_options();
        let replies = Arc::new(Replies::read(&run.reuse)?);
        let mut batches: Vec<Vec<Recording>> = Vec::new();
        std::fs::create_dir_all(folder).map_err(|e| MootError::io(folder, "create", e))?;
        for (name, path) in &self.data {
            let needed = self.table.dataset(name)?;
            let dataset = Arc::new(self.load(needed, path, control)?);
            let mut known = HashSet::new();
            let mut batch = Vec::new();
            for (row, method) in able.iter().zip(&methods) {
                let output = self.record_path(folder, row, needed);
                if known.insert(output.clone()) {
                    batch.push(Recording::new(method.clone(), dataset.clone(), output, replies.clone(), &run));
                }
            }
            batches.push(batch);
            let records: Vec<_> = batches.iter().flatten().map(|recording| ("-o", recording.path())).collect();
            outputs::distinct(&records, &[("--data", path)])?;
        }
        if batches.first().is_none_or(Vec::is_empty) {
            return Ok(Vec::new());
        }
        let PlanOptions { corpus, classifier, model, runtime, .. } = self.options.clone();
        let options = PlanOptions { corpus, classifier, model, runtime, run: Some(run), ..PlanOptions::default() };
        let workspace = Workspace::open(Plan::of_batches(options, batches)?, control)?;
        let reports = workspace.run()?;
        workspace.note_counts();
        Ok(reports)
    }

    /// The numbers of the records in `folder` beside the published ones; without a folder the published ones alone. With a
    /// `control` the verdicts of a judge are asked for where a column needs them and the record lacks them. Without one,
    /// verdicts that were given to all of its answers are read.
    ///
    /// # Errors
    /// A record that cannot be read; a judge that cannot be opened.
    pub fn beside(&self, folder: Option<&Path>, control: Option<&Control>) -> Result<Vec<Beside>> {
        let judges = self.table.columns.iter().any(|column| JUDGED.contains(&column.metric));
        beside(self.table, &|row, needed| {
            let path = folder.map(|folder| self.record_path(folder, row, needed));
            let Some(path) = path.filter(|path| path.exists()) else { return Ok(None) };
            let record = Record::read(&path)?;
            let control = match control {
                _ if !judges => return Ok(Some(record)),
                None => return kept(record, JUDGE, &Control::default()).map(Some),
                Some(control) => control,
            };
            let PlanOptions { model, runtime, .. } = self.options.clone();
            let options = PlanOptions { model, runtime, ..PlanOptions::default() };
            Ok(labelled(vec![record], JUDGE, &options, control)?.pop())
        })
    }

    /// The rows that can run.
    fn able(&self, control: &Control) -> Result<Vec<&'static Row>> {
        let mut able = Vec::new();
        for row in self.table.rows(&self.named)? {
            let lacking = self.lacks(row)?;
            if lacking.is_empty() {
                able.push(row);
            } else if self.named.is_empty() {
                control.note(&format!("{} is left out: it needs {}", row.label, lacking.join(" and ")));
            } else {
                return Err(MootError::Usage(format!("--row {} needs {}", row.name, lacking.join(" and "))));
            }
        }
        Ok(able)
    }

    /// The method of each row, with the settings given for all rows.
    fn methods(&self, rows: &[&'static Row], control: &Control) -> Result<Vec<Arc<MethodPlan>>> {
        let MethodOptions { preset, prompts, source_weights, max_tokens, .. } = self.options.method.clone();
        let options = MethodOptions { preset, prompts, source_weights, max_tokens, ..MethodOptions::default() };
        let switches: Vec<_> = rows.iter().map(|row| (row.method, row.typed_switches())).collect();
        let plans = options.resolve_rows(&switches, &control.notice())?;
        let weighed = rows
            .iter()
            .zip(plans)
            .map(|(row, plan)| Arc::new(MethodPlan { weights: plan.weights.filter(|_| row.weighs), ..plan }));
        Ok(weighed.collect())
    }

    fn run_options(&self) -> RunOptions {
        self.options.run.clone().unwrap_or_default()
    }

    /// The questions of a dataset that are asked; one that lacks every slice that the table measures is refused.
    fn load(&self, needed: &Needed, path: &Path, control: &Control) -> Result<Dataset> {
        let mut dataset = datasets::load(path)?;
        // FlashRAG's form does not tell its sets apart; the form of the table's set may read more from it.
        if dataset.format == "flashrag" && dataset.format != needed.form {
            match datasets::load_with(path, &datasets::Options::default().format(needed.form)?) {
                Ok(own) => dataset = own,
                Err(error) => control.note(&format!("note: {error}")),
            }
        }
        if dataset.format != needed.form {
            let (path, found) = (path.display(), &dataset.format);
            let Needed { name, form, .. } = needed;
            control.note(&format!("note: {path} is of the form {found}, the table's {name} is {form}"));
        }
        let columns = self.table.columns.iter().filter(|column| column.data == needed.name);
        let of_data = |slice: &&str| !slice.is_empty() && computed_slices::named(slice).is_none();
        let slices: Vec<&str> = columns.map(|column| column.slice).filter(of_data).collect();
        let there =
            |slice: &&str| dataset.questions.iter().any(|question| question.slices.iter().any(|own| own == slice));
        if let Some(first) = slices.first()
            && !slices.iter().any(there)
        {
            return Err(MootError::Input {
                path: path.to_owned(),
                line: None,
                expected: format!("questions of the slice {first} ({})", needed.get),
                found: "none".into(),
            });
        }
        self.keep_measured(needed, &mut dataset, path, control)?;
        let run = self.run_options();
        if let Some(count) = run.sample {
            dataset.sample(count, run.sample_seed);
        }
        dataset.questions.truncate(run.limit.unwrap_or(usize::MAX));
        for line in misleading_lines(&dataset.questions) {
            control.note(&format!("note: {}: {line}", needed.name));
        }
        Ok(dataset)
    }

    /// Leaves out the questions that no column measures, if all columns measure computed slices that the documents of a
    /// question decide. A sample of the paper's size is then one of the paper's questions.
    fn keep_measured(&self, needed: &Needed, dataset: &mut Dataset, path: &Path, control: &Control) -> Result<()> {
        let columns = self.table.columns.iter().filter(|column| column.data == needed.name);
        let slices: Vec<&str> = columns.map(|column| column.slice).collect();
        let may_hold = |slice: &&str, question: &Question| {
            // Without a computed slice, or with one that answers decide, a column may measure any question.
            let computed = computed_slices::named(slice).and_then(|slice| slice.before_answers(question));
            computed.unwrap_or(true) || question.slices.iter().any(|own| own == slice)
        };
        let all = dataset.questions.len();
        dataset.questions.retain(|question| slices.iter().any(|slice| may_hold(slice, question)));
        let measured = dataset.questions.len();
        let mut names = slices.clone();
        names.dedup();
        let names = names.join(", ");
        if measured == 0 {
            let expected = format!("questions of the slice {names} ({})", needed.get);
            return Err(MootError::Input { path: path.to_owned(), line: None, expected, found: "none".into() });
        }
        if measured < all {
            let name = needed.name;
            control.note(&format!("note: {name}: {measured} of {all} questions are measured ({names})"));
        }
        Ok(())
    }

    /// The record of a row on a dataset by the model. Rows of a paper's tables that are equal runs have one record.
    fn record_path(&self, folder: &Path, row: &Row, needed: &Needed) -> PathBuf {
        let model = model_label(&self.options.model);
        let preset = self.options.method.preset.as_ref().filter(|preset| row.has(preset));
        let name = preset.map_or_else(|| row.record(), |preset| format!("{}+{preset}", row.record()));
        folder.join(format!("{}.{}.{name}.{model}.jsonl", self.table.key(), needed.name))
    }
}

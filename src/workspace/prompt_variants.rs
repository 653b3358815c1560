//! Variants of one prompt on a part of a dataset: a record for each, made side by side, and their comparison.

use crate::error::{MootError, Result};
use crate::eval::datasets::{self, Dataset};
use crate::eval::record::Writer;
use crate::eval::record::reader::Record;
use crate::eval::reuse::Replies;
use crate::eval::variants::{Compared, Half, MOST};
use crate::files::outputs;
use crate::llm::once::Once;
use crate::methods::RUN;
use crate::prompts::File;
use crate::protocol::Built;
use crate::protocol::own_prompts::text;
use crate::transcript::CallRecord;
use crate::workspace::control::Control;
use crate::workspace::method::MethodPlan;
use crate::workspace::opened::Workspace;
use crate::workspace::options::{PlanOptions, RunOptions};
use crate::workspace::plan::Plan;
use crate::workspace::run::{Recording, RunReport};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A comparison of variants of one prompt, as requested.
pub(crate) struct PromptVariants {
    /// Method, model, corpus; its run has the dataset, the folder of records, and how many questions are asked.
    pub(crate) options: PlanOptions,
    /// The prompt that varies: its file, with or without folder and ending.
    pub(crate) role: String,
    /// Files of prompts that are compared with the one in use.
    pub(crate) files: Vec<PathBuf>,
    /// The part of the dataset.
    pub(crate) half: Half,
}

/// A comparison that was prepared: variants and questions are read, no model is opened.
pub(crate) struct PromptComparison {
    options: PlanOptions,
    variants: Vec<Variant>,
    dataset: Arc<Dataset>,
    replies: Arc<Replies>,
}

/// One prompt and its name.
struct Variant {
    name: String,
    method: Arc<MethodPlan>,
    record: PathBuf,
}

impl PromptVariants {
    /// Reads variants, dataset and earlier replies, and makes the folder of records.
    ///
    /// # Errors
    /// A name that no prompt of the method has, a variant that cannot be read or is given twice, a dataset that cannot be read, an
    /// output that is an input.
    pub(crate) fn prepare(self, control: &Control) -> Result<PromptComparison> {
        let run = self.options.run.clone().unwrap_or_default();
        let folder = run.output.clone().unwrap_or_default();
        let variants = self.variants(&folder, control)?;
        let records: Vec<_> = variants.iter().map(|variant| ("-o", variant.record.as_path())).collect();
        let files = self.files.iter().map(|path| ("--variant", path.as_path()));
        outputs::distinct(&records, &self.options.inputs().into_iter().chain(files).collect::<Vec<_>>())?;
        let dataset = Arc::new(self.questions(&run)?);
        std::fs::create_dir_all(&folder).map_err(|e| MootError::io(&folder, "create", e))?;
        let replies = Arc::new(Replies::read(&run.reuse)?);
        let run = RunOptions { in_flight: run.in_flight, retry_errors: run.retry_errors, ..RunOptions::default() };
        Ok(PromptComparison { options: PlanOptions { run: Some(run), ..self.options }, variants, dataset, replies })
    }

    /// The questions of the half, the first ones where there is a limit.
    fn questions(&self, run: &RunOptions) -> Result<Dataset> {
        let options =
            run.format.iter().try_fold(datasets::Options::default(), |options, typed| options.format(typed))?;
        let mut dataset = datasets::load_with(&run.dataset, &options)?;
        dataset.questions.retain(|question| self.half.holds(&question.id));
        dataset.questions.truncate(run.limit.unwrap_or(usize::MAX));
        if dataset.questions.is_empty() {
            let expected = format!("questions of the half `{}`", self.half.name());
            return Err(MootError::Input { path: run.dataset.clone(), line: None, expected, found: "none".into() });
        }
        Ok(dataset)
    }

    /// Variant 0, then one for each file.
    fn variants(&self, folder: &Path, control: &Control) -> Result<Vec<Variant>> {
        if self.files.len() + 1 > MOST {
            return Err(MootError::Usage(format!(
                "--variant: expected at most {} files beside the prompt in use, found {}",
                MOST - 1,
                self.files.len()
            )));
        }
        let resolve = || self.options.method.resolve(RUN, &control.notice());
        let method = resolve()?;
        let file = prompt_of(&method.method, &self.role)?;
        let role = stem(Path::new(file.name));
        let record = |name: &str| folder.join(format!("{role}.{name}.jsonl"));
        let method = Arc::new(method);
        let mut variants = vec![Variant { name: "in-use".into(), method, record: record("in-use") }];
        for path in &self.files {
            let method = resolve()?;
            let mut prompts = method.method.prompts.clone();
            prompts.replace(file, &text(path)?)?;
            let method = MethodPlan { method: method.method.with_prompts(prompts)?, ..method };
            let name = stem(path);
            let text_of = |method: &MethodPlan| method.method.prompts.of(file).text.to_owned();
            for other in &variants {
                let wrong = |found: &str| MootError::Input {
                    path: path.clone(),
                    line: None,
                    expected: "a variant of another name and text than the others".into(),
                    found: format!("{found} of `{}`", other.name),
                };
                if other.name == name {
                    return Err(wrong("the name"));
                }
                if text_of(&other.method) == text_of(&method) {
                    return Err(wrong("the text"));
                }
            }
            variants.push(Variant { record: record(&name), name, method: Arc::new(method) });
        }
        Ok(variants)
    }
}

impl PromptComparison {
    /// The name of the dataset.
    pub(crate) fn dataset(&self) -> &str {
        &self.dataset.identity.name
    }

    /// Questions that are compared on.
    pub(crate) fn questions(&self) -> usize {
        self.dataset.questions.len()
    }

    /// Variants, the prompt in use among them.
    pub(crate) fn variants(&self) -> usize {
        self.variants.len()
    }

    /// Opens the models and makes the records of all variants, side by side. Returns their reports, and the number of calls that
    /// took the reply of an equal call of another variant.
    ///
    /// # Errors
    /// A model that cannot be opened, a record that cannot be continued; as [`Workspace::run`].
    pub(crate) fn record(&self, control: &Control) -> Result<(Vec<RunReport>, usize)> {
        let workspace = Workspace::open(self.plan()?, control)?;
        // A record that cannot be continued is found before its replies are used.
        for recording in workspace.plan().batches().iter().flatten() {
            Writer::open_for(recording.path(), &recording.header(workspace.tools()), recording.retry_errors)?;
        }
        let calls = self.variants.iter().map(|variant| recorded(&variant.record)).collect::<Result<Vec<_>>>()?.concat();
        control.note(&format!("{} variants, {} questions", self.variants(), self.questions()));
        let once = Once::new(workspace.tools().llm, &calls);
        let reports = workspace.run_by(&once)?;
        workspace.note_counts();
        Ok((reports, once.shared()))
    }

    /// The records compared.
    ///
    /// # Errors
    /// A record that cannot be read.
    pub(crate) fn compare(&self) -> Result<Compared> {
        let records = self.variants.iter().map(|variant| Record::read(&variant.record)).collect::<Result<Vec<_>>>()?;
        let names = self.variants.iter().map(|variant| variant.name.clone()).collect();
        Ok(Compared::new(names, records, &self.dataset.questions))
    }

    /// The plan of all variants, side by side.
    fn plan(&self) -> Result<Plan> {
        let run = self.options.run.clone().unwrap_or_default();
        let of = |Variant { method, record, .. }: &Variant| {
            Recording::new(method.clone(), self.dataset.clone(), record.clone(), self.replies.clone(), &run)
        };
        Plan::of_batches(self.options.clone(), vec![self.variants.iter().map(of).collect()])
    }
}

/// The calls of a record's finished questions.
fn recorded(path: &Path) -> Result<Vec<CallRecord>> {
    Ok(Record::read(path)?.questions.into_iter().flat_map(|question| question.calls).collect())
}

/// The prompt of that name: the file of the method, with or without folder and ending; with `wording=tuned` the tuned one where
/// there are two.
fn prompt_of(method: &Built, role: &str) -> Result<File> {
    let (row, asked) = (method.row, role.trim_end_matches(".jinja"));
    let find = |asked: &str| {
        let named = |file: &&File| file.name.trim_end_matches(".jinja") == asked || stem(Path::new(file.name)) == asked;
        row.prompts.iter().find(named).copied()
    };
    let tuned = method.values.json().get("wording").is_some_and(|wording| wording == "tuned");
    let tuned = tuned.then(|| find(&format!("{asked}_tuned"))).flatten();
    tuned.or_else(|| find(asked)).ok_or_else(|| MootError::UnknownName {
        kind: "prompt of the method",
        name: role.to_owned(),
        known: row.prompts.iter().map(|file| file.name).collect::<Vec<_>>().join(", "),
    })
}

fn stem(path: &Path) -> String {
    path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default()
}

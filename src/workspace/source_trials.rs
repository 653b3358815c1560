//! RA-RAG's experiment with a model (section 5.1): benchmarks of sources with planted reliabilities, estimated weights, and
//! answers to the test by every variant of the method, over several trials.

use crate::answers::align::{self, Compared};
use crate::error::{MootError, Result};
use crate::eval::datasets;
use crate::eval::record::reader::Record;
use crate::eval::reuse::Replies;
use crate::eval::sources::bench::folder::keep;
use crate::eval::sources::bench::{self, Pool, build};
use crate::eval::sources::trials::{Trials, mean};
use crate::eval::sources::{answers_of, estimate};
use crate::protocol::switches::Typed;
use crate::sources::EstimatorSettings;
use crate::workspace::control::Control;
use crate::workspace::method::MethodPlan;
use crate::workspace::opened::Workspace;
use crate::workspace::options::{MethodOptions, PlanOptions};
use crate::workspace::plan::Plan;
use crate::workspace::run::{Recording, RunReport};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The paper's names of the compared methods, and the variants of `ra-rag` for them.
const METHODS: [(&str, &str); 6] = [
    ("Oracle WMV", "oracle"),
    ("WMV", "wmv"),
    ("RA-RAG", "rrss"),
    ("kappa-RSS", "rss"),
    ("MV", "mv"),
    ("Naive RAG", "naive-rag"),
];

/// The benchmark of one trial at one x.
pub(crate) struct SourceTrial {
    /// The index of x.
    pub(crate) row: usize,
    /// Sources that kappa-RRSS and kappa-RSS select.
    pub(crate) kappa: usize,
    /// The folder of the benchmark, its weights and its records.
    pub(crate) folder: PathBuf,
    /// The plan of the benchmark.
    pub(crate) bench: bench::Plan,
}

/// Which set of a benchmark a variant answers, and with what.
struct Asked<'a> {
    variant: &'a str,
    /// The record's name.
    name: String,
    /// `estimate` or `test`.
    set: &'a str,
    /// The file of source weights.
    weights: Option<&'a str>,
    /// Records whose replies are taken for equal calls.
    reused: &'a [PathBuf],
}

impl SourceTrial {
    /// The name of a variant's record, which says kappa where it matters.
    fn name(&self, variant: &str) -> String {
        if selects(variant) { format!("{variant}-{}", self.kappa) } else { variant.to_owned() }
    }

    fn record(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.record.jsonl"))
    }

    /// Estimates the weights from the record of all sources. A trial in which no source answered anything goes on with equal
    /// weights, where `EstimateOptions::estimate` refuses.
    fn weigh(&self) -> Result<()> {
        let record = Record::read(&self.record("estimate"))?;
        let answers = record.questions.iter().map(|q| answers_of(q, Some(align::LEAST), Compared::default())).collect();
        let settings = EstimatorSettings { align: Some(align::LEAST), ..EstimatorSettings::default() };
        estimate(answers, &settings).write(&self.folder.join("sources.json"))
    }

    fn recording(&self, asked: &Asked<'_>, options: &PlanOptions, control: &Control) -> Result<Recording> {
        let run = options.run.clone().unwrap_or_default();
        let dataset = datasets::load(&self.folder.join(format!("{}.jsonl", asked.set)))?;
        let kappa = selects(asked.variant).then(|| ("kappa".to_owned(), self.kappa.to_string()));
        let switches = [("variant".to_owned(), asked.variant.to_owned())].into_iter().chain(kappa);
        let options = MethodOptions {
            source_weights: asked.weights.map(|weights| self.folder.join(weights)),
            ..options.method.clone()
        };
        let rows = [("ra-rag", switches.collect::<Typed>())];
        let method: Vec<MethodPlan> = options.resolve_rows(&rows, &control.notice())?;
        let method = method.into_iter().next().ok_or_else(|| MootError::Usage("ra-rag was not built (bug)".into()))?;
        let (output, replies) = (self.record(&asked.name), Replies::read(asked.reused)?);
        Ok(Recording::new(Arc::new(method), Arc::new(dataset), output, Arc::new(replies), &run))
    }
}

/// Whether a variant asks only kappa sources.
fn selects(variant: &str) -> bool {
    ["rrss", "rss"].contains(&variant)
}

/// All trials, and what they run on.
pub(crate) struct SourceTrials {
    /// A trial for each x and seed.
    pub(crate) trials: Vec<SourceTrial>,
    /// Model, classifier, embedder, and tokens and prompts of the method; its run has the questions in flight.
    pub(crate) options: PlanOptions,
}

impl SourceTrials {
    /// Builds the benchmark of every trial, where it is not there already.
    ///
    /// # Errors
    /// A folder with another benchmark, or that cannot be written.
    pub(crate) fn deal(&self, pools: &[Pool]) -> Result<()> {
        self.trials.iter().try_for_each(|trial| keep(&build(pools, &trial.bench), &trial.folder))
    }

    /// Makes the records that need no weights, from which most replies of the rest are taken: the answers of all sources to the
    /// questions to estimate from and to the test.
    ///
    /// # Errors
    /// As [`Workspace::run`].
    pub(crate) fn estimate(&self, control: &Control) -> Result<Vec<RunReport>> {
        let asked = |variant, name: &str, set| Asked { variant, name: name.into(), set, weights: None, reused: &[] };
        let first =
            [asked("wmv", "estimate", "estimate"), asked("mv", "mv", "test"), asked("naive-rag", "naive-rag", "test")];
        let of =
            |trial: &SourceTrial| first.iter().map(|asked| trial.recording(asked, &self.options, control)).collect();
        self.make(&of, control)
    }

    /// Estimates the weights of every trial, and makes the records that need them.
    ///
    /// # Errors
    /// A record that cannot be read; as [`Workspace::run`].
    pub(crate) fn test(&self, control: &Control) -> Result<Vec<RunReport>> {
        self.trials.iter().try_for_each(SourceTrial::weigh)?;
        let variants =
            [("oracle", "oracle.json"), ("wmv", "sources.json"), ("rrss", "sources.json"), ("rss", "sources.json")];
        let then = |trial: &SourceTrial| {
            let known = [trial.record("mv")];
            let of = |(variant, weights)| {
                let (name, weights) = (trial.name(variant), Some(weights));
                let asked = Asked { variant, name, set: "test", weights, reused: &known };
                trial.recording(&asked, &self.options, control)
            };
            variants.into_iter().map(of).collect()
        };
        self.make(&then, control)
    }

    /// Makes the records that `of` names for each trial; those of equal files once.
    fn make(&self, of: &dyn Fn(&SourceTrial) -> Result<Vec<Recording>>, control: &Control) -> Result<Vec<RunReport>> {
        let mut batches: Vec<Vec<Recording>> = Vec::new();
        for trial in &self.trials {
            let known = |path: &Path| batches.iter().flatten().any(|recording| recording.path() == path);
            let made = of(trial)?;
            let new: Vec<Recording> = made.into_iter().filter(|recording| !known(recording.path())).collect();
            if !new.is_empty() {
                batches.push(new);
            }
        }
        let workspace = Workspace::open(Plan::of_batches(self.options.clone(), batches)?, control)?;
        let reports = workspace.run()?;
        workspace.note_counts();
        Ok(reports)
    }

    /// The values of `metric` at each x of `at`, by method and trial.
    ///
    /// # Errors
    /// A record that cannot be read.
    pub(crate) fn values(&self, metric: &str, at: &[f64]) -> Result<Trials> {
        let mut found = Trials::new(&METHODS.map(|(name, _)| name), at);
        for trial in &self.trials {
            for (method, (_, variant)) in METHODS.iter().enumerate() {
                let record = Record::read(&trial.record(&trial.name(variant)))?;
                found.rows[trial.row].1[method].extend(mean(&record, metric));
            }
        }
        Ok(found)
    }
}

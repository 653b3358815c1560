//! `moot sources trials`.

use super::build::{BenchArgs, files, keep, plan, pools_of};
use super::weights::write;
use crate::answers::align::{self, Compared};
use crate::cli::args::{corpus, model, values};
use crate::cli::terminal::{interrupt, output, runs, tell};
use crate::error::{MootError, Result};
use crate::eval::compare::tables::{csv_rows, markdown_table};
use crate::eval::datasets;
use crate::eval::record::reader::Record;
use crate::eval::reuse::Replies;
use crate::eval::sources::bench::{Pool, build};
use crate::eval::sources::trials::{Trials, mean};
use crate::eval::sources::{answers_of, estimate};
use crate::files::outputs;
use crate::llm::remote::Notice;
use crate::protocol::switches::Typed;
use crate::sources::EstimatorSettings;
use crate::workspace::{Control, MethodOptions, MethodPlan, PlanOptions, Recording, RunOptions};
use std::path::{Path, PathBuf};
use std::sync::Arc;

const EXAMPLES: &str = "\
Examples:
  moot sources trials ramdocs.jsonl -o trials --vary sources --at 3,5,7,9           RA-RAG's figure 2
  moot sources trials ramdocs.jsonl -o trials --vary spammers --at 1,3,5,7 --sources 9    figure 4
  moot sources trials ramdocs.jsonl -o trials --vary kappa --at 1,2,3,4,5,6 --sources 9   figure 5";

/// Run RA-RAG's experiment with a model: benchmarks with planted reliabilities, estimated weights, and the test, over several seeds
///
/// For each seed a benchmark is built, every source answers the questions to estimate from, weights are estimated, and the
/// methods answer the test. The means over seeds are printed and drawn. Run the same command to resume.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// The benchmark.
    #[command(flatten)]
    bench: BenchArgs,
    /// The folder of benchmarks, records, table and charts
    #[arg(short, long, value_name = "FOLDER")]
    output: PathBuf,
    /// What differs along the x axis
    #[arg(long, value_enum, value_name = "WHAT", default_value_t = Vary::Sources)]
    vary: Vary,
    /// The values of x
    #[arg(long, value_name = "N,...", value_delimiter = ',', required = true, value_parser = values::count_or_none)]
    at: Vec<usize>,
    /// Trials, each with a seed of its own, from --seed on
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = values::count, allow_negative_numbers = true)]
    trials: usize,
    /// Sources that kappa-RRSS selects, where kappa does not vary
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = values::count, allow_negative_numbers = true)]
    kappa: usize,
    /// Questions in flight
    #[arg(long, value_name = "N", default_value = "8", value_parser = values::count, allow_negative_numbers = true)]
    in_flight: usize,
    /// The classifier of pairs.
    #[command(flatten)]
    classifier: corpus::ClassifierArgs,
    /// Model and device.
    #[command(flatten)]
    model: model::ModelArgs,
}

/// What differs along the x axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Vary {
    /// Number of sources (figures 2, 6 and 8)
    Sources,
    /// Number of spammers among them (figures 4 and 9)
    Spammers,
    /// Sources that kappa-RRSS selects (figures 5 and 10)
    Kappa,
}

impl Vary {
    fn label(self) -> &'static str {
        match self {
            Self::Sources => "sources",
            Self::Spammers => "spammers",
            Self::Kappa => "kappa",
        }
    }
}

/// The paper's names of what is compared, and the variants of `ra-rag` that they are.
const METHODS: [(&str, &str); 6] = [
    ("Oracle WMV", "oracle"),
    ("WMV", "wmv"),
    ("RA-RAG", "rrss"),
    ("kappa-RSS", "rss"),
    ("MV", "mv"),
    ("Naive RAG", "naive-rag"),
];

/// The benchmark of one trial at one x.
struct Trial {
    /// The index of x, and the value of kappa.
    row: usize,
    kappa: usize,
    folder: PathBuf,
}

impl Trial {
    /// The name of a variant's record, with kappa where it matters.
    fn name(&self, variant: &str) -> String {
        if ["rrss", "rss"].contains(&variant) { format!("{variant}-{}", self.kappa) } else { variant.to_owned() }
    }
}

pub(super) fn run(args: &Args) -> Result<()> {
    if args.vary != Vary::Kappa && !args.bench.reliability.is_empty() {
        return Err(MootError::Usage(
            "--reliability needs --vary kappa: it fixes the number of sources and of spammers".into(),
        ));
    }
    let trials = built(args)?;
    // A process listens for Ctrl-C once.
    let control = interrupt::listen()?;
    // First what needs no weights: the answers of all sources, from which most replies of the rest are taken.
    let first = |trial: &Trial| {
        Ok(vec![
            args.recording(trial, "estimate", "wmv", "estimate", None, &[])?,
            args.recording(trial, "test", "mv", "mv", None, &[])?,
            args.recording(trial, "test", "naive-rag", "naive-rag", None, &[])?,
        ])
    };
    args.record(&trials, &first, &control)?;
    for trial in &trials {
        weigh(trial)?;
    }
    let then = |trial: &Trial| {
        let known = [trial.folder.join("mv.record.jsonl")];
        let with = |variant: &str, weights: &str| {
            args.recording(trial, "test", variant, &trial.name(variant), Some(weights), &known)
        };
        Ok(vec![
            with("oracle", "oracle.json")?,
            with("wmv", "sources.json")?,
            with("rrss", "sources.json")?,
            with("rss", "sources.json")?,
        ])
    };
    args.record(&trials, &then, &control)?;
    report(args, &trials)
}

/// Builds the benchmark of every trial, where it is not there already.
fn built(args: &Args) -> Result<Vec<Trial>> {
    let (pools, questions) = pools_of(&args.bench)?;
    let mut trials = Vec::new();
    for (row, &x) in args.at.iter().enumerate() {
        for trial in 0..args.trials {
            let mut bench = args.bench.clone();
            bench.seed = bench.seed.wrapping_add(trial as u64);
            let mut kappa = args.kappa;
            let mut name = String::new();
            match args.vary {
                Vary::Sources => (bench.sources, name) = (x, format!("sources-{x}")),
                Vary::Spammers => (bench.spammers, name) = (Some(x), format!("spammers-{x}")),
                Vary::Kappa => kappa = x,
            }
            if x == 0 && args.vary != Vary::Spammers {
                return Err(MootError::Usage(format!("--at 0: expected at least 1 for {}", args.vary.label())));
            }
            let folder = args.output.join(name).join(format!("trial-{}", trial + 1));
            deal(&bench, &pools, questions, &folder)?;
            trials.push(Trial { row, kappa, folder });
        }
    }
    Ok(trials)
}

fn deal(bench: &BenchArgs, pools: &[Pool], questions: (usize, usize), folder: &Path) -> Result<()> {
    keep(&files(&build(pools, &plan(bench, questions)?))?, folder)
}

/// Estimates the weights of a trial from its record, as `moot sources estimate` does.
fn weigh(trial: &Trial) -> Result<()> {
    let record = Record::read(&trial.folder.join("estimate.record.jsonl"))?;
    let answers = record.questions.iter().map(|q| answers_of(q, Some(align::LEAST), Compared::default())).collect();
    let settings = EstimatorSettings { align: Some(align::LEAST), ..EstimatorSettings::default() };
    write(&estimate(answers, &settings), &trial.folder.join("sources.json"))
}

impl Args {
    /// The recording of a variant on a set of a trial's benchmark.
    fn recording(
        &self,
        trial: &Trial,
        set: &str,
        variant: &str,
        name: &str,
        weights: Option<&str>,
        reused: &[PathBuf],
    ) -> Result<Recording> {
        let dataset = datasets::load(&trial.folder.join(format!("{set}.jsonl")))?;
        let selects = ["rrss", "rss"].contains(&variant);
        let kappa = selects.then(|| ("kappa".to_owned(), trial.kappa.to_string()));
        let switches = [("variant".to_owned(), variant.to_owned())].into_iter().chain(kappa);
        let options = MethodOptions {
            source_weights: weights.map(|weights| trial.folder.join(weights)),
            ..MethodOptions::default()
        };
        let rows = [("ra-rag", switches.collect::<Typed>())];
        let method: Vec<MethodPlan> = options.resolve_rows(&rows, &Notice::new(tell))?;
        let method = method.into_iter().next().ok_or_else(|| MootError::Usage("ra-rag was not built (bug)".into()))?;
        let output = trial.folder.join(format!("{name}.record.jsonl"));
        let run = RunOptions { in_flight: self.in_flight, ..RunOptions::default() };
        Ok(Recording::new(Arc::new(method), Arc::new(dataset), output, Arc::new(Replies::read(reused)?), &run))
    }

    /// Makes the records that `of` names for each trial; those of equal files once.
    fn record(&self, trials: &[Trial], of: &dyn Fn(&Trial) -> Result<Vec<Recording>>, control: &Control) -> Result<()> {
        let mut batches: Vec<Vec<Recording>> = Vec::new();
        for trial in trials {
            let known = |path: &Path| batches.iter().flatten().any(|recording| recording.path() == path);
            let new: Vec<Recording> = of(trial)?.into_iter().filter(|recording| !known(recording.path())).collect();
            if !new.is_empty() {
                batches.push(new);
            }
        }
        let run = RunOptions { in_flight: self.in_flight, ..RunOptions::default() };
        let options = PlanOptions {
            classifier: self.classifier.options(),
            model: self.model.name(),
            runtime: self.model.runtime.options(),
            run: Some(run),
            ..PlanOptions::default()
        };
        runs::make(options, batches, control)
    }
}

/// Prints the means, and writes table and charts.
fn report(args: &Args, trials: &[Trial]) -> Result<()> {
    let at: Vec<f64> = args.at.iter().map(|&x| x as f64).collect();
    let x = args.vary.label();
    for (metric, title, y) in [("squad-em", "Exact match", "exact match"), ("calls", "Calls a question", "calls")] {
        let mut found = Trials::new(&METHODS.map(|(name, _)| name), &at);
        for trial in trials {
            for (method, (_, variant)) in METHODS.iter().enumerate() {
                let record = Record::read(&trial.folder.join(format!("{}.record.jsonl", trial.name(variant))))?;
                found.rows[trial.row].1[method].extend(mean(&record, metric));
            }
        }
        let cells = found.cells(x);
        let trials = args.trials;
        output::print(&format!(
            "{title}, mean of {trials} trials with its 95 % interval\n\n{}\n",
            markdown_table(&cells)
        ))?;
        let file = |end: &str| args.output.join(format!("{x}-{}.{end}", y.replace(' ', "-")));
        outputs::write(&file("csv"), csv_rows(&cells)?.as_bytes())?;
        outputs::write(&file("svg"), found.chart(x, y).picture(title, &found.methods)?.as_bytes())?;
    }
    Ok(())
}

//! `moot sources trials`.

use super::bench::BenchArgs;
use crate::cli::args::{corpus, model, values};
use crate::cli::terminal::runs::print_reports;
use crate::cli::terminal::{interrupt, output};
use crate::error::{MootError, Result};
use crate::eval::compare::tables::{csv_rows, markdown_table};
use crate::files::outputs;
use crate::workspace::{CorpusOptions, MethodOptions, PlanOptions, RunOptions, SourceTrial, SourceTrials};
use std::path::PathBuf;

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
    /// The setting that varies along the x axis
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
    /// Maximum tokens of a reply [default: 128]
    #[arg(long, value_name = "N", value_parser = values::count, allow_negative_numbers = true)]
    max_tokens: Option<usize>,
    /// A folder of your own prompts, named as by `moot prompts list`
    #[arg(long, value_name = "DIR")]
    prompts: Option<PathBuf>,
    /// Rank the documents of Naive RAG by the vectors of this embedder, instead of the words that they share with the question
    #[arg(long, value_name = "NAME")]
    embedder: Option<String>,
    /// Device of the embedder: cpu, cuda, cuda:N or metal
    #[arg(long, value_name = "DEVICE", default_value = "cpu", requires = "embedder", hide_short_help = true)]
    embedder_device: String,
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

/// The setting that varies along the x axis.
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

pub(super) fn run(args: &Args) -> Result<()> {
    if args.vary != Vary::Kappa && !args.bench.reliability.is_empty() {
        return Err(MootError::Usage(
            "--reliability needs --vary kappa: it fixes the number of sources and of spammers".into(),
        ));
    }
    // A process listens for Ctrl-C once.
    let control = interrupt::listen()?;
    let (pools, questions) = args.bench.options().pools(&control)?;
    if questions.0 == 0 {
        return Err(MootError::Usage("--estimate 0: expected at least 1, to estimate weights from".into()));
    }
    let experiment = SourceTrials { trials: trials(args, questions)?, options: options(args) };
    experiment.deal(&pools)?;
    print_reports(experiment.estimate(&control)?).map_or(Ok(()), Err)?;
    print_reports(experiment.test(&control)?).map_or(Ok(()), Err)?;
    report(args, &experiment)
}

/// A trial for each x and seed.
fn trials(args: &Args, questions: (usize, usize)) -> Result<Vec<SourceTrial>> {
    let mut trials = Vec::new();
    for (row, &x) in args.at.iter().enumerate() {
        for trial in 0..args.trials {
            let mut bench = args.bench.options();
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
            trials.push(SourceTrial { row, kappa, folder, bench: bench.plan(questions)? });
        }
    }
    Ok(trials)
}

fn options(args: &Args) -> PlanOptions {
    let (max_tokens, prompts) = (args.max_tokens, args.prompts.clone());
    PlanOptions {
        method: MethodOptions { max_tokens, prompts, ..MethodOptions::default() },
        corpus: CorpusOptions {
            embedder: args.embedder.clone(),
            embedder_device: args.embedder_device.clone(),
            ..CorpusOptions::default()
        },
        classifier: args.classifier.options(),
        model: args.model.name(),
        runtime: args.model.runtime.options(),
        run: Some(RunOptions { in_flight: args.in_flight, ..RunOptions::default() }),
        ..PlanOptions::default()
    }
}

/// Prints the means, and writes table and charts.
fn report(args: &Args, experiment: &SourceTrials) -> Result<()> {
    let at: Vec<f64> = args.at.iter().map(|&x| x as f64).collect();
    let (x, trials) = (args.vary.label(), args.trials);
    for (metric, title, y) in [("squad-em", "Exact match", "exact match"), ("calls", "Calls a question", "calls")] {
        let found = experiment.values(metric, &at)?;
        let cells = found.cells(x);
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

//! `moot sources build`.

use crate::cli::args::values;
use crate::cli::terminal::output;
use crate::cli::terminal::tell;
use crate::error::{MootError, Result};
use crate::eval::datasets;
use crate::eval::record::is_record;
use crate::eval::record::reader::Record;
use crate::eval::sources::bench::folder::save;
use crate::eval::sources::bench::pools::{Pools, pools};
use crate::eval::sources::bench::recorded::{Recorded, recorded};
use crate::eval::sources::bench::{Lies, Plan, Pool, build, reliabilities, synthetic};
use crate::eval::sources::reliability::Prior;
use crate::question::Question;
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  moot sources build -o bench                                        invented questions, 200 to estimate and 1400 to test
  moot sources build ramdocs.jsonl -o bench --sources 5              40 % of the usable questions to estimate, the rest to test
  moot sources build poisonedrag.json hotpotqa.jsonl -o bench        questions of the first file, documents of both
  moot sources build pools.jsonl -o bench                            a record of moot run --method source-pools";

/// The method that makes documents for benchmarks.
const SOURCE_POOLS: &str = "source-pools";

/// Build a benchmark of sources with planted reliabilities (RA-RAG, section 4)
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// The benchmark.
    #[command(flatten)]
    bench: BenchArgs,
    /// The folder to write: estimate.jsonl, test.jsonl, corpus.jsonl and oracle.json
    #[arg(short, long, value_name = "FOLDER")]
    output: PathBuf,
}

/// The arguments of a benchmark.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct BenchArgs {
    /// Labelled datasets, as `moot run` reads them, or a record of the method source-pools; without one, questions are invented
    #[arg(value_name = "FILE")]
    pub(super) files: Vec<PathBuf>,
    /// Sources
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = values::count, allow_negative_numbers = true)]
    pub(super) sources: usize,
    /// Mean of the reliabilities, drawn from Beta(2 w / (1 - w), 2)
    #[arg(long, value_name = "W", default_value_t = 0.6, value_parser = values::number, allow_negative_numbers = true)]
    mean: f32,
    /// Number of spammers (reliability 0.1) among hammers (0.9), instead of --mean
    #[arg(long, value_name = "N", value_parser = values::count_or_none, conflicts_with = "mean")]
    pub(super) spammers: Option<usize>,
    /// The reliability of each source, as 0.9,0.6,0.1, instead of drawn ones
    #[arg(long, value_name = "P,...", value_delimiter = ',', value_parser = values::number)]
    #[arg(conflicts_with_all = ["mean", "spammers", "sources"])]
    pub(super) reliability: Vec<f32>,
    /// Additional sources that repeat one spammer's documents
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = values::count_or_none)]
    copies: usize,
    /// The probability that a source has relevant documents: one number, or one for each source, as 0.6,0.1,0.1
    #[arg(long, value_name = "R,...", value_delimiter = ',', default_value = "0.6", value_parser = values::number)]
    #[arg(allow_negative_numbers = true)]
    coverage: Vec<f32>,
    /// All liars tell the same lie: the case in which the estimate collapses
    #[arg(long)]
    shared_lie: bool,
    /// Wrong answers of a question at most
    #[arg(long, value_name = "N", default_value_t = 9, value_parser = values::count, allow_negative_numbers = true)]
    wrong: usize,
    /// Documents of a source on a question at most
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = values::count, allow_negative_numbers = true)]
    per_source: usize,
    /// Questions to estimate from [default: 200 invented ones, or 40 % of the usable ones]
    #[arg(long, value_name = "N", value_parser = values::count, allow_negative_numbers = true)]
    estimate: Option<usize>,
    /// Questions to test [default: 1400 invented ones, or the other usable ones]
    #[arg(long, value_name = "N", value_parser = values::count, allow_negative_numbers = true)]
    test: Option<usize>,
    /// Seeds everything that is drawn
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = values::whole::<u64>, allow_negative_numbers = true)]
    pub(super) seed: u64,
}

pub(super) fn run(args: &Args) -> Result<()> {
    let (pools, questions) = pools_of(&args.bench)?;
    let built = build(&pools, &plan(&args.bench, questions)?);
    save(&built, &args.output)?;
    let planted: String = built
        .oracle
        .sources
        .iter()
        .map(|(name, estimate)| format!("  {name}  {:.2}\n", estimate.agreement.unwrap_or(0.0)))
        .collect();
    let (estimate, test) = (built.estimate.len(), built.test.len());
    output::print(&format!("{estimate} questions to estimate from, {test} to test; planted reliabilities:\n{planted}"))
}

/// The pools of documents, and the numbers of questions to estimate from and to test.
pub(super) fn pools_of(args: &BenchArgs) -> Result<(Vec<Pool>, (usize, usize))> {
    let lies = lies(args);
    if args.wrong < 2 && lies == Lies::Own {
        let why = "all liars would tell the same lie: expected at least 2, or --shared-lie";
        return Err(MootError::Usage(format!("--wrong {}: {why}", args.wrong)));
    }
    let (pools, questions) = if args.files.is_empty() {
        let questions = (args.estimate.unwrap_or(200), args.test.unwrap_or(1400));
        let mut pools = synthetic::pools(questions.0 + questions.1, args.seed);
        pools.iter_mut().for_each(|pool| pool.wrong.truncate(args.wrong));
        (pools, questions)
    } else {
        let pools = labelled(args, lies)?;
        let usable = pools.len();
        let estimate = args.estimate.unwrap_or((usable * 2).div_ceil(5)).min(usable);
        (pools, (estimate, args.test.unwrap_or(usable).min(usable - estimate)))
    };
    let wanted = args.estimate.unwrap_or(0) + args.test.unwrap_or(0);
    if wanted > questions.0 + questions.1 {
        let usable = pools.len();
        tell(&format!(
            "{wanted} questions wanted, {usable} usable: {} to estimate, {} to test",
            questions.0, questions.1
        ));
    }
    Ok((pools, questions))
}

fn lies(args: &BenchArgs) -> Lies {
    if args.shared_lie { Lies::Shared } else { Lies::Own }
}

/// The plan of a benchmark with these numbers of questions to estimate from and to test.
pub(super) fn plan(args: &BenchArgs, questions: (usize, usize)) -> Result<Plan> {
    let reliability = planted(args)?;
    let coverage = coverage(args, reliability.len())?;
    let (copies, per_source, seed) = (args.copies, args.per_source, args.seed);
    Ok(Plan { reliability, copies, coverage, lies: lies(args), per_source, questions, seed })
}

/// One number, or one for each source.
fn coverage(args: &BenchArgs, sources: usize) -> Result<Vec<f64>> {
    let found = args.coverage.len();
    if found != 1 && found != sources {
        let expected = format!("expected one number, or {sources}, one for each source");
        return Err(MootError::Usage(format!("--coverage: {expected}; found {found}")));
    }
    args.coverage.iter().map(|&coverage| values::share("--coverage", coverage)).collect()
}

fn planted(args: &BenchArgs) -> Result<Vec<f64>> {
    if !args.reliability.is_empty() {
        return args.reliability.iter().map(|&p| values::share("--reliability", p)).collect();
    }
    let mean = values::share("--mean", args.mean)?;
    if mean <= 0.0 || mean >= 1.0 {
        return Err(MootError::Usage(format!("--mean {mean}: expected a number between 0 and 1")));
    }
    let prior = args.spammers.map_or(Prior::Beta(mean), Prior::SpammerHammer);
    if let Some(spammers) = args.spammers.filter(|spammers| *spammers > args.sources) {
        return Err(MootError::Usage(format!("--spammers {spammers}: expected at most --sources {}", args.sources)));
    }
    Ok(reliabilities(prior, args.sources, args.seed))
}

/// The pools of a record of the method `source-pools`.
fn of_record(args: &BenchArgs, path: &Path) -> Result<Vec<Pool>> {
    let record = Record::read(path)?;
    if record.header.method != SOURCE_POOLS {
        return Err(MootError::Input {
            path: path.to_owned(),
            line: Some(1),
            expected: format!("a record of {SOURCE_POOLS}, or a labelled dataset"),
            found: format!("a record of {}", record.header.method),
        });
    }
    let Recorded { pools, nothing, unusable, left_out } = recorded(&record, args.wrong);
    tell(&format!("{} of {} questions of {} are usable", pools.len(), record.questions.len(), path.display()));
    for (count, why) in [
        (nothing, "questions left out: not closed-ended, without a document that holds the right answer, or failed"),
        (unusable, "questions left out: without a factual document, or with fewer than two wrong answers"),
        (left_out, "texts left out: without their answer, or with the right one"),
    ] {
        if count > 0 {
            tell(&format!("{count} {why}"));
        }
    }
    Ok(pools)
}

fn labelled(args: &BenchArgs, lies: Lies) -> Result<Vec<Pool>> {
    if let [path] = args.files.as_slice()
        && is_record(path)?
    {
        return of_record(args, path);
    }
    let files: Vec<Vec<Question>> =
        args.files.iter().map(|path| Ok(datasets::load(path)?.questions)).collect::<Result<_>>()?;
    let all = files.first().map_or(0, Vec::len);
    let Pools { pools, without_answer, one_lie, unmatched } = pools(files, lies, args.wrong, args.seed);
    tell(&format!("{} of {all} questions of {} are usable", pools.len(), args.files[0].display()));
    for (count, why) in [
        (without_answer, "left out: no document holds the right answer, or no wrong answer can be made"),
        (one_lie, "left out: a single wrong answer would be shared by all liars (--shared-lie takes them)"),
        (unmatched, "left out: only in later files"),
    ] {
        if count > 0 {
            tell(&format!("{count} questions {why}"));
        }
    }
    if pools.is_empty() {
        return Err(MootError::Input {
            path: args.files[0].clone(),
            line: None,
            expected: "questions with gold answers and documents labelled correct, supporting or misinfo".into(),
            found: "none that is usable".into(),
        });
    }
    Ok(pools)
}

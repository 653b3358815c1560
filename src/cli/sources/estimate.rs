//! `moot sources estimate` and `moot sources merge`.

use super::{name, print, write};
use crate::cli::columns::printable;
use crate::cli::values;
use crate::error::{MootError, Result};
use crate::eval::datasets::sha256_of;
use crate::eval::record::reader::Record;
use crate::eval::sources::merge::Gathered;
use crate::eval::sources::{answers_of, estimate};
use crate::methods::align;
use crate::sources::{Estimator, EstimatorSettings, QuestionAnswers, SourceWeights};
use std::path::PathBuf;

/// Estimate weights of sources from recorded runs, without labels (RA-RAG, section 3.3)
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Records of a method that asks each source or document alone (ra-rag, majority-vote, madam-rag)
    #[arg(value_name = "RECORD", required = true)]
    records: Vec<PathBuf>,
    /// The file of weights to write
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Begin with the answers of this file of weights; a new answer replaces the one to the same question
    #[arg(long, value_name = "FILE")]
    update: Option<PathBuf>,
    /// ROUGE-1 precision against the source's documents below which an answer counts as unknown; 0 drops none
    #[arg(long, value_name = "P", default_value_t = align::LEAST as f32, value_parser = values::number)]
    #[arg(allow_negative_numbers = true)]
    align: f32,
    #[command(flatten)]
    settings: SettingsArgs,
}

/// Put estimates together: as if all their records had been estimated from at once
#[derive(Debug, clap::Args)]
pub(super) struct MergeArgs {
    /// Files that `moot sources estimate` wrote; of one source's answers to a question the last counts
    #[arg(value_name = "FILE", required = true, num_args = 2..)]
    weights: Vec<PathBuf>,
    /// The file of weights to write
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    #[command(flatten)]
    settings: SettingsArgs,
}

/// What is not typed is taken from the first file that is read, else from the defaults.
#[derive(Debug, Clone, clap::Args)]
struct SettingsArgs {
    /// paper, or independent: sources that copy each other share one vote [default: paper]
    #[arg(long, value_name = "NAME")]
    estimator: Option<EstimatorName>,
    /// The N of `v = N w - 1` [default: the number of sources; of voices for independent]
    #[arg(long, value_name = "N", value_parser = values::count, allow_negative_numbers = true)]
    sources: Option<usize>,
    /// Iterations at most [default: 100]
    #[arg(long, value_name = "T", value_parser = values::count, allow_negative_numbers = true)]
    iterations: Option<usize>,
    /// Resamples of the bootstrap intervals; 0 for none [default: 1000]
    #[arg(long, value_name = "N", value_parser = values::count_or_none, allow_negative_numbers = true)]
    resamples: Option<usize>,
    /// Seeds the bootstrap [default: 0]
    #[arg(long, value_name = "N", value_parser = values::whole::<u64>, allow_negative_numbers = true)]
    seed: Option<u64>,
}

/// As [`Estimator`].
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum EstimatorName {
    Paper,
    Independent,
}

impl SettingsArgs {
    fn resolve(&self, before: Option<EstimatorSettings>) -> EstimatorSettings {
        let before = before.unwrap_or_default();
        EstimatorSettings {
            estimator: match self.estimator {
                Some(EstimatorName::Paper) => Estimator::Paper,
                Some(EstimatorName::Independent) => Estimator::Independent,
                None => before.estimator,
            },
            sources: self.sources.or(before.sources),
            iterations: self.iterations.unwrap_or(before.iterations),
            resamples: self.resamples.unwrap_or(before.resamples),
            seed: self.seed.unwrap_or(before.seed),
            ..before
        }
    }
}

pub(super) fn run(args: &Args) -> Result<()> {
    let least = Some(super::least(args.align)?).filter(|least| *least > 0.0);
    let mut gathered = Gathered::default();
    let before = read_into(&mut gathered, args.update.as_slice())?;
    let mut unnamed = 0;
    for path in &args.records {
        let record = Record::read(path)?;
        gathered.note((name(path), sha256_of(path)?));
        for question in record.questions.iter().map(|question| answers_of(question, least)) {
            unnamed += usize::from(question.answers.is_empty());
            gathered.add(question);
        }
    }
    if unnamed > 0 && !gathered.questions.is_empty() {
        told(&format!("{unnamed} questions left out: no call for a document that names its source"));
    }
    finish(gathered, &args.settings.resolve(before), &args.records[0], &args.output)
}

pub(super) fn merge(args: &MergeArgs) -> Result<()> {
    let mut gathered = Gathered::default();
    let before = read_into(&mut gathered, &args.weights)?;
    finish(gathered, &args.settings.resolve(before), &args.weights[0], &args.output)
}

/// Adds the answers of files of weights; returns the first file's settings.
fn read_into(gathered: &mut Gathered, files: &[PathBuf]) -> Result<Option<EstimatorSettings>> {
    let mut before = None;
    let mut known: Option<(PathBuf, SourceWeights)> = None;
    for path in files {
        let (weights, _) = SourceWeights::read(path)?;
        before = before.or(weights.settings);
        if let Some((first, other)) =
            known.as_ref().filter(|(_, o)| !o.sources.keys().any(|s| weights.sources.contains_key(s)))
        {
            let (first, second) = (first.display(), path.display());
            let none = other.sources.len() + weights.sources.len();
            told(&format!(
                "{first} and {second} have no source in common: {none} sources of two corpora are weighed together"
            ));
        }
        known.get_or_insert((path.clone(), weights.clone()));
        gathered.add_all(weights, path)?;
    }
    Ok(before)
}

fn finish(
    gathered: Gathered,
    settings: &EstimatorSettings,
    first: &std::path::Path,
    output: &std::path::Path,
) -> Result<()> {
    let answers = gathered.questions.iter().flat_map(|question: &QuestionAnswers| question.answers.values());
    let (mut asked, mut dropped, mut counted) = (0, 0, 0);
    for answer in answers {
        asked += 1;
        dropped += usize::from(answer.dropped);
        counted += usize::from(answer.counted().is_some());
    }
    if counted == 0 {
        let found = match (asked, dropped) {
            (0, _) => "no document with a source (the field `source` of documents names it)".to_owned(),
            (_, 0) => format!("{asked} replies, all of them unknown or malformed: nothing can be estimated"),
            _ => format!(
                "{asked} replies, {dropped} of them dropped (--align) and the others unknown: nothing can be estimated"
            ),
        };
        return Err(MootError::Input {
            path: first.into(),
            line: None,
            expected: "records in which sources answer questions".into(),
            found,
        });
    }
    if gathered.replaced > 0 {
        told(&format!("{} answers replaced by later ones of the same source to the same question", gathered.replaced));
    }
    if dropped > 0 {
        told(&format!("{dropped} of {asked} replies dropped: their words are not in the source's documents (--align)"));
    }
    let weights = SourceWeights { records: gathered.records, ..estimate(gathered.questions, settings) };
    write(&weights, output)?;
    print(&weights)
}

/// A line beside the result.
fn told(line: &str) {
    anstream::eprintln!("{}", printable(line));
}

//! `moot sources estimate` and `moot sources merge`.

use super::weights::print;
use crate::answers::align;
use crate::cli::args::values;
use crate::cli::terminal::tell;
use crate::error::{MootError, Result};
use crate::eval::record::Header;
use crate::eval::record::reader::Record;
use crate::eval::sources::merge::Gathered;
use crate::eval::sources::{answers_of, estimate, note_classes};
use crate::files::outputs;
use crate::protocol::equality::{self, Equality};
use crate::sources::{EstimatorSettings, QuestionAnswers, SourceWeights};
use crate::transcript::QuestionRecord;
use moot_models::source::sha256_file;
use std::path::{Path, PathBuf};

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
    /// ROUGE-1 precision against the source's documents below which an answer counts as unknown; 0 drops none [default: that
    /// of the updated file, else 0.9]
    #[arg(long, value_name = "P", value_parser = values::number, allow_negative_numbers = true)]
    align: Option<f32>,
    #[command(flatten)]
    settings: SettingsArgs,
}

/// Merge estimates, as if all their records had been estimated from at once
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
    /// The N of `v = N w - 1` [default: the number of sources]
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

impl SettingsArgs {
    fn resolve(&self, before: Option<EstimatorSettings>) -> Result<EstimatorSettings> {
        let before = before.unwrap_or_default();
        if let Some(one) = self.sources.filter(|sources| *sources < 2) {
            let why = "with v = N w - 1 no weight would be above 0: expected at least 2";
            return Err(MootError::Usage(format!("--sources {one}: {why}")));
        }
        Ok(EstimatorSettings {
            sources: self.sources.or(before.sources),
            iterations: self.iterations.unwrap_or(before.iterations),
            resamples: self.resamples.unwrap_or(before.resamples),
            seed: self.seed.unwrap_or(before.seed),
            ..before
        })
    }
}

/// Questions that were left out, by the reason.
#[derive(Default)]
struct LeftOut {
    /// No call is for a single document.
    without_call: usize,
    /// No document that was asked names its source.
    without_source: usize,
}

impl LeftOut {
    fn add(&mut self, question: &QuestionRecord) {
        let asked = question.calls.iter().any(|call| call.document.is_some());
        *(if asked { &mut self.without_source } else { &mut self.without_call }) += 1;
    }

    /// The reasons, with their numbers of questions.
    fn reasons(&self) -> impl Iterator<Item = String> {
        let reasons = [
            (self.without_call, "without a call for a single document (naive RAG and other readers of all documents)"),
            (self.without_source, "without a document that names its source (its field `source`)"),
        ];
        let reasons = reasons.into_iter().filter(|(count, _)| *count > 0);
        reasons.map(|(count, why)| format!("{count} {} {why}", if count == 1 { "question" } else { "questions" }))
    }
}

pub(super) fn run(args: &Args) -> Result<()> {
    let records: Vec<_> = args.records.iter().map(|path| ("RECORD", path.as_path())).collect();
    outputs::distinct(&[("-o", &args.output)], &records)?;
    let typed = args.align.map(|typed| values::share("--align", typed)).transpose()?;
    let mut gathered = Gathered::default();
    let before = read_into(&mut gathered, args.update.as_slice())?;
    let settings = args.settings.resolve(before)?;
    let align = typed.or(settings.align).unwrap_or(align::LEAST);
    if let (Some(file), Some(other)) = (&args.update, settings.align.filter(|other| *other != align)) {
        tell(&mixed(&file.display().to_string(), other, "those of the records", align));
    }
    let first = args.update.as_ref().unwrap_or(&args.records[0]);
    let mut left = LeftOut::default();
    for path in &args.records {
        let record = Record::read(path)?;
        gathered.note((name(path), sha256_file(path)?));
        let equality = equality_of(&record.header);
        let mut found = Gathered::default();
        for question in &record.questions {
            let mut answers = answers_of(question, Some(align).filter(|align| *align > 0.0), equality.compared());
            if equality != Equality::Exact {
                note_classes(&mut answers, question);
            }
            if answers.answers.is_empty() {
                left.add(question);
            }
            found.add(answers);
        }
        apart(&gathered, first, &found, path).iter().for_each(|line| tell(line));
        gathered.replaced += found.replaced;
        found.questions.into_iter().for_each(|question| gathered.add(question));
    }
    let same = args.update.is_none() || settings.align == Some(align);
    let settings = EstimatorSettings { align: same.then_some(align), ..settings };
    finish(gathered, &settings, &left, &args.records[0], &args.output)
}

/// How a run of `ra-rag` compared answers: its conclusions list their classes. Other methods count by words.
fn equality_of(header: &Header) -> Equality {
    let typed = header.switches.get(equality::SWITCH.name).and_then(|value| value.as_str());
    typed.filter(|_| header.method == "ra-rag").map(Equality::named).unwrap_or_default()
}

pub(super) fn merge(args: &MergeArgs) -> Result<()> {
    let weights: Vec<_> = args.weights.iter().map(|path| ("FILE", path.as_path())).collect();
    outputs::distinct(&[("-o", &args.output)], &weights)?;
    let mut gathered = Gathered::default();
    let before = read_into(&mut gathered, &args.weights)?;
    finish(gathered, &args.settings.resolve(before)?, &LeftOut::default(), &args.weights[0], &args.output)
}

/// Adds the answers of files of weights; returns the first file's settings, without `align` where the files differ in it.
fn read_into(gathered: &mut Gathered, files: &[PathBuf]) -> Result<Option<EstimatorSettings>> {
    let mut before: Option<(&PathBuf, EstimatorSettings)> = None;
    let mut align = None;
    for path in files {
        let (weights, _) = SourceWeights::read(path)?;
        let own = weights.settings;
        let mut found = Gathered::default();
        found.add_all(weights, path)?;
        apart(gathered, &files[0], &found, path).iter().for_each(|line| tell(line));
        found.records.into_iter().for_each(|record| gathered.note(record));
        found.questions.into_iter().for_each(|question| gathered.add(question));
        let Some(own) = own else { continue };
        match (&before, own.align) {
            (None, _) => align = own.align,
            (Some((first, settings)), Some(other)) if settings.align.is_some_and(|known| known != other) => {
                let known = settings.align.unwrap_or_default();
                tell(&mixed(&first.display().to_string(), known, &format!("those of {}", path.display()), other));
                align = None;
            }
            (Some(_), other) => align = align.filter(|known| other == Some(*known)),
        }
        before = before.or(Some((path, own)));
    }
    Ok(before.map(|(_, settings)| EstimatorSettings { align, ..settings }))
}

/// One line on answers that were filtered differently and are estimated from together.
fn mixed(first: &str, known: f64, second: &str, other: f64) -> String {
    format!(
        "answers of {first} were filtered with --align {known}, {second} with --align {other}: they are estimated from together"
    )
}

/// One line where `found`, read from `path`, has no source in common with what was gathered before; `first` names that.
fn apart(gathered: &Gathered, first: &Path, found: &Gathered, path: &Path) -> Option<String> {
    let (known, own) = (gathered.sources(), found.sources());
    if known.is_empty() || own.is_empty() || !known.is_disjoint(&own) {
        return None;
    }
    let (first, second, all) = (first.display(), path.display(), known.len() + own.len());
    Some(format!("{first} and {second} have no source in common: {all} sources of two corpora are weighed together"))
}

fn finish(gathered: Gathered, settings: &EstimatorSettings, left: &LeftOut, first: &Path, output: &Path) -> Result<()> {
    let answers = gathered.questions.iter().flat_map(|question: &QuestionAnswers| question.answers.values());
    let (mut asked, mut dropped, mut counted) = (0, 0, 0);
    for answer in answers {
        asked += 1;
        dropped += usize::from(answer.dropped);
        counted += usize::from(answer.counted().is_some());
    }
    if counted == 0 {
        let found = match (asked, dropped) {
            (0, _) if left.reasons().next().is_none() => "no question".to_owned(),
            (0, _) => left.reasons().collect::<Vec<_>>().join(", "),
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
    left.reasons().for_each(|reason| tell(&format!("left out: {reason}")));
    if gathered.replaced > 0 {
        tell(&format!("{} answers replaced by later ones of the same source to the same question", gathered.replaced));
    }
    if dropped > 0 {
        tell(&format!("{dropped} of {asked} replies dropped: their words are not in the source's documents (--align)"));
    }
    let weights = SourceWeights { records: gathered.records, ..estimate(gathered.questions, settings) };
    weights.write(output)?;
    print(&weights)
}

/// The file name without folders.
fn name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

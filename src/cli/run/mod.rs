//! `moot run`: a method over a dataset.

mod answers;
mod display;
mod dry;
mod record;
mod several;

use crate::cli::columns::printable;
use crate::cli::interrupt::{self, Interrupt};
use crate::cli::method::{self, Resolved};
use crate::cli::tooling::{ClassifierArgs, Tooling};
use crate::cli::{model, retrieve, values};
use crate::error::{MootError, Result};
use crate::eval::datasets::{self, Dataset};
use crate::eval::fit;
use crate::eval::record::{Header, Writer};
use crate::eval::reuse::{Replies, Reusing};
use crate::eval::runner::{self, Progress, Run};
use crate::protocol::ctx::Tools;
use crate::question::Question;
use display::{Display, say, summary};
use record::Watched;
pub(super) use several::label as model_label;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

pub(super) const EXAMPLES: &str = "\
Examples:
  moot run ramdocs.jsonl -o madam.jsonl --limit 20
  moot run ramdocs.jsonl -o closed.jsonl --limit 20 --method closed-book
  moot run ramdocs.jsonl -o madam.jsonl --dry-run
  moot run ramdocs.jsonl -o part1.jsonl --shard 1/4
  moot run ramdocs.jsonl -o runs/ --method madam-rag,concatenated --model qwen2.5-0.5b,smollm2-135m
  moot run questions.jsonl --corpus archive/ --answers answers.csv
  moot score madam.jsonl closed.jsonl";

/// Answer every question of a dataset and record it; the same command resumes a stopped run
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A dataset file, as its authors publish it or in the form of docs/data.md
    #[arg(value_name = "DATASET")]
    pub dataset: PathBuf,
    /// The record: one JSON object a line; an existing record is continued. With several methods or models, a folder of
    /// records, METHOD.MODEL.jsonl
    #[arg(short, long, value_name = "FILE", required_unless_present = "answers")]
    pub output: Option<PathBuf>,
    /// Also write the answers with their citations, .csv or .jsonl; without -o the record goes beside it
    /// (NAME.record.jsonl)
    #[arg(long, value_name = "FILE", value_parser = answers::file)]
    pub answers: Option<PathBuf>,
    /// The dataset or the form of the file, where they are not detected.
    #[arg(long, value_name = "NAME", help = format_help())]
    pub format: Option<String>,
    /// Skip items that cannot be read, and print which
    #[arg(long)]
    pub skip_bad: bool,
    /// Only the first N questions
    #[arg(long, value_name = "N", value_parser = values::count, allow_negative_numbers = true)]
    pub limit: Option<usize>,
    /// Only a uniform sample of N questions; a larger N contains the smaller
    #[arg(long, value_name = "N", conflicts_with = "limit")]
    #[arg(value_parser = values::count, allow_negative_numbers = true)]
    pub sample: Option<usize>,
    /// Seed of --sample
    #[arg(long, value_name = "SEED", default_value = "0")]
    #[arg(value_parser = values::whole::<u64>, allow_negative_numbers = true)]
    pub sample_seed: u64,
    /// Only part I of N parts of the questions, taken after --limit or --sample; `moot merge` puts the records together
    #[arg(long, value_name = "I/N", value_parser = shard)]
    pub shard: Option<Shard>,
    /// Record nothing: count questions, calls and tokens, measure a few calls, and say how long the run will take
    #[arg(long)]
    pub dry_run: bool,
    /// Questions in flight
    #[arg(long, value_name = "N", default_value = "8", value_parser = values::count, allow_negative_numbers = true)]
    pub in_flight: usize,
    /// Ask the questions that were recorded with an error again
    #[arg(long)]
    pub retry_errors: bool,
    /// Take the replies to calls that this record holds and that are sent alike; the model answers the others
    #[arg(long, value_name = "RECORD", conflicts_with = "dry_run")]
    pub reuse: Vec<PathBuf>,
    /// The method and its settings.
    #[command(flatten)]
    pub method: method::Args,
}

/// One part of the questions: those whose place, from 0, leaves this remainder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard {
    /// From 1.
    pub part: usize,
    /// Parts in all.
    pub parts: usize,
}

impl Shard {
    /// Keeps the items of this part, in their order.
    fn keep<T>(self, items: &mut Vec<T>) {
        let mut place = 0;
        items.retain(|_| {
            place += 1;
            (place - 1) % self.parts == self.part - 1
        });
    }
}

fn shard(typed: &str) -> std::result::Result<Shard, String> {
    let numbers = typed.split_once('/').and_then(|(part, parts)| Some((part.parse().ok()?, parts.parse().ok()?)));
    match numbers {
        Some((part, parts)) if (1..=parts).contains(&part) => Ok(Shard { part, parts }),
        _ => Err("expected I/N with I from 1 to N, such as 2/4".into()),
    }
}

/// The help of `--format`, from the tables.
fn format_help() -> String {
    let forms: Vec<_> = datasets::Form::NAMES.iter().map(|(name, _)| *name).collect();
    let (names, forms) = (datasets::names(), forms.join(", "));
    format!(
        "What DATASET is, where it is not detected: a dataset ({names}), a file form ({forms}), or both (popqa,tsv)"
    )
}

/// A run whose arguments and dataset have been checked; it needs only a model.
pub struct Prepared {
    pub(super) dataset: Arc<Dataset>,
    pub(super) resolved: Resolved,
    pub(super) output: PathBuf,
    pub(super) answers: Option<PathBuf>,
    pub(super) in_flight: usize,
    pub(super) retry_errors: bool,
    pub(super) dry_run: bool,
    pub(super) replies: Arc<Replies>,
}

/// Reads the dataset and resolves the switches, so that errors are found before a model is loaded.
///
/// # Errors
/// An unknown method, a switch that the method does not have, a dataset that cannot be read, an output that cannot be this
/// run's record; several methods.
pub fn prepare(args: &Args) -> Result<Prepared> {
    let mut all = prepare_all(args, &[""])?.into_iter().flatten();
    match (all.next(), all.next()) {
        (Some(one), None) => Ok(one),
        _ => Err(MootError::Usage("expected one method, found several".into())),
    }
}

/// As [`prepare`]: for each of `models` one run for each method.
///
/// # Errors
/// As [`prepare`].
pub fn prepare_all(args: &Args, models: &[&str]) -> Result<Vec<Vec<Prepared>>> {
    let resolved = models.iter().map(|_| args.method.resolve_all()).collect::<Result<Vec<_>>>()?;
    let names: Vec<&str> = resolved.first().into_iter().flatten().map(|(name, _)| name.as_str()).collect();
    let outputs = several::outputs(args, &names, models)?;
    let replies = Arc::new(Replies::read(&args.reuse)?);
    let options = datasets::Options { skip_bad: args.skip_bad, ..datasets::Options::default() };
    let options = args.format.iter().try_fold(options, |options, typed| options.format(typed))?;
    let mut dataset = datasets::load_with(&args.dataset, &options)?;
    for (resolved, outputs) in resolved.iter().zip(&outputs) {
        for ((_, resolved), output) in resolved.iter().zip(outputs) {
            // The folder of several records is not made by a dry run.
            if !args.dry_run || output.parent().is_none_or(|folder| folder.as_os_str().is_empty() || folder.is_dir()) {
                record::check(output, &dataset.identity, resolved)?;
            }
        }
    }
    tell_skipped(&dataset.skipped);
    dataset.questions.truncate(args.limit.unwrap_or(usize::MAX));
    if let Some(count) = args.sample {
        dataset.sample(count, args.sample_seed);
    }
    let documents = dataset.questions.iter().flat_map(|question| &question.documents);
    let first = resolved.first().and_then(|resolved| resolved.first());
    if let Some(line) = first.and_then(|(_, resolved)| resolved.unknown_sources(documents)) {
        say(&line);
    }
    if let Some(shard) = args.shard {
        shard.keep(&mut dataset.questions);
    }
    let dataset = Arc::new(dataset);
    let prepared = |((_, resolved), output): ((String, Resolved), PathBuf)| Prepared {
        dataset: dataset.clone(),
        resolved,
        output,
        answers: args.answers.clone(),
        in_flight: args.in_flight,
        retry_errors: args.retry_errors,
        dry_run: args.dry_run,
        replies: replies.clone(),
    };
    Ok(resolved.into_iter().zip(outputs).map(|(r, o)| r.into_iter().zip(o).map(prepared).collect()).collect())
}

/// Prints the items that `--skip-bad` skipped: the first few, and their number.
fn tell_skipped(skipped: &[String]) {
    const SHOWN: usize = 10;
    for error in skipped.iter().take(SHOWN) {
        say(&format!("skipped {}", printable(error)));
    }
    if !skipped.is_empty() {
        say(&format!("{} bad items of the dataset were skipped", skipped.len()));
    }
}

impl Prepared {
    /// A run over `dataset` by a method that is resolved already.
    pub(super) fn of(
        dataset: Arc<Dataset>,
        resolved: Resolved,
        output: PathBuf,
        in_flight: usize,
        retry_errors: bool,
    ) -> Self {
        let replies = Arc::default();
        Self { dataset, resolved, output, answers: None, in_flight, retry_errors, dry_run: false, replies }
    }

    /// The method and its settings.
    #[must_use]
    pub fn resolved(&self) -> &Resolved {
        &self.resolved
    }

    /// The record's first line.
    #[must_use]
    pub fn header(&self, tools: Tools<'_>) -> Header {
        let reused = self.replies.chains().to_vec();
        Header { reused, ..self.resolved.header(Some(self.dataset.identity.clone()), tools) }
    }

    /// What is read where questions bring documents and a corpus was given.
    fn whose_documents(&self, tools: Tools<'_>) -> Option<String> {
        let (row, questions) = (self.resolved.row(), &self.dataset.questions);
        let bring = questions.iter().filter(|question| !question.documents.is_empty()).count();
        if bring == 0 || tools.retriever.is_none() || !row.needs.searches() {
            return None;
        }
        let (name, all) = (row.name, questions.len());
        Some(if row.needs.prefers_corpus() {
            format!("{bring} of {all} questions bring documents: {name} reads what it finds in the corpus instead")
        } else {
            format!(
                "{bring} of {all} questions bring documents and keep them: {name} searches the corpus for the others"
            )
        })
    }

    /// Answers all questions not yet recorded; of a dry run, says what that would take.
    ///
    /// # Errors
    /// As [`run_all`].
    pub fn run(&self, tools: Tools<'_>, stop: &AtomicBool) -> Result<()> {
        run_all(std::slice::from_ref(self), tools, stop)
    }

    /// Opens the record; refuses requests for which the memory is too small.
    fn open(&self, tools: Tools<'_>) -> Result<Writer> {
        let header = self.header(tools);
        self.replies.check(&header)?;
        let writer = Writer::open_for(&self.output, &header, self.retry_errors)?;
        let unfinished = |question: &&Question| !writer.finished().contains(&question.id);
        let left: Vec<&Question> = self.dataset.questions.iter().filter(unfinished).collect();
        fit::check(&left, &self.resolved.method, tools, &self.resolved.settings)?;
        Ok(writer)
    }

    fn as_run<'a>(&'a self, tools: Tools<'a>, stop: &'a AtomicBool) -> Run<'a> {
        let (questions, in_flight) = (&self.dataset.questions, self.in_flight);
        Run { questions, method: &self.resolved.method, tools, settings: &self.resolved.settings, in_flight, stop }
    }

    /// Says what was done, writes the answers, and refuses to be content where some questions ended in an error.
    fn finish(&self, progress: &Progress) -> Result<()> {
        let output = self.output.display();
        say(&summary(progress));
        if let Some(line) = record::unknown_sources(&self.output, &self.resolved)? {
            say(&line);
        }
        say(&format!("recorded in {output}; `moot score {output}` scores it"));
        if let Some(path) = &self.answers {
            answers::write(&self.output, &self.dataset.questions, path)?;
        }
        record::answered(&self.output)
    }
}

/// Runs several methods with the same tools side by side, question by question, each with its record; of a dry run, says what
/// each would take.
///
/// Once `stop` is set the process ends with [`interrupt::exit_code`] and drops the calls in flight: every reply that arrived is
/// on the disk already.
///
/// # Errors
/// A record that cannot be continued, or that is removed meanwhile; requests for which the memory is too small; what ends
/// a run (see [`runner::run_all`]); [`MootError::Unanswered`] where all is recorded, and some of it is an error.
pub fn run_all(batch: &[Prepared], tools: Tools<'_>, stop: &AtomicBool) -> Result<()> {
    if batch.iter().any(|prepared| prepared.dry_run) {
        return several::dry(batch, tools);
    }
    let Some(Prepared { replies, resolved, .. }) = batch.first() else { return Ok(()) };
    let reusing = Reusing::new(tools.llm, replies, resolved.settings.free_form);
    let tools = if replies.is_empty() { tools } else { Tools { llm: &reusing, ..tools } };
    let mut writers = batch.iter().map(|prepared| prepared.open(tools)).collect::<Result<Vec<_>>>()?;
    let watched: Vec<Watched> = batch.iter().map(|prepared| Watched::new(&prepared.output)).collect();
    let runs: Vec<Run<'_>> = batch.iter().map(|prepared| prepared.as_run(tools, stop)).collect();
    batch.iter().filter_map(|prepared| prepared.whose_documents(tools)).for_each(|line| say(&line));
    let mut display = Display::new();
    let outputs = several::list(batch);
    let mut open: Vec<&mut Writer> = writers.iter_mut().collect();
    let ended = runner::run_all(&runs, &mut open, &mut |states| {
        let progress = Progress::sum(states);
        if watched.iter().any(Watched::is_gone) {
            stop.store(true, Ordering::Relaxed);
        } else if progress.stopping && progress.done < progress.total {
            display.clear();
            say(&format!("interrupted: {} of {} questions are in {outputs}", progress.done, progress.total));
            say("the same command goes on from there");
            std::process::exit(i32::from(interrupt::exit_code()));
        }
        display.show(&progress);
    });
    display.clear();
    if !replies.is_empty() {
        say(&format!("{} calls were answered from the records of --reuse", reusing.reused()));
    }
    if let Some((watched, writer)) = watched.iter().zip(&writers).find(|(watched, _)| watched.is_gone()) {
        return Err(watched.lost(writer.finished().len()));
    }
    match ended {
        Ok(states) => {
            let ended: Vec<Result<()>> =
                batch.iter().zip(&states).map(|(prepared, state)| prepared.finish(state)).collect();
            several::tell_shared(batch.len(), tools);
            ended.into_iter().collect()
        }
        Err(error) => {
            let done: usize = writers.iter().map(|writer| writer.finished().len()).sum();
            if done > 0 {
                say(&format!("{done} finished questions are in {outputs}; the same command goes on from there"));
            }
            Err(error)
        }
    }
}

/// [`prepare_all`] and [`run_all`] with open tools.
///
/// # Errors
/// As [`prepare_all`] and [`run_all`].
pub fn run(args: &Args, tools: Tools<'_>, stop: &AtomicBool) -> Result<()> {
    let batch: Vec<Prepared> = prepare_all(args, &[""])?.into_iter().flatten().collect();
    run_all(&batch, tools, stop)
}

/// The command: every method with the first model, then with the next one, so that each model is loaded once and has the
/// memory for itself.
pub(super) fn command(
    args: &Args,
    retrieve: &retrieve::Args,
    classifier: &ClassifierArgs,
    model: &model::Args,
) -> Result<()> {
    let interrupt = Interrupt::listen()?;
    let models = several::models(&model.model)?;
    let batches = prepare_all(args, &models)?;
    several::look_for(&models, model, &interrupt)?;
    let mut unanswered = None;
    for (name, batch) in models.iter().zip(&batches) {
        let model = model::Args { model: (*name).to_owned(), ..model.clone() };
        let methods: Vec<&Resolved> = batch.iter().map(Prepared::resolved).collect();
        let tooling = Tooling::open_for(&model, retrieve, classifier, &methods, &interrupt)?;
        interrupt.answering();
        let ended = run_all(batch, tooling.tools(), &interrupt.stop);
        tooling.report();
        match ended {
            // The other model's questions are answered all the same.
            Err(error @ MootError::Unanswered { .. }) => drop(unanswered.get_or_insert(error)),
            ended => ended?,
        }
    }
    unanswered.map_or(Ok(()), Err)
}

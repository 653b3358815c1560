//! `moot run`: a method over a dataset.

mod dry;
mod record;

use crate::cli::columns::printable;
use crate::cli::interrupt;
use crate::cli::method::{self, Resolved};
use crate::cli::values;
use crate::error::Result;
use crate::eval::datasets::{self, Dataset};
use crate::eval::fit;
use crate::eval::record::{Header, Writer};
use crate::eval::reuse::{Replies, Reusing};
use crate::eval::runner::{self, Progress, Run};
use crate::methods::ctx::Tools;
use crate::question::Question;
use indicatif::{HumanDuration, ProgressBar, ProgressStyle};
use record::Watched;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Interval of progress lines where there is no terminal.
const PLAIN_EVERY: Duration = Duration::from_secs(30);

pub(super) const EXAMPLES: &str = "\
Examples:
  moot run ramdocs.jsonl -o madam.jsonl --limit 20
  moot run ramdocs.jsonl -o closed.jsonl --limit 20 --method closed-book
  moot run ramdocs.jsonl -o madam.jsonl --dry-run
  moot run ramdocs.jsonl -o part1.jsonl --shard 1/4
  moot score madam.jsonl closed.jsonl";

/// Answer every question of a dataset and record it; the same command resumes a stopped run
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A dataset file, as its authors publish it or in the form of docs/data.md
    #[arg(value_name = "DATASET")]
    pub dataset: PathBuf,
    /// The record: one JSON object a line; an existing record is continued
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
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
    pub(super) dataset: Dataset,
    pub(super) resolved: Resolved,
    pub(super) output: PathBuf,
    pub(super) in_flight: usize,
    pub(super) retry_errors: bool,
    pub(super) dry_run: bool,
    pub(super) replies: Replies,
}

/// Reads the dataset and resolves the switches, so that errors are found before a model is loaded.
///
/// # Errors
/// An unknown method, a switch that the method does not have, a dataset that cannot be read, an output that cannot be this
/// run's record.
pub fn prepare(args: &Args) -> Result<Prepared> {
    let resolved = args.method.resolve()?;
    let options = datasets::Options { skip_bad: args.skip_bad, ..datasets::Options::default() };
    let options = args.format.iter().try_fold(options, |options, typed| options.format(typed))?;
    let mut dataset = datasets::load_with(&args.dataset, &options)?;
    record::check(&args.output, &dataset.identity, &resolved)?;
    tell_skipped(&dataset.skipped);
    dataset.questions.truncate(args.limit.unwrap_or(usize::MAX));
    if let Some(count) = args.sample {
        dataset.sample(count, args.sample_seed);
    }
    let documents = dataset.questions.iter().flat_map(|question| &question.documents);
    if let Some(line) = resolved.unknown_sources(documents) {
        say(&line);
    }
    if let Some(shard) = args.shard {
        shard.keep(&mut dataset.questions);
    }
    Ok(Prepared {
        dataset,
        resolved,
        output: args.output.clone(),
        in_flight: args.in_flight,
        retry_errors: args.retry_errors,
        dry_run: args.dry_run,
        replies: Replies::read(&args.reuse)?,
    })
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
    /// Once `stop` is set the process ends with [`interrupt::exit_code`] and drops the calls in flight: every reply that arrived is
    /// on the disk already.
    ///
    /// # Errors
    /// A record that cannot be continued, or that is removed meanwhile; requests for which the memory is too small; what ends
    /// a run (see [`runner::run`]); [`MootError::Unanswered`] where all is recorded, and some of it is an error.
    pub fn run(&self, tools: Tools<'_>, stop: &AtomicBool) -> Result<()> {
        if self.dry_run {
            return dry::run(self, tools);
        }
        let header = self.header(tools);
        self.replies.check(&header)?;
        let mut writer = Writer::open_for(&self.output, &header, self.retry_errors)?;
        let watched = Watched::new(&self.output);
        let left: Vec<&Question> =
            self.dataset.questions.iter().filter(|question| !writer.finished().contains(&question.id)).collect();
        fit::check(&left, &self.resolved.method, tools, &self.resolved.settings)?;
        let reusing = Reusing::new(tools.llm, &self.replies, self.resolved.settings.free_form);
        let tools = if self.replies.is_empty() { tools } else { Tools { llm: &reusing, ..tools } };
        let run = Run {
            questions: &self.dataset.questions,
            method: &self.resolved.method,
            tools,
            settings: &self.resolved.settings,
            in_flight: self.in_flight,
            stop,
        };
        if let Some(line) = self.whose_documents(tools) {
            say(&line);
        }
        let mut display = Display::new();
        let output = self.output.display();
        let ended = runner::run(&run, &mut writer, &mut |progress| {
            if watched.is_gone() {
                stop.store(true, Ordering::Relaxed);
            } else if progress.stopping && progress.done < progress.total {
                display.clear();
                say(&format!("interrupted: {} of {} questions are in {output}", progress.done, progress.total));
                say("the same command goes on from there");
                std::process::exit(i32::from(interrupt::exit_code()));
            }
            display.show(progress);
        });
        display.clear();
        if !self.replies.is_empty() {
            say(&format!("{} calls were answered from the records of --reuse", reusing.reused()));
        }
        let done = writer.finished().len();
        if watched.is_gone() {
            return Err(watched.lost(done));
        }
        match &ended {
            Ok(progress) => {
                say(&summary(progress));
                if let Some(line) = record::unknown_sources(&self.output, &self.resolved)? {
                    say(&line);
                }
                say(&format!("recorded in {output}; `moot score {output}` scores it"));
                record::answered(&self.output)
            }
            Err(_) => {
                if done > 0 {
                    say(&format!("{done} finished questions are in {output}; the same command goes on from there"));
                }
                ended.map(drop)
            }
        }
    }
}

/// [`prepare`] and [`Prepared::run`] with open tools.
///
/// # Errors
/// As [`prepare`] and [`Prepared::run`].
pub fn run(args: &Args, tools: Tools<'_>, stop: &AtomicBool) -> Result<()> {
    prepare(args)?.run(tools, stop)
}

fn say(line: &str) {
    anstream::eprintln!("{}", crate::escape::line(line));
}

/// Progress display: a bar on a terminal, else a line every [`PLAIN_EVERY`].
struct Display {
    bar: Option<ProgressBar>,
    last: Instant,
    told: Option<usize>,
}

impl Display {
    fn new() -> Self {
        let bar = std::io::stderr().is_terminal().then(|| {
            let style = ProgressStyle::with_template("{bar:24} {pos}/{len}  {wide_msg}");
            ProgressBar::new(0).with_style(style.expect("a template of ours (bug)"))
        });
        Self { bar, last: Instant::now(), told: None }
    }

    fn show(&mut self, progress: &Progress) {
        if let Some(bar) = &self.bar {
            bar.set_length(progress.total as u64);
            bar.set_position(progress.done as u64);
            bar.set_message(rates(progress));
        } else if self.told.is_none() || (self.last.elapsed() >= PLAIN_EVERY && self.told != Some(progress.done)) {
            say(&format!("{}/{} questions  {}", progress.done, progress.total, rates(progress)));
            self.last = Instant::now();
            self.told = Some(progress.done);
        }
    }

    fn clear(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

fn rates(progress: &Progress) -> String {
    let mut parts = Vec::new();
    if let Some(remaining) = progress.remaining() {
        parts.push(format!("{:.1}/min", progress.per_minute()));
        parts.push(format!("{} left", HumanDuration(remaining)));
    }
    parts.push(format!("{} malformed", progress.malformed));
    if progress.errors > 0 {
        parts.push(format!("{} errors", progress.errors));
    }
    parts.push(format!("{} tokens in, {} out", progress.usage.prompt, progress.usage.generated));
    parts.join("  ")
}

fn summary(progress: &Progress) -> String {
    let new = progress.done - progress.before;
    let earlier = if progress.before > 0 { format!(" ({} were there)", progress.before) } else { String::new() };
    let journal = match progress.from_journal {
        0 => String::new(),
        calls => format!(" ({calls} from the journal)"),
    };
    format!(
        "{new} questions{earlier} in {:.1} s: {} calls{journal}, {} malformed replies, {} errors, {} tokens in ({} reused), {} out",
        progress.elapsed.as_secs_f64(),
        progress.calls,
        progress.malformed,
        progress.errors,
        progress.usage.prompt,
        progress.usage.reused,
        progress.usage.generated
    )
}

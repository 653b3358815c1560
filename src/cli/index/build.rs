//! `moot index build` and `add`.

use super::inputs::{CorpusArgs, EmbedderArgs, Opened};
use crate::cli::fetching::tell;
use crate::cli::interrupt::Interrupt;
use crate::cli::model::bytes;
use crate::cli::output;
use crate::error::{MootError, Result};
use crate::escape;
use crate::question::Passage;
use crate::retrieval::Embedder;
use crate::retrieval::index::{BuildProgress, Builder, Limits, Manifest, storage_named};
use crate::units::readable;
use indicatif::{ProgressBar, ProgressStyle};
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Index a corpus; the same command resumes a stopped build
#[derive(Debug, clap::Args)]
pub struct BuildArgs {
    /// The corpus.
    #[command(flatten)]
    pub corpus: CorpusArgs,
    /// Folder of the index: empty, missing, or of a stopped build
    #[arg(short, long = "output", value_name = "DIR")]
    pub output: PathBuf,
    /// Storage of vectors: f32, f16 or int8 (4, 2 or 1 bytes per number)
    #[arg(long = "type", value_name = "TYPE", default_value = "f16")]
    pub storage: String,
    /// Memory for buffers and clustering, as 512M or 4G; the embedder's memory is not included
    #[arg(long, value_name = "BYTES", default_value = "1G", value_parser = bytes, allow_negative_numbers = true)]
    pub memory: usize,
    /// The embedder.
    #[command(flatten)]
    pub embedder: EmbedderArgs,
}

/// Add a corpus to an index; existing segments do not change
#[derive(Debug, clap::Args)]
pub struct AddArgs {
    /// The index
    #[arg(value_name = "DIR")]
    pub dir: PathBuf,
    /// The corpus.
    #[command(flatten)]
    pub corpus: CorpusArgs,
    /// Memory for buffers and clustering, as 512M or 4G; the embedder's memory is not included
    #[arg(long, value_name = "BYTES", default_value = "1G", value_parser = bytes, allow_negative_numbers = true)]
    pub memory: usize,
    /// The embedder.
    #[command(flatten)]
    pub embedder: EmbedderArgs,
}

/// Builds an index.
///
/// # Errors
/// A corpus, an embedder or a folder that cannot be used; a full disk.
pub fn build(args: &BuildArgs) -> Result<()> {
    let storage = storage_named(&args.storage)?;
    let interrupt = Interrupt::listen()?;
    let corpus = args.corpus.open()?;
    let total = corpus.count()?.passages;
    let embedder = args.embedder.named()?;
    let limits = Limits { memory: args.memory, ..Limits::default() };
    let mut builder = Builder::create(&args.output, embedder.as_deref(), storage, limits)?;
    if embedder.is_some() {
        builder.called(args.embedder.name())?;
    }
    builder.reads(corpus.corpus());
    run(&args.output, builder, &corpus, total, embedder.as_ref(), &interrupt)
}

/// Adds to an index.
///
/// # Errors
/// As [`build`].
pub fn add(args: &AddArgs) -> Result<()> {
    let manifest = Manifest::read(&args.dir)?;
    let interrupt = Interrupt::listen()?;
    let corpus = args.corpus.open()?;
    let total = corpus.count()?.passages;
    let embedder = args.embedder.of_index(&args.dir, manifest.dense.as_ref())?;
    let limits = Limits { memory: args.memory, ..Limits::default() };
    let mut builder = Builder::open(&args.dir, embedder.as_deref(), limits)?;
    builder.reads(corpus.corpus());
    run(&args.dir, builder, &corpus, total, embedder.as_ref(), &interrupt)
}

fn run(
    dir: &Path,
    mut builder: Builder,
    corpus: &Opened,
    total: u64,
    embedder: Option<&Arc<dyn Embedder>>,
    interrupt: &Interrupt,
) -> Result<()> {
    let start = Instant::now();
    let before = builder.manifest().passages();
    fill(&mut builder, corpus, total, embedder, interrupt)?;
    let manifest = builder.manifest();
    let (added, seconds) = (manifest.passages() - before, start.elapsed().as_secs_f64());
    output::print(&format!(
        "{}: {added} passages in {seconds:.1} s ({:.0} passages/s), {} in all, {}\n",
        escape::line(&dir.display().to_string()),
        added as f64 / seconds.max(1e-3),
        manifest.passages(),
        readable(manifest.bytes())
    ))
}

/// Indexes `corpus`, of `total` passages, and shows progress.
///
/// # Errors
/// As [`build`]; [`MootError::Interrupted`], after which finished work is kept.
pub(in crate::cli) fn fill(
    builder: &mut Builder,
    corpus: &Opened,
    total: u64,
    embedder: Option<&Arc<dyn Embedder>>,
    interrupt: &Interrupt,
) -> Result<()> {
    interrupt.answering();
    let mut shown = Shown::new(total, interrupt.stop.clone());
    let mut passages: Box<dyn Iterator<Item = Result<Passage>>> = corpus.passages();
    let embedder = embedder.map(AsRef::as_ref);
    let built = builder.run(corpus.typed(), &mut passages, embedder, &mut |progress| shown.show(progress));
    shown.clear();
    if let Err(MootError::Interrupted) = built {
        tell(&format!("{} passages are kept; the same command goes on", builder.manifest().passages()));
    }
    built
}

/// Interval of progress lines if standard error is not a terminal.
const PLAIN_EVERY: Duration = Duration::from_secs(20);

/// Shows passages per second and the remaining time.
pub(super) struct Shown {
    bar: Option<ProgressBar>,
    total: u64,
    stop: Arc<AtomicBool>,
    /// Passages indexed before this call, which do not count for its speed.
    resumed: u64,
    start: Instant,
    told: Instant,
}

impl Shown {
    pub(super) fn new(total: u64, stop: Arc<AtomicBool>) -> Self {
        let bar = std::io::stderr().is_terminal().then(|| {
            let style = ProgressStyle::with_template("{bar:24} {human_pos}/{human_len} passages  {msg}");
            ProgressBar::new(total).with_style(style.expect("a template of ours (bug)"))
        });
        let now = Instant::now();
        Self { bar, total, stop, resumed: 0, start: now, told: now }
    }

    pub(super) fn show(&mut self, progress: &BuildProgress) -> Result<()> {
        match progress {
            BuildProgress::Resumed(done) => {
                if self.resumed == 0 {
                    self.say("going on with a build that was stopped");
                }
                self.resumed = *done;
                self.start = Instant::now();
                if let Some(bar) = &self.bar {
                    bar.set_position(*done);
                }
            }
            BuildProgress::Indexed(done) => self.indexed(*done),
            BuildProgress::Grouping { done: 0, .. } => self.say("grouping vectors for approximate search"),
            BuildProgress::Grouping { .. } => {}
        }
        if self.stop.load(Ordering::Relaxed) { Err(MootError::Interrupted) } else { Ok(()) }
    }

    fn indexed(&mut self, done: u64) {
        let rate = (done - self.resumed.min(done)) as f64 / self.start.elapsed().as_secs_f64().max(1e-3);
        let left = Duration::from_secs_f64((self.total.saturating_sub(done) as f64 / rate.max(1e-3)).min(1e9));
        let text = format!("{rate:.0} passages/s, {} left", indicatif::HumanDuration(left));
        if let Some(bar) = &self.bar {
            bar.set_position(done);
            bar.set_message(text);
        } else if self.told.elapsed() >= PLAIN_EVERY {
            tell(&format!("{done} of {} passages, {text}", self.total));
            self.told = Instant::now();
        }
    }

    fn say(&self, line: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| tell(line)),
            None => tell(line),
        }
    }

    pub(super) fn clear(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

//! `moot index update`.

use crate::cli::args::embedder;
use crate::cli::args::model::bytes;
use crate::cli::terminal::interrupt;
use crate::cli::terminal::output;
use crate::cli::terminal::tell;
use crate::error::{MootError, Result};
use crate::escape;
use crate::question::Passage;
use crate::retrieval::index::{Builder, Changes, Limits, Manifest, Updated};
use crate::workspace::{ListedCorpus, Phase, counted, note_pdf_workers, note_truncated};
use std::path::{Path, PathBuf};

/// Bring an index up to date with its files: changed, new and deleted ones
///
/// A file is changed if its size differs, or its time of change and its SHA-256. Only changed and new files are read, and
/// only texts that no changed or deleted file held are embedded.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The index
    #[arg(value_name = "DIR")]
    pub dir: PathBuf,
    /// Only these files and folders of its corpora
    #[arg(value_name = "PATH")]
    pub paths: Vec<String>,
    /// Memory for buffers and clustering, as 512M or 4G; the embedder's memory is not included
    #[arg(long, value_name = "BYTES", default_value = "1G", value_parser = bytes, allow_negative_numbers = true)]
    pub memory: usize,
    /// The embedder.
    #[command(flatten)]
    pub embedder: embedder::EmbedderArgs,
}

/// Updates an index and prints the changes.
///
/// # Errors
/// An index without recorded files, or of a stopped build; files, an embedder or a folder that cannot be used; a full disk.
/// The index is then as it was.
pub fn run(args: &Args) -> Result<()> {
    let manifest = Manifest::read(&args.dir)?;
    manifest.check_finished(&args.dir)?;
    let control = interrupt::listen()?;
    // Errors in paths and files are reported before a model is loaded.
    let mut changes = find(args, &manifest)?;
    let mut done = Updated::default();
    if !changes.is_empty() || changes.touched() > 0 {
        let embedder = args.embedder.options().of_index(&args.dir, manifest.dense.as_ref(), &control)?;
        let limits = Limits { memory: args.memory, ..Limits::default() };
        let mut builder = Builder::open(&args.dir, embedder.as_deref(), limits)?;
        if *builder.manifest() != manifest {
            changes = find(args, builder.manifest())?;
        }
        let corpora: Vec<ListedCorpus> =
            changes.to_read().into_iter().map(|(corpus, chunking)| ListedCorpus::new(corpus, &[], chunking)).collect();
        let total = corpora.iter().map(|corpus| Ok(corpus.count(&control)?.passages)).sum::<Result<u64>>()?;
        let mut passages = corpora.iter().flat_map(ListedCorpus::passages);
        let passages: &mut dyn Iterator<Item = Result<Passage>> = &mut passages;
        control.watch.phase(Phase::Working);
        let updated = builder.update(&changes, passages, embedder.as_deref(), &mut |progress| {
            control.watch.indexing(total, Some(progress));
            if control.is_stopped() { Err(MootError::Interrupted) } else { Ok(()) }
        });
        control.watch.indexing(total, None);
        note_truncated(embedder.as_deref(), &control);
        if let Err(MootError::Interrupted) = updated {
            tell("the index is unchanged; run the same command to resume with the vectors computed so far");
        }
        done = updated?;
        note_pdf_workers(&control);
    }
    output::print(&line(&args.dir, &changes, done))
}

fn find(args: &Args, manifest: &Manifest) -> Result<Changes> {
    Changes::find(&args.dir, manifest, &args.paths, u64::MAX)?.ok_or_else(|| MootError::Index {
        path: args.dir.clone(),
        wrong: "expected a record of its files, found none: it was built before files were recorded".into(),
        hint: "build it again with `moot index build`; new files can be added with `moot index add`".into(),
    })
}

fn line(dir: &Path, changes: &Changes, done: Updated) -> String {
    let dir = escape::line(&dir.display().to_string());
    if changes.is_empty() {
        return format!("{dir}: no file is new, changed or deleted\n");
    }
    let Updated { added, removed, .. } = done;
    let passages = if added == 1 { "passage" } else { "passages" };
    format!("{dir}: {}; {added} {passages} added, {removed} removed\n", counted(changes))
}

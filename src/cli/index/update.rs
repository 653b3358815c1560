//! `moot index update`.

use crate::cli::args::embedder;
use crate::cli::args::model::bytes;
use crate::cli::terminal::{interrupt, output};
use crate::error::Result;
use crate::escape;
use crate::retrieval::index::Updated;
use crate::workspace::{IndexOptions, IndexUpdate, counted};
use std::path::{Path, PathBuf};

/// Bring an index up to date with its files: changed, new and deleted ones
///
/// A file is changed if its size differs, or its time of change and its SHA-256. Only changed and new files are read, and
/// only texts that no changed or deleted file held are embedded.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
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
/// As [`IndexOptions::update`].
pub(crate) fn run(args: &Args) -> Result<()> {
    let options = IndexOptions {
        dir: args.dir.clone(),
        corpus: args.paths.clone(),
        memory: args.memory,
        embedder: args.embedder.options(),
        ..IndexOptions::default()
    };
    output::print(&line(&args.dir, &options.update(&interrupt::listen()?)?))
}

fn line(dir: &Path, IndexUpdate { changes, passages }: &IndexUpdate) -> String {
    let dir = escape::line(&dir.display().to_string());
    if changes.is_empty() {
        return format!("{dir}: no file is new, changed or deleted\n");
    }
    let Updated { added, removed, .. } = *passages;
    let passages = if added == 1 { "passage" } else { "passages" };
    format!("{dir}: {}; {added} {passages} added, {removed} removed\n", counted(changes))
}

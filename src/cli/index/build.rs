//! `moot index build` and `add`.

use super::inputs::IndexedArgs;
use crate::cli::args::embedder;
use crate::cli::args::model::bytes;
use crate::cli::terminal::{interrupt, output};
use crate::error::Result;
use crate::escape;
use crate::units::{plural, readable};
use crate::workspace::{IndexOptions, Indexed};
use std::path::{Path, PathBuf};

/// Index a corpus; the same command resumes a stopped build
#[derive(Debug, clap::Args)]
pub(crate) struct BuildArgs {
    /// The corpus.
    #[command(flatten)]
    pub corpus: IndexedArgs,
    /// Folder of the index: empty, missing, or of a stopped build
    #[arg(short, long = "output", value_name = "DIR")]
    pub output: PathBuf,
    /// Storage of vectors: f32, f16 or int8 (4, 2 or 1 bytes per number)
    #[arg(long = "type", value_name = "TYPE", default_value = "f16")]
    pub storage: String,
    /// Memory for buffers and clustering, as 512M or 4G; the embedder's memory is not included
    #[arg(long, value_name = "BYTES", default_value = "1G", value_parser = bytes, allow_negative_numbers = true)]
    pub memory: usize,
    /// Vectors of the corpus, one a passage in its order, that this embedder made elsewhere: a flat index of FAISS or .npy;
    /// several files follow each other
    ///
    /// Their number and length are checked, and some passages are embedded again and compared. The embedder is still needed, for
    /// queries.
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub vectors: Vec<PathBuf>,
    /// The embedder.
    #[command(flatten)]
    pub embedder: embedder::EmbedderArgs,
}

/// Add a corpus to an index; existing segments do not change
#[derive(Debug, clap::Args)]
pub(crate) struct AddArgs {
    /// The index
    #[arg(value_name = "DIR")]
    pub dir: PathBuf,
    /// The corpus.
    #[command(flatten)]
    pub corpus: IndexedArgs,
    /// Memory for buffers and clustering, as 512M or 4G; the embedder's memory is not included
    #[arg(long, value_name = "BYTES", default_value = "1G", value_parser = bytes, allow_negative_numbers = true)]
    pub memory: usize,
    /// The embedder.
    #[command(flatten)]
    pub embedder: embedder::EmbedderArgs,
}

/// Builds an index.
///
/// # Errors
/// A corpus, an embedder or a folder that cannot be used; a full disk.
pub(crate) fn build(args: &BuildArgs) -> Result<()> {
    let options = IndexOptions {
        storage: args.storage.clone(),
        vectors: args.vectors.clone(),
        ..args.corpus.options(&args.output, args.memory, &args.embedder)
    };
    print(&args.output, &options.build(&interrupt::listen()?)?)
}

/// Adds to an index.
///
/// # Errors
/// As [`build`].
pub(crate) fn add(args: &AddArgs) -> Result<()> {
    let options = args.corpus.options(&args.dir, args.memory, &args.embedder);
    print(&args.dir, &options.add(&interrupt::listen()?)?)
}

fn print(dir: &Path, indexed: &Indexed) -> Result<()> {
    let Indexed { added, elapsed, manifest } = indexed;
    let seconds = elapsed.as_secs_f64();
    output::print(&format!(
        "{}: {} in {seconds:.1} s ({:.0} passages/s), {} in all, {}\n",
        escape::line(&dir.display().to_string()),
        plural(*added, "passage", "passages"),
        *added as f64 / seconds.max(1e-3),
        manifest.passages(),
        readable(manifest.bytes())
    ))
}

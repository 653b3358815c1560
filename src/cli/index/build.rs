//! `moot index build` and `add`.

use super::inputs::IndexedArgs;
use crate::cli::args::embedder;
use crate::cli::args::model::bytes;
use crate::cli::terminal::{interrupt, output};
use crate::error::{MootError, Result};
use crate::escape;
use crate::retrieval::index::{Builder, Limits, Manifest, storage_named};
use crate::retrieval::{Embedder, GivenVectors};
use crate::units::{plural, readable};
use crate::workspace::{Control, ListedCorpus, note_pdf_workers};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

/// Index a corpus; the same command resumes a stopped build
#[derive(Debug, clap::Args)]
pub struct BuildArgs {
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
pub struct AddArgs {
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
pub fn build(args: &BuildArgs) -> Result<()> {
    let storage = storage_named(&args.storage)?;
    let control = interrupt::listen()?;
    let given = if args.vectors.is_empty() { None } else { Some(GivenVectors::open(&args.vectors)?) };
    let corpus = args.corpus.open()?;
    let total = corpus.count(&control)?.passages;
    let embedding = args.embedder.options();
    let embedder = embedding.named(&control)?;
    if given.is_some() && embedder.is_none() {
        return Err(MootError::Usage("--vectors: expected the embedder that made them, found --embedder none".into()));
    }
    let limits = Limits { memory: args.memory, ..Limits::default() };
    let mut builder = Builder::create(&args.output, embedder.as_deref(), storage, limits)?;
    if embedder.is_some() {
        builder.called(embedding.for_new())?;
    }
    if let Some(given) = given {
        builder.takes(given, total)?;
    }
    builder.reads(corpus.corpus());
    run(&args.output, builder, &corpus, total, embedder.as_ref(), &control)
}

/// Adds to an index.
///
/// # Errors
/// As [`build`].
pub fn add(args: &AddArgs) -> Result<()> {
    let manifest = Manifest::read(&args.dir)?;
    let control = interrupt::listen()?;
    let corpus = args.corpus.open()?;
    let total = corpus.count(&control)?.passages;
    let embedder = args.embedder.options().of_index(&args.dir, manifest.dense.as_ref(), &control)?;
    let limits = Limits { memory: args.memory, ..Limits::default() };
    let mut builder = Builder::open(&args.dir, embedder.as_deref(), limits)?;
    builder.reads(corpus.corpus());
    run(&args.dir, builder, &corpus, total, embedder.as_ref(), &control)
}

fn run(
    dir: &Path,
    mut builder: Builder,
    corpus: &ListedCorpus,
    total: u64,
    embedder: Option<&Arc<dyn Embedder>>,
    control: &Control,
) -> Result<()> {
    let start = Instant::now();
    let before = builder.manifest().passages();
    corpus.fill(&mut builder, total, embedder, control)?;
    note_pdf_workers(control);
    if let Some(least) = builder.least_cosine() {
        control.note(&format!("given vectors were compared with the embedder's: least cosine {least:.4}"));
    }
    let manifest = builder.manifest();
    let (added, seconds) = (manifest.passages() - before, start.elapsed().as_secs_f64());
    output::print(&format!(
        "{}: {} in {seconds:.1} s ({:.0} passages/s), {} in all, {}\n",
        escape::line(&dir.display().to_string()),
        plural(added, "passage", "passages"),
        added as f64 / seconds.max(1e-3),
        manifest.passages(),
        readable(manifest.bytes())
    ))
}

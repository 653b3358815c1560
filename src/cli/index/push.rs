//! `moot index push`: fills a collection of a server from an index.

use crate::cli::terminal::{interrupt, output};
use crate::error::{MootError, Result};
use crate::escape;
use crate::llm::remote::Patience;
use crate::retrieval::collection;
use crate::retrieval::index::{BuildProgress, Index};
use crate::units::plural;
use crate::workspace::Phase;
use std::path::PathBuf;
use std::time::Instant;

/// Put the passages and vectors of an index on a server; the same command resumes a stopped push
///
/// A collection or table that is not there is made. One that holds the beginning of the index gets the rest; one that
/// holds other passages, or vectors of another embedder, is refused.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The index, with vectors
    #[arg(value_name = "DIR")]
    pub dir: PathBuf,
    /// http://host:6333#collection of Qdrant, or postgres://user@host/database#table of PostgreSQL with pgvector
    ///
    /// The key is in MOOT_QDRANT_KEY, the password in MOOT_POSTGRES_PASSWORD.
    #[arg(value_name = "ADDRESS")]
    pub address: String,
}

/// Pushes and prints what was done.
///
/// # Errors
/// An index without vectors; a server that fails or refuses; a collection of something else.
pub fn run(args: &Args) -> Result<()> {
    let store = collection::store(&args.address, Patience::default())?;
    let control = interrupt::listen()?;
    let index = Index::open(&args.dir)?;
    control.watch.phase(Phase::Working);
    let (start, total, mut there) = (Instant::now(), index.manifest().passages(), 0);
    let pushed = collection::push(&index, store.as_ref(), &mut |passages| {
        there = passages;
        control.watch.indexing(total, Some(&BuildProgress::Indexed(passages)));
        if control.is_stopped() { Err(MootError::Interrupted) } else { Ok(()) }
    });
    control.watch.indexing(total, None);
    if let Err(MootError::Interrupted) = pushed {
        control.watch.note(&format!("{there} passages are there; the same command goes on"));
    }
    let (pushed, seconds) = (pushed?, start.elapsed().as_secs_f64());
    let added = pushed.total - pushed.before;
    output::print(&format!(
        "{}: {} pushed in {seconds:.1} s ({:.0} passages/s), {} in all\n",
        escape::line(&store.address()),
        plural(added, "passage", "passages"),
        added as f64 / seconds.max(1e-3),
        pushed.total
    ))
}

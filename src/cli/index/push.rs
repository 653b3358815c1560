//! `moot index push`: fills a collection of a server from an index.

use crate::cli::terminal::{interrupt, output};
use crate::error::Result;
use crate::escape;
use crate::units::plural;
use crate::workspace::{PushOptions, PushReport};
use std::path::PathBuf;

/// Put the passages and vectors of an index on a server; the same command resumes a stopped push
///
/// A collection or table that is not there is made. One that holds the beginning of the index gets the rest; one that
/// holds other passages, or vectors of another embedder, is refused.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The index, with vectors
    #[arg(value_name = "DIR")]
    pub dir: PathBuf,
    /// http://host:6333#collection of Qdrant, or postgres://user@host/database#table of PostgreSQL with pgvector
    ///
    /// The key is in MOOT_QDRANT_KEY, the password in MOOT_POSTGRES_PASSWORD.
    #[arg(value_name = "ADDRESS")]
    pub address: String,
}

/// Pushes and prints the result.
///
/// # Errors
/// As [`PushOptions::push`].
pub(crate) fn run(args: &Args) -> Result<()> {
    let options = PushOptions { dir: args.dir.clone(), address: args.address.clone() };
    let PushReport { address, pushed, elapsed } = options.push(&interrupt::listen()?)?;
    let (added, seconds) = (pushed.total - pushed.before, elapsed.as_secs_f64());
    output::print(&format!(
        "{}: {} pushed in {seconds:.1} s ({:.0} passages/s), {} in all\n",
        escape::line(&address),
        plural(added, "passage", "passages"),
        added as f64 / seconds.max(1e-3),
        pushed.total
    ))
}

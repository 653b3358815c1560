//! `moot models pull`: fetches a model or an encoder and verifies it.

use super::local::locate;
use crate::cli::terminal::Shown;
use crate::cli::terminal::output;
use crate::error::Result;
use crate::escape;
use crate::units::readable;
use moot_models::source::{self, Options};
use serde::Serialize;
use std::path::PathBuf;

/// Fetch a model or an encoder and verify it; a broken download is resumed
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A short name of the catalog, or hf:org/repo (also with /file.gguf and @revision)
    #[arg(value_name = "NAME")]
    pub name: String,
    /// Only verify the local copy
    #[arg(long)]
    pub offline: bool,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

#[derive(Serialize)]
struct Pulled {
    name: String,
    path: PathBuf,
    source: String,
    bytes: u64,
    sha256: String,
}

/// Fetches the model and prints its path.
///
/// # Errors
/// No source has it, or its hash is wrong.
pub(crate) fn run(args: &Args) -> Result<()> {
    let options = Options { cache: source::default_cache()?, offline: args.offline };
    let mut shown = Shown::new(&args.name);
    let located = locate(&args.name, &options, &mut |progress| shown.show(&progress))?;
    let pulled = Pulled {
        name: args.name.clone(),
        bytes: source::model_bytes(&located.path),
        sha256: source::model_hash(&located.path, &options.cache)?,
        source: located.source.to_string(),
        path: located.path,
    };
    if args.json {
        return output::print_pretty_json(&pulled);
    }
    let Pulled { path, bytes, sha256, .. } = &pulled;
    let path = escape::line(&path.display().to_string());
    output::print(&format!("{path}\n{}, sha256 {sha256}\n", readable(*bytes)))
}

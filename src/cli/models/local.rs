//! What the subcommands of `moot models` find on this machine.

use crate::error::Result;
use moot_models::source::{self, Options, SourceUsed};

/// No subcommand but `pull` uses the network.
pub(super) fn offline() -> Result<Options> {
    Ok(Options { cache: source::default_cache()?, offline: true })
}

/// The cache that a copy is in.
pub(super) fn place(source: &SourceUsed) -> &'static str {
    if *source == SourceUsed::Cache { "cache" } else { "hub cache" }
}

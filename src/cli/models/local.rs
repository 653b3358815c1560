//! Names of the catalog, models and encoders alike, and their copies on this machine.

use crate::error::Result;
use moot_models::source::{self, Catalog, FetchEvent, Located, Options, SourceUsed};

/// No subcommand but `pull` uses the network.
pub(super) fn offline() -> Result<Options> {
    Ok(Options { cache: source::default_cache()?, offline: true })
}

/// Every name that `moot models list` prints.
pub(super) fn names() -> Vec<String> {
    Catalog::embedded().aliases().map(str::to_owned).collect()
}

/// Finds the model or the encoder `name`, fetching it if needed.
///
/// # Errors
/// As [`source::locate`].
pub(super) fn locate(name: &str, options: &Options, progress: &mut dyn FnMut(FetchEvent)) -> Result<Located> {
    if Catalog::embedded().has_encoder(name) {
        return Ok(source::locate_encoder(name, options, progress)?.0);
    }
    Ok(source::locate(name, options, progress)?)
}

/// The cache that a copy is in.
pub(super) fn place(source: &SourceUsed) -> &'static str {
    if *source == SourceUsed::Cache { "cache" } else { "hub cache" }
}

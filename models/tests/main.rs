//! The tests of this package, as one program.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic, clippy::result_large_err)]

mod arch;
mod encoder;
mod golden_logits;
mod hostile;
mod structure;
mod tokenizer;
mod weights;

use moot_models::source::{Options, default_cache, locate};

/// The file of a model of the catalog, from the caches of this machine; no test that runs on one fetches it.
fn cached(alias: &str) -> std::path::PathBuf {
    let options = Options { cache: default_cache().unwrap(), offline: true };
    locate(alias, &options, &mut |_| {}).unwrap_or_else(|error| panic!("{error}")).path
}

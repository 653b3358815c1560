//! The copies of models on this machine: reads file names and sizes only, without network.

use super::address::HubAddress;
use super::catalog::{Catalog, CatalogEntry};
use super::encoders::EncoderEntry;
use super::hub::Hub;
use super::located::SourceUsed;
use super::name::Name;
use super::options::Options;
use super::repository::SINGLE;
use crate::error::{ModelError, Result};
use std::path::{Path, PathBuf};

/// One copy of a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Copy {
    /// The file, its first split, or the folder.
    pub path: PathBuf,
    /// Whether it is the user's own file, in this program's cache, or in the hub's cache.
    pub source: SourceUsed,
    /// Bytes of all its files.
    pub bytes: u64,
}

/// The cache folders and the hub.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CacheLocations {
    /// This program's models.
    pub cache: PathBuf,
    /// The hub's cache, shared with other programs.
    pub hub_cache: PathBuf,
    /// The hub.
    pub endpoint: String,
    /// Whether there is a token for it.
    pub token: bool,
}

/// The cache folders and the hub, as options and environment set them.
#[must_use]
pub fn cache_locations(options: &Options) -> CacheLocations {
    let hub = Hub::from_environment();
    CacheLocations {
        cache: options.cache.join("models"),
        hub_cache: hub.cache.path().clone(),
        token: hub.token.is_some(),
        endpoint: hub.endpoint,
    }
}

/// The copies of the model or encoder `name`, in order of use. Not verified. Where an encoder's folder is assembled from two
/// repositories, the files of both in the hub's cache are copies too; a tokenizer that another model uses is left out.
///
/// # Errors
/// [`ModelError::UnknownModel`] with near names; [`ModelError::Io`] for a path that does not exist.
pub fn copies(name: &str, options: &Options) -> Result<Vec<Copy>> {
    let hub = Hub::from_environment();
    Ok(match Name::parse(name)? {
        Name::Path(path) => vec![copy(path, SourceUsed::Path)],
        Name::Hub(address) => hub_copy(&hub, &address).into_iter().collect(),
        Name::Alias(alias) => {
            let catalog = Catalog::embedded();
            match catalog.encoders.iter().find(|entry| entry.alias == alias) {
                Some(entry) => encoder_copies(&hub, entry, &catalog.encoders, options),
                None => alias_copies(&hub, &*catalog.find(&alias)?, options),
            }
        }
    })
}

fn alias_copies(hub: &Hub, entry: &CatalogEntry, options: &Options) -> Vec<Copy> {
    let own = entry.file().map(|file| options.cache.join("models").join(file)).filter(|path| path.is_file());
    let own = own.map(|path| copy(path, SourceUsed::Cache));
    own.into_iter().chain(entry.hub.iter().filter_map(|address| hub_copy(hub, address))).collect()
}

/// The copies of `entry`, one of `encoders`.
fn encoder_copies(hub: &Hub, entry: &EncoderEntry, encoders: &[EncoderEntry], options: &Options) -> Vec<Copy> {
    let own = own_folder(entry, options).map(|path| copy(path, SourceUsed::Cache));
    let whole = hub_copy(hub, &entry.hub);
    let Some(address) = &entry.tokenizer else { return own.into_iter().chain(whole).collect() };
    let tokenizer = hub.cached(address);
    let weights = fetched_weights(hub, entry).map(|path| copy(path, SourceUsed::HubCache(entry.hub.clone())));
    if own.is_none() && whole.is_none() && (weights.is_none() || tokenizer.is_none()) {
        return Vec::new();
    }
    let users = || encoders.iter().filter(|other| other.tokenizer.as_ref() == Some(address));
    let needed = |other: &EncoderEntry| own_folder(other, options).is_some() || fetched_weights(hub, other).is_some();
    let alone = |path: &PathBuf| is_alone(path) && !users().any(|other| other.alias != entry.alias && needed(other));
    let tokenizer = tokenizer.filter(alone).map(|path| copy(path, SourceUsed::HubCache(address.clone())));
    own.into_iter().chain(whole.or(weights)).chain(tokenizer).collect()
}

/// The encoder's folder in this program's cache.
fn own_folder(entry: &EncoderEntry, options: &Options) -> Option<PathBuf> {
    Some(options.cache.join("models").join(entry.folder())).filter(|path| path.is_dir())
}

/// The snapshot in the hub's cache that has the encoder's configuration and weights, with a tokenizer or without.
fn fetched_weights(hub: &Hub, entry: &EncoderEntry) -> Option<PathBuf> {
    let file = |name: &str| hub.cached(&HubAddress { file: Some(name.to_owned()), ..entry.hub.clone() });
    file("config.json")?;
    file(SINGLE)?.parent().map(Path::to_owned)
}

/// Whether the folder of `path` has no other file: nothing else of its repository was fetched.
fn is_alone(path: &Path) -> bool {
    path.parent().is_some_and(|folder| listed(folder).iter().all(|other| other == path))
}

fn hub_copy(hub: &Hub, address: &HubAddress) -> Option<Copy> {
    hub.cached(address).map(|path| copy(path, SourceUsed::HubCache(address.clone())))
}

fn copy(path: PathBuf, source: SourceUsed) -> Copy {
    Copy { bytes: model_bytes(&path), path, source }
}

/// Bytes of a model's files: the file with its splits, or all files of the folder.
#[must_use]
pub fn model_bytes(path: &Path) -> u64 {
    files(path).iter().filter_map(|file| std::fs::metadata(file).ok()).map(|status| status.len()).sum()
}

/// The files that are the model: those of a folder, and of the folders in it (an encoder's `1_Pooling`).
pub(super) fn files(path: &Path) -> Vec<PathBuf> {
    if path.is_dir() {
        let inner = subfolders(path);
        let folders = std::iter::once(path).chain(inner.iter().map(PathBuf::as_path));
        return folders.flat_map(listed).filter(|file| file.is_file()).collect();
    }
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    super::repository::splits(&name).iter().map(|split| path.with_file_name(split)).collect()
}

/// The folders of a model's folder, without links and hidden ones.
fn subfolders(folder: &Path) -> Vec<PathBuf> {
    let hidden = |path: &Path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
    listed(folder).into_iter().filter(|path| path.is_dir() && !path.is_symlink() && !hidden(path)).collect()
}

fn listed(folder: &Path) -> Vec<PathBuf> {
    std::fs::read_dir(folder).into_iter().flatten().flatten().map(|file| file.path()).collect()
}

/// Bytes of all files under `folder`; links are not followed and count as nothing.
#[must_use]
pub fn folder_bytes(folder: &Path) -> u64 {
    let mut folders = vec![folder.to_owned()];
    let mut bytes = 0;
    while let Some(folder) = folders.pop() {
        for file in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            match file.file_type() {
                Ok(kind) if kind.is_dir() => folders.push(file.path()),
                Ok(kind) if kind.is_file() => bytes += file.metadata().map_or(0, |status| status.len()),
                _ => {}
            }
        }
    }
    bytes
}

/// Removes a copy from this program's cache or the hub's, and returns the bytes freed. In the hub's cache a file is kept
/// if another revision uses it. Bytes that both caches
/// share are freed with the second of them (elsewhere than on Unix they are counted with each).
///
/// # Errors
/// [`ModelError::NotAModel`] for a file outside the caches; [`ModelError::Io`].
pub fn remove(copy: &Copy) -> Result<u64> {
    match &copy.source {
        SourceUsed::Cache if copy.path.is_dir() => {
            let freed: u64 = files(&copy.path).iter().map(|file| freed_with(file)).sum();
            std::fs::remove_dir_all(&copy.path).map_err(|source| not_removed(&copy.path, source))?;
            Ok(freed)
        }
        SourceUsed::Cache => delete(&copy.path).map(|()| copy.bytes),
        SourceUsed::HubCache(_) => remove_from_hub(&copy.path),
        _ => Err(ModelError::NotAModel {
            path: copy.path.clone(),
            expected: "a model in a cache".into(),
            found: "a file or folder of your own, which is not touched".into(),
        }),
    }
}

/// Bytes that are freed when `file` is deleted: on Unix none if they have another name, as files have that a folder was
/// assembled from.
fn freed_with(file: &Path) -> u64 {
    std::fs::metadata(file).ok().filter(|status| hard_links(status) < 2).map_or(0, |status| status.len())
}

/// The number of hard links to a file.
#[cfg(unix)]
fn hard_links(status: &std::fs::Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::nlink(status)
}

#[cfg(not(unix))]
fn hard_links(_: &std::fs::Metadata) -> u64 {
    1
}

fn delete(path: &Path) -> Result<()> {
    std::fs::remove_file(path).map_err(|source| not_removed(path, source))
}

fn not_removed(path: &Path, source: std::io::Error) -> ModelError {
    ModelError::Io { path: path.to_owned(), action: "remove", source }
}

fn remove_from_hub(path: &Path) -> Result<u64> {
    let mut freed = 0;
    for pointer in files(path) {
        let blob = pointer.canonicalize().ok();
        delete(&pointer)?;
        let Some(blob) = blob.filter(|blob| blob.is_file()) else { continue };
        // blobs/<etag> in the repository's folder, whose snapshots hold the links.
        let repository = blob.parent().and_then(Path::parent);
        if repository.is_some_and(|repository| is_linked(&repository.join("snapshots"), &blob)) {
            continue;
        }
        let bytes = freed_with(&blob);
        delete(&blob)?;
        freed += bytes;
    }
    // Remove the snapshot's folders if they are empty.
    let folder = if path.is_dir() { Some(path) } else { path.parent() };
    for folder in folder.into_iter().flat_map(|folder| subfolders(folder).into_iter().chain([folder.to_owned()])) {
        let _ = std::fs::remove_dir(folder);
    }
    Ok(freed)
}

/// Whether a link under `folder` points to `blob`.
fn is_linked(folder: &Path, blob: &Path) -> bool {
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for file in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = file.path();
            if file.file_type().is_ok_and(|kind| kind.is_dir()) {
                folders.push(path);
            } else if path.canonicalize().is_ok_and(|target| target == blob) {
                return true;
            }
        }
    }
    false
}

#[cfg(all(test, unix))]
#[path = "inventory_tests.rs"]
mod tests;

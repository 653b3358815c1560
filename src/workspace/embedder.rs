//! The embedder of a new index, of an existing one, or of a method that embeds documents itself.

use crate::error::{MootError, Result};
use crate::llm::remote::{Address, Key, Patience};
use crate::retrieval::index::Dense;
use crate::retrieval::{Embedder, EmbedderOptions as Encoder, LocalEmbedder, ServedEmbedder};
use crate::units::plural;
use crate::workspace::control::Control;
use crate::workspace::models::{Opening, device};
use moot_models::encoder::{EncoderOptions, Prefixes};
use moot_models::source::Catalog;
use std::path::Path;
use std::sync::Arc;

/// Default embedder: small, fast, English.
pub const DEFAULT_EMBEDDER: &str = "all-minilm-l6-v2";
/// The name that selects an index without vectors, for BM25 alone.
const NONE: &str = "none";

/// Which embedder, as given.
#[derive(Debug, Clone)]
pub struct EmbedderOptions {
    /// Its name, or `none` for BM25 only.
    pub name: Option<String>,
    /// Its device. The last digits of vectors differ between devices.
    pub device: String,
    /// Never use the network.
    pub offline: bool,
}

impl Default for EmbedderOptions {
    fn default() -> Self {
        Self { name: None, device: "cpu".into(), offline: false }
    }
}

impl EmbedderOptions {
    /// The name for a new index.
    #[must_use]
    pub fn for_new(&self) -> &str {
        self.name.as_deref().unwrap_or(DEFAULT_EMBEDDER)
    }

    /// Sets `name` if no embedder was named and this one's files are on this machine. Returns whether an embedder is
    /// named now.
    pub(crate) fn take_if_present(&mut self, name: &str) -> bool {
        let options = Encoder { offline: true, ..Encoder::default() };
        if self.name.is_none() && LocalEmbedder::open(name, &options, &mut |_| {}).is_ok() {
            self.name = Some(name.to_owned());
        }
        self.name.is_some()
    }

    /// Opens the embedder of a new index; `None` for BM25 only.
    ///
    /// # Errors
    /// An unknown name, a model that cannot be fetched or loaded.
    pub fn named(&self, control: &Control) -> Result<Option<Arc<dyn Embedder>>> {
        if self.for_new() == NONE { Ok(None) } else { self.open(self.for_new(), control).map(Some) }
    }

    /// Opens the embedder that made the vectors of the index in `dir`; `None` for an index of words alone.
    ///
    /// # Errors
    /// As [`EmbedderOptions::named`]; one that was given for an index of words alone.
    pub fn of_index(&self, dir: &Path, dense: Option<&Dense>, control: &Control) -> Result<Option<Arc<dyn Embedder>>> {
        let Some(dense) = dense else {
            return match self.name.as_deref().filter(|name| *name != NONE) {
                None => Ok(None),
                Some(name) => Err(MootError::Index {
                    path: dir.to_owned(),
                    wrong: format!("expected vectors for --embedder {name}, found an index of words alone"),
                    hint: "leave the option out, or build an index with vectors".into(),
                }),
            };
        };
        match self.name.as_deref().or(dense.name.as_deref()) {
            Some(name) => self.open(name, control).map(Some),
            None => Err(MootError::Index {
                path: dir.to_owned(),
                wrong: format!("its vectors were made by {}", dense.embedder),
                hint: "give its path or name with --embedder".into(),
            }),
        }
    }

    fn open(&self, name: &str, control: &Control) -> Result<Arc<dyn Embedder>> {
        if Address::is_one(name) {
            return self.served(name, control);
        }
        let (device, _) = device("device of the embedder", &self.device, &control.notice())?;
        let options = Encoder { offline: self.offline, load: EncoderOptions::on(device), ..Encoder::default() };
        let watch = &control.watch;
        let embedder =
            LocalEmbedder::open(name, &options, &mut |progress| watch.opening(&Opening::Finding(name, progress)))?;
        watch.opening(&Opening::Loaded { name, thinks: true, remark: None });
        embedder.note().iter().for_each(|note| control.note(&format!("{name}: {note}")));
        Ok(Arc::new(embedder))
    }
}

impl EmbedderOptions {
    /// The embedder on the server at the address `name`. A catalog name after `#` gives the prefixes.
    fn served(&self, name: &str, control: &Control) -> Result<Arc<dyn Embedder>> {
        if self.offline {
            return Err(MootError::Usage(format!(
                "--embedder {name}: expected a model on this machine with --offline"
            )));
        }
        let address = Address::parse(name)?;
        let catalog = Catalog::embedded();
        let known = address.model.as_ref().and_then(|model| catalog.encoder_at(Path::new(model)));
        if known.is_none() {
            control.note(&format!(
                "{address}: prefixes of queries and passages are unknown, so none is sent (append #NAME of a catalog encoder)"
            ));
        }
        let prefixes = known.map_or_else(Prefixes::default, |known| Prefixes {
            query: known.query.clone(),
            passage: known.passage.clone(),
        });
        let key = Key::from_environment(&address);
        Ok(Arc::new(ServedEmbedder::open(address, key, Patience::default(), prefixes)?))
    }
}

/// Notes how many of the texts that `embedder` has embedded were cut to its limit.
pub(crate) fn note_truncated(embedder: Option<&dyn Embedder>, control: &Control) {
    let count = embedder.map_or(0, Embedder::truncated);
    if count > 0 {
        let texts = plural(count, "passage exceeds", "passages exceed");
        let were = if count == 1 { "was" } else { "were" };
        control.note(&format!("{texts} the embedder's limit and {were} truncated before embedding"));
    }
}

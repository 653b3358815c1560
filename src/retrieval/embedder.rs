//! Vectors by an embedding model on this machine.

use super::{Embedder, Side};
use crate::error::{MootError, Result};
use moot_models::encoder::{EmbeddingModel, EncoderOptions, Pooling, Precision, Prefixes};
use moot_models::kernels;
use moot_models::source::{self, EncoderEntry, FetchEvent, Task};
use std::fmt::Write as _;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

/// How an embedder is found and held.
#[derive(Debug, Clone, Default)]
pub struct EmbedderOptions {
    /// Never use the network.
    pub offline: bool,
    /// Where and how the weights are held.
    pub load: EncoderOptions,
    /// The instruction, for models that make vectors of what a text says to one.
    pub instruction: Option<String>,
}

/// An embedding model of this process.
#[derive(Debug)]
pub struct LocalEmbedder {
    model: EmbeddingModel,
    prefixes: Prefixes,
    identity: String,
    truncated: AtomicU64,
}

impl LocalEmbedder {
    /// Opens the embedding model `name`: a folder, an alias of the catalog or `hf:...`, fetched if necessary. `progress`
    /// receives the events of the search.
    ///
    /// # Errors
    /// Anything that prevents loading the named model; a model of the catalog that makes no vectors.
    pub fn open(name: &str, options: &EmbedderOptions, progress: &mut dyn FnMut(FetchEvent)) -> Result<Self> {
        let search = source::Options { cache: source::default_cache()?, offline: options.offline };
        let (located, known) = source::locate_encoder(name, &search, progress)?;
        if known.as_ref().is_some_and(|known| known.task != Task::Embedding) {
            return Err(MootError::Usage(format!("{name} reads pairs of texts and makes no vectors")));
        }
        Self::load(&located.path, known.as_ref(), options)
    }

    /// Loads the folder `path`; `known` is its row of the catalog, where it has one.
    ///
    /// # Errors
    /// As [`EmbeddingModel::open_as`].
    pub fn load(path: &Path, known: Option<&EncoderEntry>, options: &EmbedderOptions) -> Result<Self> {
        let model = EmbeddingModel::open_as(path, known, &options.load)?;
        let mut prefixes = model.recipe().prefixes.clone();
        if let Some(instruction) = &options.instruction {
            prefixes = prefixes.instructed(instruction);
        }
        let folder = || path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let name = known.map_or_else(folder, |known| known.alias.clone());
        let cache = source::default_cache()?;
        let hash = source::model_hash(path, &cache)?;
        let mut identity = identity(&name, &hash, &model, &prefixes, &options.load);
        for folder in &model.recipe().dense {
            let _ = write!(identity, " {folder} sha256:{}", source::model_hash(&path.join(folder), &cache)?);
        }
        Ok(Self { model, prefixes, identity, truncated: AtomicU64::new(0) })
    }

    /// The model behind it.
    #[must_use]
    pub fn model(&self) -> &EmbeddingModel {
        &self.model
    }

    fn prefix(&self, side: Side) -> &str {
        match side {
            Side::Query => &self.prefixes.query,
            Side::Passage => &self.prefixes.passage,
        }
    }

    /// One line for the user where something that changes vectors is not known: an unknown folder without prompts.
    #[must_use]
    pub fn note(&self) -> Option<String> {
        self.model.recipe().note()
    }
}

impl Embedder for LocalEmbedder {
    fn embed(&self, texts: &[&str], side: Side) -> Result<Vec<f32>> {
        let embedded = self.model.embed(self.prefix(side), texts)?;
        self.truncated.fetch_add(embedded.truncated as u64, Ordering::Relaxed);
        Ok(embedded.vectors)
    }

    fn dimension(&self) -> usize {
        self.model.dimension()
    }

    fn identity(&self) -> &str {
        &self.identity
    }

    fn tokens(&self, texts: &[&str], side: Side) -> Option<usize> {
        let of = |text: &&str| self.model.tokens(self.prefix(side), text).ok().map(|tokens| tokens.ids.len());
        texts.iter().map(of).sum()
    }

    fn truncated(&self) -> u64 {
        self.truncated.load(Ordering::Relaxed)
    }
}

/// Everything that a vector depends on besides the text.
fn identity(name: &str, hash: &str, model: &EmbeddingModel, prefixes: &Prefixes, load: &EncoderOptions) -> String {
    let recipe = model.recipe();
    let pooling = match recipe.pooling {
        Pooling::Mean => "mean",
        Pooling::Cls => "cls",
        Pooling::Last => "last token",
        Pooling::Masks => "masks",
    };
    let length = if recipe.normalise { "normalised" } else { "as it comes" };
    let numbers = match load.precision {
        Precision::Int16 if model.encoder().is_none() => "as stored",
        Precision::Int16 => "int16",
        Precision::F32 => "f32",
    };
    let arithmetic =
        if load.device.is_cpu() { format!("cpu {} {numbers}", kernels::cpu::RECIPE) } else { "gpu".into() };
    let Prefixes { query, passage } = prefixes;
    let limit = recipe.limit;
    // Absent without changes, so that older indexes, whose identity has no such field, still match.
    let casing = if model.recased() { " normaliser changed" } else { "" };
    format!(
        "{name} sha256:{hash} {pooling} {length} query {query:?} passage {passage:?} limit {limit} {arithmetic}{casing}"
    )
}

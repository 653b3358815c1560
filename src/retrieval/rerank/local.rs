//! Relevance by a model on this machine: a cross-encoder with one logit, or a decoder that answers yes or no.

use super::{RerankCounts, Reranker};
use crate::error::{MootError, Result};
use crate::gather::Gather;
use crate::nli::recipe::recipe;
use moot_models::encoder::{CausalReranker, Classifier, EncoderOptions, Long, Pair, Precision, TextTokens};
use moot_models::kernels;
use moot_models::source::{self, EncoderEntry, FetchEvent, Task};
use rayon::prelude::*;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

/// How a reranker is found and held.
#[derive(Debug, Clone, Default)]
pub struct RerankerOptions {
    /// Never use the network.
    pub offline: bool,
    /// Where and how the weights are held.
    pub load: EncoderOptions,
}

/// A reranker of this process, shared by all threads that ask it.
///
/// **Long passages.** Of a cross-encoder, a passage that does not fit the model's limit beside its query is split into
/// overlapping windows, each with the whole query; its logit is the highest of them. A decoder's limit is far longer: what is
/// beyond it is cut off.
#[derive(Debug)]
pub struct LocalReranker {
    model: Model,
    identity: String,
    gather: Gather<TextTokens, f32>,
    passages: AtomicU64,
    truncated: AtomicU64,
}

#[derive(Debug)]
enum Model {
    Classifier(Box<Classifier>),
    Causal(Box<CausalReranker>),
}

impl LocalReranker {
    /// Opens the reranker `name`: a folder, an alias of the catalog or `hf:...`, fetched if necessary. `progress` receives the
    /// events of the search.
    ///
    /// # Errors
    /// Anything that prevents loading the named model; a model of the catalog that is not a reranker; a model with
    /// other than one label.
    pub fn open(name: &str, options: &RerankerOptions, progress: &mut dyn FnMut(FetchEvent)) -> Result<Self> {
        let search = source::Options { cache: source::default_cache()?, offline: options.offline };
        let (located, known) = source::locate_encoder(name, &search, progress)?;
        if known.as_ref().is_some_and(|known| known.task != Task::Reranker) {
            return Err(MootError::Usage(format!("{name} is not a reranker: expected a model that scores passages")));
        }
        Self::load(&located.path, known.as_ref(), options)
    }

    /// Loads the folder `path`; `known` is its row of the catalog, where it has one.
    ///
    /// # Errors
    /// As [`Classifier::open`] and [`Classifier::one_logit`].
    pub fn load(path: &Path, known: Option<&EncoderEntry>, options: &RerankerOptions) -> Result<Self> {
        let (model, kind, recipe) = if CausalReranker::is_at(path)? {
            let model = CausalReranker::open(path, &options.load)?;
            let (kind, recipe) = (model.architecture(), prompts(&model, &options.load));
            (Model::Causal(Box::new(model)), kind, recipe)
        } else {
            let model = Classifier::open(path, &options.load, None)?;
            model.one_logit()?;
            let (kind, recipe) = (model.encoder().spec().family, recipe(&model, &options.load));
            (Model::Classifier(Box::new(model)), kind, recipe)
        };
        let folder = || path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let name = known.map_or_else(folder, |known| known.alias.clone());
        let hash = source::model_hash(path, &source::default_cache()?)?;
        let identity = format!("{name} sha256:{hash} {kind} {recipe}");
        let (gather, passages, truncated) = (Gather::default(), AtomicU64::new(0), AtomicU64::new(0));
        Ok(Self { model, identity, gather, passages, truncated })
    }

    /// The windows of each pair.
    fn windows(&self, pairs: &[(&str, &str)]) -> Result<Vec<Vec<TextTokens>>> {
        let of_pair = |&(first, second): &(&str, &str)| match &self.model {
            Model::Classifier(model) => model.windows(Pair { first, second }, Long::Second),
            Model::Causal(model) => Ok(vec![model.tokens(Pair { first, second })?]),
        };
        Ok(pairs.par_iter().map(of_pair).collect::<moot_models::Result<_>>()?)
    }
}

impl Reranker for LocalReranker {
    fn logits(&self, pairs: &[(&str, &str)]) -> Result<Vec<f32>> {
        if pairs.is_empty() {
            return Ok(Vec::new());
        }
        // Tokens are made by the caller's thread, so that an error of the tokenizer is the caller's alone.
        let windows = self.windows(pairs)?;
        let counts: Vec<usize> = windows.iter().map(Vec::len).collect();
        let cut = windows.iter().filter(|windows| windows.iter().any(|window| window.truncated)).count();
        self.passages.fetch_add(pairs.len() as u64, Ordering::Relaxed);
        self.truncated.fetch_add(cut as u64, Ordering::Relaxed);
        let compute = |windows: &[TextTokens]| -> Result<Vec<f32>> {
            match &self.model {
                Model::Classifier(model) => Ok(model.logits(windows)?.into_iter().flatten().collect()),
                Model::Causal(model) => Ok(model.logits(windows)?),
            }
        };
        let mut logits = self.gather.run(windows.into_iter().flatten().collect(), &compute)?.into_iter();
        let highest = |&count: &usize| logits.by_ref().take(count).reduce(f32::max);
        let highest: Option<Vec<f32>> = counts.iter().map(highest).collect();
        highest.ok_or_else(|| MootError::Engine("a passage without a window (bug)".into()))
    }

    fn identity(&self) -> &str {
        &self.identity
    }

    fn tokens(&self, pairs: &[(&str, &str)]) -> Option<usize> {
        let windows = self.windows(pairs).ok()?;
        Some(windows.iter().flatten().map(|window| window.ids.len()).sum())
    }

    fn counts(&self) -> RerankCounts {
        let computed = self.gather.computed();
        RerankCounts {
            passages: self.passages.load(Ordering::Relaxed),
            windows: computed.items,
            truncated: self.truncated.load(Ordering::Relaxed),
            batches: computed.batches,
            seconds: computed.seconds,
        }
    }
}

/// Inputs of a decoder's result other than the pair and the files.
fn prompts(model: &CausalReranker, load: &EncoderOptions) -> String {
    let numbers = match load.precision {
        Precision::Int16 => "as stored",
        Precision::F32 => "f32",
    };
    let arithmetic =
        if load.device.is_cpu() { format!("cpu {} {numbers}", kernels::cpu::RECIPE) } else { "gpu".into() };
    let casing = if model.recased() { ", normaliser changed" } else { "" };
    format!("{arithmetic}, prompts of {}{casing}", model.limit())
}

//! Texts to vectors.

use super::causal::{Causal, is_decoder};
use super::load::Loader;
use super::pooling::MASKS;
use super::projection::Projection;
use super::tokens::{TextTokenizer, TextTokens};
use super::{Batches, Encoder, EncoderOptions, Packed, Pooling, Recipe, TextSettings, family};
use crate::arch::{self, Config};
use crate::error::{ModelError, Result};
use crate::source::{Catalog, EncoderEntry};
use crate::weights::{Gguf, Safetensors, Weights};
use moot_kernels::read_back;
use rayon::prelude::*;
use std::borrow::Cow;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Vectors of some texts.
#[derive(Debug, Clone, PartialEq)]
pub struct Embedded {
    /// `[texts, dimension]`, row-major, in the order of the texts.
    pub vectors: Vec<f32>,
    /// Number of texts that were truncated to the model's limit.
    pub truncated: usize,
}

/// A model that makes one vector of a text.
#[derive(Debug)]
pub struct EmbeddingModel {
    path: PathBuf,
    body: Body,
    tokenizer: TextTokenizer,
    /// Tokens that are computed together.
    tokens: usize,
    recipe: Recipe,
    /// Layers behind the pooling.
    projections: Vec<Projection>,
}

/// What gives the tokens' states.
#[derive(Debug)]
enum Body {
    Encoder(Box<Encoder>),
    Decoder(Box<Causal>),
}

impl EmbeddingModel {
    /// Loads the GGUF file `path`, a BERT's or XLM-R's, or the folder `path`: config.json, tokenizer.json, safetensors, and the files of sentence-transformers beside
    /// them. Where the folder does not state pooling or prompts, the catalog's row of that name does.
    ///
    /// # Errors
    /// A file, field or tensor that is missing, malformed or not supported.
    pub fn open(path: &Path, options: &EncoderOptions) -> Result<Self> {
        Self::open_as(path, Catalog::embedded().encoder_at(path), options)
    }

    /// As [`Self::open`], with `known` as the row of the catalog.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn open_as(path: &Path, known: Option<&EncoderEntry>, options: &EncoderOptions) -> Result<Self> {
        if path.is_file() {
            return Self::open_gguf(path, known, options);
        }
        let config = Config::open(&path.join("config.json"))?;
        if is_decoder(&config)? {
            return Self::open_decoder(path, &config, known, options);
        }
        let (family, spec) = family::spec(&config)?;
        let settings = TextSettings::of(path, spec.context)?;
        let recipe = Recipe::of(path, known, settings.limit)?;
        let mut tokenizer = TextTokenizer::open(path, family, spec.vocab, spec.segments, &settings)?;
        if recipe.pooling == Pooling::Masks {
            tokenizer = tokenizer.with_masks(path, family, MASKS)?;
        }
        let weights = Weights::Safetensors(Safetensors::open(path)?);
        let loader = Loader::new(&weights, family, options);
        let encoder = loader.encoder(family, spec)?;
        loader.nothing_left(family)?;
        let projections = Projection::all(path, &recipe.dense, encoder.spec().hidden)?;
        let body = Body::Encoder(Box::new(encoder));
        Ok(Self { path: path.to_owned(), body, tokenizer, tokens: options.tokens, recipe, projections })
    }

    fn open_gguf(path: &Path, known: Option<&EncoderEntry>, options: &EncoderOptions) -> Result<Self> {
        let gguf = Gguf::open(path)?;
        let metadata = gguf.metadata().clone();
        let weights = Weights::Gguf(gguf);
        let spec = family::gguf::spec(&weights, &metadata)?;
        let recipe = Recipe::of_gguf(&metadata, known, spec.context)?;
        let tokenizer = TextTokenizer::of_gguf(&metadata, spec.vocab, spec.context)?;
        let loader = Loader::new(&weights, &family::gguf::FAMILY, options);
        let encoder = loader.encoder(&family::gguf::FAMILY, spec)?;
        loader.nothing_left(&family::gguf::FAMILY)?;
        let (path, body) = (path.to_owned(), Body::Encoder(Box::new(encoder)));
        Ok(Self { path, body, tokenizer, tokens: options.tokens, recipe, projections: Vec::new() })
    }

    fn open_decoder(
        path: &Path,
        config: &Config,
        known: Option<&EncoderEntry>,
        options: &EncoderOptions,
    ) -> Result<Self> {
        let settings = TextSettings::of(path, config.usize("max_position_embeddings")?)?;
        let recipe = Recipe::of(path, known, settings.limit)?;
        let weights = Weights::Safetensors(Safetensors::open(path)?.with_model_in_names());
        let spec = arch::spec_of_embedder(&weights)?;
        let (fits, expected) = match spec.bidirectional {
            true => (recipe.pooling != Pooling::Masks, "mean, cls or lasttoken"),
            false => {
                (recipe.pooling == Pooling::Last, "lasttoken, the one token of a decoder that has read all of the text")
            }
        };
        if spec.bidirectional && !path.join("modules.json").exists() {
            return Err(ModelError::NotAModel {
                path: path.to_owned(),
                expected: "modules.json, which says what layers are behind the pooling".into(),
                found: "none".into(),
            });
        }
        if !fits {
            return Err(ModelError::Field {
                path: path.to_owned(),
                field: "pooling".into(),
                expected: expected.into(),
                found: format!("{:?}", recipe.pooling).to_lowercase(),
            });
        }
        let tokenizer = TextTokenizer::of_decoder(path, spec.vocab, &settings, recipe.pooling == Pooling::Last)?;
        let projections = Projection::all(path, &recipe.dense, spec.hidden)?;
        let causal = Causal::load(&weights, spec, config, options)?;
        let body = Body::Decoder(Box::new(causal));
        Ok(Self { path: path.to_owned(), body, tokenizer, tokens: options.tokens, recipe, projections })
    }

    /// The folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The encoder; `None` for a decoder.
    #[must_use]
    pub fn encoder(&self) -> Option<&Encoder> {
        match &self.body {
            Body::Encoder(encoder) => Some(encoder),
            Body::Decoder(_) => None,
        }
    }

    /// Pooling, prefixes and length limit.
    #[must_use]
    pub fn recipe(&self) -> &Recipe {
        &self.recipe
    }

    /// Length of a vector.
    #[must_use]
    pub fn dimension(&self) -> usize {
        self.projections.last().map_or(self.hidden(), Projection::outputs)
    }

    /// Length of a token's state.
    fn hidden(&self) -> usize {
        match &self.body {
            Body::Encoder(encoder) => encoder.spec().hidden,
            Body::Decoder(causal) => causal.decoder().spec().hidden,
        }
    }

    /// Whether files beside `tokenizer.json` changed its normaliser, and with it the tokens of some texts.
    #[must_use]
    pub fn recased(&self) -> bool {
        self.tokenizer.recased()
    }

    /// The ids of `prefix` and `text` as one text; a prefix with `{text}` goes around it.
    ///
    /// # Errors
    /// The tokenizer fails on the text.
    pub fn tokens(&self, prefix: &str, text: &str) -> Result<TextTokens> {
        let text = match prefix.split_once("{text}") {
            Some((before, after)) => Cow::Owned(format!("{before}{text}{after}")),
            None if prefix.is_empty() => Cow::Borrowed(text),
            None => Cow::Owned(format!("{prefix}{text}")),
        };
        self.tokenizer.text(&text)
    }

    /// Vectors of `texts`, each with `prefix` in front (one of [`Recipe::prefixes`], or none). A text's vector does not
    /// depend on the texts beside it, bit for bit on the CPU.
    ///
    /// # Errors
    /// The tokenizer or an operation fails; a prefix with an `{instruction}` that was not filled in.
    pub fn embed(&self, prefix: &str, texts: &[&str]) -> Result<Embedded> {
        if prefix.contains("{instruction}") {
            return Err(ModelError::Field {
                path: self.path.clone(),
                field: "prefix".into(),
                expected: "an instruction (this model embeds a text for a given instruction)".into(),
                found: format!("none, in {prefix:?}"),
            });
        }
        let tokens: Vec<TextTokens> = texts.par_iter().map(|text| self.tokens(prefix, text)).collect::<Result<_>>()?;
        let truncated = tokens.iter().filter(|tokens| tokens.truncated).count();
        let hidden = self.hidden();
        let pooled = match &self.body {
            Body::Encoder(encoder) => self.encoded(encoder, &tokens)?,
            Body::Decoder(causal) => {
                let vectors = match causal.decoder().spec().bidirectional {
                    true => causal.pooled(&tokens, |states| self.recipe.pool(states, hidden))?,
                    false => causal.last(&tokens)?,
                };
                vectors.concat()
            }
        };
        let mut vectors = self.projections.iter().try_fold(pooled, |vectors, layer| layer.apply(vectors))?;
        vectors.chunks_exact_mut(self.dimension()).for_each(|vector| self.recipe.normalise(vector));
        Ok(Embedded { vectors, truncated })
    }

    /// Pooled states of all texts: `[texts, hidden]`.
    fn encoded(&self, encoder: &Encoder, tokens: &[TextTokens]) -> Result<Vec<f32>> {
        let hidden = encoder.spec().hidden;
        let mut vectors = vec![0.0; tokens.len() * hidden];
        let batches = Batches::new(tokens, self.tokens);
        // Each thread computes one group, so that none waits for another between two layers. Only when groups run out do
        // several threads share one.
        let of_group = |group: &&[usize]| self.vectors(encoder, group.iter().map(|&text| &tokens[text]));
        let groups: Vec<&[usize]> = batches.iter().collect();
        let found: Vec<Vec<f32>> = match encoder.is_on_cpu() {
            true => groups.par_iter().with_max_len(1).map(of_group).collect::<Result<_>>()?,
            false => groups.iter().map(of_group).collect::<Result<_>>()?,
        };
        for (group, found) in groups.into_iter().zip(found) {
            for (vector, &text) in found.chunks_exact(hidden).zip(group) {
                vectors[text * hidden..][..hidden].copy_from_slice(vector);
            }
        }
        Ok(vectors)
    }

    /// Pooled states of one group of texts: `[texts, hidden]`.
    fn vectors<'a>(&self, encoder: &Encoder, texts: impl Iterator<Item = &'a TextTokens> + Clone) -> Result<Vec<f32>> {
        let (packed, hidden) = (Packed::new(texts), encoder.spec().hidden);
        let states: Vec<f32> = read_back(&encoder.forward(&packed)?)?.flatten_all()?.to_vec1()?;
        let of = |rows: Range<usize>| self.recipe.pool(&states[rows.start * hidden..rows.end * hidden], hidden);
        Ok((0..packed.texts.count()).flat_map(|text| of(packed.texts.range(text))).collect())
    }
}

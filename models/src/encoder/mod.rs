//! Encoders: texts in; vectors, or probabilities of classes, out. The families are rows of [`FAMILIES`].
//!
//! Tokens of many texts are packed one after the other into one `[tokens, hidden]` tensor with cumulative lengths: no
//! padding is computed. Every kernel works row by row or text by text, so a text's result has the same bits in any batch.

mod batches;
mod classifier;
mod embedding;
mod family;
mod load;
mod pooling;
mod recipe;
mod settings;
mod spec;
mod tokens;

pub use batches::{Batches, Packed};
pub use classifier::{Classified, Classifier, NliLabels};
pub use embedding::{Embedded, EmbeddingModel};
pub use family::{FAMILIES, Family, HeadNames};
pub use load::{EncoderOptions, Precision};
pub use pooling::{MASKS, Pooling, Prefixes};
pub use recipe::Recipe;
pub(crate) use settings::SENTENCE_CONFIGS;
pub use settings::TextSettings;
pub use spec::{Buckets, EncoderSpec, PositionTable, RelativePositions};
pub use tokens::{Pair, TextTokens};

use crate::error::Result;
use candle_core::{Device, Tensor};
use moot_kernels::ops::{add_norm::add_norm, bidirectional::bidirectional, sum_of_rows::sum_of_rows};
use moot_kernels::{Activation, Affine, Relative, Texts, Weight};
use std::sync::{Mutex, PoisonError};

/// A bidirectional transformer with post-norm residuals: BERT, RoBERTa or DeBERTa, by its [`EncoderSpec`].
#[derive(Debug)]
pub struct Encoder {
    spec: EncoderSpec,
    device: Device,
    /// `[vocab, hidden]`
    word_embeddings: Tensor,
    /// `[rows, hidden]`
    positions: Option<Tensor>,
    /// `[segments, hidden]`
    segments: Option<Tensor>,
    norm: Norm,
    blocks: Vec<Block>,
    /// Held while a GPU works: see [`Encoder::forward`].
    turn: Mutex<()>,
}

/// A layer norm's weight and bias, `[hidden]` each.
#[derive(Debug)]
struct Norm {
    weight: Tensor,
    bias: Tensor,
}

/// A linear layer with a bias.
#[derive(Debug)]
struct Layer {
    weight: Weight,
    /// `[outputs]`
    bias: Tensor,
}

#[derive(Debug)]
struct Block {
    query: Layer,
    key: Layer,
    value: Layer,
    relative: Option<Relative>,
    attention_output: Layer,
    attention_norm: Norm,
    inner: Layer,
    outer: Layer,
    outer_norm: Norm,
}

impl Layer {
    fn with(&self, activation: Activation) -> Affine<'_> {
        Affine { weight: &self.weight, bias: Some(&self.bias), activation }
    }

    fn apply(&self, x: &Tensor, activation: Activation) -> candle_core::Result<Tensor> {
        let mut out = Weight::apply_all(&[self.with(activation)], x)?;
        out.pop().ok_or_else(|| candle_core::Error::Msg("one layer gave no result (bug)".into()))
    }
}

impl Norm {
    fn of_sum(&self, x: &Tensor, residual: &Tensor, eps: f32) -> candle_core::Result<Tensor> {
        add_norm(x, residual, &self.weight, &self.bias, eps)
    }
}

impl Encoder {
    /// The model's shape.
    #[must_use]
    pub fn spec(&self) -> &EncoderSpec {
        &self.spec
    }

    /// Whether it computes on the CPU.
    #[must_use]
    pub fn is_on_cpu(&self) -> bool {
        self.device.is_cpu()
    }

    /// Vectors of all tokens after the last block: `[tokens, hidden]`, f32.
    ///
    /// # Errors
    /// An id beyond the vocabulary, a text beyond the context, or a failed operation.
    pub fn forward(&self, packed: &Packed) -> Result<Tensor> {
        if self.device.is_cpu() {
            return self.run(packed);
        }
        // Threads have streams of their own there, and share the scratch memory of the library that multiplies.
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let states = self.run(packed)?;
        self.device.synchronize()?;
        Ok(states)
    }

    fn run(&self, packed: &Packed) -> Result<Tensor> {
        let eps = self.spec.norm_eps;
        let mut x = self.embed(packed)?;
        for block in &self.blocks {
            let attended = self.attend(block, &x, &packed.texts)?;
            let attended = block.attention_output.apply(&attended, Activation::None)?;
            x = block.attention_norm.of_sum(&attended, &x, eps)?;
            let inner = block.inner.apply(&x, self.spec.activation)?;
            x = block.outer_norm.of_sum(&block.outer.apply(&inner, Activation::None)?, &x, eps)?;
        }
        Ok(x)
    }

    fn embed(&self, packed: &Packed) -> candle_core::Result<Tensor> {
        let words = sum_of_rows(&[(&self.word_embeddings, &packed.ids)])?;
        let mut positions = Vec::new();
        let mut added = Vec::with_capacity(2);
        if let (Some(table), Some(at)) = (&self.positions, self.spec.positions) {
            let of_text = |text: usize| (0..packed.texts.range(text).len()).map(|i| (i + at.first) as u32);
            positions.extend((0..packed.texts.count()).flat_map(of_text));
            added.push((table, &positions[..]));
        }
        added.extend(self.segments.iter().map(|table| (table, &packed.segments[..])));
        let added = if added.is_empty() { words.zeros_like()? } else { sum_of_rows(&added)? };
        self.norm.of_sum(&words, &added, self.spec.norm_eps)
    }

    fn attend(&self, block: &Block, x: &Tensor, texts: &Texts) -> candle_core::Result<Tensor> {
        let projections = [&block.query, &block.key, &block.value].map(|layer| layer.with(Activation::None));
        let projected = Weight::apply_all(&projections, x)?;
        let [q, k, v] = &projected[..] else { candle_core::bail!("three layers gave other than three results (bug)") };
        bidirectional([q, k, v], texts, self.spec.heads, self.spec.scale(), block.relative.as_ref())
    }
}

//! Encoders: texts in; vectors, or logits of classes, out. The families are rows of [`FAMILIES`].
//!
//! Tokens of many texts are packed one after the other into one `[tokens, hidden]` tensor with cumulative lengths: no
//! padding is computed. Every kernel works row by row or text by text, so a text's result has the same bits in any batch.

mod batches;
mod causal;
mod classifier;
mod embedding;
mod family;
mod head;
mod labels;
mod load;
mod pooling;
mod projection;
mod recipe;
mod settings;
mod spec;
mod step;
mod tokens;
mod truncation;

pub use batches::{Batches, Packed};
pub use causal::CausalReranker;
pub use classifier::{Classified, Classifier};
pub use embedding::{Embedded, EmbeddingModel};
pub use family::{FAMILIES, Family, Gate, HeadNames, HeadOf, Names, OuterNorm, Projections};
pub use labels::{NliLabels, Unsupported};
pub use load::{EncoderOptions, Precision};
pub use pooling::{MASKS, Pooling, Prefixes};
pub use recipe::Recipe;
pub(crate) use settings::SENTENCE_CONFIGS;
pub use settings::TextSettings;
pub use spec::{Buckets, DistanceBuckets, EncoderSpec, PositionTable, RelativePositions, RotaryPositions};
pub use tokens::{Long, Pair, TextTokens};

use crate::error::Result;
use crate::layers::Rotary;
use candle_core::{DType, Device, Tensor};
use moot_kernels::ops::norm::{add_rms_norm, rms_norm};
use moot_kernels::ops::{add_norm::add_norm, bidirectional::bidirectional, rope::rope, sum_of_rows::sum_of_rows};
use moot_kernels::{Activation, Affine, DistanceBias, Distances, FreedOn, Relative, Texts, Weight};
use std::sync::{Mutex, PoisonError};

/// A bidirectional transformer: BERT, RoBERTa, MPNet, DeBERTa, ModernBERT or the encoder of T5, by its [`EncoderSpec`].
#[derive(Debug)]
pub struct Encoder {
    spec: EncoderSpec,
    device: Device,
    /// Before the tensors, and in a model before those behind the encoder.
    _on_device: FreedOn,
    /// `[vocab, hidden]`
    word_embeddings: Tensor,
    /// `[rows, hidden]`
    positions: Option<Tensor>,
    /// `[segments, hidden]`
    segments: Option<Tensor>,
    /// The norm after the embeddings; in T5, the first norm of the first block.
    norm: Norm,
    /// Of all blocks, by the distance of two tokens.
    bias: Option<DistanceBias>,
    blocks: Vec<Block>,
    /// Rotations of queries and keys, by [`Block::local`]; none in families that add positions.
    rotary: Option<[Rotary; 2]>,
    /// Held while a GPU works: see [`Encoder::forward`].
    turn: Mutex<()>,
}

/// A norm's weight and bias, `[hidden]` each.
#[derive(Debug)]
struct Norm {
    weight: Tensor,
    bias: Tensor,
}

/// A linear layer.
#[derive(Debug)]
struct Layer {
    weight: Weight,
    /// `[outputs]`
    bias: Option<Tensor>,
}

#[derive(Debug)]
struct Block {
    query: Layer,
    key: Layer,
    value: Layer,
    relative: Option<Relative>,
    /// Whether tokens see their neighbours alone.
    local: bool,
    attention_output: Layer,
    /// Behind the attention's residual.
    attention_norm: Norm,
    inner: Layer,
    /// A gated feed-forward's second layer, by which the activation of `inner` is multiplied.
    gate: Option<Layer>,
    outer: Layer,
    /// After the feed-forward's residual. In a model with norms before the layers, this is the next block's first norm.
    outer_norm: Norm,
}

/// Cosines and sines of a batch's positions, by [`Block::local`].
type Angles = [(Tensor, Tensor); 2];

impl Layer {
    fn with(&self, activation: Activation) -> Affine<'_> {
        Affine { weight: &self.weight, bias: self.bias.as_ref(), activation }
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
        let (mut residual, mut normed) = self.embed(packed)?;
        let angles = self.angles(&packed.texts)?;
        for block in &self.blocks {
            let attended = self.attend(block, &normed, &packed.texts, angles.as_ref())?;
            let attended = block.attention_output.apply(&attended, Activation::None)?;
            (residual, normed) = self.added(&attended, &residual, &block.attention_norm)?;
            let inner = block.inner.apply(&normed, self.spec.activation)?;
            let inner = match &block.gate {
                Some(gate) => (inner * gate.apply(&normed, Activation::None)?)?,
                None => inner,
            };
            let outer = block.outer.apply(&inner, Activation::None)?;
            (residual, normed) = self.added(&outer, &residual, &block.outer_norm)?;
        }
        Ok(normed)
    }

    /// The next residual stream, and the input of the next layers, which is the norm of `x + residual`. The stream is
    /// the sum if the model has norms before the layers, else the norm too.
    fn added(&self, x: &Tensor, residual: &Tensor, norm: &Norm) -> candle_core::Result<(Tensor, Tensor)> {
        if self.spec.root_mean_square {
            return add_rms_norm(x, residual, &norm.weight, self.spec.norm_eps);
        }
        let normed = norm.of_sum(x, residual, self.spec.norm_eps)?;
        let stream = if self.spec.norm_first { (x + residual)? } else { normed.clone() };
        Ok((stream, normed))
    }

    /// Cosines and sines of the positions of all tokens; `None` without rotations.
    fn angles(&self, texts: &Texts) -> candle_core::Result<Option<Angles>> {
        let Some([full, local]) = &self.rotary else { return Ok(None) };
        let positions: Vec<u32> =
            (0..texts.count()).flat_map(|text| 0..texts.range(text).len()).map(|at| at as u32).collect();
        let tables = |rotary: &Rotary| rotary.tables(&positions, DType::F32, &self.device);
        Ok(Some([tables(full)?, tables(local)?]))
    }

    /// The residual stream in front of the first block, and what that block reads.
    fn embed(&self, packed: &Packed) -> candle_core::Result<(Tensor, Tensor)> {
        let words = sum_of_rows(&[(&self.word_embeddings, &packed.ids)])?;
        if self.spec.root_mean_square {
            let normed = rms_norm(&words, &self.norm.weight, self.spec.norm_eps)?;
            return Ok((words, normed));
        }
        let mut positions = Vec::new();
        let mut added = Vec::with_capacity(2);
        if let (Some(table), Some(at)) = (&self.positions, self.spec.positions) {
            let of_text = |text: usize| (0..packed.texts.range(text).len()).map(|i| (i + at.first) as u32);
            positions.extend((0..packed.texts.count()).flat_map(of_text));
            added.push((table, &positions[..]));
        }
        added.extend(self.segments.iter().map(|table| (table, &packed.segments[..])));
        let added = if added.is_empty() { words.zeros_like()? } else { sum_of_rows(&added)? };
        let normed = self.norm.of_sum(&words, &added, self.spec.norm_eps)?;
        Ok((normed.clone(), normed))
    }

    fn attend(&self, block: &Block, x: &Tensor, texts: &Texts, angles: Option<&Angles>) -> candle_core::Result<Tensor> {
        let projections = [&block.query, &block.key, &block.value].map(|layer| layer.with(Activation::None));
        let projected = Weight::apply_all(&projections, x)?;
        let [q, k, v] = &projected[..] else { candle_core::bail!("three layers gave other than three results (bug)") };
        let local = self.spec.rotary.as_ref().filter(|_| block.local).map(|rotary| Distances::Window(rotary.window));
        let bias = self.bias.as_ref().map(Distances::Bias);
        let distances = block.relative.as_ref().map(Distances::Relative).or(local).or(bias);
        let Some(angles) = angles else {
            return bidirectional([q, k, v], texts, self.spec.heads, self.spec.scale, distances);
        };
        let (cos, sin) = &angles[usize::from(block.local)];
        let (tokens, width) = q.dims2()?;
        let rotated = |x: &Tensor| {
            rope(&x.reshape((tokens, self.spec.heads, self.spec.head_dim))?, cos, sin)?.reshape((tokens, width))
        };
        bidirectional([&rotated(q)?, &rotated(k)?, v], texts, self.spec.heads, self.spec.scale, distances)
    }
}

//! The first step of T5's decoder, which classifies a pair by the logits of two words: MiniCheck (Tang et al. 2024,
//! <https://arxiv.org/abs/2404.10774>, section 4) writes "1" where a document supports a claim, and "0" where it does not.
//!
//! One token attends to itself alone, so that self-attention is its value. It attends to all tokens of its text's encoder.

use super::load::Loader;
use super::{EncoderSpec, Layer, Precision};
use crate::arch::Config;
use crate::error::Result;
use candle_core::{D, Tensor};
use moot_kernels::ops::norm::{add_rms_norm, rms_norm};
use moot_kernels::{Activation, Texts};

/// The field that says whether what the output reads is scaled. transformers writes it since version 5, beside a
/// `tie_word_embeddings` that is always true.
const SCALED: &str = "scale_decoder_outputs";

/// The decoder's blocks and the rows of its output for both words.
#[derive(Debug)]
pub(super) struct Step {
    /// The embedding of the token that every text of the decoder begins with: `[1, hidden]`.
    start: Tensor,
    blocks: Vec<Block>,
    /// Behind the last block, `[hidden]`, with the factor of what the output reads.
    norm: Tensor,
    words: [Layer; 2],
    heads: usize,
    eps: f32,
}

#[derive(Debug)]
struct Block {
    /// In front of self-attention, attention and feed-forward: `[hidden]` each.
    norms: [Tensor; 3],
    own_value: Layer,
    own_output: Layer,
    query: Layer,
    key: Layer,
    value: Layer,
    output: Layer,
    inner: Layer,
    gate: Layer,
    outer: Layer,
}

impl Step {
    /// The decoder beside the encoder of `spec`; its logits are those of the tokens `words`.
    ///
    /// # Errors
    /// A field or tensor that is missing, malformed or not supported.
    pub(super) fn load(loader: &Loader<'_>, spec: &EncoderSpec, config: &Config, words: [u32; 2]) -> Result<Self> {
        let (hidden, wide, attended) = (spec.hidden, spec.intermediate, spec.heads * spec.head_dim);
        let count = config.optional_usize("num_decoder_layers")?.unwrap_or(spec.layers);
        let start = config.optional_usize("decoder_start_token_id")?.unwrap_or(0);
        if start >= spec.vocab {
            return Err(config.wrong("decoder_start_token_id", &format!("a token below {}", spec.vocab)));
        }
        let precision = loader.options.precision;
        let layer = |name: &str, outputs: usize, inputs: usize| {
            loader.part(&loader.under(name), 0..outputs, [outputs, inputs], precision, false)
        };
        let block = |index: usize| -> Result<Block> {
            let at = |part: &str| format!("decoder.block.{index}.layer.{part}");
            let norm = |part: usize| loader.dense(&loader.under(&at(&format!("{part}.layer_norm.weight"))), &[hidden]);
            // These are not used: a token that attends to itself alone has the weight 1.
            for unread in ["q", "k", "relative_attention_bias"] {
                loader.note(&loader.under(&at(&format!("0.SelfAttention.{unread}.weight"))));
            }
            Ok(Block {
                norms: [norm(0)?, norm(1)?, norm(2)?],
                own_value: layer(&at("0.SelfAttention.v"), attended, hidden)?,
                own_output: layer(&at("0.SelfAttention.o"), hidden, attended)?,
                query: layer(&at("1.EncDecAttention.q"), attended, hidden)?,
                key: layer(&at("1.EncDecAttention.k"), attended, hidden)?,
                value: layer(&at("1.EncDecAttention.v"), attended, hidden)?,
                output: layer(&at("1.EncDecAttention.o"), hidden, attended)?,
                inner: layer(&at("2.DenseReluDense.wi_0"), wide, hidden)?,
                gate: layer(&at("2.DenseReluDense.wi_1"), wide, hidden)?,
                outer: layer(&at("2.DenseReluDense.wo"), hidden, wide)?,
            })
        };
        let output = output(loader, config)?;
        let word = |id: u32| {
            let row = id as usize..id as usize + 1;
            loader.part(&output, row, [spec.vocab, hidden], Precision::F32, false)
        };
        let embedding = loader.under("shared.weight");
        let start = loader.part_of_table(&embedding, start, [spec.vocab, hidden])?;
        let norm = loader.dense(&loader.under("decoder.final_layer_norm.weight"), &[hidden])?;
        // The output layer's inputs are scaled: the factor goes into the norm before it.
        let norm = if is_scaled(config)? { (norm * (1.0 / (hidden as f64).sqrt()))? } else { norm };
        Ok(Self {
            start,
            blocks: (0..count).map(block).collect::<Result<_>>()?,
            norm,
            words: [word(words[0])?, word(words[1])?],
            heads: spec.heads,
            eps: spec.norm_eps,
        })
    }

    /// The logits of both words for every text, `[texts, 2]`, from the vectors of its tokens, `[tokens, hidden]`.
    ///
    /// # Errors
    /// An operation fails.
    pub(super) fn forward(&self, states: &Tensor, texts: &Texts) -> candle_core::Result<Tensor> {
        let plain = Activation::None;
        let mut stream = self.start.broadcast_as((texts.count(), self.start.dim(1)?))?.contiguous()?;
        let mut added = stream.zeros_like()?;
        for block in &self.blocks {
            let [own, other, forward] = &block.norms;
            let (sum, normed) = add_rms_norm(&stream, &added, own, self.eps)?;
            let attended = block.own_output.apply(&block.own_value.apply(&normed, plain)?, plain)?;
            let (sum, normed) = add_rms_norm(&sum, &attended, other, self.eps)?;
            let query = block.query.apply(&normed, plain)?;
            let (keys, values) = (block.key.apply(states, plain)?, block.value.apply(states, plain)?);
            let attended = block.output.apply(&self.attend([&query, &keys, &values], texts)?, plain)?;
            let (sum, normed) = add_rms_norm(&sum, &attended, forward, self.eps)?;
            let inner = (block.inner.apply(&normed, Activation::GeluTanh)? * block.gate.apply(&normed, plain)?)?;
            (stream, added) = (sum, block.outer.apply(&inner, plain)?);
        }
        let normed = rms_norm(&(stream + added)?, &self.norm, self.eps)?;
        let [zero, one] = [&self.words[0], &self.words[1]].map(|word| word.apply(&normed, plain));
        Tensor::cat(&[zero?, one?], 1)
    }

    /// Softmax(q · kᵀ) · v of one query a text: `[texts, width]`, and `[tokens, width]` twice, to `[texts, width]`.
    fn attend(&self, [query, keys, values]: [&Tensor; 3], texts: &Texts) -> candle_core::Result<Tensor> {
        let width = query.dim(1)?;
        let by_head = |x: &Tensor, first: usize, rows: usize| {
            x.narrow(0, first, rows)?.reshape((rows, self.heads, width / self.heads))?.transpose(0, 1)?.contiguous()
        };
        let of_text = |text: usize| {
            let range = texts.range(text);
            let keys = by_head(keys, range.start, range.len())?;
            let scores = by_head(query, text, 1)?.matmul(&keys.transpose(1, 2)?.contiguous()?)?;
            let weights = scores.broadcast_sub(&scores.max_keepdim(D::Minus1)?)?.exp()?;
            let weights = weights.broadcast_div(&weights.sum_keepdim(D::Minus1)?)?;
            weights.matmul(&by_head(values, range.start, range.len())?)?.reshape((1, width))
        };
        let rows = (0..texts.count()).map(of_text).collect::<candle_core::Result<Vec<_>>>()?;
        Tensor::cat(&rows, 0)
    }
}

/// Whether the reference divides the output layer's inputs by the root of the hidden width. Before version 5 it did so
/// if the output is the embedding, as it is if `tie_word_embeddings` is absent.
fn is_scaled(config: &Config) -> Result<bool> {
    if config.has(SCALED) {
        return config.flag(SCALED);
    }
    if !config.has("tie_word_embeddings") || config.flag("tie_word_embeddings")? {
        let expected = "false (an output of its own, as T5 1.1 and Flan-T5 have), or scale_decoder_outputs beside it";
        return Err(config.wrong("tie_word_embeddings", expected));
    }
    Ok(false)
}

/// The name of the output layer's tensor. Without one the output is the embedding: transformers 5 writes a tied matrix
/// once.
fn output(loader: &Loader<'_>, config: &Config) -> Result<String> {
    let own = loader.under("lm_head");
    let is_there = loader.weights.contains(&format!("{own}.weight"));
    let is_tied = config.has(SCALED) && (!config.has("tie_word_embeddings") || config.flag("tie_word_embeddings")?);
    Ok(if is_tied && !is_there { loader.under("shared") } else { own })
}

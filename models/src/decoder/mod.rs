//! The one forward of every decoder: a [`Batch`] and the KV cache in, logits out.

mod attention;
mod block;
mod linear_weights;
mod load;
mod loader;
mod options;
mod replay;
mod rotations;

pub use linear_weights::LinearWeights;
pub use options::{LoadOptions, Recipe, Residency};
pub(crate) use replay::MOST_ROWS as MOST_CAPTURED_ROWS;
pub use replay::{ReplayCounts, Replays};

use crate::batch::Batch;
use crate::error::{ModelError, Result};
use crate::kv::{KvCache, PageGroups};
use crate::layers::{FeedForwards, LayerEmbedding, Linear, moved};
use crate::spec::DecoderSpec;
use block::{Block, Mixer};
use candle_core::{DType, Device, Tensor};
use moot_kernels::ops::cap::capped;
use moot_kernels::ops::norm::{add_rms_norm, rms_norm};
use moot_kernels::ops::rounded::rounded;
use moot_kernels::{FreedOn, PAGE, SequenceRows, StateRows, Weight, free_on, read_back};
use rotations::{Angles, Rotations};

/// A decoder-only transformer: RMS norms, rotary positions, grouped-query attention, SwiGLU.
#[derive(Debug)]
pub struct Decoder {
    spec: DecoderSpec,
    device: Device,
    dtype: DType,
    kv_dtype: DType,
    /// A decoder may be dropped by a thread that has computed nothing.
    _on_first_device: FreedOn,
    embedding: Weight,
    /// Where tokens bring vectors to each layer.
    layer_embedding: Option<LayerEmbedding>,
    blocks: Vec<Block>,
    _on_last_device: FreedOn,
    norm: Tensor,
    output: Linear,
    rotations: Rotations,
    /// The last layer that stores anything of a token.
    last_storing: usize,
    /// Whether linear layers take prompt tokens as bf16.
    rounds_prompts: bool,
}

impl Decoder {
    /// The model's shape.
    #[must_use]
    pub fn spec(&self) -> &DecoderSpec {
        &self.spec
    }

    /// Whether the tensors live in the CPU's memory.
    #[must_use]
    pub fn is_on_cpu(&self) -> bool {
        self.device.is_cpu()
    }

    /// Whether prompt tokens have another arithmetic than generated ones, so that a batch may hold one kind only, and keys and
    /// values of the one do not serve the other.
    #[must_use]
    pub fn separates_prompts(&self) -> bool {
        self.rounds_prompts
    }

    /// A cache of `pages` on this decoder's device, with one recurrent state where the model has such.
    ///
    /// # Errors
    /// The device has not that much memory.
    pub fn kv_cache(&self, pages: usize) -> Result<KvCache> {
        self.kv_cache_with_states(pages, 1)
    }

    /// A cache of `pages` on this decoder's device, with `states` recurrent states where the model has such.
    ///
    /// # Errors
    /// The device has not that much memory.
    pub fn kv_cache_with_states(&self, pages: usize, states: usize) -> Result<KvCache> {
        self.kv_cache_in_groups(&PageGroups::one(&self.spec), pages, states)
    }

    /// A cache of `pages`, each of one of `groups`, with `states` recurrent states where the model has such.
    ///
    /// # Errors
    /// The device has not that much memory.
    pub fn kv_cache_in_groups(&self, groups: &PageGroups, pages: usize, states: usize) -> Result<KvCache> {
        KvCache::new(&self.spec, groups, pages, states, self.kv_dtype, |layer| &self.blocks[layer].device)
    }

    /// The groups in which pages of windowed layers can be given back. On a GPU there is one group: its captured steps have
    /// one table of pages.
    #[must_use]
    pub fn page_groups(&self) -> PageGroups {
        if self.is_on_cpu() { PageGroups::of(&self.spec) } else { PageGroups::one(&self.spec) }
    }

    /// The first device, which takes the input.
    #[must_use]
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Bytes of one KV page over all layers.
    #[must_use]
    pub fn page_bytes(&self) -> usize {
        KvCache::page_bytes(&self.spec, self.kv_dtype)
    }

    /// Bytes of one KV page of one of `groups`.
    #[must_use]
    pub fn group_page_bytes(&self, groups: &PageGroups) -> usize {
        groups.page_bytes(&self.spec, self.kv_dtype)
    }

    /// Bytes of one recurrent state over all layers; 0 where the model has none.
    #[must_use]
    pub fn state_bytes(&self) -> usize {
        KvCache::state_bytes(&self.spec)
    }

    /// The linear layers that every token goes through, and those that only rows with wanted logits go through. Of experts,
    /// as many as a token uses.
    #[must_use]
    pub fn linear_weights(&self) -> (LinearWeights, LinearWeights) {
        let (of_all, of_wanted) = self.blocks.split_at(self.last_storing + 1);
        let (last, before) = of_all.split_last().expect("a model has blocks (bug)");
        let every = before.iter().map(|block| block.projecting().and(block.after_mixer()));
        let every = every.fold(last.projecting(), LinearWeights::and);
        let every = every.and(LinearWeights::of(self.layer_embedding.iter().map(|of| &of.projection)));
        let wanted = of_wanted.iter().map(|block| block.projecting().and(block.after_mixer()));
        (every, wanted.fold(last.after_mixer(), LinearWeights::and).and(LinearWeights::of([&self.output])))
    }

    /// Matrices that a GPU multiplies by packed, with kernels of ours; matrices of one input that are joined count once.
    #[must_use]
    pub fn packed_matrices(&self) -> usize {
        self.blocks.iter().flat_map(Block::linears).chain([&self.output]).filter(|layer| layer.is_packed()).count()
    }

    /// Experts that a token goes through, in all layers together.
    #[must_use]
    pub fn experts_of_a_token(&self) -> usize {
        (0..self.spec.layers).filter_map(|layer| self.spec.experts_of(layer)).map(|experts| experts.used).sum()
    }

    /// Bytes of the weights of one expert; 0 where there are none.
    #[must_use]
    pub fn expert_bytes(&self) -> usize {
        let experts = self.blocks.iter().find_map(|block| block.feed_forward.experts());
        experts.map_or(0, |experts| LinearWeights::of(experts.linears_of_one()).bytes)
    }

    /// Feed-forward layers applied until now.
    #[must_use]
    pub fn feed_forwards(&self) -> FeedForwards {
        self.blocks.iter().fold(FeedForwards::default(), |so_far, block| block.feed_forward.count(so_far))
    }

    /// Stores the batch's keys and values in `kv` and gives the logits of the wanted rows: `[logit rows, vocab]`, f32.
    ///
    /// # Errors
    /// An id beyond the vocabulary, a page beyond the cache, or a failed operation.
    pub fn forward(&self, batch: &Batch, kv: &KvCache) -> Result<Tensor> {
        self.logits(&self.hidden(batch, kv)?)
    }

    /// The logits of normed hidden states, as [`Self::hidden`] gives them: `[rows, vocab]`, f32. Many rows can be taken in
    /// parts, since a vocabulary a row is far wider than a hidden state.
    ///
    /// # Errors
    /// A failed operation.
    pub fn logits(&self, hidden: &Tensor) -> Result<Tensor> {
        if hidden.dim(0)? == 0 {
            // A GPU launches nothing on nothing.
            return Ok(Tensor::zeros((0, self.spec.hidden), DType::F32, &Device::Cpu)?);
        }
        let logits = scaled(self.output.apply(hidden)?.to_dtype(DType::F32)?, self.spec.logit_scale)?;
        Ok(match self.spec.logit_cap {
            Some(cap) => capped(&logits, cap)?,
            None => logits,
        })
    }

    /// Stores the batch's keys and values in `kv` and gives the final normed hidden states of the wanted rows:
    /// `[logit rows, hidden]`, bf16 where linear layers take prompts so.
    ///
    /// # Errors
    /// As [`Self::forward`].
    pub fn hidden(&self, batch: &Batch, kv: &KvCache) -> Result<Tensor> {
        debug_assert_eq!(batch.plan().is_in_both_directions(), self.spec.bidirectional, "a batch of the other kind");
        let ids = Tensor::new(&batch.tokens[..], &self.device)?;
        let hidden = self.hidden_of(batch, &ids, self.angles(batch, &self.device)?, kv);
        // Behind blocks on other GPUs their context is current.
        free_on(&self.device, ids);
        hidden
    }

    /// [`Self::hidden`] of tokens and angles that are on the first device.
    fn hidden_of(&self, batch: &Batch, ids: &Tensor, angles: Angles, kv: &KvCache) -> Result<Tensor> {
        let (mut angles, mut x) = (angles, scaled(self.embedding.rows(ids)?, self.spec.embedding_scale)?);
        let eps = self.spec.norm_eps;
        // Linear layers choose their product by the type of the activations.
        let rounds = self.rounds(batch);
        let form = |x: Tensor| if rounds { rounded(&x) } else { Ok(x) };
        // `[layers, tokens, width]`
        let mut vectors = self.layer_embedding.as_ref().map(|of| of.vectors(ids, &x, &form)).transpose()?;
        // Rows whose logits are not wanted end where nothing more is stored of them.
        let narrowed = (!batch.logits_of_all() && self.last_storing + 1 < self.blocks.len()).then(|| batch.of_wanted());
        let mut batch = batch;
        // The output of the block before: it is added to `x` in the same pass as the next norm.
        let mut added: Option<Tensor> = None;
        for (i, block) in self.blocks.iter().enumerate() {
            if !x.device().same_device(&block.device) {
                let before = x.device().clone();
                x = moved(x, &block.device)?;
                added = added.map(|added| moved(added, &block.device)).transpose()?;
                vectors = vectors.map(|vectors| moved(vectors, &block.device)).transpose()?;
                free_on(&before, std::mem::replace(&mut angles, self.angles(batch, &block.device)?));
            }
            let (sum, mut normed) = added_and_normed(&x, added.as_ref(), block.mixer_norm.as_ref(), eps)?;
            (x, normed) = (sum, form(normed)?);
            let Some(mut mixed) = self.mixed(i, &normed, &angles, batch, kv)? else { break };
            if i == self.last_storing && !batch.logits_of_all() {
                let wanted = Tensor::new(&batch.logit_rows[..], mixed.device())?;
                x = x.index_select(&wanted, 0)?;
                mixed = mixed.index_select(&wanted, 0)?;
                vectors = vectors.map(|vectors| vectors.index_select(&wanted, 1)).transpose()?;
                if let Some(narrowed) = &narrowed {
                    batch = narrowed;
                    angles = self.angles(batch, &block.device)?;
                }
            }
            let mixed = self.residual(block.mixer.output().apply(&form(mixed)?)?, block.mixer_output_norm.as_ref())?;
            let (sum, normed) = added_and_normed(&x, Some(&mixed), block.feed_forward_norm.as_ref(), eps)?;
            x = sum;
            let out = block.feed_forward.apply(&x, &form(normed)?, &form)?;
            let out = self.residual(out, block.feed_forward_output_norm.as_ref())?;
            added = if block.layer_input.is_some() || block.scale.is_some() {
                x = (x + out)?;
                if let (Some(input), Some(vectors)) = (&block.layer_input, &vectors) {
                    x = (&x + input.apply(&x, &vectors.get(i)?, &form)?)?;
                }
                x = scaled(x, block.scale.unwrap_or(1.0))?;
                None
            } else {
                Some(out)
            };
        }
        if batch.logit_rows.is_empty() {
            // A GPU cannot launch a kernel of no blocks.
            return Ok(Tensor::zeros((0, self.spec.hidden), DType::F32, &Device::Cpu)?);
        }
        form(added_and_normed(&x, added.as_ref(), Some(&self.norm), eps)?.1).map_err(Into::into)
    }

    /// Whether activations of the batch are rounded to bf16.
    fn rounds(&self, batch: &Batch) -> bool {
        self.rounds_prompts && batch.of_prompts
    }

    /// What one half of a block adds to the residual stream, of its result.
    fn residual(&self, out: Tensor, norm: Option<&Tensor>) -> candle_core::Result<Tensor> {
        let out = match norm {
            Some(norm) => rms_norm(&out, norm, self.spec.norm_eps)?,
            None => out,
        };
        scaled(out, self.spec.residual_scale)
    }

    /// What block `i` brings in from other positions, before its output layer. `None` where nothing more is needed of
    /// the last block that stores anything than its keys and values, or its states.
    fn mixed(&self, i: usize, normed: &Tensor, angles: &Angles, batch: &Batch, kv: &KvCache) -> Result<Option<Tensor>> {
        let ends = i == self.last_storing && batch.logit_rows.is_empty();
        match &self.blocks[i].mixer {
            Mixer::Attention(attention) => {
                let (pages, group) = kv.layer(i)?;
                let table = batch.tables.get(group).ok_or_else(|| no_pages(group, batch.tables.len()))?;
                let queries = attention.store(normed, angles, table, pages)?;
                if ends { Ok(None) } else { Ok(Some(attention.attend(&queries, table, pages, self.rounds(batch))?)) }
            }
            Mixer::Delta(delta) => Ok(Some(delta.apply(normed, batch, kv.delta_states(i)?)?).filter(|_| !ends)),
            Mixer::ShortConv(conv) => Ok(Some(conv.apply(normed, batch, kv.conv_states(i)?)?).filter(|_| !ends)),
        }
    }

    /// Cosines and sines of the batch's positions: f32 where a kernel of ours rotates by them.
    fn angles(&self, batch: &Batch, device: &Device) -> candle_core::Result<Angles> {
        let dtype = if device.is_cuda() { DType::F32 } else { self.dtype };
        self.rotations.angles(batch.plan().positions(), dtype, device)
    }

    /// Logits at every position of one sequence of given tokens, from an empty cache: `[tokens, vocab]`.
    ///
    /// # Errors
    /// As [`Self::forward`].
    pub fn forward_alone(&self, tokens: &[u32]) -> Result<Vec<Vec<f32>>> {
        if tokens.is_empty() {
            return Ok(Vec::new());
        }
        let pages = tokens.len().div_ceil(PAGE);
        let sequence = SequenceRows { start: 0, len: tokens.len(), pages: (0..pages as u32).collect() };
        let batch = Batch::new(tokens.to_vec(), vec![sequence], (0..tokens.len() as u32).collect());
        let batch = batch.with_states(vec![StateRows { from: None, to: 0, saves: Vec::new() }]).of_prompts();
        Ok(read_back(&self.forward(&batch, &self.kv_cache(pages)?)?)?.to_vec2()?)
    }
}

fn no_pages(group: usize, of: usize) -> ModelError {
    candle_core::Error::Msg(format!("a batch with pages of {of} groups of layers lacks those of group {group} (bug)"))
        .into()
}

/// `x + added`, and its norm, or the sum again where there is no norm.
fn added_and_normed(
    x: &Tensor,
    added: Option<&Tensor>,
    norm: Option<&Tensor>,
    eps: f32,
) -> candle_core::Result<(Tensor, Tensor)> {
    match (added, norm) {
        (Some(added), Some(norm)) => add_rms_norm(x, added, norm, eps),
        (Some(added), None) => {
            let sum = (x + added)?;
            Ok((sum.clone(), sum))
        }
        (None, Some(norm)) => Ok((x.clone(), rms_norm(x, norm, eps)?)),
        (None, None) => Ok((x.clone(), x.clone())),
    }
}

fn scaled(x: Tensor, scale: f32) -> candle_core::Result<Tensor> {
    if scale == 1.0 { Ok(x) } else { x * f64::from(scale) }
}

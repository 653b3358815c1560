//! Memory that a model needs, computed before it is loaded: from the shape in the catalog, or from the file's header.

mod placement;
mod planned;
mod storage;

use crate::arch;
use crate::decoder::{MOST_CAPTURED_ROWS, Residency};
use crate::error::Result;
use crate::kv::{KvCache, PageGroups};
use crate::layers::MOST_BY_PACKED_BLOCKS;
use crate::spec::{DecoderSpec, Experts, Output, Recurrence};
use crate::weights::Weights;
use candle_core::DType;
use moot_kernels::launch::{Element, attention_fits, most_attention_partial_bytes, most_attention_positions};
use moot_kernels::{Gate, PAGE};
use placement::Placement;
use serde::Serialize;
use std::collections::BTreeMap;
use storage::{WIDEST, add, kind, sorted};

pub use placement::Widened;
pub use storage::StoredType;

/// Bytes of the program besides weights, keys, values and activations: tables, threads, memory that the allocator keeps.
/// Measured, as the next constant: the peak of a debate less all that is counted, on vocabularies of 49,152 and 151,936
/// tokens.
const PROGRAM: u64 = 170 << 20;

/// Bytes that tokenizer and grammar keep for each token of the vocabulary.
const VOCABULARY_ENTRY: u64 = 1100;

/// Bytes of a GPU's driver, its libraries and their working space that are not counted elsewhere. Not measured: the value follows
/// the libraries' documents, rounded up.
const GPU_PROGRAM: u64 = 1 << 30;

/// Recurrent states that are kept for draft tokens at most: as many as a step has for one sequence.
pub const DRAFT_STATES: usize = 12;

/// How much is to run at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Load {
    /// Sequences at once.
    pub agents: usize,
    /// Tokens of each, prompt and reply.
    pub tokens: usize,
    /// Tokens of one forward pass at most.
    pub step_tokens: usize,
    /// How weights are held.
    pub residency: Residency,
}

/// Bytes, by what they are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Needed {
    /// Weights as they are held.
    pub weights: u64,
    /// Keys and values.
    pub kv: u64,
    /// Activations, logits, tables.
    pub working: u64,
}

impl Needed {
    /// All together.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.weights.saturating_add(self.kv).saturating_add(self.working)
    }
}

/// Keys and values of a [`Footprint`] before its placement is given: as on the CPU.
const KV: DType = DType::F16;

/// A model's sizes.
#[derive(Debug, Clone, PartialEq)]
pub struct Footprint {
    /// By storage type, the most bytes first.
    pub types: Vec<StoredType>,
    /// Bytes of keys and values a token takes, over all layers.
    pub kv_token_bytes: u64,
    /// The groups of layers that pages are of.
    pub groups: PageGroups,
    /// Bytes of them in the layers of one group.
    group_token_bytes: u64,
    /// Bytes of a sequence's recurrent state, over all layers; 0 where there are no such layers.
    pub state_bytes: u64,
    hidden: usize,
    /// Rows of query, key and value together.
    attention: usize,
    /// Of each kind of layers that attend: query heads, KV heads and the numbers of each, and the positions that a row
    /// attends to at most.
    attending: Vec<([usize; 3], usize)>,
    intermediate: usize,
    /// Numbers of the vectors that a token brings to all layers.
    layer_inputs: usize,
    /// Widths of the feed-forward that its gate takes on a GPU besides gate, up and their product.
    gate: usize,
    vocab: usize,
    /// Whether the output matrix is the embedding.
    tied: bool,
    placement: Placement,
}

/// Numbers of a token that a block's mixer takes, the widest: by attention, or by a recurrent layer.
fn projected(attention: usize, recurrence: Option<Recurrence>) -> usize {
    attention.max(recurrence.map_or(0, |recurrence| recurrence.working_len()))
}

/// Widths that a GPU holds of a feed-forward besides gate, up and their product. A kernel of ours applies SiLU; other gates
/// are composed of Candle's operations.
fn composed(gate: Gate) -> usize {
    match gate {
        Gate::Silu => 0,
        Gate::GeluTanh | Gate::Sigmoid => 1,
        Gate::ClampedSilu => 3,
    }
}

/// Whether weights of this type are multiplied by their blocks on a GPU.
fn is_of_blocks(stored: &StoredType) -> bool {
    !matches!(&stored.name[..], "F32" | "F16" | "BF16")
}

impl Footprint {
    /// Of the model that `weights` hold.
    ///
    /// # Errors
    /// As [`arch::spec`].
    pub fn of(weights: &Weights) -> Result<Self> {
        let spec = arch::spec(weights)?;
        let mut types: BTreeMap<String, StoredType> = BTreeMap::new();
        for name in weights.names() {
            let count = weights.shape(name)?.iter().map(|&n| n as u64).product();
            add(&mut types, &weights.stored_type(name)?, 1, count);
        }
        Ok(Self::new(types, &spec))
    }

    fn new(types: BTreeMap<String, StoredType>, spec: &DecoderSpec) -> Self {
        let groups = PageGroups::of(spec);
        let attention = |layer: usize| {
            let heads = spec.heads_of(layer);
            heads.query_width() + 2 * heads.kv_width()
        };
        let inner = |layer: usize| {
            let used = |experts: Experts| spec.intermediate * experts.used + experts.shared.unwrap_or(0);
            let experts = spec.experts_of(layer).map_or(0, used);
            spec.dense_width(layer).max(experts)
        };
        let attends = |layer: usize| {
            let heads = spec.heads_of(layer);
            ([heads.queries, heads.kv, heads.dim], spec.window_of(layer))
        };
        let mut attending: Vec<_> =
            (0..spec.layers).filter(|&layer| !spec.kind(layer).recurrent).map(attends).collect();
        attending.sort_unstable();
        attending.dedup();
        let widest = |width: &dyn Fn(usize) -> usize| (0..spec.layers).map(width).max().unwrap_or(0);
        Self {
            types: sorted(types),
            kv_token_bytes: (KvCache::page_bytes(spec, KV) / PAGE) as u64,
            groups,
            group_token_bytes: (groups.page_bytes(spec, KV) / PAGE) as u64,
            state_bytes: KvCache::state_bytes(spec) as u64,
            hidden: spec.hidden,
            attention: projected(widest(&attention), spec.recurrence),
            attending,
            intermediate: widest(&inner),
            layer_inputs: spec.layer_inputs.map_or(0, |inputs| spec.layers * inputs.width),
            gate: composed(spec.gate),
            vocab: spec.vocab,
            tied: spec.output == Output::Tied,
            placement: Placement::Cpu,
        }
    }

    /// The same model with keys and values of `dtype`.
    #[must_use]
    pub fn with_kv(self, dtype: DType) -> Self {
        let of = |bytes: u64| bytes / KV.size_in_bytes() as u64 * dtype.size_in_bytes() as u64;
        Self { kv_token_bytes: of(self.kv_token_bytes), group_token_bytes: of(self.group_token_bytes), ..self }
    }

    /// The same model held on a GPU in numbers of `dtype`, with some quantised weights `widened`. Pages of all layers are kept
    /// ([`crate::Decoder::page_groups`]).
    #[must_use]
    pub fn on_gpu(self, dtype: DType, widened: Widened) -> Self {
        let width = dtype.size_in_bytes() as u64;
        let held = self.with_kv(dtype);
        let groups = PageGroups { full: 1, windowed: 0, window: usize::MAX, shares: [1, 1], ..held.groups };
        let group_token_bytes = held.kv_token_bytes;
        Self { placement: Placement::Gpu { width, widened, cards: 1 }, groups, group_token_bytes, ..held }
    }

    /// The same model with its layers spread over `cards` GPUs.
    #[must_use]
    pub fn spread_over(self, cards: usize) -> Self {
        let placement = match self.placement {
            Placement::Cpu => Placement::Cpu,
            Placement::Gpu { width, widened, .. } => Placement::Gpu { width, widened, cards },
        };
        Self { placement, ..self }
    }

    /// Weights in all.
    #[must_use]
    pub fn parameters(&self) -> u64 {
        self.types.iter().map(|stored| stored.weights).sum()
    }

    /// Bytes of all tensors in the file.
    #[must_use]
    pub fn stored_bytes(&self) -> u64 {
        self.types.iter().map(|stored| stored.bytes).sum()
    }

    /// Bytes that the weights take once loaded.
    #[must_use]
    pub fn resident_bytes(&self, residency: Residency) -> u64 {
        if let Placement::Gpu { width, widened, cards } = self.placement {
            let widened = if residency == Residency::Dense { Widened::All } else { widened };
            return self.resident_on_gpu(width, widened, cards);
        }
        let bits = |stored: &StoredType| match residency {
            Residency::Dense => WIDEST,
            Residency::AsStored => kind(&stored.name).map_or(WIDEST, |storage| storage.packed),
        };
        self.types.iter().map(|stored| (stored.weights as f64 * bits(stored) / 8.0) as u64).sum()
    }

    /// Floats become numbers of the working type; blocks stay as they are held, but for the embedding, whose rows are
    /// looked up: it is counted once more, widened. A tied output uses both. On several cards the last one has a tied
    /// output matrix of its own.
    fn resident_on_gpu(&self, width: u64, widened: Widened, cards: usize) -> u64 {
        let blocks = |stored: &StoredType| !widened.has(stored) && is_of_blocks(stored);
        let held = |stored: &StoredType| match stored.held_as.and_then(kind) {
            Some(storage) => (stored.weights as f64 * storage.stored / 8.0) as u64,
            // Packed, eight scales and least values of six bits have a byte each.
            None if stored.name == "Q4_K" => stored.bytes / 36 * 37,
            None if stored.name == "Q5_K" => stored.bytes / 44 * 45,
            None => stored.bytes,
        };
        let bytes = |stored: &StoredType| if blocks(stored) { held(stored) } else { stored.weights * width };
        // So are the vectors of layers, which are held widened alone; their blocks are counted nevertheless.
        let looked_up = (self.vocab * (self.hidden + self.layer_inputs)) as u64 * width;
        let again = (self.vocab * self.hidden) as u64 * width;
        let embedding = match self.types.iter().any(blocks) {
            true => looked_up,
            false if self.tied && cards > 1 => again,
            false => 0,
        };
        self.types.iter().map(bytes).sum::<u64>() + embedding
    }

    /// Bytes of the pages of `agents` sequences of `tokens` each that share nothing, in steps of `step_tokens`, and of
    /// their recurrent states, which get at most half of the memory. A quarter of the states, at most [`DRAFT_STATES`], is
    /// for draft tokens.
    #[must_use]
    pub fn kv_bytes(&self, agents: usize, tokens: usize, step_tokens: usize) -> u64 {
        let slots = (self.groups.pages(agents, tokens, step_tokens) as u64).saturating_mul(PAGE as u64);
        let pages = self.group_token_bytes.saturating_mul(slots);
        match self.state_bytes {
            0 => pages,
            state => {
                let states = agents.saturating_add(DRAFT_STATES.min(agents / 3)) as u64;
                pages.max(state.saturating_mul(states)).saturating_mul(2)
            }
        }
    }

    /// The tokens whose keys and values fit into `bytes` of KV memory where no page is given back.
    #[must_use]
    pub fn tokens_within(&self, bytes: u64) -> u64 {
        let pages = if self.state_bytes > 0 { bytes / 2 } else { bytes };
        pages / self.kv_token_bytes.max(1)
    }

    /// Bytes that a step of `step_tokens` tokens and `rows` sequences, of `positions` positions each at most, takes
    /// besides weights, keys and values: on several GPUs, on all of them together.
    #[must_use]
    pub fn working_bytes(&self, step_tokens: usize, rows: usize, positions: usize) -> u64 {
        // The residual stream with its sum and norm, what goes in and out of attention, gate, up and their product, and the
        // vectors of all layers while they are made.
        let row = 4 * self.hidden + 2 * self.attention + 3 * self.intermediate + 4 * self.layer_inputs;
        if let Placement::Gpu { width, widened, cards } = self.placement {
            let row = (row + self.gate * self.intermediate) as u64;
            let spans = self.span_bytes(width, [rows, step_tokens.max(rows), positions]);
            let (rows, tokens) = (rows as u64, step_tokens.max(rows) as u64);
            let activations = (width * row).saturating_mul(tokens);
            let logits = |rows: u64| ((4 + width) * self.vocab as u64).saturating_mul(rows);
            // For many rows a matrix of blocks is widened to the working type, Candle's through f16: gate and up, or query,
            // key and value. The logits of many rows need the output matrix widened too, unless one card has it as the
            // embedding already.
            let matrix = (self.hidden as u64).saturating_mul((2 * self.intermediate).max(self.attention) as u64);
            let by_blocks = self.types.iter().any(|stored| is_of_blocks(stored) && !widened.has(stored));
            let widens_output = by_blocks && rows > MOST_BY_PACKED_BLOCKS as u64 && !(self.tied && cards == 1);
            let output = if widens_output { (self.hidden * self.vocab) as u64 * width } else { 0 };
            let matrix = if by_blocks { matrix.saturating_mul(2 + width).max(output) } else { 0 };
            // Captured steps, which several cards do not have, keep memory of their own for one step, a widened matrix
            // included, and one buffer of logits.
            let widens = if rows > MOST_BY_PACKED_BLOCKS as u64 { matrix } else { 0 };
            let few = rows.min(MOST_CAPTURED_ROWS as u64);
            let kept = 4 * (self.vocab * MOST_CAPTURED_ROWS) as u64;
            let captured = if cards == 1 { width * row * few + logits(few) + kept + widens } else { 0 };
            let parts = [activations, spans, logits(rows), matrix, captured];
            return parts.into_iter().fold(GPU_PROGRAM, u64::saturating_add).saturating_mul(cards as u64);
        }
        let activations = 4 * (row as u64).saturating_mul(step_tokens as u64);
        let logits = 4 * (self.vocab as u64).saturating_mul(rows as u64);
        PROGRAM + VOCABULARY_ENTRY * self.vocab as u64 + activations.saturating_add(logits)
    }

    /// Bytes of the results that a GPU's attention keeps of spans of positions, for sequences with few tokens in a step:
    /// once for all layers with the same heads and the same window.
    fn span_bytes(&self, width: u64, [rows, tokens, positions]: [usize; 3]) -> u64 {
        let by_kernel = |[heads, kv_heads, head_dim]: [usize; 3]| {
            width == 2 && attention_fits(Element::F16, heads, kv_heads, head_dim)
        };
        // A window that no row exceeds is none.
        let effective = |window: usize| if positions <= window { usize::MAX } else { window };
        let mut plans: Vec<_> = self.attending.iter().map(|&(heads, window)| (heads, effective(window))).collect();
        plans.dedup();
        let bytes = |(heads, window)| {
            let read = positions.min(most_attention_positions(window));
            most_attention_partial_bytes(heads, rows, tokens, read) as u64
        };
        plans.into_iter().filter(|&(heads, _)| by_kernel(heads)).map(bytes).fold(0, u64::saturating_add)
    }

    /// All of it, for `load`.
    #[must_use]
    pub fn needed(&self, load: &Load) -> Needed {
        Needed {
            weights: self.resident_bytes(load.residency),
            kv: self.kv_bytes(load.agents, load.tokens, load.step_tokens),
            working: self.working_bytes(load.step_tokens, load.agents, load.tokens),
        }
    }
}

#[cfg(test)]
mod tests;

//! The specification of a decoder as plain data, from a GGUF's metadata or a config.json.

mod experts;
mod heads;
mod layers;
mod layout;
mod recurrence;

pub use experts::{DenseLayers, Experts, Scoring};
pub use heads::{Heads, WindowHeads};
pub use layout::{ExpertTensors, Layout, NormNames, NormWeights, Projections, QkRows};
pub use recurrence::Recurrence;

use moot_kernels::Gate;

/// Shape and switches of a decoder-only transformer.
#[derive(Debug, Clone, PartialEq)]
pub struct DecoderSpec {
    /// The row of [`crate::arch::ARCHS`].
    pub architecture: &'static str,
    /// Token ids: rows of the embedding.
    pub vocab: usize,
    /// Width of the residual stream.
    pub hidden: usize,
    /// Transformer blocks.
    pub layers: usize,
    /// Query heads.
    pub heads: usize,
    /// Key and value heads; divides `heads`.
    pub kv_heads: usize,
    /// Width of a head, a multiple of 16; need not be `hidden / heads`.
    pub head_dim: usize,
    /// The heads of windowed layers, where they are others than those of full layers.
    pub window_heads: Option<WindowHeads>,
    /// The last layers, which have no keys and values of their own: each attends to those of the last layer before them
    /// that has a window, or has none, as it has.
    pub shared_kv_layers: usize,
    /// Width between the feed-forward's layers, of one expert where there are several.
    pub intermediate: usize,
    /// Width between the feed-forward's layers by layer, where a file has one for each; unused where there are experts.
    pub widths: Vec<usize>,
    /// The experts of feed-forwards; `None` where each is one pair of layers.
    pub experts: Option<Experts>,
    /// Positions that are computed exactly: a prompt and its reply together.
    pub context: usize,
    /// Whether `context` is all that the model claims.
    pub limit: ContextLimit,
    /// Added to the mean square under the norm's root.
    pub norm_eps: f32,
    /// The rotary embedding of positions.
    pub rope: Rope,
    /// Whether rows attend to later positions too: such a model makes vectors of texts and generates none.
    pub bidirectional: bool,
    /// The positions that a windowed layer's rows attend to: the latest ones, their own included; of a bidirectional model,
    /// so many on each side.
    pub window: usize,
    /// The rotary embedding of windowed layers, where it is another one.
    pub window_rope: Option<Rope>,
    /// How the layers attend; none where all attend to every position and are rotated by `rope`.
    pub layer_kinds: Vec<LayerKind>,
    /// The layers with a recurrent state instead of attention, where there are such layers.
    pub recurrence: Option<Recurrence>,
    /// The factor of attention's scores.
    pub attention_scale: f32,
    /// The factor of queries by their position, where they have one.
    pub query_scaling: Option<QueryScaling>,
    /// Whether attention's results are multiplied by the sigmoid of a projection of the layer's input.
    pub attention_gate: bool,
    /// Whether each head's softmax has a logit of its own in its sum, which stands for no position.
    pub attention_sinks: bool,
    /// The factor of the embedding's rows.
    pub embedding_scale: f32,
    /// The factor of what attention and feed-forward add to the residual stream.
    pub residual_scale: f32,
    /// The factor of the logits.
    pub logit_scale: f32,
    /// The activation of the feed-forward's gate.
    pub gate: Gate,
    /// The norms of a block.
    pub norms: Norms,
    /// The projections that have a bias.
    pub bias: Bias,
    /// Whether queries and keys are normed before they are rotated.
    pub qk_norm: QkNorm,
    /// How layers with keys of their own come to values.
    pub values: Values,
    /// The vectors that tokens bring to each layer, where they do.
    pub layer_inputs: Option<LayerInputs>,
    /// Whether each layer multiplies the residual stream by a number of its own when it ends.
    pub layer_scales: bool,
    /// The logits `l` become `c tanh(l / c)` for this `c`.
    pub logit_cap: Option<f32>,
    /// Where the output layer's weights are.
    pub output: Output,
    /// Layout of tensors in the file that loading rearranges.
    pub layout: Layout,
    /// Blocks in the file behind the last layer. They predict more than the next token and are not loaded.
    pub prediction_blocks: usize,
}

/// How a layer attends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LayerKind {
    /// Whether it has a recurrent state ([`DecoderSpec::recurrence`]) instead of attention.
    pub recurrent: bool,
    /// Whether its rows attend to the last [`DecoderSpec::window`] positions alone.
    pub windowed: bool,
    /// How its queries and keys are rotated.
    pub rotation: Rotation,
}

/// How a layer's queries and keys are rotated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rotation {
    /// By [`DecoderSpec::rope`].
    Rope,
    /// By [`DecoderSpec::window_rope`].
    WindowRope,
    /// Not at all.
    None,
}

impl LayerKind {
    /// Every position, rotated.
    pub const FULL: Self = Self { recurrent: false, windowed: false, rotation: Rotation::Rope };
    /// A window, rotated as the other layers are.
    pub const WINDOWED: Self = Self { windowed: true, ..Self::FULL };
    /// A recurrent state.
    pub const RECURRENT: Self = Self { recurrent: true, windowed: false, rotation: Rotation::None };
}

/// The norms of a block, in the order of their use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Norms {
    /// Before attention and before the feed-forward.
    Before,
    /// Behind attention and behind the feed-forward.
    Behind,
    /// Before and behind both.
    Around,
}

/// The origin of the limit [`DecoderSpec::context`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContextLimit {
    /// The positions the model was made for.
    Trained,
    /// Beyond the context the model turns positions at other speeds (`LongRoPE`'s second set), old ones included, which
    /// no cache of keys can follow; the `claimed` positions need them.
    ShortRope {
        /// The file's own number.
        claimed: usize,
    },
}

/// Queries at position `p` are multiplied by `1 + beta ln(1 + floor(p / original))` after their rotation: attention stays
/// sharp over long contexts. Of Llama 4 and Ministral 3, after <https://arxiv.org/abs/2501.19399>.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct QueryScaling {
    /// 0 to 100.
    pub beta: f64,
    /// Positions of the first training, at least 1: up to there the factor is 1.
    pub original: f64,
}

/// Rotary embedding: pair `i` of a head turns by `position * theta^(-2i / dims)`, as scaled.
#[derive(Debug, Clone, PartialEq)]
pub struct Rope {
    /// Base of the wavelengths.
    pub theta: f64,
    /// Leading numbers of a head that are rotated; even, at most the head's width.
    pub dims: usize,
    /// Scaling of the rotary frequencies, which extends the context of the first training.
    pub scaling: RopeScaling,
}

/// A change of the rotation speeds.
#[derive(Debug, Clone, PartialEq)]
pub enum RopeScaling {
    /// None.
    None,
    /// All speeds divided by `factor`.
    Linear {
        /// At least 0.001.
        factor: f64,
    },
    /// Llama 3.1's: long wavelengths divided by `factor`, short ones left, those between blended.
    /// <https://github.com/meta-llama/llama-models/blob/main/models/llama3/model.py>, `apply_scaling`.
    Llama3 {
        /// Divides the speeds of the longest wavelengths.
        factor: f64,
        /// Wavelengths above `original / low` are divided.
        low: f64,
        /// Wavelengths below `original / high` are left.
        high: f64,
        /// Positions of the first training.
        original: f64,
    },
    /// YaRN, <https://arxiv.org/abs/2309.00071>: speeds that turned less than `slow` times in the first training are
    /// divided by `factor`, those that turned more than `fast` times are left, those between are blended by their
    /// number of turns.
    Yarn {
        /// Divides the slowest speeds.
        factor: f64,
        /// Positions of the first training.
        original: f64,
        /// Turns.
        fast: f64,
        /// Turns.
        slow: f64,
        /// Multiplies the cosines and sines.
        magnitude: f32,
        /// Whether the first and last pair that are blended are whole numbers, as in the paper's code.
        whole_pairs: bool,
    },
    /// The first `pairs` of `dims / 2` pairs turn, the others do not (Gemma 4's "proportional").
    FirstPairs {
        /// At most `dims / 2`.
        pairs: usize,
    },
    /// A divisor a pair, as some files store them (GGUF's Llama 3.1, `LongRoPE`).
    Divisors {
        /// `[dims / 2]`
        divisors: Vec<f32>,
        /// Multiplies the cosines and sines.
        magnitude: f32,
    },
}

/// The projections that have a bias.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bias {
    /// None does.
    None,
    /// Query, key and value.
    Qkv,
    /// Query, key, value and attention output.
    Attention,
}

/// Whether queries and keys are normed before they are rotated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QkNorm {
    /// They are not.
    None,
    /// Each head by itself, with one weight of `[head_dim]` for all heads.
    PerHead,
    /// All heads together, with weights of `[heads * head_dim]` and `[kv_heads * head_dim]`.
    Whole,
}

/// How layers with keys of their own come to values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Values {
    /// By a projection.
    Projected,
    /// By a projection, each head then divided by its root mean square.
    Normed,
    /// As [`Self::Normed`]; full layers have no projection of values and take keys before their norm and rotation.
    NormedKeysInFullLayers,
}

/// Vectors that a token brings to each layer besides the residual stream (Gemma 4's per-layer embeddings): rows of a table of
/// their own, and a projection of the token's embedding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LayerInputs {
    /// Numbers of a layer's vector.
    pub width: usize,
}

/// Where the output layer's weights are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Output {
    /// They are the embedding's.
    Tied,
    /// They have a tensor of their own.
    Own,
}

impl DecoderSpec {
    /// Most layers that are loaded.
    pub const MOST_LAYERS: usize = 1 << 12;

    /// The file's row that is row `row` of the decoder's queries or keys.
    ///
    /// The decoder rotates pairs that are half a head apart, all of them. Rows are put in that order at load, those
    /// that are not rotated (and are given a speed of 0) last: attention takes products of queries with keys, which
    /// no common order of both can change.
    #[must_use]
    pub fn file_row(&self, row: usize) -> usize {
        let (half, turned) = (self.head_dim / 2, self.rope.dims / 2);
        let (head, dim) = (row / self.head_dim, row % self.head_dim);
        let (side, pair) = (dim / half, dim % half);
        let within = if pair >= turned {
            2 * turned + side * (half - turned) + pair - turned
        } else {
            match self.layout.qk_rows {
                QkRows::Halves => side * turned + pair,
                QkRows::Interleaved => 2 * pair + side,
            }
        };
        head * self.head_dim + within
    }

    /// Maps row `row` of the query projection to its row in the file. With gated attention the projection has all
    /// queries, then all gates; the file interleaves them by head.
    #[must_use]
    pub fn query_row(&self, row: usize) -> usize {
        let (width, dim) = (self.heads * self.head_dim, self.head_dim);
        match row.checked_sub(width) {
            _ if !self.attention_gate => self.file_row(row),
            None => self.file_row(row) + row / dim * dim,
            Some(gate) => gate + (gate / dim + 1) * dim,
        }
    }

    /// The layers that have keys and values of their own.
    #[must_use]
    pub fn kv_layers(&self) -> usize {
        (0..self.layers).filter(|&layer| self.has_kv(layer)).count()
    }

    /// The layers that have a recurrent state.
    #[must_use]
    pub fn recurrent_layers(&self) -> usize {
        self.layer_kinds.iter().take(self.layers).filter(|kind| kind.recurrent).count()
    }

    /// The recurrence of layer `layer`, where it has one instead of attention.
    #[must_use]
    pub fn recurrence_of(&self, layer: usize) -> Option<Recurrence> {
        self.recurrence.filter(|_| self.kind(layer).recurrent)
    }

    /// The experts of layer `layer`, where it has such.
    #[must_use]
    pub fn experts_of(&self, layer: usize) -> Option<Experts> {
        self.experts.filter(|experts| layer >= experts.dense.map_or(0, |dense| dense.layers))
    }

    /// Width between the layers of layer `layer`'s feed-forward without experts.
    #[must_use]
    pub fn dense_width(&self, layer: usize) -> usize {
        match self.experts {
            None => self.widths.get(layer).copied().unwrap_or(self.intermediate),
            Some(experts) => experts.beside.or(experts.dense.map(|dense| dense.width)).unwrap_or(self.intermediate),
        }
    }

    /// Sets how each layer attends. Where there are more layers than a model has, nothing is set: the spec is refused.
    pub(crate) fn set_kinds(&mut self, kind: impl Fn(usize) -> LayerKind) {
        if self.layers <= Self::MOST_LAYERS {
            self.layer_kinds = (0..self.layers).map(kind).collect();
        }
    }

    /// How layer `layer` attends.
    #[must_use]
    pub fn kind(&self, layer: usize) -> LayerKind {
        self.layer_kinds.get(layer).copied().unwrap_or(LayerKind::FULL)
    }

    /// The positions that a row of layer `layer` attends to at most.
    #[must_use]
    pub fn window_of(&self, layer: usize) -> usize {
        if self.kind(layer).windowed { self.window } else { usize::MAX }
    }

    /// Whether [`Self::file_row`] leaves every row where it is.
    #[must_use]
    pub fn rows_in_order(&self) -> bool {
        // Heads of two widths are loaded in order alone.
        self.window_heads.is_some() || self.layout.qk_rows == QkRows::Halves && self.rope.dims == self.head_dim
    }

    /// One line for the user where the model can do less here than its file claims.
    #[must_use]
    pub fn note(&self) -> Option<String> {
        let cut = |claimed: usize, why: &str| {
            Some(format!("context is {} tokens instead of the {claimed} of its file: {why}", self.context))
        };
        match self.limit {
            ContextLimit::Trained => None,
            ContextLimit::ShortRope { claimed } => cut(claimed, "beyond that its positions are scaled anew"),
        }
    }

    /// Cuts the context to `most` positions where it is longer.
    pub(crate) fn limit_context(&mut self, most: Option<usize>, why: fn(usize) -> ContextLimit) {
        if let Some(most) = most.filter(|&most| most < self.context) {
            let claimed = match self.limit {
                ContextLimit::Trained => self.context,
                ContextLimit::ShortRope { claimed } => claimed,
            };
            self.limit = why(claimed);
            self.context = most;
        }
    }
}

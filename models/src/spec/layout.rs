//! The layout of tensors in a file, as far as loading rearranges them.

/// Storage of projections in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// The order of rows in queries and keys.
    pub qk_rows: QkRows,
    /// One tensor a projection, or several in one.
    pub projections: Projections,
    /// The stored form of the norms' weights.
    pub norm_weights: NormWeights,
    /// A folder's names for the norms of a block that has norms before and behind its halves.
    pub norm_names: NormNames,
    /// How experts are stored.
    pub experts: ExpertTensors,
}

impl Layout {
    /// Halves, a tensor a projection, norms as they are: what most files do.
    pub const PLAIN: Self = Self {
        qk_rows: QkRows::Halves,
        projections: Projections::Separate,
        norm_weights: NormWeights::Whole,
        norm_names: NormNames::AfterFeedForward,
        experts: ExpertTensors::Separate,
    };
}

/// How experts are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExpertTensors {
    /// Each has its own tensors.
    Separate,
    /// All of a layer lie one after the other in one tensor a projection.
    Stacked,
    /// As [`Self::Stacked`], each expert's gate and up under one another in one tensor.
    StackedFused,
    /// As [`Self::StackedFused`], but the rows of gate and up take turns: gpt-oss's folders, in MXFP4.
    StackedInTurns,
}

/// The stored form of the norms' weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NormWeights {
    /// The weights.
    Whole,
    /// The weights less one.
    LessOne,
}

/// A folder's names for the norms of a block that has norms before and behind its halves. GGUF has one set of
/// names for both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NormNames {
    /// `pre_feedforward_layernorm` and `post_feedforward_layernorm` around the feed-forward, `post_attention_layernorm`
    /// behind attention.
    AfterFeedForward,
    /// `post_attention_layernorm` and `post_mlp_layernorm` around the feed-forward, `post_self_attn_layernorm` behind
    /// attention.
    AfterMlp,
}

/// Order of the rows of query and key projections within a head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QkRows {
    /// Rotated pairs are half the rotated numbers apart, as the decoder wants them.
    Halves,
    /// Rotated pairs lie side by side (GGUF files of the llama architecture, all of GLM-4); put in order at load.
    Interleaved,
}

/// One tensor a projection, or several in one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Projections {
    /// Each has its own.
    Separate,
    /// Query, key and value lie under one another in one tensor, gate and up in a second.
    Fused,
    /// Gate and up lie under one another in one tensor; query, key and value have their own.
    FusedGateUp,
}

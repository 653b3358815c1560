//! The tensors of a decoder by their function, and their names in GGUF files and in transformers folders.

mod naming;

pub use naming::{Folder, Naming, Text};

/// A tensor of a decoder, by its function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Name {
    /// `[vocab, hidden]`
    Embedding,
    /// `[hidden]`
    OutputNorm,
    /// `[vocab, hidden]`
    Output,
    /// The vectors that tokens bring to each layer: `[vocab, layers * width]`
    LayerEmbedding,
    /// Their projection from the embedding's rows: `[layers * width, hidden]`
    LayerProjection,
    /// `[width]`
    LayerProjectionNorm,
    /// A tensor of block `.0`.
    Block(usize, BlockTensor),
}

/// A tensor of a block, by its function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlockTensor {
    /// `[hidden]`
    AttentionNorm,
    /// `[heads * head_dim, hidden]`; of gated attention a head's queries and then its gates, `[2 * heads * head_dim,
    /// hidden]`.
    Query,
    /// `[heads * head_dim]`
    QueryBias,
    /// `[head_dim]`, or `[heads * head_dim]` where all heads are normed together.
    QueryNorm,
    /// `[kv_heads * head_dim, hidden]`
    Key,
    /// `[kv_heads * head_dim]`
    KeyBias,
    /// `[head_dim]`, or `[kv_heads * head_dim]` where all heads are normed together.
    KeyNorm,
    /// `[kv_heads * head_dim, hidden]`
    Value,
    /// `[kv_heads * head_dim]`
    ValueBias,
    /// Query, key and value under one another: `[(heads + 2 * kv_heads) * head_dim, hidden]`
    QueryKeyValue,
    /// `[hidden, heads * head_dim]`
    AttentionOutput,
    /// `[hidden]`
    AttentionOutputBias,
    /// `[heads]`: the logit in each head's softmax that stands for no position.
    AttentionSinks,
    /// `[hidden]`
    FeedForwardNorm,
    /// `[hidden]`: behind attention, where there is a norm.
    AttentionOutputNorm,
    /// [`Self::AttentionOutputNorm`] by [`NormNames::AfterMlp`](crate::NormNames).
    SelfAttentionOutputNorm,
    /// `[hidden]`: before the feed-forward, where there are norms around it.
    FeedForwardInputNorm,
    /// `[hidden]`: behind the feed-forward, where there is a norm.
    FeedForwardOutputNorm,
    /// [`Self::FeedForwardOutputNorm`] by [`NormNames::AfterMlp`](crate::NormNames).
    MlpOutputNorm,
    /// `[intermediate, hidden]`
    Gate,
    /// `[intermediate, hidden]`
    Up,
    /// Gate and up under one another: `[2 * intermediate, hidden]`
    GateUp,
    /// `[hidden, intermediate]`
    Down,
    /// Queries, keys and values of a recurrent layer: `[channels, hidden]`
    DeltaQkv,
    /// `[value_heads * value_dim, hidden]`
    DeltaGate,
    /// `[value_heads, hidden]`
    DeltaRate,
    /// `[value_heads, hidden]`
    DeltaStep,
    /// `[channels, taps]`
    DeltaConvolution,
    /// `[value_heads]`: in a GGUF `-exp(A_log)`, in a folder `A_log`.
    DeltaDecay,
    /// `[value_heads]`
    DeltaStepBias,
    /// `[value_dim]`
    DeltaNorm,
    /// `[hidden, value_heads * value_dim]`
    DeltaOutput,
    /// What goes into a short convolution: the gate before it, the gate behind it and what is convolved, under one
    /// another: `[3 * hidden, hidden]`
    ShortConvInputs,
    /// `[hidden, taps]`
    ShortConvolution,
    /// `[hidden, hidden]`
    ShortConvOutput,
    /// `[experts, hidden]`
    Router,
    /// `[experts, hidden]`, where it has a bias.
    BiasedRouter,
    /// `[experts]`
    RouterBias,
    /// `[experts]`: added to an expert's score where experts are chosen, not to its weight.
    ChoiceBias,
    /// A projection of expert `.0`, as [`Self::Gate`], [`Self::Up`] or [`Self::Down`].
    Expert(usize, Inner),
    /// A projection of all experts, one after the other: `[experts, outputs, inputs]`.
    Experts(Inner),
    /// Gate and up of each expert under one another: `[experts, 2 * intermediate, hidden]`.
    ExpertsGateUp,
    /// The biases of a projection of all experts: `[experts, outputs]`.
    ExpertsBias(Inner),
    /// Those of [`Self::ExpertsGateUp`]: `[experts, 2 * intermediate]`.
    ExpertsGateUpBias,
    /// A projection of the expert of every token, as [`Self::Gate`], [`Self::Up`] or [`Self::Down`].
    SharedExpert(Inner),
    /// `[hidden]`: the weight of that expert's results, before the sigmoid.
    SharedExpertGate,
    /// `[experts, hidden]`, of a router that has an input of its own.
    ScaledRouter,
    /// `[hidden]`: the factors of that input, which is divided by its root mean square.
    RouterScale,
    /// `[experts]`: the factors of experts' weights.
    ExpertScales,
    /// `[hidden]`: behind the feed-forward beside the experts.
    BesideOutputNorm,
    /// `[hidden]`: before the experts.
    ExpertsInputNorm,
    /// `[hidden]`: behind the experts.
    ExpertsOutputNorm,
    /// `[width, hidden]`: the gate of a layer's own input.
    LayerInputGate,
    /// `[hidden, width]`
    LayerInputProjection,
    /// `[hidden]`
    LayerInputNorm,
    /// `[1]`: the factor of the residual stream behind the layer.
    LayerScale,
}

/// A projection of a feed-forward.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Inner {
    /// `[intermediate, hidden]`
    Gate,
    /// `[intermediate, hidden]`
    Up,
    /// `[hidden, intermediate]`
    Down,
}

impl Inner {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Gate, Self::Up, Self::Down];

    /// Outputs and inputs, of a feed-forward that is `wide` between its layers.
    #[must_use]
    pub fn shape(self, hidden: usize, wide: usize) -> [usize; 2] {
        match self {
            Self::Gate | Self::Up => [wide, hidden],
            Self::Down => [hidden, wide],
        }
    }
}

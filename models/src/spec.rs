//! What a decoder is, as plain data: the same from a GGUF's metadata or a config.json.

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
    /// Width of a head, a multiple of 16.
    pub head_dim: usize,
    /// Width between the feed-forward's layers.
    pub intermediate: usize,
    /// Positions the model was made for: a prompt and its reply together.
    pub context: usize,
    /// Added to the mean square under the norm's root.
    pub norm_eps: f32,
    /// Base of the rotary embedding's wavelengths.
    pub rope_theta: f64,
    /// Which projections carry a bias.
    pub bias: Bias,
    /// Where the output layer's weights are.
    pub output: Output,
    /// How the file orders the rows of the query and key projections.
    pub qk_rows: QkRows,
}

/// Which projections carry a bias.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bias {
    /// None does.
    None,
    /// Query, key and value.
    Qkv,
}

/// Where the output layer's weights are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Output {
    /// They are the embedding's.
    Tied,
    /// They have a tensor of their own.
    Own,
}

/// How the file orders the rows of the query and key projections within a head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QkRows {
    /// Rotated pairs are half a head apart, as the decoder wants them.
    Halves,
    /// Rotated pairs lie side by side (GGUF files of the llama architecture); put in order at load.
    Interleaved,
}

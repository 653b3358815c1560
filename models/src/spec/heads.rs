//! Heads of attention, which may differ between layers with a window and layers without.

/// The heads of a layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Heads {
    /// Query heads.
    pub queries: usize,
    /// Key and value heads; divides `queries`.
    pub kv: usize,
    /// Width of a head.
    pub dim: usize,
}

/// The heads of windowed layers, of which there are as many queries as in full layers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WindowHeads {
    /// Key and value heads.
    pub kv_heads: usize,
    /// Width of a head, a multiple of 16.
    pub head_dim: usize,
}

impl Heads {
    /// Numbers of a token's queries.
    #[must_use]
    pub fn query_width(&self) -> usize {
        self.queries * self.dim
    }

    /// Numbers of a token's keys, and of its values.
    #[must_use]
    pub fn kv_width(&self) -> usize {
        self.kv * self.dim
    }
}

//! Properties of each layer of a decoder.

use super::{DecoderSpec, Heads, LayerKind, Values, WindowHeads};

impl DecoderSpec {
    /// The heads of layer `layer`; without meaning for a layer with a recurrent state.
    #[must_use]
    pub fn heads_of(&self, layer: usize) -> Heads {
        match self.window_heads.filter(|_| self.kind(layer).windowed) {
            Some(WindowHeads { kv_heads, head_dim }) => Heads { queries: self.heads, kv: kv_heads, dim: head_dim },
            None => Heads { queries: self.heads, kv: self.kv_heads, dim: self.head_dim },
        }
    }

    /// Whether layer `layer` has keys and values of its own.
    #[must_use]
    pub fn has_kv(&self, layer: usize) -> bool {
        !self.kind(layer).recurrent && self.kv_layer(layer) == layer
    }

    /// The layer whose keys and values layer `layer` attends to: itself, or the last of its kind before the layers that have
    /// none of their own.
    #[must_use]
    pub fn kv_layer(&self, layer: usize) -> usize {
        let own = self.layers.saturating_sub(self.shared_kv_layers);
        let alike = |of: &usize| -> bool {
            let LayerKind { recurrent, windowed, .. } = self.kind(*of);
            !recurrent && windowed == self.kind(layer).windowed
        };
        if layer < own { layer } else { (0..own).rev().find(alike).unwrap_or(layer) }
    }

    /// Whether layer `layer` has a projection of values.
    #[must_use]
    pub fn projects_values(&self, layer: usize) -> bool {
        self.has_kv(layer) && (self.values != Values::NormedKeysInFullLayers || self.kind(layer).windowed)
    }

    /// The last layer that computes anything for a token whose logits are not wanted: behind it, nothing is stored.
    #[must_use]
    pub fn last_storing_layer(&self) -> usize {
        let stores = |layer: &usize| self.kind(*layer).recurrent || self.has_kv(*layer);
        (0..self.layers).rev().find(stores).unwrap_or(0)
    }
}

//! Counts of weights, for measurements.

use crate::layers::Linear;

/// Counts of linear layers' weights, by how they are multiplied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LinearWeights {
    /// Weights multiplied as floats.
    pub floats: usize,
    /// Weights multiplied as int8.
    pub quantised: usize,
    /// Bytes of all of them.
    pub bytes: usize,
}

impl LinearWeights {
    pub(super) fn and(self, other: Self) -> Self {
        Self {
            floats: self.floats + other.floats,
            quantised: self.quantised + other.quantised,
            bytes: self.bytes + other.bytes,
        }
    }

    pub(super) fn of<'a>(layers: impl IntoIterator<Item = &'a Linear>) -> Self {
        layers.into_iter().fold(Self::default(), |mut all, layer| {
            *(if layer.is_quantised() { &mut all.quantised } else { &mut all.floats }) += layer.elements();
            all.bytes += layer.bytes();
            all
        })
    }
}

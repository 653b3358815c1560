//! On which device a model is held, as far as it changes its bytes.

use super::StoredType;

/// The device.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Placement {
    Cpu,
    Gpu {
        /// Bytes of a number of the working type.
        width: u64,
        /// Which quantised weights are widened to the working type.
        widened: Widened,
        /// GPUs that the layers are spread over.
        cards: usize,
    },
}

/// Which quantised weights are widened when a model is loaded to a GPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Widened {
    /// All.
    All,
    /// Those of types that only Candle multiplies by: `Q2_K` and `Q3_K`.
    Candles,
    /// None.
    Nothing,
}

impl Widened {
    /// Whether weights of this type are.
    #[must_use]
    pub fn has(self, stored: &StoredType) -> bool {
        match self {
            Self::All => true,
            Self::Candles => matches!(&stored.name[..], "Q2_K" | "Q3_K"),
            Self::Nothing => false,
        }
    }
}

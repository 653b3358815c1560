//! Layers with a recurrent state.

use moot_kernels::ops::delta_net::DeltaShape;
use moot_kernels::ops::short_conv::ConvShape;

/// A layer with a recurrent state, and the sizes of the state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recurrence {
    /// A gated delta net: a matrix for each head.
    Delta(DeltaShape),
    /// A short convolution between two gates: the latest inputs.
    ShortConv(ConvShape),
}

impl Recurrence {
    /// f32 numbers of a sequence's state.
    #[must_use]
    pub fn state_len(&self) -> usize {
        match self {
            Self::Delta(delta) => delta.state_len(),
            Self::ShortConv(conv) => conv.state_len(),
        }
    }

    /// Numbers of a token that its projections, its results and what is between them take.
    #[must_use]
    pub(crate) fn working_len(&self) -> usize {
        match self {
            Self::Delta(delta) => 2 * delta.channels() + 2 * delta.outputs(),
            Self::ShortConv(conv) => 6 * conv.channels,
        }
    }

    /// The gated delta net, where it is one.
    #[must_use]
    pub fn delta(self) -> Option<DeltaShape> {
        match self {
            Self::Delta(delta) => Some(delta),
            Self::ShortConv(_) => None,
        }
    }
}

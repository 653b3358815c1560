//! Inputs of the op.

use candle_core::Tensor;

/// The projections of a batch's tokens, `[tokens, channels]` each.
#[derive(Debug, Clone, Copy)]
pub struct ShortConvInputs<'a> {
    /// The factor of `x`.
    pub before: &'a Tensor,
    /// The factor of the convolution's results.
    pub after: &'a Tensor,
    /// The values that are convolved.
    pub x: &'a Tensor,
}

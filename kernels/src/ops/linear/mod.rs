//! `x · wᵀ`, and the rows of `w` by id: a linear layer and an embedding over one weight.

mod feed_forward;
mod form;
mod multiply;
mod rows;
mod weight;

pub use multiply::{Affine, affine_reference};
pub use weight::Weight;

use candle_core::{Result, Tensor};

/// The reference: Candle's matmul over the matrix as it was before packing.
///
/// # Errors
/// Shapes or types that do not fit.
pub fn reference(x: &Tensor, dense: &Tensor) -> Result<Tensor> {
    x.matmul(&dense.t()?)
}

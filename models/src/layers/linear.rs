//! A linear layer, dense or as quantised in its file.

use candle_core::quantized::{QMatMul, QTensor};
use candle_core::{DType, Module, Result, Tensor};
use moot_kernels::{Gate, PackedBlocks, Weight};
use std::sync::Arc;

/// `x · wᵀ + b`.
#[derive(Debug, Clone)]
pub(crate) struct Linear {
    matrix: Matrix,
    /// `[outputs]`
    bias: Option<Tensor>,
}

#[derive(Debug, Clone)]
enum Matrix {
    Dense(Weight),
    /// On a CUDA device, by kernels of ours.
    Packed(Arc<PackedBlocks>),
    /// On a GPU, by Candle.
    Quantized(QMatMul),
}

impl Linear {
    pub(crate) fn dense(weight: Weight, bias: Option<Tensor>) -> Self {
        Self { matrix: Matrix::Dense(weight), bias }
    }

    pub(crate) fn quantized(weight: QTensor, bias: Option<Tensor>) -> Result<Self> {
        Ok(Self { matrix: Matrix::Quantized(QMatMul::from_arc(Arc::new(weight))?), bias })
    }

    pub(crate) fn packed(weight: PackedBlocks, bias: Option<Tensor>) -> Self {
        Self { matrix: Matrix::Packed(Arc::new(weight)), bias }
    }

    /// The same layer with a bias, `[outputs]`.
    pub(crate) fn with_bias(self, bias: Tensor) -> Self {
        Self { bias: Some(bias), ..self }
    }

    /// Weights in the matrix.
    pub(crate) fn elements(&self) -> usize {
        match &self.matrix {
            Matrix::Dense(weight) => weight.outputs() * weight.inputs(),
            Matrix::Packed(weight) => weight.shape().iter().product(),
            Matrix::Quantized(weight) => stored(weight).map_or(0, |w| w.shape().elem_count()),
        }
    }

    /// Columns of the matrix, where Candle multiplies by its blocks.
    pub(crate) fn inputs_of_blocks(&self) -> Option<usize> {
        match &self.matrix {
            Matrix::Dense(_) | Matrix::Packed(_) => None,
            Matrix::Quantized(weight) => stored(weight)?.shape().dims().last().copied(),
        }
    }

    /// Whether kernels of ours multiply by the matrix as it is packed.
    pub(crate) fn is_packed(&self) -> bool {
        matches!(self.matrix, Matrix::Packed(_))
    }

    /// Whether the matrix is quantised.
    pub(crate) fn is_quantised(&self) -> bool {
        match &self.matrix {
            Matrix::Dense(weight) => weight.is_quantised(),
            Matrix::Packed(_) | Matrix::Quantized(_) => true,
        }
    }

    /// Bytes of the matrix.
    pub(crate) fn bytes(&self) -> usize {
        match &self.matrix {
            Matrix::Dense(weight) => weight.bytes(),
            Matrix::Packed(weight) => weight.bytes(),
            Matrix::Quantized(weight) => stored(weight).map_or(0, QTensor::storage_size_in_bytes),
        }
    }

    /// `[tokens, inputs]` to `[tokens, outputs]`.
    pub(crate) fn apply(&self, x: &Tensor) -> Result<Tensor> {
        let [y] = Self::apply_all([self], x)?;
        Ok(y)
    }

    /// [`Self::apply`] of several layers that take the same input: it is quantised once, and threads synchronise once.
    pub(crate) fn apply_all<const N: usize>(layers: [&Self; N], x: &Tensor) -> Result<[Tensor; N]> {
        let dense = layers.map(|layer| match &layer.matrix {
            Matrix::Dense(weight) => Some(weight.affine(layer.bias.as_ref())),
            Matrix::Packed(_) | Matrix::Quantized(_) => None,
        });
        let outs: Vec<Tensor> = match dense.into_iter().collect::<Option<Vec<_>>>() {
            Some(weights) => Weight::apply_all(&weights, x)?,
            None => layers.iter().map(|layer| layer.apply_alone(x)).collect::<Result<_>>()?,
        };
        outs.try_into().map_err(|_| candle_core::Error::Msg("another number of results than of layers (bug)".into()))
    }

    /// As [`Weight::feed_forward`]: `None` where the layers must be applied separately.
    pub(crate) fn feed_forward(
        (gate, up, activation): (&Self, &Self, Gate),
        down: &Self,
        x: &Tensor,
    ) -> Result<Option<Tensor>> {
        if let [(Matrix::Dense(gate), None), (Matrix::Dense(up), None), (Matrix::Dense(matrix), bias)] =
            [gate, up, down].map(|layer| (&layer.matrix, &layer.bias))
        {
            return Weight::feed_forward((gate, up, activation), &matrix.affine(bias.as_ref()), x);
        }
        Ok(None)
    }

    fn apply_alone(&self, x: &Tensor) -> Result<Tensor> {
        match &self.matrix {
            Matrix::Dense(_) => self.apply(x),
            Matrix::Packed(weight) if x.dim(0)? > MOST_BY_PACKED_BLOCKS => {
                self.biased(x.matmul(&weight.widen(x.dtype())?.t()?)?)
            }
            Matrix::Packed(weight) => self.biased(weight.multiply(x)?),
            Matrix::Quantized(weight) if x.device().is_cuda() && x.dim(0)? > MOST_BY_BLOCKS => match stored(weight) {
                Some(blocks) => self.biased(widened(blocks, x)?),
                None => self.biased(weight.forward(x)?),
            },
            Matrix::Quantized(weight) => self.biased(weight.forward(x)?),
        }
    }

    fn biased(&self, y: Tensor) -> Result<Tensor> {
        match &self.bias {
            Some(bias) => y.broadcast_add(bias),
            None => Ok(y),
        }
    }
}

/// Most rows that are multiplied by packed blocks. With more rows, widening the matrix and multiplying floats takes less time
/// in all (benches/results/gpu.md).
pub(crate) const MOST_BY_PACKED_BLOCKS: usize = 32;

/// Most rows that Candle multiplies by blocks as they are stored. With more rows, widening the matrix and multiplying floats
/// takes less time in all (benches/results/gpu.md).
pub(crate) const MOST_BY_BLOCKS: usize = 512;

/// `x · wᵀ` with `w` widened to the type of `x`.
fn widened(blocks: &QTensor, x: &Tensor) -> Result<Tensor> {
    let w = match x.dtype() {
        DType::F16 | DType::BF16 => blocks.dequantize_f16(x.device())?.to_dtype(x.dtype())?,
        _ => blocks.dequantize(x.device())?.to_dtype(x.dtype())?,
    };
    x.matmul(&w.t()?)
}

/// The quantised tensor behind Candle's matmul, unless Candle has dequantised it.
fn stored(weight: &QMatMul) -> Option<&QTensor> {
    match weight {
        QMatMul::QTensor(tensor) => Some(tensor),
        QMatMul::Tensor(_) | QMatMul::TensorF16(_) => None,
    }
}

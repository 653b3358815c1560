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
    Packed {
        blocks: Arc<PackedBlocks>,
        /// The same matrix in the working type, where something else needs it.
        dense: Option<Weight>,
    },
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

    /// By `weight`. Where a gate is packed with what it is multiplied with, [`Self::apply`] of few rows gives their product, half
    /// as wide, and only [`Self::apply_widened`] gives both.
    pub(crate) fn packed(weight: PackedBlocks, bias: Option<Tensor>) -> Self {
        Self { matrix: Matrix::Packed { blocks: Arc::new(weight), dense: None }, bias }
    }

    /// By `blocks` for few rows and by `dense`, the same matrix, for many.
    pub(crate) fn packed_beside(blocks: PackedBlocks, dense: Weight) -> Self {
        Self { matrix: Matrix::Packed { blocks: Arc::new(blocks), dense: Some(dense) }, bias: None }
    }

    /// The same layer with a bias, `[outputs]`.
    pub(crate) fn with_bias(self, bias: Tensor) -> Self {
        Self { bias: Some(bias), ..self }
    }

    /// Weights in the matrix.
    pub(crate) fn elements(&self) -> usize {
        match &self.matrix {
            Matrix::Dense(weight) => weight.outputs() * weight.inputs(),
            Matrix::Packed { blocks, .. } => blocks.shape().iter().product(),
            Matrix::Quantized(weight) => stored(weight).map_or(0, |w| w.shape().elem_count()),
        }
    }

    /// Columns of the matrix, where Candle multiplies by its blocks.
    pub(crate) fn inputs_of_blocks(&self) -> Option<usize> {
        match &self.matrix {
            Matrix::Dense(_) | Matrix::Packed { .. } => None,
            Matrix::Quantized(weight) => stored(weight)?.shape().dims().last().copied(),
        }
    }

    /// Whether kernels of ours multiply by the matrix as it is packed.
    pub(crate) fn is_packed(&self) -> bool {
        matches!(self.matrix, Matrix::Packed { .. })
    }

    /// Whether the matrix is quantised.
    pub(crate) fn is_quantised(&self) -> bool {
        match &self.matrix {
            Matrix::Dense(weight) => weight.is_quantised(),
            Matrix::Packed { .. } | Matrix::Quantized(_) => true,
        }
    }

    /// Bytes of the matrix.
    pub(crate) fn bytes(&self) -> usize {
        match &self.matrix {
            Matrix::Dense(weight) => weight.bytes(),
            Matrix::Packed { blocks, .. } => blocks.bytes(),
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
            Matrix::Packed { .. } | Matrix::Quantized(_) => None,
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

    /// Whether `x` has so few rows that they are multiplied by packed blocks.
    pub(crate) fn is_for_few(&self, x: &Tensor) -> Result<bool> {
        Ok(self.is_packed() && x.dim(0)? <= MOST_BY_PACKED_BLOCKS)
    }

    /// [`Self::apply`] with the matrix as numbers in the order of its outputs, whatever the packing.
    pub(crate) fn apply_widened(&self, x: &Tensor) -> Result<Tensor> {
        match &self.matrix {
            Matrix::Packed { dense: Some(dense), .. } => self.biased(dense.apply(x)?),
            Matrix::Packed { blocks, dense: None } => self.biased(x.matmul(&blocks.widen(x.dtype())?.t()?)?),
            Matrix::Dense(_) | Matrix::Quantized(_) => self.apply(x),
        }
    }

    fn apply_alone(&self, x: &Tensor) -> Result<Tensor> {
        match &self.matrix {
            Matrix::Dense(_) => self.apply(x),
            Matrix::Packed { blocks, .. } if self.is_for_few(x)? => self.biased(blocks.multiply(x)?),
            Matrix::Packed { .. } => self.apply_widened(x),
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

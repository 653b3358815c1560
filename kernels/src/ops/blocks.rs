//! Products with quantised matrices on a CUDA device. On the CPU [`super::linear`] has them.
//!
//! Activations keep their type: only the sums are rounded, to f32 and at the end. Candle's products of blocks round
//! activations to int8.

use crate::launch::{self, Element, Packing, Part};
use candle_core::op::BackpropOp;
use candle_core::quantized::GgmlDType;
use candle_core::{CpuStorage, CudaStorage, CustomOp1, DType, Device, Layout, Result, Shape, Storage, Tensor, bail};
use std::borrow::Cow;

/// A quantised matrix on a CUDA device, its blocks as our kernels read them. Its outputs may be of several types.
#[derive(Debug, Clone)]
pub struct PackedBlocks {
    /// `u32`
    words: Tensor,
    parts: Vec<Part>,
    packing: Packing,
    inputs: usize,
}

impl PackedBlocks {
    /// Whether there are kernels for a matrix of such blocks with `inputs` inputs and for activations of `dtype`.
    #[must_use]
    pub fn fit(blocks: GgmlDType, inputs: usize, dtype: DType) -> bool {
        Element::of(dtype).is_some_and(|element| launch::blocks_fit(element, blocks, inputs))
    }

    /// Packs a matrix of `inputs` inputs and puts it on `device`; `row` gives an output's blocks as a GGUF file has them.
    ///
    /// # Errors
    /// No kernel [fits](Self::fit) a part, or the packing does not; the device refuses.
    pub fn pack<'a>(
        parts: Vec<Part>,
        packing: Packing,
        inputs: usize,
        row: impl Fn(usize) -> Cow<'a, [u8]> + Sync,
        device: &Device,
    ) -> Result<Self> {
        let Some(words) = launch::pack_blocks(&parts, packing, inputs, row) else {
            bail!("no kernel for a matrix of {parts:?} with {inputs} inputs")
        };
        let count = words.len();
        Ok(Self { words: Tensor::from_vec(words, count, device)?, parts, packing, inputs })
    }

    /// `[outputs, inputs]`
    #[must_use]
    pub fn shape(&self) -> [usize; 2] {
        [launch::outputs_of(&self.parts), self.inputs]
    }

    /// Bytes on the device.
    #[must_use]
    pub fn bytes(&self) -> usize {
        4 * self.words.elem_count()
    }

    /// `x · wᵀ` of f16 or bf16: `[.., inputs]` to `[.., outputs]`; to half as many where a gate is [packed](Packing::Gated) with
    /// what it is multiplied with: then the result is `silu(gate) * up`. A row's bits do not depend on the other rows.
    ///
    /// # Errors
    /// Shapes, types or devices that do not fit; the driver's.
    pub fn multiply(&self, x: &Tensor) -> Result<Tensor> {
        x.contiguous()?.apply_op1_no_bwd(&Product(self))
    }

    /// The matrix as numbers of f16 or bf16.
    ///
    /// # Errors
    /// Types that do not fit; the driver's.
    pub fn widen(&self, dtype: DType) -> Result<Tensor> {
        let storage = crate::cuda::widen_blocks(&self.words, (&self.parts, self.packing), self.inputs, dtype)?;
        Ok(Tensor::from_storage(Storage::Cuda(storage), &self.shape(), BackpropOp::none(), false))
    }
}

struct Product<'a>(&'a PackedBlocks);

impl CustomOp1 for Product<'_> {
    fn name(&self) -> &'static str {
        "product of blocks"
    }

    fn cpu_fwd(&self, _: &CpuStorage, _: &Layout) -> Result<(CpuStorage, Shape)> {
        bail!("product of blocks: expected tensors on a CUDA device, found them on the CPU")
    }

    fn cuda_fwd(&self, x: &CudaStorage, layout: &Layout) -> Result<(CudaStorage, Shape)> {
        let PackedBlocks { words, parts, packing, inputs } = self.0;
        let mut dims = layout.dims().to_vec();
        if dims.pop() != Some(*inputs) {
            bail!("product of blocks: x is {:?}, the matrix takes {inputs} inputs", layout.shape());
        }
        dims.push(packing.width(parts));
        Ok((crate::cuda::multiply_blocks((x, layout), words, (parts, *packing), *inputs)?, Shape::from(dims)))
    }
}

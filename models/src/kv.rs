//! KV pages as tensors. Who owns which page is the engine's business.

use crate::error::{ModelError, Result};
use crate::spec::DecoderSpec;
use candle_core::{DType, Device, Tensor};
use moot_kernels::PAGE;
use moot_kernels::cpu::zeroed;

/// Keys and values of every layer, in pages of [`PAGE`] positions.
#[derive(Debug)]
pub struct KvCache {
    /// Per layer `[pages, kv_heads, head_dim, PAGE]` and `[pages, kv_heads, PAGE, head_dim]`.
    layers: Vec<(Tensor, Tensor)>,
    pages: usize,
}

impl KvCache {
    /// Reserves `pages`. On the CPU the system backs a page with memory when it is first written.
    ///
    /// # Errors
    /// The device has not that much memory.
    pub fn new(spec: &DecoderSpec, pages: usize, dtype: DType, device: &Device) -> Result<Self> {
        let what = |source| ModelError::Tensor { what: format!("reserving {pages} KV pages"), source };
        let zeros = |shape: (usize, usize, usize, usize)| match (device, dtype) {
            (Device::Cpu, DType::F32) => Tensor::from_vec(zeroed(shape.0 * shape.1 * shape.2 * shape.3), shape, device),
            _ => Tensor::zeros(shape, dtype, device),
        };
        let layer = |_| {
            let k = zeros((pages, spec.kv_heads, spec.head_dim, PAGE))?;
            Ok((k, zeros((pages, spec.kv_heads, PAGE, spec.head_dim))?))
        };
        let layers = (0..spec.layers).map(layer).collect::<candle_core::Result<_>>().map_err(what)?;
        Ok(Self { layers, pages })
    }

    /// Bytes of one page over all layers.
    #[must_use]
    pub fn page_bytes(spec: &DecoderSpec, dtype: DType) -> usize {
        2 * spec.layers * spec.kv_heads * spec.head_dim * PAGE * dtype.size_in_bytes()
    }

    /// Pages reserved.
    #[must_use]
    pub fn pages(&self) -> usize {
        self.pages
    }

    pub(crate) fn layer(&self, layer: usize) -> (&Tensor, &Tensor) {
        (&self.layers[layer].0, &self.layers[layer].1)
    }
}

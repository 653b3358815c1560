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
    /// Reserves `pages`, each layer's on its own device. On the CPU the system backs a page with memory when it is first
    /// written.
    ///
    /// # Errors
    /// A device has not that much memory.
    pub fn new<'a>(
        spec: &DecoderSpec,
        pages: usize,
        dtype: DType,
        device_of: impl Fn(usize) -> &'a Device,
    ) -> Result<Self> {
        let what = |source| ModelError::Tensor {
            what: format!("reserving {pages} KV pages"),
            source: moot_kernels::without_backtrace(source),
        };
        if (0..spec.layers).any(|layer| device_of(layer).is_cpu()) {
            reservable(spec, pages, dtype).map_err(what)?;
        }
        let zeros = |shape: (usize, usize, usize, usize), device: &Device| match (device, dtype) {
            (Device::Cpu, DType::F16) => Tensor::from_vec(zeroed(shape.0 * shape.1 * shape.2 * shape.3), shape, device),
            _ => Tensor::zeros(shape, dtype, device),
        };
        let layer = |layer| {
            let device = device_of(layer);
            let k = zeros((pages, spec.kv_heads, spec.head_dim, PAGE), device)?;
            let v = zeros((pages, spec.kv_heads, PAGE, spec.head_dim), device)?;
            // A GPU computes behind this thread. Its errors are returned here and not by the first step.
            device.synchronize()?;
            Ok((k, v))
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

/// Candle's own allocation would end the process where the system refuses it. This asks first, for what one layer
/// needs, and gives it back.
fn reservable(spec: &DecoderSpec, pages: usize, dtype: DType) -> candle_core::Result<()> {
    let page = 2 * spec.kv_heads * spec.head_dim * PAGE * dtype.size_in_bytes();
    let slots = pages.checked_mul(PAGE).filter(|&slots| u32::try_from(slots).is_ok());
    let Some(bytes) = slots.and_then(|_| pages.checked_mul(page)) else {
        candle_core::bail!("{} pages are the most", u32::MAX as usize / PAGE)
    };
    let refused = |e| candle_core::Error::Msg(format!("{bytes} bytes a layer: {e}"));
    Vec::<u8>::new().try_reserve_exact(bytes).map_err(refused)
}

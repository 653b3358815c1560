//! Options for finding, loading and running models, and the devices of this build.

use crate::engine::EngineOptions;
use crate::llm::remote::{Notice, Patience};
use moot_models::{DType, Device, LoadOptions, kernels};

/// Options for finding, loading and running models.
#[derive(Debug, Clone)]
pub struct Options {
    /// Never use the network.
    pub offline: bool,
    /// Device and residency of the weights.
    pub load: LoadOptions,
    /// Bytes of KV pages per model; `None` takes a quarter of the free memory, or what the plan leaves.
    pub kv_memory: Option<usize>,
    /// Bytes for all models of this process together; `None` sets no limit for a single model, and the free memory for
    /// several.
    pub memory: Option<usize>,
    /// Engine options; their `kv_memory` is replaced by the field above.
    pub engine: EngineOptions,
    /// Timeouts and retries of remote models.
    pub patience: Patience,
    /// Receives notes on what servers do not support.
    pub notice: Notice,
}

/// The defaults of `moot ask`.
impl Default for Options {
    fn default() -> Self {
        let (device, dtype) = best_device().unwrap_or((Device::Cpu, DType::F32));
        let load = LoadOptions { device, dtype, ..LoadOptions::default() };
        let (engine, patience, notice) = (EngineOptions::on(&load.device), Patience::default(), Notice::default());
        Self { offline: false, load, kv_memory: None, memory: None, engine, patience, notice }
    }
}

/// The fastest device that this build can use, and the type of dense weights and activations on it.
///
/// # Errors
/// The build supports a GPU and none works: the reason.
pub fn best_device() -> candle_core::Result<(Device, DType)> {
    if kernels::CUDA {
        Ok((kernels::open_cuda(0)?, DType::BF16))
    } else if kernels::METAL {
        Ok((Device::new_metal(0).map_err(kernels::without_backtrace)?, DType::F32))
    } else {
        Ok((Device::Cpu, DType::F32))
    }
}

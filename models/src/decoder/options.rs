//! Where a model is loaded to, and in which types.

use crate::error::Result;
use candle_core::{DType, Device};
use moot_kernels::opened_again;
use serde::{Deserialize, Serialize};

/// How matrices are stored once loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Residency {
    /// In the file's own type. On the CPU by kernels of ours, which quantise activations to int8 where weights are
    /// quantised; on a GPU by kernels of ours or by Candle.
    #[default]
    AsStored,
    /// Widened to the working type at load: the numbers of the file with no other rounding, as a reference. Keys and
    /// values are of that type too.
    Dense,
}

/// The arithmetic of products with quantised weights on the CPU. The bits of each are the same on every processor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Recipe {
    /// Activations as int8.
    #[default]
    Int8,
    /// Prompt tokens as bf16, generated tokens as int8. Prompts are faster where the processor has AMX.
    Bf16,
}

/// Where a model is loaded to, and in which types.
#[derive(Debug, Clone)]
pub struct LoadOptions {
    /// The device of the first blocks, or of all of them.
    pub device: Device,
    /// Type of dense weights and activations; f32 on the CPU.
    pub dtype: DType,
    /// Whether quantised weights are widened.
    pub residency: Residency,
    /// More devices of the same kind: blocks are spread over `device` and these, in equal runs.
    pub more_devices: Vec<Device>,
    /// On a GPU: sums in an order that does not depend on the number of rows, so that a row has the same bits in any
    /// batch. Widens quantised weights. On the CPU it is always so.
    pub exact: bool,
    /// On the CPU: how quantised weights are multiplied.
    pub recipe: Recipe,
}

impl LoadOptions {
    /// The device of block `index` of `layers`.
    pub(crate) fn device_of(&self, index: usize, layers: usize) -> &Device {
        let devices = self.more_devices.len() + 1;
        match index * devices / layers.max(1) {
            0 => &self.device,
            number => &self.more_devices[(number - 1).min(self.more_devices.len() - 1)],
        }
    }

    /// The type of keys and values: that of activations, but f16 on the CPU unless weights are widened.
    #[must_use]
    pub fn kv_dtype(&self) -> DType {
        if self.device.is_cpu() && self.residency == Residency::AsStored { DType::F16 } else { self.dtype }
    }

    /// Whether prompt tokens are computed in bf16.
    pub(super) fn rounds_prompts(&self) -> bool {
        self.recipe == Recipe::Bf16 && self.device.is_cpu() && self.residency == Residency::AsStored
    }

    /// The same options on devices with streams of their own, which a model needs that computes beside another one.
    ///
    /// # Errors
    /// The driver's.
    pub fn on_own_streams(&self) -> Result<Self> {
        let device = opened_again(&self.device)?;
        let more_devices = self.more_devices.iter().map(opened_again).collect::<candle_core::Result<_>>()?;
        Ok(Self { device, more_devices, ..self.clone() })
    }

    pub(super) fn devices(&self) -> impl Iterator<Item = &Device> {
        [&self.device].into_iter().chain(&self.more_devices)
    }

    /// The device of the last block, the last norm and the output layer.
    pub(super) fn last_device(&self) -> &Device {
        self.more_devices.last().unwrap_or(&self.device)
    }
}

impl Default for LoadOptions {
    fn default() -> Self {
        let (residency, more_devices) = (Residency::default(), Vec::new());
        let recipe = Recipe::default();
        Self { device: Device::Cpu, dtype: DType::F32, residency, more_devices, exact: false, recipe }
    }
}

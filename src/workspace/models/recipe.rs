//! The arithmetic of quantised weights on the CPU, as chosen and as recorded.

use moot_models::kernels::{self, KernelGroup};
use moot_models::{Device, LoadOptions, Recipe, Residency};
use serde::{Deserialize, Serialize};

/// Which [`Recipe`] a model gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RecipeChoice {
    /// [`Recipe::Bf16`] where the processor has AMX, else [`Recipe::Int8`]; for recorded calls the recipe of the record.
    #[default]
    Auto,
    /// [`Recipe::Int8`]
    Int8,
    /// [`Recipe::Bf16`]
    Bf16,
}

impl RecipeChoice {
    /// Parses `auto`, `int8` or `bf16`.
    ///
    /// # Errors
    /// The expected value.
    pub fn parse(typed: &str) -> Result<Self, String> {
        match typed {
            "auto" => Ok(Self::Auto),
            "int8" => Ok(Self::Int8),
            "bf16" => Ok(Self::Bf16),
            _ => Err("expected auto, int8 or bf16".to_owned()),
        }
    }

    /// The recipe on this machine.
    #[must_use]
    pub fn here(self) -> Recipe {
        match self {
            Self::Auto if kernels::cpu::has_bf16_tiles() => Recipe::Bf16,
            Self::Bf16 => Recipe::Bf16,
            Self::Auto | Self::Int8 => Recipe::Int8,
        }
    }

    /// This choice for calls that were recorded by `recipe`, as [`recipe`] writes it: that of the record, where none is asked
    /// for.
    #[must_use]
    pub fn as_recorded(self, recipe: &str) -> Self {
        match self {
            Self::Auto if recipe.contains(PROMPTS_IN_BF16) => Self::Bf16,
            Self::Auto if recipe.starts_with(CPU) => Self::Int8,
            _ => self,
        }
    }
}

/// Version of the arithmetic on CUDA devices: 2 multiplies by quantised weights without rounding activations to int8.
const CUDA_RECIPE: u32 = 2;

const CPU: &str = "cpu ";
const PROMPTS_IN_BF16: &str = ", prompts in bf16 ";

/// The recipe of the arithmetic, as recorded. All instruction sets of the CPU give the same bits; other devices have no such
/// guarantee.
#[must_use]
pub fn recipe(load: &LoadOptions) -> String {
    let device = match &load.device {
        Device::Cpu if load.recipe == Recipe::Bf16 && load.residency == Residency::AsStored => {
            format!("{CPU}{}{PROMPTS_IN_BF16}{}", kernels::cpu::RECIPE, kernels::cpu::BF16_RECIPE)
        }
        Device::Cpu => format!("{CPU}{}", kernels::cpu::RECIPE),
        Device::Cuda(_) => format!("cuda {CUDA_RECIPE} {}", load.dtype.as_str()),
        Device::Metal(_) => format!("metal {}", load.dtype.as_str()),
    };
    let distrusted = |group| load.device.is_cuda() && !kernels::has_kernels(&load.device, group);
    let widened = load.residency == Residency::Dense || distrusted(KernelGroup::Blocks);
    let residency = if widened { ", widened" } else { "" };
    let sums = if load.exact && !load.device.is_cpu() { ", exact" } else { "" };
    let of_decoders = [KernelGroup::Rows, KernelGroup::Attention, KernelGroup::Sampling];
    let replaced = of_decoders.into_iter().filter(|&group| distrusted(group));
    let replaced: String = replaced.map(|group| format!(", no kernels for {}", group.name())).collect();
    format!("{device}{residency}{sums}{replaced}")
}

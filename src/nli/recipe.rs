//! What a result of a cross-encoder depends on besides its texts and its files.

use moot_models::encoder::{self, EncoderOptions, Precision};
use moot_models::kernels;

/// Inputs of a result other than the pair and the files.
pub(crate) fn recipe(model: &encoder::Classifier, load: &EncoderOptions) -> String {
    let numbers = match load.precision {
        Precision::Int16 => "int16",
        Precision::F32 => "f32",
    };
    let arithmetic =
        // On a GPU matrices are f32, whatever the precision.
        if load.device.is_cpu() { format!("cpu {} {numbers}", kernels::cpu::RECIPE) } else { "gpu".into() };
    let casing = if model.recased() { ", normaliser changed" } else { "" };
    format!("{arithmetic}, windows of {}{casing}", model.limit())
}

//! The footprint of a model that is not here: the tensors of its shape, in the types that a file of its kind has.

use super::Footprint;
use super::storage::{add, planned_type};
use crate::arch::names::{BlockTensor, Inner, Name};
use crate::arch::tensors::tensors;
use crate::source::Shape;
use crate::spec::{DecoderSpec, ExpertTensors, Layout, Output};
use std::collections::BTreeMap;

impl Footprint {
    /// Of a model of `shape`, which is the catalog's, whose file is of kind `quant`: an estimate, to some per cent.
    ///
    /// # Panics
    /// A shape that no model can have; those of the catalog are checked when it is read.
    #[must_use]
    pub fn planned(shape: &Shape, quant: &str) -> Self {
        let spec = shape.spec().expect("shapes are checked where a catalog is read (bug)");
        // As a GGUF has them.
        let layout = Layout { experts: ExpertTensors::Stacked, ..spec.layout };
        let spec = DecoderSpec { layout, ..spec };
        let mut types = BTreeMap::new();
        for (name, shape) in tensors(&spec) {
            let weights = shape.iter().map(|&n| n as u64).product();
            add(&mut types, type_of(quant, &spec, name, &shape), 1, weights);
        }
        Self::new(types, &spec)
    }
}

/// The type of tensor `name` in a file of kind `quant`.
fn type_of(quant: &str, spec: &DecoderSpec, name: Name, shape: &[usize]) -> &'static str {
    let (columns, of_experts) = (shape.last().copied().unwrap_or(1), shape.len() == 3);
    let quant = if of_experts && quant == "MXFP4_MOE" { "MXFP4" } else { quant };
    let important = match name {
        // The output layer is stored more finely.
        Name::Output => true,
        Name::Embedding | Name::LayerEmbedding => spec.output == Output::Tied,
        // `Q4_K_M` and its like store the values and `down` of every other layer more finely.
        Name::Block(layer, BlockTensor::Value | BlockTensor::Down | BlockTensor::Experts(Inner::Down)) => {
            quant.ends_with("_M") && layer % 2 == 1
        }
        _ => false,
    };
    match name {
        Name::Block(_, BlockTensor::Router | BlockTensor::BiasedRouter | BlockTensor::ScaledRouter) => "F32",
        Name::Block(_, BlockTensor::DeltaConvolution | BlockTensor::ShortConvolution) => "F32",
        Name::Block(_, BlockTensor::ExpertsBias(_)) => "F32",
        _ if shape.len() == 1 => "F32",
        _ => planned_type(quant, columns, important),
    }
}

//! Rotary position embedding: cosines and sines of the positions at hand.

use crate::spec::DecoderSpec;
use candle_core::{DType, Device, Result, Tensor};

/// Rotation speeds of a head's pairs. No table over the context: a step needs only its own positions.
#[derive(Debug, Clone)]
pub(crate) struct Rotary {
    /// `[head_dim / 2]`, radians a position
    speeds: Vec<f32>,
}

impl Rotary {
    pub(crate) fn new(spec: &DecoderSpec) -> Self {
        let speed = |i: usize| 1.0 / spec.rope_theta.powf(2.0 * i as f64 / spec.head_dim as f64) as f32;
        Self { speeds: (0..spec.head_dim / 2).map(speed).collect() }
    }

    /// `[tokens, head_dim / 2]` each. Angles are f32 products, as in the reference implementations.
    pub(crate) fn tables(&self, positions: &[u32], dtype: DType, device: &Device) -> Result<(Tensor, Tensor)> {
        let angles = positions.iter().flat_map(|&p| self.speeds.iter().map(move |speed| p as f32 * speed));
        let (cos, sin): (Vec<f32>, Vec<f32>) = angles.map(|a| (a.cos(), a.sin())).unzip();
        let shape = (positions.len(), self.speeds.len());
        let table = |values| Tensor::from_vec(values, shape, device)?.to_dtype(dtype);
        Ok((table(cos)?, table(sin)?))
    }
}

//! The rotations of a decoder's layers: most have one, some models two, or layers that are not rotated.

use crate::layers::Rotary;
use crate::spec::{DecoderSpec, Rotation};
use candle_core::{DType, Device, Result, Tensor};

/// The rotations that some layer has.
#[derive(Debug)]
pub(super) struct Rotations(Vec<(Rotation, Rotary)>);

/// Cosines and sines of a step's positions, `[tokens, head_dim / 2]` each, by rotation.
#[derive(Debug, Clone)]
pub(super) struct Angles(Vec<(Rotation, (Tensor, Tensor))>);

impl Rotations {
    pub(super) fn new(spec: &DecoderSpec) -> Self {
        let all = [
            (Rotation::Rope, Some(&spec.rope)),
            (Rotation::WindowRope, spec.window_rope.as_ref()),
            (Rotation::None, None),
        ];
        let used = |rotation: Rotation| (0..spec.layers).any(|layer| spec.kind(layer).rotation == rotation);
        let rotary = |(rotation, rope)| (rotation, Rotary::new(rope, spec.head_dim));
        Self(all.into_iter().filter(|(rotation, _)| used(*rotation)).map(rotary).collect())
    }

    /// Number of rotations.
    pub(super) fn count(&self) -> usize {
        self.0.len()
    }

    /// Those of `positions`.
    pub(super) fn angles(&self, positions: &[u32], dtype: DType, device: &Device) -> Result<Angles> {
        let tables =
            |(rotation, rotary): &(Rotation, Rotary)| Ok((*rotation, rotary.tables(positions, dtype, device)?));
        self.0.iter().map(tables).collect::<Result<_>>().map(Angles)
    }

    /// Those in `tables`, `[rotations, 2, tokens, head_dim / 2]`.
    pub(super) fn angles_in(&self, tables: &Tensor) -> Result<Angles> {
        let of = |(at, (rotation, _)): (usize, &(Rotation, Rotary))| {
            let tables = tables.get(at)?;
            Ok((*rotation, (tables.get(0)?, tables.get(1)?)))
        };
        self.0.iter().enumerate().map(of).collect::<Result<_>>().map(Angles)
    }
}

impl Angles {
    /// Cosines and sines of a layer with this rotation.
    pub(super) fn of(&self, rotation: Rotation) -> Result<(&Tensor, &Tensor)> {
        match self.0.iter().find(|(of, _)| *of == rotation) {
            Some((_, (cos, sin))) => Ok((cos, sin)),
            None => candle_core::bail!("no angles for {rotation:?} (bug)"),
        }
    }

    /// All numbers, in the order of [`Rotations::angles_in`].
    pub(super) fn numbers(&self) -> Result<Vec<f32>> {
        let mut numbers = Vec::new();
        for (_, (cos, sin)) in &self.0 {
            numbers.extend(cos.flatten_all()?.to_vec1::<f32>()?);
            numbers.extend(sin.flatten_all()?.to_vec1::<f32>()?);
        }
        Ok(numbers)
    }
}

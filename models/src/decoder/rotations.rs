//! The rotations of a decoder's layers: most have one, some models two, or layers that are not rotated; and the factors
//! of queries by their positions.

use crate::layers::Rotary;
use crate::spec::{DecoderSpec, QueryScaling, Rotation};
use candle_core::{DType, Device, Result, Tensor};
use moot_kernels::math::ln;

/// The rotations that some layer has.
#[derive(Debug)]
pub(super) struct Rotations {
    by_kind: Vec<(Rotation, Rotary)>,
    query_scaling: Option<QueryScaling>,
}

/// Cosines and sines of a step's positions, `[tokens, head_dim / 2]` each, by rotation; heads may differ in width between
/// rotations.
#[derive(Debug, Clone)]
pub(super) struct Angles {
    by_kind: Vec<(Rotation, (Tensor, Tensor))>,
    /// The factors of queries, `[tokens, 1, 1]`; `None` where all are 1.
    pub(super) query_factors: Option<Tensor>,
}

impl Rotations {
    pub(super) fn new(spec: &DecoderSpec) -> Self {
        let all = [
            (Rotation::Rope, Some(&spec.rope)),
            (Rotation::WindowRope, spec.window_rope.as_ref()),
            (Rotation::None, None),
        ];
        let used = |rotation: Rotation| (0..spec.layers).any(|layer| spec.kind(layer).rotation == rotation);
        let window_dim = spec.window_heads.map_or(spec.head_dim, |heads| heads.head_dim);
        let head_dim = |rotation| if rotation == Rotation::WindowRope { window_dim } else { spec.head_dim };
        let rotary = |(rotation, rope)| (rotation, Rotary::new(rope, head_dim(rotation)));
        let by_kind = all.into_iter().filter(|(rotation, _)| used(*rotation)).map(rotary).collect();
        Self { by_kind, query_scaling: spec.query_scaling }
    }

    /// Number of rotations.
    pub(super) fn count(&self) -> usize {
        self.by_kind.len()
    }

    /// Those of `positions`.
    pub(super) fn angles(&self, positions: &[u32], dtype: DType, device: &Device) -> Result<Angles> {
        let tables =
            |(rotation, rotary): &(Rotation, Rotary)| Ok((*rotation, rotary.tables(positions, dtype, device)?));
        let by_kind = self.by_kind.iter().map(tables).collect::<Result<_>>()?;
        Ok(Angles { by_kind, query_factors: self.query_factors(positions, dtype, device)? })
    }

    fn query_factors(&self, positions: &[u32], dtype: DType, device: &Device) -> Result<Option<Tensor>> {
        let Some(QueryScaling { beta, original }) = self.query_scaling else { return Ok(None) };
        let factor = |position: &u32| (1.0 + beta * ln(1.0 + (f64::from(*position) / original).floor())) as f32;
        let factors: Vec<f32> = positions.iter().map(factor).collect();
        if factors.iter().all(|&factor| factor == 1.0) {
            return Ok(None);
        }
        Tensor::from_vec(factors, (positions.len(), 1, 1), device)?.to_dtype(dtype).map(Some)
    }

    /// Those in `tables`, `[rotations, 2, tokens, head_dim / 2]`; queries have no factors.
    pub(super) fn angles_in(&self, tables: &Tensor) -> Result<Angles> {
        let of = |(at, (rotation, _)): (usize, &(Rotation, Rotary))| {
            let tables = tables.get(at)?;
            Ok((*rotation, (tables.get(0)?, tables.get(1)?)))
        };
        let by_kind = self.by_kind.iter().enumerate().map(of).collect::<Result<_>>()?;
        Ok(Angles { by_kind, query_factors: None })
    }
}

impl Angles {
    /// Cosines and sines of a layer with this rotation.
    pub(super) fn of(&self, rotation: Rotation) -> Result<(&Tensor, &Tensor)> {
        match self.by_kind.iter().find(|(of, _)| *of == rotation) {
            Some((_, (cos, sin))) => Ok((cos, sin)),
            None => candle_core::bail!("no angles for {rotation:?} (bug)"),
        }
    }

    /// All numbers, in the order of [`Rotations::angles_in`].
    pub(super) fn numbers(&self) -> Result<Vec<f32>> {
        let mut numbers = Vec::new();
        for (_, (cos, sin)) in &self.by_kind {
            numbers.extend(cos.flatten_all()?.to_vec1::<f32>()?);
            numbers.extend(sin.flatten_all()?.to_vec1::<f32>()?);
        }
        Ok(numbers)
    }
}

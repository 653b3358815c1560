//! Rotary position embedding: cosines and sines of the positions at hand.

use crate::spec::{DecoderSpec, Rope, RopeScaling};
use candle_core::{DType, Device, Result, Tensor};
use rayon::prelude::*;

/// Rotation speeds of a head's pairs. No table over the context: a step needs only its own positions.
#[derive(Debug, Clone)]
pub(crate) struct Rotary {
    /// `[head_dim / 2]`, radians a position; 0 for a pair that is not rotated.
    speeds: Vec<f32>,
    /// Pairs that are rotated, the first ones.
    turned: usize,
    /// Multiplies the cosines and sines of the pairs that are rotated.
    magnitude: f32,
}

impl Rotary {
    pub(crate) fn new(spec: &DecoderSpec) -> Self {
        let mut speeds = speeds(&spec.rope);
        let turned = speeds.len();
        speeds.resize(spec.head_dim / 2, 0.0);
        let magnitude = match spec.rope.scaling {
            RopeScaling::Divisors { magnitude, .. } | RopeScaling::Yarn { magnitude, .. } => magnitude,
            _ => 1.0,
        };
        Self { speeds, turned, magnitude }
    }

    /// `[tokens, head_dim / 2]` each. Angles are f32 products, as in the reference implementations.
    pub(crate) fn tables(&self, positions: &[u32], dtype: DType, device: &Device) -> Result<(Tensor, Tensor)> {
        let turn = |(pair, angle): (usize, f32)| {
            let size = if pair < self.turned { self.magnitude } else { 1.0 };
            (angle.cos() * size, angle.sin() * size)
        };
        let half = self.speeds.len();
        // Both in one piece: a GPU gets them in one copy.
        let mut both = vec![0.0; 2 * positions.len() * half];
        let (cos, sin) = both.split_at_mut(positions.len() * half);
        let row = |((cos, sin), position): ((&mut [f32], &mut [f32]), &u32)| {
            let angles = self.speeds.iter().map(|speed| *position as f32 * speed);
            for ((cos, sin), angle) in cos.iter_mut().zip(sin).zip(angles.enumerate()) {
                (*cos, *sin) = turn(angle);
            }
        };
        // A GPU waits for the thousands of a prompt's; the few of decoding are not worth several threads.
        let rows = cos.par_chunks_mut(half.max(1)).zip(sin.par_chunks_mut(half.max(1))).zip(positions);
        rows.with_min_len(64).for_each(row);
        let both = Tensor::from_vec(both, (2, positions.len(), half), device)?.to_dtype(dtype)?;
        Ok((both.get(0)?, both.get(1)?))
    }
}

/// `[dims / 2]`, scaled.
fn speeds(rope: &Rope) -> Vec<f32> {
    let plain = |pair: usize| 1.0 / rope.theta.powf(2.0 * pair as f64 / rope.dims as f64) as f32;
    let scaled = |pair: usize| match &rope.scaling {
        RopeScaling::None => plain(pair),
        RopeScaling::Linear { factor } => plain(pair) / *factor as f32,
        RopeScaling::Llama3 { factor, low, high, original } => {
            let (factor, low, high, original) = (*factor as f32, *low as f32, *high as f32, *original as f32);
            let speed = plain(pair);
            let turns = original * speed / std::f32::consts::TAU;
            // 0 where fewer than `low` turns were seen in the first training, 1 where more than `high` were.
            let kept = ((turns - low) / (high - low)).clamp(0.0, 1.0);
            (1.0 - kept) * speed / factor + kept * speed
        }
        RopeScaling::Yarn { factor, original, fast, slow, .. } => {
            // The pair that turns `turns` times in `original` positions; the whole numbers around are the formula's own.
            let place = |turns: f64| {
                rope.dims as f64 * (original / (turns * std::f64::consts::TAU)).ln() / (2.0 * rope.theta.ln())
            };
            let (low, high) = (place(*fast).floor().max(0.0), place(*slow).ceil().min(rope.dims as f64 - 1.0));
            let divided = ((pair as f64 - low) / (high - low).max(0.001)).clamp(0.0, 1.0) as f32;
            plain(pair) / *factor as f32 * divided + plain(pair) * (1.0 - divided)
        }
        RopeScaling::Divisors { divisors, .. } => plain(pair) / divisors[pair],
    };
    (0..rope.dims / 2).map(scaled).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scaled(scaling: RopeScaling) -> Vec<f32> {
        speeds(&Rope { theta: 10_000.0, dims: 16, scaling })
    }

    #[test]
    fn each_scaling_divides_what_it_says() {
        let plain = scaled(RopeScaling::None);
        assert!((plain[4] - 0.01).abs() < 1e-8);
        let linear = scaled(RopeScaling::Linear { factor: 4.0 });
        let divided = scaled(RopeScaling::Divisors { divisors: vec![4.0; 8], magnitude: 2.0 });
        assert_eq!(linear, divided);
        assert!(plain.iter().zip(&linear).all(|(plain, scaled)| plain / 4.0 == *scaled));
        let llama3 = RopeScaling::Llama3 { factor: 8.0, low: 1.0, high: 4.0, original: 256.0 };
        let ratios: Vec<f32> = plain.iter().zip(scaled(llama3)).map(|(plain, scaled)| plain / scaled).collect();
        // Wavelengths 6.3, 19.9, 62.8, 199, 628 ..: below 64 they are kept, above 256 divided.
        assert_eq!(ratios[..2], [1.0, 1.0]);
        assert!(ratios[3] > 1.0 && ratios[3] < 8.0);
        assert!(ratios[4..].iter().all(|&ratio| (ratio - 8.0).abs() < 1e-5), "{ratios:?}");
    }
}

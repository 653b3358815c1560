//! Rotary position embedding: cosines and sines of a batch's positions.

use crate::spec::{Rope, RopeScaling};
use candle_core::{DType, Device, Result, Tensor};
use moot_kernels::math::{ln, powf};
use moot_kernels::ops::rope::tables;

/// Rotation speeds of a head's pairs. There is no table over the context: a step needs only its own positions.
#[derive(Debug, Clone)]
pub(crate) struct Rotary {
    /// `[head_dim / 2]`, radians a position; 0 for a pair that is not rotated.
    speeds: Vec<f32>,
    /// `[head_dim / 2]`, factors of the cosines and sines; 1 for a pair that is not rotated.
    magnitudes: Vec<f32>,
}

impl Rotary {
    /// By `rope`; without one, nothing is rotated.
    pub(crate) fn new(rope: Option<&Rope>, head_dim: usize) -> Self {
        let mut speeds = rope.map_or_else(Vec::new, speeds);
        let magnitude = match rope.map(|rope| &rope.scaling) {
            Some(RopeScaling::Divisors { magnitude, .. } | RopeScaling::Yarn { magnitude, .. }) => *magnitude,
            _ => 1.0,
        };
        let mut magnitudes = vec![magnitude; speeds.len()];
        speeds.resize(head_dim / 2, 0.0);
        magnitudes.resize(head_dim / 2, 1.0);
        Self { speeds, magnitudes }
    }

    /// Cosines and sines, `[tokens, head_dim / 2]` each.
    pub(crate) fn tables(&self, positions: &[u32], dtype: DType, device: &Device) -> Result<(Tensor, Tensor)> {
        // In one tensor: a GPU gets both in one copy.
        let both = tables(positions, &self.speeds, &self.magnitudes)?;
        let both = Tensor::from_vec(both, (2, positions.len(), self.speeds.len()), device)?.to_dtype(dtype)?;
        Ok((both.get(0)?, both.get(1)?))
    }
}

/// `[dims / 2]`, scaled.
fn speeds(rope: &Rope) -> Vec<f32> {
    let plain = |pair: usize| 1.0 / powf(rope.theta, 2.0 * pair as f64 / rope.dims as f64) as f32;
    let scaled = |pair: usize| match &rope.scaling {
        RopeScaling::None => plain(pair),
        RopeScaling::Linear { factor } => plain(pair) / *factor as f32,
        RopeScaling::Llama3 { factor, low, high, original } => {
            let (factor, low, high, original) = (*factor as f32, *low as f32, *high as f32, *original as f32);
            let speed = plain(pair);
            let turns = original * speed / std::f32::consts::TAU;
            // 0 where the first training saw fewer than `low` turns, 1 where it saw more than `high`.
            let kept = ((turns - low) / (high - low)).clamp(0.0, 1.0);
            (1.0 - kept) * speed / factor + kept * speed
        }
        RopeScaling::Yarn { factor, original, fast, slow, whole_pairs, .. } => {
            // The pair that makes `turns` turns in `original` positions. The paper's code rounds it down and up to whole
            // pairs, gpt-oss does not.
            let pair_of =
                |turns: f64| rope.dims as f64 * ln(original / (turns * std::f64::consts::TAU)) / (2.0 * ln(rope.theta));
            let (low, high) = match whole_pairs {
                true => (pair_of(*fast).floor(), pair_of(*slow).ceil()),
                false => (pair_of(*fast), pair_of(*slow)),
            };
            let (low, high) = (low.max(0.0), high.min(rope.dims as f64 - 1.0));
            let divided = ((pair as f64 - low) / (high - low).max(0.001)).clamp(0.0, 1.0) as f32;
            plain(pair) / *factor as f32 * divided + plain(pair) * (1.0 - divided)
        }
        RopeScaling::FirstPairs { pairs } => {
            if pair < *pairs {
                plain(pair)
            } else {
                0.0
            }
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
    fn each_scaling_divides_its_frequencies() {
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

    #[test]
    fn speeds_have_the_bits_of_the_recipe() {
        let scalings = [
            RopeScaling::None,
            RopeScaling::Llama3 { factor: 8.0, low: 1.0, high: 4.0, original: 8192.0 },
            RopeScaling::Yarn {
                factor: 4.0,
                original: 32_768.0,
                fast: 32.0,
                slow: 1.0,
                magnitude: 1.0,
                whole_pairs: true,
            },
        ];
        let speeds = |scaling: RopeScaling| {
            [1e4, 5e5, 1e6].map(|theta| speeds(&Rope { theta, dims: 128, scaling: scaling.clone() }))
        };
        let bits = scalings.into_iter().flat_map(|scaling| speeds(scaling).concat()).map(f32::to_bits);
        // FNV-1a.
        let digest = bits
            .flat_map(u32::to_le_bytes)
            .fold(0xcbf2_9ce4_8422_2325_u64, |digest, byte| (digest ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
        assert_eq!(
            format!("{digest:#x}"),
            "0xd529cfb89596ab39",
            "other bits than those of recipe 5: raise kernels::cpu::RECIPE"
        );
    }
}

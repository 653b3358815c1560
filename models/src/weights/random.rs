//! Random weights in the shape of a spec, made row by row when they are read, so that the
//! decoder's copy is the only one in memory.
//!
//! A matrix has a standard deviation of `1 / sqrt(inputs)`, so that activations keep their size from layer to layer.
//! Blocks of a quantised type are random bits under a scale that gives this deviation; nothing is quantised.

use super::blocks;
use crate::arch::names::Naming;
use crate::arch::tensors::tensors;
use crate::spec::{DecoderSpec, ExpertTensors, Layout, NormWeights};
use candle_core::quantized::GgmlDType;
use half::{bf16, f16};
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Parameters of random weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RandomOptions {
    /// The same seed, spec and storage give the same weights.
    pub seed: u64,
    /// The type that matrices are stored in, as far as their width allows: [`storage_of`].
    pub storage: GgmlDType,
}

/// The type of a matrix of `inputs` columns in a file that is mostly `storage`: where rows are no whole number of its
/// blocks, the next larger type whose blocks fit, as llama.cpp's quantiser chooses.
#[must_use]
pub fn storage_of(storage: GgmlDType, inputs: usize) -> GgmlDType {
    if inputs.is_multiple_of(storage.block_size()) {
        return storage;
    }
    let smaller_blocks = match storage {
        GgmlDType::Q2K | GgmlDType::Q3K => GgmlDType::Q4_0,
        GgmlDType::Q4K => GgmlDType::Q5_0,
        GgmlDType::Q5K => GgmlDType::Q5_1,
        _ => GgmlDType::Q8_0,
    };
    if inputs.is_multiple_of(smaller_blocks.block_size()) { smaller_blocks } else { GgmlDType::F16 }
}

/// Random weights.
#[derive(Debug)]
pub struct Random {
    path: PathBuf,
    spec: Box<DecoderSpec>,
    tensors: BTreeMap<String, (Vec<usize>, RandomTensor)>,
}

impl Random {
    /// Weights for `spec`.
    #[must_use]
    pub fn new(spec: &DecoderSpec, options: RandomOptions) -> Self {
        // As a GGUF has them, whatever file the spec is of.
        let layout = Layout { norm_weights: NormWeights::Whole, experts: ExpertTensors::Stacked, ..spec.layout };
        let spec = &DecoderSpec { layout, ..spec.clone() };
        let tensors = tensors(spec).enumerate().map(|(index, (name, shape))| {
            let name = Naming::Gguf.name(name);
            let inputs = shape.last().copied().unwrap_or(1);
            let (kind, dtype) = match shape.len() {
                _ if name.ends_with(".bias") => (Kind::Bias, GgmlDType::F32),
                1 if name.ends_with(".ssm_a") => (Kind::Decay, GgmlDType::F32),
                1 => (Kind::Norm, GgmlDType::F32),
                _ => (Kind::Matrix, storage_of(options.storage, inputs)),
            };
            let seed = mix(options.seed ^ mix(index as u64));
            (name, (shape, RandomTensor { seed, kind, dtype, inputs }))
        });
        let path = PathBuf::from(format!("random {} weights", spec.architecture));
        Self { path, spec: Box::new(spec.clone()), tensors: tensors.collect() }
    }

    /// Their name in messages.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The shape they have.
    #[must_use]
    pub fn spec(&self) -> &DecoderSpec {
        &self.spec
    }

    pub(super) fn tensor(&self, name: &str) -> Option<(&[usize], RandomTensor)> {
        self.tensors.get(name).map(|(shape, tensor)| (&shape[..], *tensor))
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.tensors.keys().map(String::as_str)
    }
}

#[derive(Debug, Clone, Copy)]
enum Kind {
    /// Deviation `1 / sqrt(inputs)`, mean 0.
    Matrix,
    /// About 1.
    Norm,
    /// Deviation 0.1, mean 0.
    Bias,
    /// About -1: recurrent states decay.
    Decay,
}

/// One tensor, yet to be made.
#[derive(Debug, Clone, Copy)]
pub(super) struct RandomTensor {
    seed: u64,
    kind: Kind,
    pub(super) dtype: GgmlDType,
    /// Width of a row; a vector is one row.
    inputs: usize,
}

impl RandomTensor {
    /// The stored bytes of `rows`.
    pub(super) fn rows(&self, rows: Range<usize>) -> Vec<u8> {
        let width = blocks::bytes_of(self.inputs, self.dtype);
        let mut bytes = vec![0; width * rows.len()];
        if rows.len() == 1 {
            self.fill(rows.start, &mut bytes);
        } else {
            bytes.par_chunks_mut(width.max(1)).zip(rows.into_par_iter()).for_each(|(bytes, row)| self.fill(row, bytes));
        }
        bytes
    }

    fn fill(&self, row: usize, bytes: &mut [u8]) {
        // By row, so that any thread can make any row, whatever was made before.
        let mut bits = Bits(mix(self.seed ^ mix(row as u64 + 1)));
        let (mean, deviation) = match self.kind {
            Kind::Matrix => (0.0, 1.0 / (self.inputs as f32).sqrt()),
            Kind::Norm => (1.0, 0.1),
            Kind::Bias => (0.0, 0.1),
            Kind::Decay => (-1.0, 0.1),
        };
        match self.dtype {
            GgmlDType::F32 => {
                bytes.as_chunks_mut().0.iter_mut().for_each(|to| *to = bits.number(mean, deviation).to_le_bytes());
            }
            GgmlDType::F16 => {
                let half = |x| f16::from_f32(x).to_le_bytes();
                bytes.as_chunks_mut().0.iter_mut().for_each(|to| *to = half(bits.number(mean, deviation)));
            }
            GgmlDType::BF16 => {
                let half = |x| bf16::from_f32(x).to_le_bytes();
                bytes.as_chunks_mut().0.iter_mut().for_each(|to| *to = half(bits.number(mean, deviation)));
            }
            dtype => {
                bits.fill(bytes);
                set_scales(bytes, dtype, deviation);
            }
        }
    }
}

/// Gives blocks of random bits the scale under which their numbers have `deviation` and a mean near 0.
///
/// For every type: the deviation of its numbers at a scale of 1 when all its bits are drawn evenly, and the minimum
/// (in scales) that brings the mean to 0. `Q4_K`: numbers are `d * s * q - dmin * m` with `s`, `m` of 6 bits and `q` of
/// 4, all even; `E[s q] = 31.5 * 7.5`, so `dmin = 7.5 d`, and the variance is `E[s²] E[q²] - E[s q]² + 7.5² Var[m]`.
fn set_scales(bytes: &mut [u8], dtype: GgmlDType, deviation: f32) {
    let (unit, minimum) = match dtype {
        GgmlDType::Q4_0 => (4.61, 0.0),
        GgmlDType::Q4_1 => (4.61, -7.5),
        GgmlDType::Q5_0 => (9.23, 0.0),
        GgmlDType::Q5_1 => (9.23, -15.5),
        GgmlDType::Q8_0 => (73.9, 0.0),
        GgmlDType::Q2K => (13.9, 1.5),
        GgmlDType::Q3K => (43.3, 0.0),
        GgmlDType::Q4K => (258.0, 7.5),
        GgmlDType::Q5K => (527.0, 15.5),
        _ => (1366.0, 0.0), // Q6_K
    };
    let scale = deviation / unit;
    for block in bytes.chunks_exact_mut(dtype.type_size()) {
        for (at, number) in blocks::scales(dtype).iter().zip([scale, scale * minimum]) {
            block[*at..at + 2].copy_from_slice(&f16::from_f32(number).to_le_bytes());
        }
    }
}

/// `SplitMix64`: <https://prng.di.unimi.it/splitmix64.c>.
struct Bits(u64);

impl Bits {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    fn fill(&mut self, bytes: &mut [u8]) {
        for chunk in bytes.chunks_mut(8) {
            chunk.copy_from_slice(&self.next().to_le_bytes()[..chunk.len()]);
        }
    }

    /// Evenly drawn.
    fn number(&mut self, mean: f32, deviation: f32) -> f32 {
        let unit = (self.next() >> 40) as f32 / (1 << 23) as f32 - 1.0; // [-1, 1)
        mean + unit * deviation * 3f32.sqrt()
    }
}

fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

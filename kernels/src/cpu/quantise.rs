//! Activations as bytes: blocks of 32 with one scale each, shared by every weight that a layer's input meets.

use super::lanes::Lanes;

/// Inputs that share a scale.
pub(crate) const BLOCK: usize = 32;

/// Largest byte: symmetric, so that a product with 128 still fits sixteen bits twice.
const LARGEST: f32 = 127.0;

/// `[rows, inputs]` in bytes.
#[derive(Debug, Default)]
pub(crate) struct Quantised {
    pub inputs: usize,
    /// `[rows, inputs]`, from -127 to 127
    pub bytes: Vec<i8>,
    /// `[rows, inputs / 32]`
    pub scales: Vec<f32>,
    /// `[rows, inputs / 16]`: sums of sixteen bytes
    pub sums: Vec<i32>,
}

impl Quantised {
    pub(crate) fn new(rows: usize, inputs: usize) -> Self {
        Self {
            inputs,
            bytes: vec![0; rows * inputs],
            scales: vec![0.0; rows * inputs / BLOCK],
            sums: vec![0; rows * inputs / 16],
        }
    }
}

/// One row: `bytes = round(x / scale)` with `scale = max |x| / 127` of a block. A value that is no finite number makes
/// its block's scale NaN, and so every output of the row.
///
/// # Safety
/// The instructions of `L` exist; the slices have the lengths that [`Quantised`] says for one row.
#[inline(always)]
pub(super) unsafe fn run<L: Lanes>(x: &[f32], bytes: &mut [i8], scales: &mut [f32], sums: &mut [i32]) {
    // Below this the reciprocal overflows; such a block is all zeros for every purpose.
    const SMALLEST: f32 = 1e-30;
    for (block, x) in x.as_chunks::<BLOCK>().0.iter().enumerate() {
        let bytes = &mut bytes[block * BLOCK..][..BLOCK];
        // SAFETY: instructions by the caller; both halves of the block lie within the slices.
        unsafe {
            let (a, b) = (L::load(x.as_ptr()), L::load(x.as_ptr().add(16)));
            let zero = L::splat(0.0);
            let mut largest = [0.0_f32; 16];
            a.max(zero.sub(a)).max(b.max(zero.sub(b))).store(largest.as_mut_ptr());
            // x * 0 is 0, or NaN for what is no finite number.
            let mut finite = [0.0_f32; 16];
            a.fma(zero, b.mul(zero)).store(finite.as_mut_ptr());
            let largest = largest.iter().fold(0.0_f32, |m, &x| if x > m { x } else { m });
            let finite = finite.iter().fold(0.0_f32, |s, &x| s + x);
            let reciprocal = if largest > SMALLEST { LARGEST / largest } else { 0.0 };
            let scale = if largest > SMALLEST { largest / LARGEST } else { 0.0 };
            scales[block] = scale + finite;
            let bound = |v: L| v.mul(L::splat(reciprocal)).min(L::splat(LARGEST)).max(L::splat(-LARGEST));
            bound(a).store_rounded(bytes.as_mut_ptr());
            bound(b).store_rounded(bytes.as_mut_ptr().add(16));
        }
        for (sum, sixteen) in sums[2 * block..].iter_mut().zip(bytes.as_chunks::<16>().0) {
            *sum = sixteen.iter().map(|&byte| i32::from(byte)).sum();
        }
    }
}

//! Activations quantised to int8: blocks of 32 with one scale each, made once for all weights that take the same input.

use super::lanes::{Lanes, scaled_within};

/// Inputs that share a scale.
pub(crate) const BLOCK: usize = 32;

/// Largest magnitude of a value: symmetric, so that the sum of two products with 128 fits sixteen bits.
pub(super) const LARGEST: i32 = 127;

/// Inputs that lie together for all rows: a matmul works on one chunk at a time and reads it as one stream.
pub(crate) const CHUNK: usize = 256;

/// Rows of zeros behind the last: a kernel with tiles of sixteen rows reads a whole tile from any row on.
const SPARE: usize = 15;

/// `[rows, inputs]` as int8, chunk by chunk: `[inputs / CHUNK][rows][CHUNK]`, then [`SPARE`] rows of a chunk. The last
/// chunk takes as much room as the others, so that the distance between rows is a constant.
#[derive(Debug, Default)]
pub(crate) struct Int8 {
    pub rows: usize,
    pub inputs: usize,
    /// From -127 to 127.
    pub values: Vec<i8>,
    /// In the same order, one for [`BLOCK`] values.
    pub scales: Vec<f32>,
    /// In the same order, one for sixteen values.
    pub sums: Vec<Sums>,
    /// In the same order, one for [`BLOCK`] values: their scale times their sum, the factor of a weight's min.
    pub min_factors: Vec<f32>,
}

/// Sums of sixteen values.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Sums {
    pub all: i32,
    /// Two int16: the sum of the first two of every four values, and of the others.
    pub pairs: i32,
}

impl Sums {
    /// Every byte counts 128 more than its value, so that bytes are unsigned.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    fn of(values: [i8; 16]) -> Self {
        use std::arch::x86_64::*;
        // SAFETY: SSE2 is part of x86-64, and the arrays are sixteen bytes.
        unsafe {
            let bytes = _mm_xor_si128(_mm_loadu_si128(values.as_ptr().cast()), _mm_set1_epi8(i8::MIN));
            let zero = _mm_setzero_si128();
            // Sums of eight bytes each.
            let first = _mm_sad_epu8(_mm_and_si128(bytes, _mm_set1_epi32(0xffff)), zero);
            let all = _mm_sad_epu8(bytes, zero);
            let sums = _mm_add_epi64(_mm_unpacklo_epi64(first, all), _mm_unpackhi_epi64(first, all));
            let first = _mm_cvtsi128_si32(sums) - 8 * 128;
            let all = _mm_cvtsi128_si32(_mm_unpackhi_epi64(sums, sums)) - 16 * 128;
            Self { all, pairs: (all - first) << 16 | first & 0xffff }
        }
    }

    /// All at once, as the bytes of one word, each of which counts 128 more than its value.
    #[cfg(not(target_arch = "x86_64"))]
    #[inline(always)]
    fn of(values: [i8; 16]) -> Self {
        const EVEN: u128 = u128::MAX / 0xffff * 0xff;
        // SAFETY: both are sixteen bytes, and any bytes are a number.
        let bytes = u128::from_le(unsafe { std::mem::transmute::<[i8; 16], u128>(values) }) ^ (u128::MAX / 0xff * 0x80);
        // Eight int16: of bytes 0 and 1, 2 and 3, and so on.
        let pairs = (bytes & EVEN) + (bytes >> 8 & EVEN);
        let four = pairs as u64 + (pairs >> 64) as u64;
        let first = (four & 0xffff) + (four >> 32 & 0xffff);
        let second = (four >> 16 & 0xffff) + (four >> 48);
        let [first, second] = [first as i32 - 8 * 128, second as i32 - 8 * 128];
        Self { all: first + second, pairs: second << 16 | first & 0xffff }
    }
}

impl Int8 {
    /// Room for `rows`; [`Self::fill`] fills it.
    pub(crate) fn new(rows: usize, inputs: usize) -> Self {
        let held = (inputs.div_ceil(CHUNK) * rows + SPARE) * CHUNK;
        let blocks = vec![0.0; held / BLOCK];
        Self {
            rows,
            inputs,
            values: vec![0; held],
            scales: blocks.clone(),
            sums: vec![Sums::default(); held / 16],
            min_factors: blocks,
        }
    }

    /// Index of the value of `row` and `input`; the next row's is [`CHUNK`] further.
    pub(super) fn offset(&self, row: usize, input: usize) -> usize {
        (input / CHUNK * self.rows + row) * CHUNK + input % CHUNK
    }

    /// All values, as parts of one chunk and up to `rows_each` rows: the first row and the chunk's first input of each
    /// part, and the destination of its rows.
    pub(crate) fn parts(&mut self, rows_each: usize) -> Vec<(usize, usize, RowChunk<'_>)> {
        let Self { rows, inputs, .. } = *self;
        let mut rest = RowChunk {
            values: &mut self.values,
            scales: &mut self.scales,
            sums: &mut self.sums,
            min_factors: &mut self.min_factors,
        };
        let mut parts = Vec::new();
        for from in (0..inputs).step_by(CHUNK) {
            for row in (0..rows).step_by(rows_each) {
                let part;
                (part, rest) = rest.split_at(rows_each.min(rows - row));
                parts.push((row, from, part));
            }
        }
        parts
    }
}

/// Where the results for one chunk of some rows go; the kernel takes one row.
pub(crate) struct RowChunk<'a> {
    pub(super) values: &'a mut [i8],
    /// One for [`BLOCK`] values.
    pub(super) scales: &'a mut [f32],
    /// One for sixteen values.
    pub(super) sums: &'a mut [Sums],
    /// One for [`BLOCK`] values.
    pub(super) min_factors: &'a mut [f32],
}

impl<'a> RowChunk<'a> {
    /// The first `rows`, and the others.
    fn split_at(self, rows: usize) -> (Self, Self) {
        let values = self.values.split_at_mut(rows * CHUNK);
        let scales = self.scales.split_at_mut(rows * CHUNK / BLOCK);
        let sums = self.sums.split_at_mut(rows * CHUNK / 16);
        let min_factors = self.min_factors.split_at_mut(rows * CHUNK / BLOCK);
        (
            Self { values: values.0, scales: scales.0, sums: sums.0, min_factors: min_factors.0 },
            Self { values: values.1, scales: scales.1, sums: sums.1, min_factors: min_factors.1 },
        )
    }

    /// Each row alone.
    pub(crate) fn rows(self) -> impl Iterator<Item = RowChunk<'a>> {
        let others = self.sums.chunks_mut(CHUNK / 16).zip(self.min_factors.chunks_mut(CHUNK / BLOCK));
        let rows = self.values.chunks_mut(CHUNK).zip(self.scales.chunks_mut(CHUNK / BLOCK)).zip(others);
        rows.map(|((values, scales), (sums, min_factors))| RowChunk { values, scales, sums, min_factors })
    }
}

/// One chunk of a row: `value = round(x / scale)` with `scale = max |x| / 127` of a block. An infinite or NaN `x` makes
/// its chunk's scales NaN, and so every output of the row.
///
/// # Safety
/// The instructions of `L` exist; the slices have the lengths that [`Int8`] says for one chunk, `x` at most as many.
#[inline(always)]
pub(super) unsafe fn run<L: Lanes>(x: &[f32], RowChunk { values, scales, sums, min_factors }: RowChunk<'_>) {
    // Below this the reciprocal overflows; such a block is taken as zeros.
    const SMALLEST: f32 = 1e-30;
    let most = LARGEST as f32;
    let blocks = x.as_chunks::<BLOCK>().0;
    let mut reciprocals = [0.0; CHUNK / BLOCK];
    // SAFETY: instructions by the caller; both halves of a block lie within the slices.
    unsafe {
        let zero = L::splat(0.0);
        // x * 0 is 0, or NaN where x is infinite or NaN.
        let mut finite = zero;
        // One step for all blocks, then the next: within a block each waits for the one before.
        for (x, reciprocal) in blocks.iter().zip(&mut reciprocals) {
            let (a, b) = (L::load(x.as_ptr()), L::load(x.as_ptr().add(16)));
            // The second operand is taken where the first is NaN, so lanes of the result are numbers.
            *reciprocal = a.max(zero.sub(a).max(b.max(zero.sub(b).max(zero)))).largest();
            finite = a.fma(zero, b.fma(zero, finite));
        }
        let finite = finite.sum_of_zeros();
        for (reciprocal, scale) in reciprocals.iter_mut().zip(&mut scales[..blocks.len()]) {
            let largest = *reciprocal;
            *scale = if largest > SMALLEST { largest / most } else { 0.0 } + finite;
            *reciprocal = if largest > SMALLEST { most / largest } else { 0.0 };
        }
        for (block, (x, reciprocal)) in blocks.iter().zip(reciprocals).enumerate() {
            let mut all = 0;
            for half in 0..2 {
                let scaled = scaled_within(L::load(x.as_ptr().add(16 * half)), reciprocal, most);
                let (at, sixteen) = (2 * block + half, scaled.rounded_i8());
                values[16 * at..][..16].copy_from_slice(&sixteen);
                sums[at] = Sums::of(sixteen);
                all += sums[at].all;
            }
            min_factors[block] = scales[block] * all as f32;
        }
    }
}

//! The machine's measured peak rates, to which reported rates are compared.

use super::lanes::{Bytes, Ints, Lanes};
use super::table;
use rayon::prelude::*;
use std::time::Instant;

/// Independent sums: enough to hide an addition's latency.
const SUMS: usize = 12;

/// Limits of the table and the threads in use.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limits {
    /// Bytes read from memory in a second.
    pub bytes: f64,
    /// f32 operations in a second; a fused multiply-add is two.
    pub operations: f64,
    /// int8 operations in a second, as quantised weights are multiplied; a product and its sum are two.
    pub byte_operations: f64,
}

/// Measures all of them for about a second, on all threads of the pool.
///
/// # Errors
/// `MOOT_CPU` names a table that this machine cannot run.
pub fn measure() -> Result<Limits, String> {
    /// More than a workstation's caches hold.
    const BYTES: usize = 1 << 28;
    const ROUNDS: usize = 4_000_000;
    let table = table()?;
    let threads = rayon::current_num_threads();
    let data = vec![1.0_f32; BYTES / 4];
    let best = |once: &dyn Fn()| {
        let seconds = || {
            let started = Instant::now();
            once();
            started.elapsed().as_secs_f64()
        };
        (0..4).map(|_| seconds()).fold(f64::INFINITY, f64::min)
    };
    let reading = best(&|| {
        // SAFETY: the table was chosen by what this machine can run.
        let sum: f32 = data.par_chunks(BYTES / 4 / threads).map(|part| unsafe { (table.read)(part) }).sum();
        std::hint::black_box(sum);
    });
    let multiplying = best(&|| {
        // SAFETY: as above.
        let sum: f32 = (0..threads).into_par_iter().map(|_| unsafe { (table.multiply)(ROUNDS) }).sum();
        std::hint::black_box(sum);
    });
    let byte_multiplying = best(&|| {
        // SAFETY: as above.
        let sum: f32 = (0..threads).into_par_iter().map(|_| unsafe { (table.multiply_i8)(ROUNDS) }).sum();
        std::hint::black_box(sum);
    });
    let operations = (threads * ROUNDS * SUMS * 16 * 2) as f64;
    Ok(Limits {
        bytes: BYTES as f64 / reading,
        operations: operations / multiplying,
        byte_operations: 4.0 * operations / byte_multiplying,
    })
}

/// Reads all of `data`.
///
/// # Safety
/// The instructions of `L` exist.
#[inline(always)]
pub(super) unsafe fn read<L: Lanes>(data: &[f32]) -> f32 {
    // SAFETY: whole blocks lie within the slice.
    unsafe {
        let mut sums = [L::splat(0.0); SUMS];
        for block in data.chunks_exact(16 * SUMS) {
            for (i, sum) in sums.iter_mut().enumerate() {
                *sum = sum.max(L::load(block.as_ptr().add(16 * i)));
            }
        }
        first(&sums)
    }
}

/// Multiplies and adds in registers.
///
/// # Safety
/// The instructions of `L` exist.
#[inline(always)]
pub(super) unsafe fn multiply<L: Lanes>(rounds: usize) -> f32 {
    // SAFETY: lane-wise.
    unsafe {
        let (a, b) = (std::hint::black_box(L::splat(0.999)), std::hint::black_box(L::splat(0.001)));
        let mut sums = [L::splat(1.0); SUMS];
        for _ in 0..rounds {
            for sum in &mut sums {
                *sum = sum.fma(a, b);
            }
        }
        first(&sums)
    }
}

/// Groups of four products that are summed before they are widened, as for codes of four bits.
const GROUPS: usize = 8;

/// Multiplies int8 values and adds the products in registers, as codes of four bits are multiplied.
///
/// # Safety
/// The instructions of `L` exist.
#[inline(always)]
pub(super) unsafe fn multiply_i8<L: Lanes>(rounds: usize) -> f32 {
    // SAFETY: lane-wise; `ones` holds sixty-four bytes.
    unsafe {
        let ones = [1_u8; 64];
        let (codes, x) = (std::hint::black_box(L::Bytes::load(ones.as_ptr())), std::hint::black_box(0x0101_0101));
        let mut sums = [L::Ints::splat(1); SUMS];
        for _ in 0..rounds / GROUPS {
            for sum in &mut sums {
                let mut products = sum.products(0, []);
                for _ in 0..GROUPS {
                    products = L::Ints::multiply::<false>(products, codes, x);
                }
                *sum = sum.add(products);
            }
        }
        first(&sums.map(|sum| sum.to_floats()))
    }
}

/// A number that depends on every sum, so that none is optimised away.
#[inline(always)]
unsafe fn first<L: Lanes>(sums: &[L; SUMS]) -> f32 {
    let mut out = [0.0_f32; 16];
    // SAFETY: `out` holds sixteen values.
    unsafe { sums.iter().skip(1).fold(sums[0], |all, &sum| all.max(sum)).store(out.as_mut_ptr()) };
    out[0]
}

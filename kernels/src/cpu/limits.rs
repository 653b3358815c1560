//! The machine's measured peak rates, to which reported rates are compared.

use super::lanes::{Bytes, Ints, Lanes};
use super::memory::Aligned;
use super::table;
use rayon::prelude::*;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// Vectors that a round multiplies.
const VECTORS: usize = 12;

/// Limits of the table and the threads in use: what they sustain, as the median of several measurements.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limits {
    /// Bytes read from memory in a second.
    pub bytes: f64,
    /// f32 operations in a second; a fused multiply-add is two.
    pub operations: f64,
    /// int8 operations in a second, as quantised weights are multiplied; a product and its sum are two.
    pub byte_operations: f64,
}

/// How long each limit is measured, with [`AT_LEAST`] measurements.
const SPAN: Duration = Duration::from_millis(400);
const AT_LEAST: usize = 5;

/// The median of the seconds that `once` takes.
fn sustained(once: impl Fn()) -> f64 {
    let (begun, mut seconds) = (Instant::now(), Vec::new());
    while seconds.len() < AT_LEAST || begun.elapsed() < SPAN {
        let started = Instant::now();
        once();
        seconds.push(started.elapsed().as_secs_f64());
    }
    seconds.sort_by(f64::total_cmp);
    seconds[seconds.len() / 2]
}

/// Measures all of them for one or two seconds, on all threads of the pool.
///
/// # Errors
/// `MOOT_CPU` names a table that this machine cannot run.
pub fn measure() -> Result<Limits, String> {
    /// More than a workstation's caches hold.
    const BYTES: usize = 1 << 28;
    const ROUNDS: usize = 1_000_000;
    let table = table()?;
    let threads = rayon::current_num_threads();
    // Held as weights are; written, so that every page has memory of its own.
    let mut data = Aligned::zeroed(BYTES);
    data.fill(1);
    let data = data.values::<f32>();
    let reading = sustained(|| {
        // SAFETY: the table was chosen by what this machine can run.
        let sum: f32 = data.par_chunks(BYTES / 4 / threads).map(|part| unsafe { (table.read)(part) }).sum();
        black_box(sum);
    });
    let multiplying = sustained(|| {
        // SAFETY: as above.
        let sum: f32 = (0..threads).into_par_iter().map(|_| unsafe { (table.multiply)(ROUNDS) }).sum();
        black_box(sum);
    });
    let byte_multiplying = sustained(|| {
        // SAFETY: as above.
        let sum: f32 = (0..threads).into_par_iter().map(|_| unsafe { (table.multiply_i8)(ROUNDS) }).sum();
        black_box(sum);
    });
    let operations = (threads * ROUNDS * VECTORS * 16 * 2) as f64;
    Ok(Limits {
        bytes: BYTES as f64 / reading,
        operations: operations / multiplying,
        byte_operations: 4.0 * operations / byte_multiplying,
    })
}

/// Reads all of `data`, with `SUMS` independent maxima.
///
/// # Safety
/// The instructions of `L` exist.
#[inline(always)]
pub(super) unsafe fn read<L: Lanes, const SUMS: usize>(data: &[f32]) -> f32 {
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

/// Multiplies and adds in registers, with `SUMS` independent sums.
///
/// # Safety
/// The instructions of `L` exist.
#[inline(always)]
pub(super) unsafe fn multiply<L: Lanes, const SUMS: usize>(rounds: usize) -> f32 {
    // SAFETY: lane-wise.
    unsafe {
        let (a, b) = (black_box(L::splat(0.999)), black_box(L::splat(0.001)));
        let mut sums = [L::splat(1.0); SUMS];
        for _ in 0..rounds * VECTORS / SUMS {
            for sum in &mut sums {
                *sum = sum.fma(a, b);
            }
        }
        first(&sums)
    }
}

/// Groups of four products that are summed before they are widened, as for codes of four bits.
const GROUPS: usize = 8;

/// Multiplies int8 values and adds the products in registers, with `SUMS` independent sums, as codes of four bits are
/// multiplied.
///
/// # Safety
/// The instructions of `L` exist.
#[inline(always)]
pub(super) unsafe fn multiply_i8<L: Lanes, const SUMS: usize>(rounds: usize) -> f32 {
    // SAFETY: lane-wise; `ones` holds sixty-four bytes.
    unsafe {
        let mut codes = [L::Bytes::load([1_u8; 64].as_ptr()); SUMS];
        for codes in &mut codes {
            let ones = black_box([1_u8; 64]);
            *codes = L::Bytes::load(ones.as_ptr());
        }
        let mut sums = [L::Ints::splat(1); SUMS];
        for _ in 0..rounds * VECTORS / SUMS / GROUPS {
            let mut products = [sums[0].products(0, []); SUMS];
            for (products, sum) in products.iter_mut().zip(&sums) {
                *products = sum.products(0, []);
            }
            for _ in 0..GROUPS {
                // Opaque to the compiler, which would otherwise compute one product for all groups.
                let x = black_box(0x0101_0101);
                for (products, codes) in products.iter_mut().zip(codes) {
                    *products = L::Ints::multiply::<false>(*products, codes, x);
                }
            }
            for (sum, products) in sums.iter_mut().zip(products) {
                *sum = sum.add(products);
            }
        }
        let mut floats = [L::splat(0.0); SUMS];
        for (float, sum) in floats.iter_mut().zip(sums) {
            *float = sum.to_floats();
        }
        first(&floats)
    }
}

/// A number that depends on every sum, so that none is optimised away.
#[inline(always)]
unsafe fn first<L: Lanes>(sums: &[L]) -> f32 {
    let mut out = [0.0_f32; 16];
    // SAFETY: `out` holds sixteen values.
    unsafe { sums.iter().skip(1).fold(sums[0], |all, &sum| all.max(sum)).store(out.as_mut_ptr()) };
    out[0]
}

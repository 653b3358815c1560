//! Dot products of queries with stored vectors, for exact search.
//!
//! Rows are read as stored, so vectors run along the reduction here, unlike in other kernels: lane `l` adds the
//! products of the dimensions `l`, `l + 16`, ... in ascending order, and the lanes are added in one fixed tree. Every
//! table does the same, and every pair of row and query has sums of its own, so a score depends on the two vectors
//! alone.

use super::lanes::{Lanes, sum as total};
use super::storage::Storage;
use std::ops::Range;

/// Rows that one query is compared with at once: enough sums to hide the latency of an addition.
const ROWS: usize = 4;

/// Queries that share a row once it is loaded.
const QUERIES: usize = 4;

/// Prefetch distance for rows in bytes: the processor's own prefetcher stops at the end of a page.
const AHEAD: usize = 16384;

/// Stored rows and the queries to compare them with.
pub(crate) struct ScanCall<'a> {
    /// `[rows, stride]` bytes.
    pub rows: &'a [u8],
    pub storage: Storage,
    /// Length of a row in numbers: a multiple of 16.
    pub padded: usize,
    /// `[queries, padded]`
    pub queries: &'a [f32],
}

/// How one row is read.
trait Row {
    /// Sixteen numbers from the `at`-th on.
    unsafe fn load<L: Lanes>(row: *const u8, at: usize) -> L;
    /// The factor of the sum.
    unsafe fn scale(row: *const u8) -> f32;
}

struct F32Row;
struct F16Row;
struct I8Row;

// SAFETY (of all three): `row` is a whole row, and `at + 16` within it.
#[allow(clippy::undocumented_unsafe_blocks)]
impl Row for F32Row {
    #[inline(always)]
    unsafe fn load<L: Lanes>(row: *const u8, at: usize) -> L {
        unsafe { L::load(row.add(4 * at).cast()) }
    }
    #[inline(always)]
    unsafe fn scale(_: *const u8) -> f32 {
        1.0
    }
}

#[allow(clippy::undocumented_unsafe_blocks)]
impl Row for F16Row {
    #[inline(always)]
    unsafe fn load<L: Lanes>(row: *const u8, at: usize) -> L {
        unsafe { L::load_f16(row.add(2 * at).cast()) }
    }
    #[inline(always)]
    unsafe fn scale(_: *const u8) -> f32 {
        1.0
    }
}

#[allow(clippy::undocumented_unsafe_blocks)]
impl Row for I8Row {
    #[inline(always)]
    unsafe fn load<L: Lanes>(row: *const u8, at: usize) -> L {
        unsafe { L::load_i8(row.add(Storage::SCALE + at).cast()) }
    }
    #[inline(always)]
    unsafe fn scale(row: *const u8) -> f32 {
        unsafe { row.cast::<f32>().read_unaligned() }
    }
}

/// Scores of `rows` for every query, to `out`: `[queries, rows]`. With several queries, tiles of `TILE` rows.
///
/// # Safety
/// The instructions of `L` exist; `rows` are within the stored ones; slices have the lengths stated.
#[inline(always)]
pub(super) unsafe fn run<L: Lanes, const TILE: usize>(call: &ScanCall<'_>, rows: Range<usize>, out: &mut [f32]) {
    // SAFETY: the caller's.
    unsafe {
        match call.storage {
            Storage::F32 => scan::<L, F32Row, TILE>(call, rows, out),
            Storage::F16 => scan::<L, F16Row, TILE>(call, rows, out),
            Storage::I8 => scan::<L, I8Row, TILE>(call, rows, out),
        }
    }
}

#[inline(always)]
unsafe fn scan<L: Lanes, R: Row, const TILE: usize>(call: &ScanCall<'_>, rows: Range<usize>, out: &mut [f32]) {
    let queries = call.queries.len() / call.padded;
    let mut query = 0;
    // SAFETY: the caller's.
    unsafe {
        while query + QUERIES <= queries {
            tiles::<L, R, TILE, QUERIES>(call, rows.clone(), query, out);
            query += QUERIES;
        }
        while query < queries {
            tiles::<L, R, ROWS, 1>(call, rows.clone(), query, out);
            query += 1;
        }
    }
}

#[inline(always)]
unsafe fn tiles<L: Lanes, R: Row, const TILE: usize, const SHARED: usize>(
    call: &ScanCall<'_>,
    rows: Range<usize>,
    query: usize,
    out: &mut [f32],
) {
    let mut row = rows.start;
    // SAFETY: the caller's.
    unsafe {
        while row + TILE <= rows.end {
            tile::<L, R, TILE, SHARED>(call, row, query, &rows, out);
            row += TILE;
        }
        while row < rows.end {
            tile::<L, R, 1, SHARED>(call, row, query, &rows, out);
            row += 1;
        }
    }
}

#[inline(always)]
unsafe fn tile<L: Lanes, R: Row, const TILE: usize, const SHARED: usize>(
    call: &ScanCall<'_>,
    row: usize,
    query: usize,
    rows: &Range<usize>,
    out: &mut [f32],
) {
    let stride = call.storage.stride_of_padded(call.padded);
    // SAFETY: the caller's; rows and queries lie at multiples of their strides.
    unsafe {
        let stored = call.rows.as_ptr().add(row * stride);
        let query_values = call.queries.as_ptr().add(query * call.padded);
        if query < SHARED {
            // Only the first queries read rows from memory; the others find them in a cache.
            for line in (0..TILE * stride).step_by(64) {
                L::prefetch(stored.wrapping_add(AHEAD + line));
            }
        }
        let mut sums = [[L::splat(0.0); SHARED]; TILE];
        for at in (0..call.padded).step_by(16) {
            let mut values = [L::splat(0.0); SHARED];
            for (q, value) in values.iter_mut().enumerate() {
                *value = L::load(query_values.add(q * call.padded + at));
            }
            for (r, sums) in sums.iter_mut().enumerate() {
                let numbers: L = R::load(stored.add(r * stride), at);
                for (sum, value) in sums.iter_mut().zip(values) {
                    *sum = numbers.fma(value, *sum);
                }
            }
        }
        for (r, sums) in sums.iter().enumerate() {
            let scale = R::scale(stored.add(r * stride));
            for (q, sum) in sums.iter().enumerate() {
                *out.get_unchecked_mut((query + q) * rows.len() + row + r - rows.start) = total(*sum) * scale;
            }
        }
    }
}

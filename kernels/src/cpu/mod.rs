//! CPU kernels: one body per kernel, compiled once for each instruction set, chosen at run time.
//!
//! # The recipe
//! Every reduction runs in an order fixed by the row's own dimensions: a matmul output is the fused multiply-adds over
//! the inputs in ascending order; a softmax visits pages in the order of their positions. Vectors run *across*
//! outputs, keys or head dimensions, never along a reduction, and every table uses fused multiply-add. So all tables
//! give the same bits, alone or in any company.
//!
//! `MOOT_CPU=amx|avx512|avx2|neon|portable` forces a table, for tests and for comparison.

#![allow(unsafe_code)]

// Where there are no such tiles, its tests run it over tiles of plain Rust.
#[cfg(any(test, target_arch = "x86_64"))]
mod amx;
mod attention;
mod bidirectional;
mod block_linear;
mod blocks;
#[cfg(test)]
mod encoder_tests;
mod lanes;
pub mod limits;
mod linear;
mod memory;
mod norm;
mod quantise;
mod rope;
mod rowwise;
mod scan;
mod swiglu;
#[cfg(test)]
mod tests;
mod unpack;
mod words;

use quantise::Piece;
use std::ops::Range;
use std::sync::OnceLock;

pub(crate) use attention::{AttentionCall, Tile, Visit};
pub(crate) use bidirectional::{BidirectionalCall, RelativeCall, Scratch};
pub(crate) use block_linear::BlockCall;
pub(crate) use blocks::{Format, pack_half};
pub(crate) use linear::{Elements, LinearCall, PANEL};
pub(crate) use memory::Aligned;
pub use memory::zeroed;
pub(crate) use norm::Added;
pub(crate) use quantise::Quantised;
pub use rowwise::Activation;
pub(crate) use rowwise::Norm;
pub(crate) use scan::ScanCall;
pub(crate) use unpack::row_of_blocks;
pub(crate) use words::{WordCall, Words, pack as pack_words, panel_bytes as word_panel_bytes, row_of_words};

/// The number of the recipe: raised by whoever changes a bit of any kernel's result, as `kernels/tests/recipe.rs` asks.
/// Records hold it, so that a reply that differs from a recorded one can be told from a reply by other arithmetic.
pub const RECIPE: u32 = 3;

/// `x`, what is added to it, the weight, epsilon, the result.
type NormKernel = unsafe fn(&[f32], Option<Added<'_>>, &[f32], f32, *mut f32);
/// Heads of a token, cosines, sines, the result.
type RopeKernel = unsafe fn(&[f32], &[f32], &[f32], *mut f32);

/// The kernels of one instruction set.
pub struct Table {
    /// "amx", "avx512", "avx2", "neon" or "portable".
    pub name: &'static str,
    /// Rows that register tiles of bytes go into evenly.
    pub(crate) tile_rows: usize,
    pub(crate) linear: unsafe fn(&LinearCall<'_>, Range<usize>, Range<usize>),
    pub(crate) block_linear: unsafe fn(&BlockCall<'_>, Range<usize>, Range<usize>),
    pub(crate) quantise: unsafe fn(&[f32], Piece<'_>),
    pub(crate) attention: unsafe fn(&AttentionCall<'_>, &Tile, usize),
    pub(crate) swiglu: unsafe fn(&[f32], &[f32], *mut f32),
    pub(crate) norm: NormKernel,
    pub(crate) rope: RopeKernel,
    pub(crate) scan: unsafe fn(&ScanCall<'_>, Range<usize>, &mut [f32]),
    pub(crate) to_words: unsafe fn(&[f32], *mut i16, *mut f32),
    pub(crate) word_linear: unsafe fn(&WordCall<'_>, Range<usize>, Range<usize>),
    pub(crate) bidirectional: unsafe fn(&BidirectionalCall<'_>, Range<usize>, usize, &mut Scratch),
    pub(crate) finish: unsafe fn(&mut [f32], &[f32], Activation),
    pub(crate) add_norm: unsafe fn(&[f32], &[f32], Norm<'_>, *mut f32),
    pub(crate) read: unsafe fn(&[f32]) -> f32,
    pub(crate) multiply: unsafe fn(usize) -> f32,
    pub(crate) multiply_bytes: unsafe fn(usize) -> f32,
}

impl std::fmt::Debug for Table {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

macro_rules! table {
    ($name:literal, $lanes:ty, $rows:literal, $byte_rows:literal x $halves:literal, $keys:literal / $values:literal, $scanned:literal $(, $feature:literal)?) => {{
        // Sizes of register tiles: rows of floats; rows and vectors of bytes; queries that share a key and a value;
        // stored rows that four queries are compared with at once.
        $(#[target_feature(enable = $feature)])?
        unsafe fn linear(call: &LinearCall<'_>, panels: Range<usize>, rows: Range<usize>) {
            // SAFETY: `Table`s are only reachable through `tables`, which checked the features.
            unsafe { linear::run::<$lanes, $rows>(call, panels, rows) }
        }
        // Here integers and sums both want registers, so the tile is smaller.
        $(#[target_feature(enable = $feature)])?
        unsafe fn block_linear(call: &BlockCall<'_>, panels: Range<usize>, rows: Range<usize>) {
            // SAFETY: as above.
            unsafe { block_linear::run::<$lanes, $byte_rows, $halves>(call, panels, rows) }
        }
        $(#[target_feature(enable = $feature)])?
        unsafe fn quantise(x: &[f32], piece: Piece<'_>) {
            // SAFETY: as above.
            unsafe { quantise::run::<$lanes>(x, piece) }
        }
        $(#[target_feature(enable = $feature)])?
        unsafe fn attention(call: &AttentionCall<'_>, tile: &Tile, kv_head: usize) {
            // SAFETY: as above.
            unsafe { attention::run::<$lanes, $keys, $values>(call, tile, kv_head) }
        }
        $(#[target_feature(enable = $feature)])?
        unsafe fn swiglu(gate: &[f32], up: &[f32], out: *mut f32) {
            // SAFETY: as above.
            unsafe { swiglu::run::<$lanes>(gate, up, out) }
        }
        $(#[target_feature(enable = $feature)])?
        unsafe fn scan(call: &ScanCall<'_>, rows: Range<usize>, out: &mut [f32]) {
            // SAFETY: as above.
            unsafe { scan::run::<$lanes, $scanned>(call, rows, out) }
        }
        $(#[target_feature(enable = $feature)])?
        unsafe fn norm(x: &[f32], added: Option<Added<'_>>, weight: &[f32], eps: f32, out: *mut f32) {
            // SAFETY: as above.
            unsafe { norm::run::<$lanes>(x, added, weight, eps, out) }
        }
        $(#[target_feature(enable = $feature)])?
        unsafe fn rope(x: &[f32], cos: &[f32], sin: &[f32], out: *mut f32) {
            // SAFETY: as above.
            unsafe { rope::run::<$lanes>(x, cos, sin, out) }
        }
        $(#[target_feature(enable = $feature)])?
        unsafe fn to_words(x: &[f32], values: *mut i16, scales: *mut f32) {
            // SAFETY: as above.
            unsafe { words::run_to_words::<$lanes>(x, values, scales) }
        }
        // Integers need a register each, as floats do, and here no others are wanted beside them.
        $(#[target_feature(enable = $feature)])?
        unsafe fn word_linear(call: &WordCall<'_>, panels: Range<usize>, rows: Range<usize>) {
            // SAFETY: as above.
            unsafe { words::run::<$lanes, $rows>(call, panels, rows) }
        }
        $(#[target_feature(enable = $feature)])?
        unsafe fn bidirectional(call: &BidirectionalCall<'_>, text: Range<usize>, head: usize, scratch: &mut Scratch) {
            // SAFETY: as above.
            unsafe { bidirectional::run::<$lanes, $rows>(call, text, head, scratch) }
        }
        $(#[target_feature(enable = $feature)])?
        unsafe fn finish(row: &mut [f32], bias: &[f32], activation: Activation) {
            // SAFETY: as above.
            unsafe { rowwise::finish::<$lanes>(row, bias, activation) }
        }
        $(#[target_feature(enable = $feature)])?
        unsafe fn add_norm(x: &[f32], residual: &[f32], norm: Norm<'_>, out: *mut f32) {
            // SAFETY: as above.
            unsafe { rowwise::add_norm::<$lanes>(x, residual, norm, out) }
        }
        $(#[target_feature(enable = $feature)])?
        unsafe fn read(data: &[f32]) -> f32 {
            // SAFETY: as above.
            unsafe { limits::read::<$lanes>(data) }
        }
        $(#[target_feature(enable = $feature)])?
        unsafe fn multiply(rounds: usize) -> f32 {
            // SAFETY: as above.
            unsafe { limits::multiply::<$lanes>(rounds) }
        }
        $(#[target_feature(enable = $feature)])?
        unsafe fn multiply_bytes(rounds: usize) -> f32 {
            // SAFETY: as above.
            unsafe { limits::multiply_bytes::<$lanes>(rounds) }
        }
        Table {
            name: $name,
            tile_rows: 12,
            linear,
            block_linear,
            quantise,
            attention,
            swiglu,
            norm,
            rope,
            scan,
            to_words,
            word_linear,
            bidirectional,
            finish,
            add_norm,
            read,
            multiply,
            multiply_bytes,
        }
    }};
}

static PORTABLE: Table = table!("portable", lanes::Portable, 2, 2 x 1, 4 / 1, 1);
#[cfg(target_arch = "x86_64")]
static AVX2: Table = table!("avx2", lanes::Avx2, 3, 2 x 1, 4 / 1, 1, "avx2,fma,f16c");
// As many sixteens of lanes fit in the registers as with AVX2: eight.
#[cfg(target_arch = "aarch64")]
static NEON: Table = table!("neon", lanes::Neon, 3, 2 x 1, 4 / 1, 1, "neon,dotprod");
#[cfg(target_arch = "x86_64")]
const AVX512_TABLE: Table = table!("avx512", lanes::Avx512, 12, 6 x 2, 8 / 4, 4, "avx512f,avx512bw,avx512vnni");

#[cfg(target_arch = "x86_64")]
static AVX512: Table = AVX512_TABLE;
/// AVX-512's, but for what multiplies bytes.
#[cfg(target_arch = "x86_64")]
static AMX: Table = {
    #[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
    unsafe fn block_linear(call: &BlockCall<'_>, panels: Range<usize>, rows: Range<usize>) {
        // SAFETY: `Table`s are only reachable through `tables`, which checked the features.
        unsafe {
            if rows.len() <= block_linear::FEW {
                return (AVX512.block_linear)(call, panels, rows);
            }
            amx::run::<lanes::Avx512, _>(&mut amx::Hardware, call, panels, rows);
        }
    }
    unsafe fn multiply_bytes(rounds: usize) -> f32 {
        // SAFETY: as above.
        unsafe { amx::multiply_bytes(&mut amx::Hardware, rounds) }
    }
    Table { name: "amx", tile_rows: amx::ROWS, block_linear, multiply_bytes, ..AVX512_TABLE }
};

/// Every table this machine can run, best first.
#[must_use]
pub fn tables() -> Vec<&'static Table> {
    let mut found = Vec::new();
    #[cfg(target_arch = "x86_64")]
    {
        let has_512 = is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512bw");
        if has_512 && is_x86_feature_detected!("avx512vnni") {
            found.extend(amx::offered().then_some(&AMX));
            found.push(&AVX512);
        }
        let has_2 = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
        if has_2 && is_x86_feature_detected!("f16c") {
            found.push(&AVX2);
        }
    }
    #[cfg(target_arch = "aarch64")]
    if std::arch::is_aarch64_feature_detected!("dotprod") {
        found.push(&NEON);
    }
    found.push(&PORTABLE);
    found
}

/// The table in use: the best, or the one that `MOOT_CPU` names.
///
/// # Errors
/// `MOOT_CPU` names a table that this machine cannot run; the message lists those it can.
pub fn table() -> Result<&'static Table, String> {
    choice().as_ref().map(|choice| choice.table).map_err(Clone::clone)
}

/// Why the table in use is not the best that this machine can run, where nobody asked for another.
#[must_use]
pub fn remark() -> Option<&'static str> {
    choice().as_ref().ok().and_then(|choice| choice.remark.as_deref())
}

/// A table, and what should be said of it.
#[derive(Debug)]
struct Choice {
    table: &'static Table,
    remark: Option<String>,
}

fn choice() -> &'static Result<Choice, String> {
    static CHOSEN: OnceLock<Result<Choice, String>> = OnceLock::new();
    CHOSEN.get_or_init(|| choose(std::env::var("MOOT_CPU").ok().as_deref(), &tables()))
}

/// The table that is asked for, or the first of `tables` that can be relied on.
fn choose(forced: Option<&str>, tables: &[&'static Table]) -> Result<Choice, String> {
    let known = || tables.iter().map(|table| table.name).collect::<Vec<_>>().join(", ");
    if let Some(name) = forced.filter(|name| !name.is_empty()) {
        let table = tables.iter().copied().find(|table| table.name == name);
        let table = table.ok_or_else(|| format!("MOOT_CPU={name}: this machine can run {}", known()))?;
        return Ok(Choice { table, remark: None });
    }
    #[cfg(target_arch = "x86_64")]
    if let [best, next, ..] = *tables
        && best.name == AMX.name
        && !amx::agree(best, next)
    {
        // Tried once on every machine that has it, since it was written on one that has not.
        let (name, next_name) = (best.name, next.name);
        let remark =
            format!("the {name} kernels give other bits than {next_name} on this processor: {next_name} is used");
        return Ok(Choice { table: next, remark: Some(remark) });
    }
    Ok(Choice { table: tables[0], remark: None })
}

//! CPU kernels: one body per kernel, compiled once for each instruction set, chosen at run time.
//!
//! # The recipe
//! Every reduction runs in an order fixed by the row's own dimensions: a matmul output is the fused multiply-adds over
//! the inputs in ascending order; a softmax visits pages in the order of their positions. Vectors run *across*
//! outputs, keys or head dimensions, never along a reduction, and every table uses fused multiply-add. So all tables
//! give the same bits, alone or in any company.
//!
//! `MOOT_CPU=avx512|avx2|portable` forces a table, for tests and for comparison.

#![allow(unsafe_code)]

mod attention;
mod lanes;
pub mod limits;
mod linear;
mod memory;
mod swiglu;
#[cfg(test)]
mod tests;

use std::sync::OnceLock;

pub(crate) use attention::{AttentionCall, Tile, Visit};
pub(crate) use linear::{LinearCall, PANEL};
pub use memory::zeroed;

/// The kernels of one instruction set.
pub struct Table {
    /// "avx512", "avx2" or "portable".
    pub name: &'static str,
    pub(crate) linear: unsafe fn(&LinearCall<'_>, std::ops::Range<usize>),
    pub(crate) attention: unsafe fn(&AttentionCall<'_>, &Tile, usize),
    pub(crate) swiglu: unsafe fn(&[f32], &[f32], &mut [f32]),
    pub(crate) read: unsafe fn(&[f32]) -> f32,
    pub(crate) multiply: unsafe fn(usize) -> f32,
}

impl std::fmt::Debug for Table {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

macro_rules! table {
    ($name:literal, $lanes:ty, $rows:literal $(, $feature:literal)?) => {{
        // Rows of a register tile: as many as leave registers for a panel's column of weights.
        $(#[target_feature(enable = $feature)])?
        unsafe fn linear(call: &LinearCall<'_>, panels: std::ops::Range<usize>) {
            // SAFETY: `Table`s are only reachable through `tables`, which checked the features.
            unsafe { linear::run::<$lanes, $rows>(call, panels) }
        }
        $(#[target_feature(enable = $feature)])?
        unsafe fn attention(call: &AttentionCall<'_>, tile: &Tile, kv_head: usize) {
            // SAFETY: as above.
            unsafe { attention::run::<$lanes>(call, tile, kv_head) }
        }
        $(#[target_feature(enable = $feature)])?
        unsafe fn swiglu(gate: &[f32], up: &[f32], out: &mut [f32]) {
            // SAFETY: as above.
            unsafe { swiglu::run::<$lanes>(gate, up, out) }
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
        Table { name: $name, linear, attention, swiglu, read, multiply }
    }};
}

static PORTABLE: Table = table!("portable", lanes::Portable, 2);
#[cfg(target_arch = "x86_64")]
static AVX2: Table = table!("avx2", lanes::Avx2, 3, "avx2,fma");
#[cfg(target_arch = "x86_64")]
static AVX512: Table = table!("avx512", lanes::Avx512, 12, "avx512f");

/// Every table this machine can run, best first.
#[must_use]
pub fn tables() -> Vec<&'static Table> {
    let mut found = Vec::new();
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx512f") {
            found.push(&AVX512);
        }
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            found.push(&AVX2);
        }
    }
    found.push(&PORTABLE);
    found
}

/// The table in use: the best, or the one that `MOOT_CPU` names.
///
/// # Errors
/// `MOOT_CPU` names a table that this machine cannot run; the message lists those it can.
pub fn table() -> Result<&'static Table, String> {
    static CHOSEN: OnceLock<Result<&'static Table, String>> = OnceLock::new();
    CHOSEN.get_or_init(|| choose(std::env::var("MOOT_CPU").ok().as_deref())).clone()
}

fn choose(forced: Option<&str>) -> Result<&'static Table, String> {
    let tables = tables();
    let Some(name) = forced.filter(|name| !name.is_empty()) else { return Ok(tables[0]) };
    tables.iter().copied().find(|table| table.name == name).ok_or_else(|| {
        let known = tables.iter().map(|t| t.name).collect::<Vec<_>>().join(", ");
        format!("MOOT_CPU={name}: this machine can run {known}")
    })
}

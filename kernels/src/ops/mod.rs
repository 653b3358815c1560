//! One op, one file: its shapes, its slow reference, its kernels.

pub mod attention;
pub mod best;
pub mod kv_store;
pub mod linear;
pub mod norm;
pub mod rope;
pub mod scan;
pub mod swiglu;

use candle_core::{CpuStorage, Error, Layout, Result};

/// The whole of a contiguous f32 CPU tensor.
fn f32_slice<'a>(op: &'static str, storage: &'a CpuStorage, layout: &Layout) -> Result<&'a [f32]> {
    let data = storage.as_slice::<f32>()?;
    match layout.contiguous_offsets() {
        Some((from, to)) => Ok(&data[from..to]),
        None => Err(Error::RequiresContiguous { op }.bt()),
    }
}

/// The CPU table, or Candle's error for a bad `MOOT_CPU`.
fn cpu_table() -> Result<&'static crate::cpu::Table> {
    crate::cpu::table().map_err(Error::msg)
}

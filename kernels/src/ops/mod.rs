//! One op a file: its shapes, its slow reference, its kernels.

pub mod add_norm;
pub mod attention;
pub mod best;
pub mod bidirectional;
pub mod blocks;
pub mod cap;
pub mod cascade;
pub mod delta_net;
pub mod exact_linear;
pub mod gated;
pub mod kv_store;
pub mod linear;
pub mod norm;
pub mod rope;
pub mod rotate_store;
pub mod rounded;
pub mod sample;
pub mod scan;
pub mod short_conv;
mod states;
pub mod sum_of_rows;

use crate::gpu::FreedOn;
use candle_core::{CpuStorage, Device, Error, Layout, Result, Tensor, WithDType};
use std::mem::MaybeUninit;
use std::sync::{Arc, Mutex, PoisonError};

/// The numbers of a contiguous f32 CPU tensor.
fn f32_slice<'a>(op: &'static str, storage: &'a CpuStorage, layout: &Layout) -> Result<&'a [f32]> {
    slice(op, storage, layout)
}

/// The numbers of a contiguous CPU tensor.
fn slice<'a, T: WithDType>(op: &'static str, storage: &'a CpuStorage, layout: &Layout) -> Result<&'a [T]> {
    let data = storage.as_slice::<T>()?;
    match layout.contiguous_offsets() {
        Some((from, to)) => Ok(&data[from..to]),
        None => Err(Error::RequiresContiguous { op }.bt()),
    }
}

/// Calls `read` with the numbers of `x`, contiguous f32 on the CPU, without copying them.
///
/// # Errors
/// Another type, another device, or gaps.
pub fn read_floats<T>(x: &Tensor, read: impl FnOnce(&[f32]) -> T) -> Result<T> {
    let (storage, layout) = x.storage_and_layout();
    let candle_core::Storage::Cpu(storage) = &*storage else {
        return Err(Error::msg("numbers to be read are on another device"));
    };
    Ok(read(f32_slice("read", storage, layout)?))
}

/// `len` numbers, without zeroing them first.
///
/// # Safety
/// `fill` writes every one of them.
#[allow(unsafe_code)]
unsafe fn filled(len: usize, fill: impl FnOnce(&mut [MaybeUninit<f32>])) -> Vec<f32> {
    let mut out = Vec::with_capacity(len);
    fill(&mut out.spare_capacity_mut()[..len]);
    // SAFETY: it has this capacity, and the caller guarantees that every element was written.
    unsafe { out.set_len(len) };
    out
}

/// The CPU table, or Candle's error for a bad `MOOT_CPU`.
fn cpu_table() -> Result<&'static crate::cpu::Table> {
    crate::cpu::table().map_err(Error::msg)
}

/// A value made for a device when it is first needed and then kept: a step's plan is uploaded once, not once a layer.
#[derive(Debug)]
struct PerDevice<T>(Mutex<Vec<(FreedOn, Arc<T>)>>);

impl<T> Default for PerDevice<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T> Clone for PerDevice<T> {
    /// Empty: its values can be made again.
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl<T> PerDevice<T> {
    /// A value that is on `device` already.
    fn of(device: &Device, value: T) -> Self {
        Self(Mutex::new(vec![(FreedOn::new(device), Arc::new(value))]))
    }

    /// All that were made.
    fn all(&self) -> Vec<Arc<T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().map(|(_, made)| made.clone()).collect()
    }

    fn get(&self, device: &Device, make: impl FnOnce() -> Result<T>) -> Result<Arc<T>> {
        self.get_where(device, |_| true, make)
    }

    /// The first of `device` that `fits`, or else what `make` makes.
    fn get_where(
        &self,
        device: &Device,
        fits: impl Fn(&T) -> bool,
        make: impl FnOnce() -> Result<T>,
    ) -> Result<Arc<T>> {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let on_it = |on: &FreedOn| on.device().location() == device.location();
        if let Some((_, found)) = held.iter().find(|(on, value)| on_it(on) && fits(value)) {
            return Ok(found.clone());
        }
        let made = Arc::new(make()?);
        held.push((FreedOn::new(device), made.clone()));
        Ok(made)
    }
}

/// 32-bit words on a device; at least one, because an empty tensor has no address.
fn upload(words: &[u32], device: &Device) -> Result<Tensor> {
    Tensor::new(if words.is_empty() { &[0] } else { words }, device)
}

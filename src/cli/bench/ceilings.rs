//! The device's limits, measured in the same call as the figures.

use crate::error::{MootError, Result};
use candle_core::{DType, Device, Tensor};
use moot_models::kernels::cpu::limits::Limits;
use moot_models::kernels::without_backtrace;
use std::time::Instant;

/// The limits of `device`: for the CPU `cpu`, measured before; for a GPU the rate of a large bf16 matrix product, and the
/// bandwidth of a copy, reads and writes together.
///
/// # Errors
/// The device failed, or lacks the few gigabytes that this needs besides the model.
pub(super) fn measure(device: &Device, cpu: Limits) -> Result<Limits> {
    if device.is_cpu() {
        return Ok(cpu);
    }
    on_gpu(device).map_err(|e| {
        let e = without_backtrace(e);
        MootError::Engine(format!("measuring the limits of the GPU: {e}"))
    })
}

fn on_gpu(device: &Device) -> candle_core::Result<Limits> {
    const SIDE: usize = 8192;
    const BYTES: usize = 1 << 30;
    let square = || Tensor::randn(0_f32, 1.0, (SIDE, SIDE), device)?.to_dtype(DType::BF16);
    let (a, b, data) = (square()?, square()?, Tensor::zeros(BYTES / 4, DType::F32, device)?);
    let multiplied = seconds(device, || a.matmul(&b).map(drop))?;
    let copied = seconds(device, || data.copy().map(drop))?;
    let operations = 2.0 * (SIDE as f64).powi(3) / multiplied;
    // Activations are bf16 there; the share of quantised weights is relative to the bf16 rate too.
    Ok(Limits { bytes: 2.0 * BYTES as f64 / copied, operations, byte_operations: operations })
}

/// Seconds of one `once`: the best of five rounds of ten.
fn seconds(device: &Device, once: impl Fn() -> candle_core::Result<()>) -> candle_core::Result<f64> {
    const TIMES: usize = 10;
    let mut best = f64::INFINITY;
    for _ in 0..5 {
        let started = Instant::now();
        (0..TIMES).try_for_each(|_| once())?;
        device.synchronize()?;
        best = best.min(started.elapsed().as_secs_f64() / TIMES as f64);
    }
    Ok(best)
}

//! Whether this build can use a GPU.

use crate::launch::{Usable, usable};
use candle_core::{CudaDevice, Result, bail};

/// Oldest compute capability that the kernels are compiled for: they need asynchronous copies and products of bf16.
const OLDEST: u32 = 80;
/// The capability of Candle's kernels, as 90; 0 if the build did not learn it.
const CANDLES: &str = env!("MOOT_CANDLE_CAPABILITY");

/// The compute capability of `device`, as 90.
fn capability(device: &CudaDevice) -> Result<u32> {
    use candle_core::cuda_backend::WrapErr;
    let (major, minor) = device.cuda_stream().context().compute_capability().w()?;
    Ok((10 * major + minor) as u32)
}

fn candles() -> u32 {
    CANDLES.parse().unwrap_or(0)
}

/// An error where this build cannot use `device`.
pub(super) fn check(device: &CudaDevice, ordinal: usize) -> Result<()> {
    let (found, built) = (capability(device)?, candles());
    let shown = |capability: u32| format!("{}.{}", capability / 10, capability % 10);
    if found < OLDEST {
        bail!("GPU {ordinal} has compute capability {}: expected {} or newer", shown(found), shown(OLDEST));
    }
    if usable(built, found) == Usable::Nothing {
        bail!(
            "GPU {ordinal} has compute capability {}, and this program was built for {}: build it on this machine, or \
             with CUDA_COMPUTE_CAP={found}",
            shown(found),
            shown(built)
        );
    }
    Ok(())
}

/// The GPU's name, its compute capability and the CUDA version of its driver, in a line.
pub(crate) fn description(device: &CudaDevice) -> Result<String> {
    use candle_core::cuda_backend::WrapErr;
    use candle_core::cuda_backend::cudarc::driver::sys;
    let (name, found) = (device.cuda_stream().context().name().w()?, capability(device)?);
    let mut version = 0;
    // SAFETY: the call writes one number.
    unsafe { sys::cuDriverGetVersion(&raw mut version) }.result().w()?;
    let driver = format!("{}.{}", version / 1000, version % 1000 / 10);
    Ok(format!("{name}, compute capability {}.{}, a driver of CUDA {driver}", found / 10, found % 10))
}

/// Whether Candle's products of blocks are compiled for `device`.
pub(crate) fn multiplies_blocks(device: &CudaDevice) -> bool {
    capability(device).is_ok_and(|found| usable(candles(), found) == Usable::All)
}

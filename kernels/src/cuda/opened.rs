//! Devices that were opened, until nothing uses them any more.
//!
//! The last tensor of a device may be dropped on any thread, and the device with it. That destroys its cuBLAS handle,
//! which waits for the whole context and would break the capture of another device of the same GPU. So each device is kept
//! here too, and is dropped where no capture can be under way.

use super::context::make_current;
use super::modules;
use candle_core::CudaDevice;
use std::sync::{Arc, Mutex, PoisonError, RwLockWriteGuard};

struct Opened {
    device: CudaDevice,
    /// References to its stream where nothing else holds the device: its own, and those of its library handles.
    own: usize,
    /// Nothing else held it in the last sweep.
    idle: bool,
}

static OPENED: Mutex<Vec<Opened>> = Mutex::new(Vec::new());

/// References to the stream of `device`: those of its clones, of its tensors, and its own.
fn references(device: &CudaDevice) -> usize {
    Arc::strong_count(&device.cuda_stream())
}

/// Keeps `device`, which was just opened.
pub(super) fn keep(device: &CudaDevice) {
    let opened = Opened { own: references(device), device: device.clone(), idle: false };
    OPENED.lock().unwrap_or_else(PoisonError::into_inner).push(opened);
}

/// Drops devices that nothing else has held since the last call, and unloads their kernels. A thread that is dropping its
/// clone of a device releases the library handles after the stream, so a device waits for a second call.
pub(super) fn drop_unused(_no_capture: &RwLockWriteGuard<'_, ()>) {
    let mut opened = OPENED.lock().unwrap_or_else(PoisonError::into_inner);
    opened.retain_mut(|Opened { device, own, idle }| {
        let was_idle = std::mem::replace(idle, references(device) <= *own);
        // Kernels must not be unloaded before they have run. The handles of a device that fails cannot be destroyed.
        if !was_idle || !*idle || device.cuda_stream().synchronize().is_err() {
            return true;
        }
        make_current(device);
        modules::unload(device);
        false
    });
}

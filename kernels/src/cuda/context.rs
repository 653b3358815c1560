//! The context that is current on a thread.

use candle_core::CudaDevice;

/// Makes the context of `device` the calling thread's. An error is left for the next operation to report, as where
/// memory is freed.
pub(crate) fn make_current(device: &CudaDevice) {
    let stream = device.cuda_stream();
    let context = stream.context();
    // An error that was left before is reported by the first call, which then does nothing else.
    if let Err(left) = context.bind_to_thread() {
        context.record_err(context.bind_to_thread());
        context.record_err::<()>(Err(left));
    }
}

//! Launches that were captured from the stream and are launched again with one call.

use super::{Addresses, CAPTURING};
use candle_core::cuda_backend::WrapErr;
use candle_core::cuda_backend::cudarc::driver::{CudaGraph, CudaStream, result, sys};
use candle_core::{CudaDevice, Result, Tensor, bail};
use std::sync::{Arc, PoisonError};

/// A captured sequence of launches.
pub(crate) struct Graph(CudaGraph);

// SAFETY: the driver takes a graph's launches from any thread, one thread at a time, and this type is not `Sync`.
unsafe impl Send for Graph {}

impl Graph {
    /// Runs `body` once, so that libraries have their memory and kernels are loaded, and then captures what it launches.
    pub(crate) fn capture(device: &CudaDevice, body: impl Fn() -> Result<()>) -> Result<Self> {
        // Sizes and strides that Candle uploads for a launch stay on the device, in both runs the same.
        let _parameters = device.enable_cuda_graph_htod_cache();
        body()?;
        let stream = device.cuda_stream();
        if super::pool(device).is_err() {
            bail!("CUDA graph: the device has no memory pools");
        }
        let _no_release = CAPTURING.read().unwrap_or_else(PoisonError::into_inner);
        stream.begin_capture(sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL).w()?;
        let captured = body();
        // A tensor that could not be freed in a broken capture leaves an error, with which cudarc would not end it.
        let _ = stream.context().check_err();
        let flags = sys::CUgraphInstantiate_flags::CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH;
        let graph = stream.end_capture(flags).w();
        if stream
            .capture_status()
            .is_ok_and(|status| status != sys::CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE)
        {
            // SAFETY: the stream lives, and what it captured is not used.
            let _ = unsafe { result::stream::end_capture(stream.cu_stream()) };
        }
        captured?;
        match graph? {
            Some(graph) => Ok(Self(graph)),
            None => bail!("CUDA graph: nothing was captured"),
        }
    }

    /// Puts all launches in the stream.
    pub(crate) fn launch(&self) -> Result<()> {
        self.0.launch().w()
    }
}

/// Words that are being copied to a device, which may still read them.
pub(crate) struct Written {
    words: Vec<u32>,
    stream: Arc<CudaStream>,
}

impl Drop for Written {
    fn drop(&mut self) {
        // A copy from pageable memory may be asynchronous. Where waiting for it fails the words are never freed.
        if self.stream.synchronize().is_err() {
            std::mem::forget(std::mem::take(&mut self.words));
        }
    }
}

/// Writes `words` over a contiguous tensor of as many 32-bit elements, in the stream's order.
pub(crate) fn overwrite(device: &CudaDevice, to: &Tensor, words: Vec<u32>) -> Result<Written> {
    const OP: &str = "overwrite";
    if to.elem_count() != words.len() || to.dtype().size_in_bytes() != 4 {
        bail!("{OP}: {} words to {:?} of {:?}", words.len(), to.shape(), to.dtype());
    }
    let written = Written { words, stream: device.cuda_stream() };
    super::ops::on_cuda(OP, to, |to| {
        let stream = &written.stream;
        let mut at = Addresses::new(stream);
        let address = at.of(OP, to)?;
        stream.context().bind_to_thread().w()?;
        // SAFETY: the buffer is as long as the words, which live until the stream has been waited for.
        unsafe { result::memcpy_htod_async(address, &written.words, stream.cu_stream()) }.w()
    })?;
    Ok(written)
}

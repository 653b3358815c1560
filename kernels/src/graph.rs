//! Steps that a GPU repeats: captured once, and launched again with one call instead of hundreds.

use crate::cuda;
use candle_core::{Device, Result, Tensor, bail};

/// The launches of a step, captured on a CUDA device. They read and write the same addresses at each launch: inputs are
/// written over with [`overwrite`], and every tensor that the step uses must live as long as the graph.
pub struct Graph(cuda::Graph);

impl std::fmt::Debug for Graph {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Graph")
    }
}

impl Graph {
    /// Runs `body`, then captures what it launches the second time. `body` must copy nothing to or from the host, and
    /// must not drop a tensor that existed before.
    ///
    /// # Errors
    /// A device that is not a CUDA device; `body` fails, or does what cannot be captured.
    pub fn capture(device: &Device, body: impl Fn() -> Result<()>) -> Result<Self> {
        match device {
            Device::Cuda(device) => cuda::Graph::capture(device, body).map(Self),
            other => bail!("a graph is captured on a CUDA device, found {other:?}"),
        }
    }

    /// Launches the step again.
    ///
    /// # Errors
    /// The driver's.
    pub fn launch(&self) -> Result<()> {
        self.0.launch()
    }
}

/// Words that [`overwrite`] is copying. Dropping them waits for the device; they are kept until it has been waited for
/// anyway.
pub struct Written {
    _words: cuda::Written,
}

impl std::fmt::Debug for Written {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Written")
    }
}

/// Writes `words` over a contiguous tensor of as many 32-bit elements on a CUDA device, behind the work before it.
///
/// # Errors
/// Another device, or another number of elements.
pub fn overwrite(to: &Tensor, words: Vec<u32>) -> Result<Written> {
    match to.device() {
        Device::Cuda(device) => Ok(Written { _words: cuda::overwrite(device, to, words)? }),
        other => bail!("expected a tensor on a CUDA device, found one on {other:?}"),
    }
}

//! Captured steps beside other devices of the same GPU.

use super::{close, gpu, random};
use candle_core::{DType, Result, Tensor};
use moot_kernels::Graph;
use moot_kernels::ops::norm;

/// Opening a device and dropping it wait for the whole context, which breaks a capture unless they wait for its end.
#[test]
#[cfg_attr(not(feature = "cuda"), ignore = "needs an NVIDIA GPU and a build with --features cuda")]
fn a_capture_goes_on_while_other_devices_are_opened_and_dropped() -> Result<()> {
    const OPENED: usize = 40;
    let device = gpu();
    let [(x, gx), (w, gw)] = [random(&[3, 64], DType::F32, &device)?, random(&[64], DType::F32, &device)?];
    let expected = norm::reference(&x, &w, 1e-5)?;
    let out = Tensor::zeros((3, 64), DType::F32, &device)?;
    std::thread::scope(|scope| {
        let others = scope.spawn(|| -> Result<()> {
            (0..OPENED).try_for_each(|_| {
                let other = gpu();
                // Not waited for: its kernels are unloaded behind it.
                norm::rms_norm(&x.to_device(&other)?, &w.to_device(&other)?, 1e-5).map(drop)
            })
        });
        loop {
            let last = others.is_finished();
            let graph = Graph::capture(&device, || out.slice_set(&norm::rms_norm(&gx, &gw, 1e-5)?, 0, 0))?;
            out.zero_set()?;
            graph.launch()?;
            close("a captured norm", &out, &expected, 1e-4)?;
            if last {
                return others.join().unwrap();
            }
        }
    })
}

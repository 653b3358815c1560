//! The kernels' binaries, loaded once a device and unloaded with it.

use crate::launch::{Kernel, Module};
use candle_core::cuda_backend::DeviceId;
use candle_core::cuda_backend::cudarc::driver::{CudaFunction, CudaModule};
use candle_core::cuda_backend::cudarc::nvrtc::Ptx;
use candle_core::{CudaDevice, Error, Result, bail};
use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

/// The modules and functions loaded on a device.
#[derive(Default)]
struct Loaded {
    modules: HashMap<Module, Arc<CudaModule>>,
    functions: HashMap<Kernel, CudaFunction>,
}

static LOADED: LazyLock<Mutex<HashMap<DeviceId, Loaded>>> = LazyLock::new(Mutex::default);

/// The function of `kernel` on `device`.
pub(super) fn function(device: &CudaDevice, kernel: Kernel) -> Result<CudaFunction> {
    let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
    let Loaded { modules, functions } = loaded.entry(device.id()).or_default();
    if let Some(function) = functions.get(&kernel) {
        return Ok(function.clone());
    }
    let module = match modules.get(&kernel.module) {
        Some(module) => module.clone(),
        None => {
            let module = load(device, kernel.module)?;
            modules.insert(kernel.module, module.clone());
            module
        }
    };
    let missing = |e| Error::Msg(format!("CUDA kernel {kernel}: {e}"));
    let function = module.load_function(&kernel.to_string()).map_err(missing)?;
    functions.insert(kernel, function.clone());
    Ok(function)
}

/// Unloads the kernels of `device`.
pub(super) fn unload(device: &CudaDevice) {
    let loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner).remove(&device.id());
    drop(loaded);
}

fn load(device: &CudaDevice, module: Module) -> Result<Arc<CudaModule>> {
    let (file, binary) = binary(module);
    if binary.is_empty() {
        bail!(
            "{file} was compiled by a stand-in for nvcc: this build is for type checks, build again with CUDA installed"
        );
    }
    let context = device.cuda_stream().context().clone();
    context.load_module(Ptx::from_binary(binary.to_vec())).map_err(|e| {
        let capability =
            context.compute_capability().map_or_else(|_| "?".into(), |(major, minor)| format!("{major}.{minor}"));
        Error::Msg(format!(
            "the kernels of {file} do not load on this GPU of compute capability {capability}: {e}; they need 8.0 or \
             newer, and a driver for the CUDA version that they were built with"
        ))
    })
}

macro_rules! binaries {
    ($($module:ident $file:literal),*) => {
        fn binary(module: Module) -> (&'static str, &'static [u8]) {
            match module {
                $(Module::$module => {
                    (concat!($file, ".cu"), include_bytes!(concat!(env!("OUT_DIR"), "/", $file, ".fatbin")))
                })*
            }
        }
    };
}
binaries!(
    Norm "norm", Rotary "rotary", Swiglu "swiglu", Attention "attention", Linear "linear", Sample "sample",
    Encoder "encoder", Blocks "blocks"
);

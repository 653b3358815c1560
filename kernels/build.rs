//! Compiles `cuda/*.cu` where the feature asks for it: machine code for the usual data-centre GPUs, and PTX that drivers
//! compile for any other of compute capability 8.0 or newer.
//!
//! `NVCC` names the compiler, else `CUDA_HOME` or the path has it. `MOOT_CUDA_ARCHS` says other architectures, as 80,90.

use std::path::{Path, PathBuf};
use std::process::Command;

const FILES: [&str; 7] = ["norm", "rotary", "swiglu", "attention", "linear", "sample", "encoder"];

fn main() -> Result<(), String> {
    println!("cargo:rerun-if-changed=build.rs");
    for name in ["NVCC", "CUDA_HOME", "CUDA_PATH", "MOOT_CUDA_ARCHS"] {
        println!("cargo:rerun-if-env-changed={name}");
    }
    if std::env::var_os("CARGO_FEATURE_CUDA").is_none() {
        return Ok(());
    }
    println!("cargo:rerun-if-changed=cuda");
    let out = PathBuf::from(std::env::var_os("OUT_DIR").ok_or("OUT_DIR is not set: run through cargo")?);
    FILES.iter().try_for_each(|file| compile(&compiler(), file, &out.join(format!("{file}.fatbin"))))
}

fn compiler() -> PathBuf {
    if let Some(nvcc) = std::env::var_os("NVCC") {
        return nvcc.into();
    }
    let homes = ["CUDA_HOME", "CUDA_PATH"].into_iter().filter_map(std::env::var_os);
    homes.map(|home| Path::new(&home).join("bin/nvcc")).find(|nvcc| nvcc.exists()).unwrap_or_else(|| "nvcc".into())
}

fn compile(nvcc: &Path, file: &str, out: &Path) -> Result<(), String> {
    let archs = std::env::var("MOOT_CUDA_ARCHS").unwrap_or_else(|_| "80,90".into());
    let archs: Vec<&str> = archs.split(',').map(str::trim).filter(|arch| !arch.is_empty()).collect();
    let Some(oldest) = archs.first() else { return Err("MOOT_CUDA_ARCHS is empty: expected, say, 80,90".into()) };
    let mut command = Command::new(nvcc);
    // Multiply and add are fused where the source says so and nowhere else: two kernels that promise the same bits must
    // not be at the compiler's mercy.
    command.args(["-std=c++17", "-O3", "-fmad=false", "-fatbin"]);
    for arch in &archs {
        command.arg(format!("-gencode=arch=compute_{arch},code=sm_{arch}"));
    }
    command.arg(format!("-gencode=arch=compute_{oldest},code=compute_{oldest}"));
    command.arg("-o").arg(out).arg(format!("cuda/{file}.cu"));
    let said = command.output().map_err(|e| format!("{}: {e}; NVCC or CUDA_HOME say where CUDA is", nvcc.display()))?;
    if said.status.success() {
        return Ok(());
    }
    let text = format!("{}{}", String::from_utf8_lossy(&said.stdout), String::from_utf8_lossy(&said.stderr));
    Err(format!("{} does not compile cuda/{file}.cu:\n{text}", nvcc.display()))
}

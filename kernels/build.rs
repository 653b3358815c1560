//! Compiles `cuda/*.cu` where the feature asks for it: machine code for the GPUs of [`ARCHITECTURES`] that the compiler
//! knows, and PTX that drivers compile for any other of compute capability 8.0 or newer. Records for which capability
//! Candle compiles its own kernels, which is one alone.
//!
//! `NVCC` names the compiler, else `CUDA_HOME` or the path has it. `MOOT_CUDA_ARCHS` says other architectures, as 80,90.

use std::path::{Path, PathBuf};
use std::process::Command;

const FILES: [&str; 8] = ["norm", "rotary", "swiglu", "attention", "linear", "sample", "encoder", "blocks"];

/// Of data centres (A100, H100) and of workstations (RTX 40, RTX 50).
const ARCHITECTURES: [&str; 4] = ["80", "89", "90", "120"];

fn main() -> Result<(), String> {
    println!("cargo:rerun-if-changed=build.rs");
    for name in ["NVCC", "CUDA_HOME", "CUDA_PATH", "MOOT_CUDA_ARCHS", "CUDA_COMPUTE_CAP"] {
        println!("cargo:rerun-if-env-changed={name}");
    }
    if std::env::var_os("CARGO_FEATURE_CUDA").is_none() {
        return Ok(());
    }
    println!("cargo:rerun-if-changed=cuda");
    let out = PathBuf::from(std::env::var_os("OUT_DIR").ok_or("OUT_DIR is not set: run through cargo")?);
    println!("cargo:rustc-env=MOOT_CANDLE_CAPABILITY={}", candles_capability().unwrap_or(0));
    let (nvcc, architectures) = (compiler(), architectures(&compiler())?);
    FILES.iter().try_for_each(|file| compile(&nvcc, &architectures, file, &out.join(format!("{file}.fatbin"))))
}

/// The compute capability that Candle's build compiles for, as 90: it asks the environment, then the driver.
fn candles_capability() -> Option<u32> {
    let digits = |text: &str| text.chars().filter(char::is_ascii_digit).collect::<String>().parse().ok();
    if let Ok(typed) = std::env::var("CUDA_COMPUTE_CAP") {
        return digits(&typed);
    }
    let said = Command::new("nvidia-smi").args(["--query-gpu=compute_cap", "--format=csv,noheader"]).output().ok()?;
    digits(String::from_utf8_lossy(&said.stdout).lines().next()?)
}

/// The architectures to compile for, as 90: what `MOOT_CUDA_ARCHS` says, else those of [`ARCHITECTURES`] that `nvcc` knows.
fn architectures(nvcc: &Path) -> Result<Vec<String>, String> {
    if let Ok(typed) = std::env::var("MOOT_CUDA_ARCHS") {
        let typed: Vec<String> =
            typed.split(',').map(|arch| arch.trim().to_owned()).filter(|a| !a.is_empty()).collect();
        return if typed.is_empty() { Err("MOOT_CUDA_ARCHS is empty: expected, say, 80,90".into()) } else { Ok(typed) };
    }
    let said = Command::new(nvcc).arg("--list-gpu-code").output();
    let said = said.map_or_else(|_| String::new(), |said| String::from_utf8_lossy(&said.stdout).into_owned());
    let known = |arch: &&str| said.split_whitespace().any(|code| code == format!("sm_{arch}"));
    let known: Vec<String> = ARCHITECTURES.iter().filter(|arch| known(arch)).map(|arch| (*arch).to_owned()).collect();
    // A compiler that does not list them is asked for the oldest alone.
    Ok(if known.is_empty() { vec![ARCHITECTURES[0].to_owned()] } else { known })
}

fn compiler() -> PathBuf {
    if let Some(nvcc) = std::env::var_os("NVCC") {
        return nvcc.into();
    }
    let homes = ["CUDA_HOME", "CUDA_PATH"].into_iter().filter_map(std::env::var_os);
    homes.map(|home| Path::new(&home).join("bin/nvcc")).find(|nvcc| nvcc.exists()).unwrap_or_else(|| "nvcc".into())
}

fn compile(nvcc: &Path, architectures: &[String], file: &str, out: &Path) -> Result<(), String> {
    let mut command = Command::new(nvcc);
    // Multiply and add are fused where the source says so and nowhere else: two kernels that promise the same bits must
    // not be at the compiler's mercy.
    command.args(["-std=c++17", "-O3", "-fmad=false", "-fatbin"]);
    for arch in architectures {
        command.arg(format!("-gencode=arch=compute_{arch},code=sm_{arch}"));
    }
    let oldest = &architectures[0];
    command.arg(format!("-gencode=arch=compute_{oldest},code=compute_{oldest}"));
    command.arg("-o").arg(out).arg(format!("cuda/{file}.cu"));
    let said = command.output().map_err(|e| format!("{}: {e}; NVCC or CUDA_HOME say where CUDA is", nvcc.display()))?;
    if said.status.success() {
        return Ok(());
    }
    let text = format!("{}{}", String::from_utf8_lossy(&said.stdout), String::from_utf8_lossy(&said.stderr));
    Err(format!("{} does not compile cuda/{file}.cu:\n{text}", nvcc.display()))
}

//! The arguments that say which model runs and on what, shared by `ask`, `run` and `bench`.

use crate::cli::fetching::{Shown, tell};
use crate::cli::values;
use crate::engine::{Cancel, EngineOptions};
use crate::error::{MootError, Result};
use crate::llm::local::Local;
use crate::open::{self, Options};
use moot_models::kernels;
use moot_models::{DType, Device, LoadOptions, Residency};

/// The smallest model that gets the demo right; see the README.
pub const DEFAULT_MODEL: &str = "qwen2.5-coder-1.5b";

/// As typed.
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Model")]
pub struct Args {
    /// A short name of the catalog, a .gguf file, a model folder, or hf:org/repo[/file.gguf][@revision]
    #[arg(short, long, default_value = DEFAULT_MODEL, env = "MOOT_MODEL")]
    pub model: String,
    /// Never use the network (MOOT_OFFLINE=1 and HF_HUB_OFFLINE=1 say the same)
    #[arg(long)]
    pub offline: bool,
    /// Where it runs: auto, cpu, cuda, cuda:N or metal
    #[arg(long, default_value = "auto")]
    pub device: String,
    /// Threads of the CPU kernels; all cores by default
    #[arg(long, value_name = "N", value_parser = values::count, allow_negative_numbers = true)]
    pub threads: Option<usize>,
    /// Memory for keys and values, as 512M or 4G; a quarter of what is free by default
    #[arg(long, value_name = "BYTES", value_parser = bytes, allow_negative_numbers = true)]
    pub kv_memory: Option<usize>,
    /// Sequences that run at once
    #[arg(long, value_name = "N", default_value_t = EngineOptions::default().rows, value_parser = values::count)]
    #[arg(allow_negative_numbers = true)]
    pub max_rows: usize,
    /// Tokens of one forward pass at most
    #[arg(long, value_name = "N", default_value_t = EngineOptions::default().step_tokens, value_parser = values::count)]
    #[arg(allow_negative_numbers = true)]
    pub step_tokens: usize,
    /// Widen weights to f32 at load (slower, much more memory): the file's numbers with no other rounding, to compare
    #[arg(long)]
    pub widen_weights: bool,
    /// Do not share common prefixes between calls (to measure what sharing gains)
    #[arg(long)]
    pub no_prefix_reuse: bool,
}

/// Reads `512M`, `4G`, `1.5GiB` or plain bytes.
fn bytes(typed: &str) -> std::result::Result<usize, String> {
    let wrong = || "expected bytes, as 512M, 4G or 1073741824".to_owned();
    let digits = typed.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match typed[digits.len()..].to_ascii_lowercase().as_str() {
        "" | "b" => 1.0,
        "k" | "kb" | "kib" => 1024.0,
        "m" | "mb" | "mib" => 1_048_576.0,
        "g" | "gb" | "gib" => 1_073_741_824.0,
        _ => return Err(wrong()),
    };
    let number: f64 = digits.parse().map_err(|_| wrong())?;
    if !(0.0..1e15).contains(&(number * unit)) {
        return Err(wrong());
    }
    Ok((number * unit) as usize)
}

impl Args {
    /// Finds the model, fetching it where need be, loads it, and starts an engine on it.
    ///
    /// # Errors
    /// Whatever stands between a name and a loaded model.
    pub fn start(&self, cancel: Cancel) -> Result<Local> {
        self.set_threads()?;
        let (device, dtype) = self.device()?;
        let residency = if self.widen_weights { Residency::Dense } else { Residency::AsStored };
        let options = Options {
            offline: self.offline,
            load: LoadOptions { device, dtype, residency },
            kv_memory: self.kv_memory,
            engine: EngineOptions {
                rows: self.max_rows,
                step_tokens: self.step_tokens,
                share_prefixes: !self.no_prefix_reuse,
                ..EngineOptions::default()
            },
        };
        let mut shown = Shown::new(&self.model);
        let llm = open::open(&self.model, &options, cancel, &mut |progress| shown.show(&progress))?;
        shown.loaded();
        if let Some(remark) = llm.engine().model().template.remark() {
            tell(remark);
        }
        Ok(llm)
    }

    /// One pool for everything on the CPU, as wide as asked.
    fn set_threads(&self) -> Result<()> {
        kernels::cpu::table().map_err(MootError::Usage)?;
        let Some(threads) = self.threads else { return Ok(()) };
        // Each has a stack: a slip of the finger must not ask the system for a hundred thousand of them.
        const MOST: usize = 1024;
        if threads == 0 || threads > MOST {
            return Err(MootError::Usage(format!("--threads {threads}: expected a number from 1 to {MOST}")));
        }
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build_global();
        pool.map_err(|e| MootError::Usage(format!("--threads {threads}: {e}")))
    }

    /// The device, and the type that dense weights and activations have on it.
    fn device(&self) -> Result<(Device, DType)> {
        let failed = |e: &dyn std::fmt::Display| MootError::Usage(format!("--device {}: {e}", self.device));
        let cuda = |n| Ok((Device::new_cuda(n).map_err(|e| failed(&e))?, DType::BF16));
        match self.device.as_str() {
            "cpu" => Ok((Device::Cpu, DType::F32)),
            "auto" => Ok(open::best_device().unwrap_or_else(|e| fall_back(&e))),
            "metal" if kernels::METAL => Ok((Device::new_metal(0).map_err(|e| failed(&e))?, DType::F32)),
            "metal" => Err(failed(&"this program was built without it: build with --features metal")),
            typed => {
                let number = typed.strip_prefix("cuda").map(|n| n.strip_prefix(':').unwrap_or("0").parse());
                match number {
                    Some(Ok(n)) if kernels::CUDA => cuda(n),
                    Some(Ok(_)) => Err(failed(&"this program was built without it: build with --features cuda")),
                    _ => Err(failed(&"expected auto, cpu, cuda, cuda:N or metal")),
                }
            }
        }
    }
}

fn fall_back(why: &dyn std::fmt::Display) -> (Device, DType) {
    tell(&format!("running on the CPU: {why}"));
    (Device::Cpu, DType::F32)
}

#[cfg(test)]
mod tests {
    use super::bytes;

    #[test]
    fn sizes_are_read_as_people_write_them() {
        for (typed, expected) in [("1024", 1024), ("512M", 512 << 20), ("1.5GiB", 3 << 29), ("2k", 2048)] {
            assert_eq!(bytes(typed), Ok(expected));
        }
        for typed in ["", "G", "-1", "3 apples", "1e30", "1e30G", "NaN"] {
            assert!(bytes(typed).is_err(), "{typed}");
        }
    }
}

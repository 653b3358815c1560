//! Model, device, memory and engine arguments.

use crate::cli::args::values;
use crate::engine::EngineOptions;
use crate::llm::remote::Patience;
use crate::workspace::models::{RecipeChoice, RuntimeOptions, WeightStorage};
use crate::workspace::{DEFAULT_MODEL, MAX_BYTES};

/// As typed.
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Model")]
pub struct ModelArgs {
    /// A name of `moot models list`, auto, a .gguf file, a folder, hf:org/repo, or http://host:port/v1#name [default:
    /// qwen2.5-coder-1.5b]
    ///
    /// In full: auto, the largest of a few models that fits this machine; a short name of the catalog (`qwen2.5-7b:q8_0` in
    /// another quantisation), a .gguf file, a model folder, hf:org/repo[/file.gguf][@revision], or a server,
    /// http://host:port/v1#name; one per role: agent=A,aggregator=B. `moot run` takes several, x,y, one after the other
    #[arg(short, long, env = "MOOT_MODEL")]
    pub model: Option<String>,
    /// Runtime arguments.
    #[command(flatten)]
    pub runtime: Runtime,
}

/// Device, memory and engine arguments; as typed.
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Model")]
pub struct Runtime {
    /// Never use the network (as MOOT_OFFLINE=1 and HF_HUB_OFFLINE=1)
    #[arg(long)]
    pub offline: bool,
    /// Device: auto, cpu, cuda, cuda:N or metal
    #[arg(long, default_value = "auto")]
    pub device: String,
    /// Spread the layers over several GPUs, by number, as 0,1 (instead of --device)
    #[arg(long, value_name = "N,..", value_delimiter = ',', conflicts_with = "device", hide_short_help = true)]
    #[arg(value_parser = values::whole::<usize>)]
    pub devices: Vec<usize>,
    /// On a GPU: sum in a fixed order, so that a reply does not depend on the batch (slower; uses widened weights). On
    /// the CPU this always holds
    #[arg(long, hide_short_help = true)]
    pub exact: bool,
    /// Arithmetic of quantised weights on the CPU, each with the same bits on every processor. int8; bf16: prompts in
    /// bf16, faster with AMX and slower without; auto: bf16 with AMX, else int8
    #[arg(long, value_name = "WHICH", default_value = "auto", value_parser = RecipeChoice::parse, hide_short_help = true)]
    pub recipe: RecipeChoice,
    /// Threads of the CPU kernels; all cores by default
    #[arg(long, value_name = "N", value_parser = values::count, allow_negative_numbers = true)]
    pub threads: Option<usize>,
    /// Memory for keys and values, as 512M or 4G; by default a quarter of the free memory
    #[arg(long, value_name = "BYTES", value_parser = bytes, allow_negative_numbers = true, hide_short_help = true)]
    pub kv_memory: Option<usize>,
    /// Memory for all models together, as 12G; models that do not fit together take turns
    #[arg(long, value_name = "BYTES", value_parser = bytes, allow_negative_numbers = true, hide_short_help = true)]
    pub memory: Option<usize>,
    /// Maximum number of sequences that run at once
    #[arg(long, value_name = "N", default_value_t = EngineOptions::default().rows, value_parser = values::count, hide_short_help = true)]
    #[arg(allow_negative_numbers = true)]
    pub max_rows: usize,
    /// Most tokens of one forward pass; 512 on the CPU and 8192 on a GPU by default
    #[arg(long, value_name = "N", value_parser = values::count, allow_negative_numbers = true, hide_short_help = true)]
    pub step_tokens: Option<usize>,
    /// stored: at the file's width; widened: to f32 at load (slower, much more memory), the file's numbers with no
    /// other rounding, to compare; random[:TYPE]: in the shape of a model of the catalog, TYPE as q4_k, to measure time and memory
    #[arg(long, value_name = "WHICH", default_value = "stored", value_parser = WeightStorage::parse, hide_short_help = true)]
    pub weights: WeightStorage,
    /// Disable prefix sharing between calls (to measure its gain)
    #[arg(long, hide_short_help = true)]
    pub no_prefix_reuse: bool,
    /// Disable draft tokens (to measure their gain; they never change a reply)
    #[arg(long, hide_short_help = true)]
    pub no_speculation: bool,
    /// Maximum number of calls in flight to a remote model
    #[arg(long, value_name = "N", default_value_t = Patience::default().calls, value_parser = values::count, hide_short_help = true)]
    #[arg(allow_negative_numbers = true)]
    pub remote_calls: usize,
    /// Seconds of silence after which a remote model's call is sent again; twelve times as long for a call in all
    #[arg(long, value_name = "SECONDS", default_value_t = Patience::default().silence.as_secs(), hide_short_help = true)]
    #[arg(value_parser = values::seconds, allow_negative_numbers = true)]
    pub remote_timeout: u64,
    /// Number of retries of a remote model's call before the run fails
    #[arg(long, value_name = "N", default_value_t = Patience::default().retries, value_parser = values::count_or_none, hide_short_help = true)]
    #[arg(allow_negative_numbers = true)]
    pub remote_retries: usize,
}

impl ModelArgs {
    /// The model: the default one, the same on every machine, where none is named.
    pub(in crate::cli) fn name(&self) -> String {
        self.model.clone().unwrap_or_else(|| DEFAULT_MODEL.to_owned())
    }
}

/// Parses `512M`, `4G`, `1.5GiB` or plain bytes.
pub(in crate::cli) fn bytes(typed: &str) -> Result<usize, String> {
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
    // NaN, which parses as a number, is in no range.
    if !(0.0..MAX_BYTES as f64).contains(&(number * unit)) {
        return Err(wrong());
    }
    Ok((number * unit) as usize)
}

impl Runtime {
    /// As the plan takes them.
    #[must_use]
    pub(crate) fn options(&self) -> RuntimeOptions {
        RuntimeOptions {
            offline: self.offline,
            device: self.device.clone(),
            devices: self.devices.clone(),
            exact: self.exact,
            recipe: self.recipe,
            threads: self.threads,
            kv_memory: self.kv_memory,
            memory: self.memory,
            max_rows: self.max_rows,
            step_tokens: self.step_tokens,
            weights: self.weights,
            prefix_reuse: !self.no_prefix_reuse,
            speculation: !self.no_speculation,
            remote_calls: self.remote_calls,
            remote_timeout: self.remote_timeout,
            remote_retries: self.remote_retries,
        }
    }
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

//! Model and runtime arguments, shared by `ask`, `run`, `bench` and (runtime only) `verify`.

use crate::cancel::Cancel;
use crate::cli::fetching::{Shown, tell};
use crate::cli::values;
use crate::cli::weights::Weights;
use crate::engine::EngineOptions;
use crate::error::{MootError, Result};
use crate::llm::local::Local;
use crate::llm::remote::{Address, Notice, Patience};
use crate::llm::roles::{Assignment, Roles};
use crate::open::{self, Options, Purpose, Told};
use moot_models::kernels;
use moot_models::{DType, Device, LoadOptions};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// The smallest tested model that reads the demo's documents correctly; see docs/models.md.
pub const DEFAULT_MODEL: &str = "qwen2.5-coder-1.5b";

/// As typed.
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Model")]
pub struct Args {
    /// A name of `moot models list`, a .gguf file, a folder, hf:org/repo, or http://host:port/v1#name
    ///
    /// In full: a short name of the catalog (`qwen2.5-7b:q8_0` in another quantisation), a .gguf file, a model folder,
    /// hf:org/repo[/file.gguf][@revision], or a server, http://host:port/v1#name; one per role: agent=A,aggregator=B. `moot
    /// run` takes several, x,y, one after the other
    #[arg(short, long, default_value = DEFAULT_MODEL, env = "MOOT_MODEL")]
    pub model: String,
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
    pub devices: Vec<usize>,
    /// On a GPU: sum in a fixed order, so that a reply does not depend on the batch (slower; takes widened weights). On
    /// the CPU this always holds
    #[arg(long, hide_short_help = true)]
    pub exact: bool,
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
    /// other rounding, to compare; random[:TYPE]: in the shape of a model of the catalog, TYPE as q4_k, for bench alone
    #[arg(long, value_name = "WHICH", default_value = "stored", value_parser = Weights::parse, hide_short_help = true)]
    pub weights: Weights,
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

/// Parses `512M`, `4G`, `1.5GiB` or plain bytes.
pub(super) fn bytes(typed: &str) -> std::result::Result<usize, String> {
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
    /// Opens the models for the roles of a method. If `think` is above 0, prints which models cannot think.
    ///
    /// # Errors
    /// As [`Runtime::start`].
    pub fn start(&self, purpose: Purpose<'_>, think: usize, cancel: &Cancel) -> Result<Roles> {
        self.runtime.start(&self.model, purpose, think, cancel)
    }

    /// Opens the only named model, which must be local, or random weights in its shape.
    ///
    /// # Errors
    /// Failures to find or load it; several roles, or a remote model.
    pub fn start_one(&self, what: &str, cancel: Cancel) -> Result<Local> {
        let options = self.runtime.options()?;
        let assignment = Assignment::parse(&self.model)?;
        let name = assignment.only(what)?;
        if Address::is_one(name) {
            return Err(MootError::Usage(format!("{what} is of models on this machine, and {name} is elsewhere")));
        }
        let mut shown = Shown::new(name);
        let llm = match self.runtime.weights {
            Weights::Random(storage) => open::random(name, storage, &options, cancel)?,
            _ => open::open(name, &options, cancel, &mut |progress| shown.show(&progress))?,
        };
        shown.loaded();
        let model = llm.engine().model();
        model.template.remark().into_iter().for_each(tell);
        model.decoder.spec().note().iter().for_each(|note| tell(&format!("{name}: {note}")));
        Ok(llm)
    }
}

impl Runtime {
    /// Opens the models that `model` names for `purpose`: finds each, fetching it if needed, loads it or
    /// plans its turn, or connects to its server. If `think` is above 0, prints which models cannot think.
    ///
    /// # Errors
    /// Failures to find, load or reach a model.
    pub fn start(&self, model: &str, purpose: Purpose<'_>, think: usize, cancel: &Cancel) -> Result<Roles> {
        if let Weights::Random(_) = self.weights {
            return Err(MootError::Usage("--weights random is for moot bench alone: such a model says nothing".into()));
        }
        let options = self.options()?;
        let assignment = Assignment::parse(model)?;
        let mut shown: Option<Shown> = None;
        let mut began = Instant::now();
        open::open_all(&assignment, purpose, &options, cancel, &mut |told| match told {
            Told::Finding(name, progress) => {
                if shown.as_ref().is_none_or(|shown| shown.name() != name) {
                    shown = Some(Shown::new(name));
                }
                shown.iter_mut().for_each(|shown| shown.show(&progress));
            }
            Told::Note(name, note) => tell(&format!("{name}: {note}")),
            Told::Plan(plan) => plan.to_string().lines().for_each(tell),
            Told::Loading(name) => {
                tell(&format!("{name}: loading"));
                began = Instant::now();
            }
            Told::Loaded { name, thinks, remark } => {
                tell(&format!("{name} loaded in {:.1} s", began.elapsed().as_secs_f64()));
                remark.into_iter().for_each(tell);
                if think > 0 && !thinks {
                    tell(&format!("{name} was not made to think: --think changes nothing for it"));
                }
            }
            Told::Elsewhere(name) => tell(&format!("{name}: answers")),
        })
    }

    /// Finds the model `name`, fetching it if needed, without loading it; of a server, whether it answers.
    ///
    /// # Errors
    /// It cannot be found or fetched, exceeds the memory, or does not answer.
    pub(super) fn look_for(&self, name: &str, cancel: &Cancel) -> Result<()> {
        let options = self.options()?;
        if Address::is_one(name) {
            return open::remote(name, &options, cancel.clone()).map(drop);
        }
        let mut shown = Shown::new(name);
        open::LocatedModel::find(name, &options, &mut |progress| shown.show(&progress))?.check(&options)
    }

    fn options(&self) -> Result<Options> {
        self.set_threads()?;
        let (device, dtype, more_devices) = self.all_devices()?;
        let residency = self.weights.residency();
        let engine = EngineOptions::on(&device);
        Ok(Options {
            offline: self.offline,
            load: LoadOptions { device, dtype, residency, more_devices, exact: self.exact },
            kv_memory: self.kv_memory,
            memory: self.memory,
            engine: EngineOptions {
                rows: self.max_rows,
                step_tokens: self.step_tokens.unwrap_or(engine.step_tokens),
                share_prefixes: !self.no_prefix_reuse,
                speculate: !self.no_speculation,
                ..engine
            },
            patience: Patience {
                calls: self.remote_calls,
                silence: Duration::from_secs(self.remote_timeout),
                total: Duration::from_secs(self.remote_timeout).saturating_mul(Patience::TOTAL_PER_SILENCE),
                retries: self.remote_retries,
                ..Patience::default()
            },
            notice: Notice::new(tell),
        })
    }

    /// Creates the thread pool with the requested number of threads. Must be called before anything is computed; later
    /// calls have no effect.
    pub(super) fn set_threads(&self) -> Result<()> {
        static SET: OnceLock<()> = OnceLock::new();
        if SET.set(()).is_err() {
            return Ok(());
        }
        kernels::cpu::table().map_err(MootError::Usage)?;
        kernels::cpu::remark().into_iter().for_each(|remark| tell(&format!("note: {remark}")));
        let Some(threads) = self.threads else { return Ok(()) };
        // Each thread has a stack: a typing error must not create a hundred thousand.
        const MOST: usize = 1024;
        if threads == 0 || threads > MOST {
            return Err(MootError::Usage(format!("--threads {threads}: expected a number from 1 to {MOST}")));
        }
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build_global();
        pool.map_err(|e| MootError::Usage(format!("--threads {threads}: {e}")))
    }

    /// The first device, the type of dense weights and activations on it, and the other devices.
    fn all_devices(&self) -> Result<(Device, DType, Vec<Device>)> {
        let Some((first, rest)) = self.devices.split_first() else {
            return device("--device", &self.device).map(|(device, dtype)| (device, dtype, Vec::new()));
        };
        if !kernels::CUDA {
            let reason = "this program was built without CUDA: build with --features cuda";
            return Err(MootError::Usage(format!("--devices: {reason}")));
        }
        if let Some(twice) =
            self.devices.iter().enumerate().find_map(|(i, n)| self.devices[..i].contains(n).then_some(n))
        {
            return Err(MootError::Usage(format!("--devices: expected different numbers, {twice} stands there twice")));
        }
        let open = |n: &usize| kernels::open_cuda(*n).map_err(|e| MootError::Usage(format!("--devices {n}: {e}")));
        Ok((open(first)?, DType::BF16, rest.iter().map(open).collect::<Result<_>>()?))
    }
}

/// The device named by the value of `flag`, and the type of dense weights and activations on it.
///
/// # Errors
/// An unknown device, or one that this build or this machine does not have.
pub(super) fn device(flag: &str, typed: &str) -> Result<(Device, DType)> {
    let failed = |e: &dyn std::fmt::Display| MootError::Usage(format!("{flag} {typed}: {e}"));
    let cuda = |n| Ok((kernels::open_cuda(n).map_err(|e| failed(&e))?, DType::BF16));
    match typed {
        "cpu" => Ok((Device::Cpu, DType::F32)),
        "auto" => Ok(open::best_device().unwrap_or_else(|e| fall_back(&e))),
        "metal" if kernels::METAL => {
            let device = Device::new_metal(0).map_err(kernels::without_backtrace);
            Ok((device.map_err(|e| failed(&e))?, DType::F32))
        }
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

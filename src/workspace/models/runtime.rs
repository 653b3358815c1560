//! Device, memory, engine and server settings as a user gives them, and what they mean.

use super::gpu_check;
use super::options::{Options, best_device};
use super::recipe::RecipeChoice;
use super::storage::WeightStorage;
use crate::engine::EngineOptions;
use crate::error::{MootError, Result};
use crate::llm::remote::{Notice, Patience};
use crate::threads;
use crate::workspace::ranges::{MAX_BYTES, MAX_SECONDS, count, count_or_none, within};
use moot_models::{DType, Device, LoadOptions, Residency, kernels};
use serde::{Deserialize, Serialize};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Device, memory, engine and server settings; all have defaults.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RuntimeOptions {
    /// Never use the network.
    pub offline: bool,
    /// `auto`, `cpu`, `cuda`, `cuda:N` or `metal`.
    pub device: String,
    /// GPUs, by number, over which the layers are spread; where there are any, `device` is not used.
    pub devices: Vec<usize>,
    /// On a GPU: sums in a fixed order, so that a reply does not depend on the batch.
    pub exact: bool,
    /// The arithmetic of quantised weights on the CPU.
    pub recipe: RecipeChoice,
    /// Threads of the CPU kernels; `None`: all cores. The first [`RuntimeOptions::resolve`] of a process decides.
    pub threads: Option<usize>,
    /// Bytes for keys and values; `None`: a quarter of the free memory.
    pub kv_memory: Option<usize>,
    /// Bytes for all models together; models that do not fit together take turns.
    pub memory: Option<usize>,
    /// Sequences that run at once, at most.
    pub max_rows: usize,
    /// Tokens of one forward pass, at most; `None`: 512 on the CPU, 8192 on a GPU.
    pub step_tokens: Option<usize>,
    /// How the weights are held.
    pub weights: WeightStorage,
    /// Calls share the pages of their common prefix.
    pub prefix_reuse: bool,
    /// Draft tokens are verified in the same step; they never change a reply.
    pub speculation: bool,
    /// Calls in flight to a model on a server, at most.
    pub remote_calls: usize,
    /// Seconds of silence after which a server's call is sent again.
    pub remote_timeout: u64,
    /// Number of times that a server's call is sent again before the run fails.
    pub remote_retries: usize,
}

impl Default for RuntimeOptions {
    fn default() -> Self {
        let patience = Patience::default();
        Self {
            offline: false,
            device: "auto".into(),
            devices: Vec::new(),
            exact: false,
            recipe: RecipeChoice::default(),
            threads: None,
            kv_memory: None,
            memory: None,
            max_rows: EngineOptions::default().rows,
            step_tokens: None,
            weights: WeightStorage::default(),
            prefix_reuse: true,
            speculation: true,
            remote_calls: patience.calls,
            remote_timeout: patience.silence.as_secs(),
            remote_retries: patience.retries,
        }
    }
}

/// Most threads: each has a stack, and a typing error must not create a hundred thousand.
const MAX_THREADS: u64 = 1024;

impl RuntimeOptions {
    /// Checks the numbers.
    ///
    /// # Errors
    /// [`MootError::Usage`] for one out of range.
    pub(in crate::workspace) fn check(&self) -> Result<()> {
        self.check_threads()?;
        count("--max-rows", self.max_rows)?;
        count("--remote-calls", self.remote_calls)?;
        count_or_none("--remote-retries", self.remote_retries)?;
        within("--remote-timeout", self.remote_timeout, 1..=MAX_SECONDS)?;
        self.step_tokens.map_or(Ok(()), |tokens| count("--step-tokens", tokens))?;
        let memory = [("--kv-memory", self.kv_memory), ("--memory", self.memory)];
        let checked = |(option, bytes): (&str, Option<usize>)| {
            bytes.map_or(Ok(()), |bytes| within(option, bytes as u64, 0..=MAX_BYTES as u64))
        };
        memory.into_iter().try_for_each(checked)
    }

    fn check_threads(&self) -> Result<()> {
        self.threads.map_or(Ok(()), |threads| within("--threads", threads as u64, 1..=MAX_THREADS))
    }

    /// Creates the thread pool, opens the devices, and returns the options of models. `notice` receives notes.
    ///
    /// # Errors
    /// [`MootError::Usage`] for a device that this build or this machine does not have, or a number out of range.
    pub fn resolve(&self, notice: Notice) -> Result<Options> {
        self.set_threads(&notice)?;
        let (device, dtype, more_devices) = self.all_devices(&notice)?;
        let residency = self.weights.residency();
        let candles_alone = kernels::packs_blocks(&device) && !kernels::multiplies_blocks(&device);
        if residency == Residency::AsStored && !self.exact && candles_alone {
            notice.tell(
                "note: weights of Q2_K and Q3_K are widened: Candle's kernels for them were compiled for another GPU; build \
                 moot on this machine to keep them quantised",
            );
        }
        let engine = EngineOptions::on(&device);
        let silence = Duration::from_secs(self.remote_timeout);
        Ok(Options {
            offline: self.offline,
            load: LoadOptions { device, dtype, residency, more_devices, exact: self.exact, recipe: self.recipe.here() },
            kv_memory: self.kv_memory,
            memory: self.memory,
            engine: EngineOptions {
                rows: self.max_rows,
                step_tokens: self.step_tokens.unwrap_or(engine.step_tokens),
                share_prefixes: self.prefix_reuse,
                speculate: self.speculation,
                ..engine
            },
            patience: Patience {
                calls: self.remote_calls,
                silence,
                total: silence.saturating_mul(Patience::TOTAL_PER_SILENCE),
                retries: self.remote_retries,
                ..Patience::default()
            },
            notice,
        })
    }

    /// Creates the thread pool with the requested number of threads. It must be called before anything is computed; once
    /// it has succeeded, later calls have no effect.
    ///
    /// # Errors
    /// [`MootError::Usage`] for a number of threads that cannot be had.
    pub(crate) fn set_threads(&self, notice: &Notice) -> Result<()> {
        static SET: Mutex<bool> = Mutex::new(false);
        // Held to the end, so that a call at the same time does not return before there is a pool.
        let mut set = SET.lock().unwrap_or_else(PoisonError::into_inner);
        if *set {
            return Ok(());
        }
        kernels::cpu::table().map_err(MootError::Usage)?;
        kernels::cpu::remark().into_iter().for_each(|remark| notice.tell(&format!("note: {remark}")));
        self.start_pool(notice)?;
        *set = true;
        Ok(())
    }

    /// Starts the threads that share computations; later calls have no effect. `notice` gets a line if the system
    /// allows fewer.
    ///
    /// # Errors
    /// [`MootError::Usage`] for an impossible number; as [`threads::start_pool`].
    pub(crate) fn start_pool(&self, notice: &Notice) -> Result<()> {
        self.check_threads()?;
        if let Some(fewer) = threads::start_pool(self.threads)? {
            notice.tell(&format!("note: the system allows fewer threads than cores: computing with {fewer}"));
        }
        Ok(())
    }

    /// The first device, the type of dense weights and activations on it, and the other devices.
    fn all_devices(&self, notice: &Notice) -> Result<(Device, DType, Vec<Device>)> {
        let Some((first, rest)) = self.devices.split_first() else {
            return device("--device", &self.device, notice).map(|(device, dtype)| (device, dtype, Vec::new()));
        };
        let wrong = |reason: String| MootError::Usage(format!("--devices{reason}"));
        if !kernels::CUDA {
            return Err(wrong(": this program was built without CUDA: build with --features cuda".into()));
        }
        let repeated = |(i, n): (usize, &usize)| self.devices[..i].contains(n).then_some(*n);
        if let Some(n) = self.devices.iter().enumerate().find_map(repeated) {
            return Err(wrong(format!(": expected different numbers, {n} is given twice")));
        }
        let open = |n: &usize| {
            let device = kernels::open_cuda(*n).map_err(|e| wrong(format!(" {n}: {e}")))?;
            gpu_check::check(&device, notice).map_err(|e| wrong(format!(" {n}: {e}")))?;
            Ok(device)
        };
        Ok((open(first)?, DType::BF16, rest.iter().map(open).collect::<Result<_>>()?))
    }
}

/// The device that the option `option` names, and the type of dense weights and activations on it. Where `auto` falls back
/// to the CPU, `notice` says why.
///
/// # Errors
/// [`MootError::Usage`] for an unknown device, or one that this build or this machine does not have.
pub(crate) fn device(option: &str, typed: &str, notice: &Notice) -> Result<(Device, DType)> {
    if typed == "auto" {
        let on_cpu = |why: String| {
            notice.tell(&format!("running on the CPU: {why}"));
            (Device::Cpu, DType::F32)
        };
        return Ok(match best_device() {
            Ok(best) => gpu_check::check(&best.0, notice).map_or_else(|why| on_cpu(why.to_string()), |()| best),
            Err(why) => on_cpu(why.to_string()),
        });
    }
    let opened = opened_device(option, typed)?;
    gpu_check::check(&opened.0, notice).map_err(|e| MootError::Usage(format!("{option} {typed}: {e}")))?;
    Ok(opened)
}

/// As [`device`], without a test of the GPU.
///
/// # Errors
/// As [`device`]; `auto`.
pub(crate) fn opened_device(option: &str, typed: &str) -> Result<(Device, DType)> {
    let failed = |e: &dyn std::fmt::Display| MootError::Usage(format!("{option} {typed}: {e}"));
    let without =
        |feature: &str| failed(&format!("this program was built without it: build with --features {feature}"));
    match typed {
        "cpu" => Ok((Device::Cpu, DType::F32)),
        "metal" if kernels::METAL => {
            let device = Device::new_metal(0).map_err(kernels::without_backtrace);
            Ok((device.map_err(|e| failed(&e))?, DType::F32))
        }
        "metal" => Err(without("metal")),
        typed => match typed.strip_prefix("cuda").map(|n| n.strip_prefix(':').unwrap_or("0").parse()) {
            Some(Ok(n)) if kernels::CUDA => Ok((kernels::open_cuda(n).map_err(|e| failed(&e))?, DType::BF16)),
            Some(Ok(_)) => Err(without("cuda")),
            _ => Err(failed(&"expected auto, cpu, cuda, cuda:N or metal")),
        },
    }
}

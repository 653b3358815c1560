//! Checks of this machine: hardware, caches, sources, and a self-test of some seconds.

pub mod model_check;
pub mod self_test;

use crate::error::{MootError, Result};
use crate::llm::remote::Notice;
use crate::memory::Memory;
use crate::workspace::models::{best_device, forget_gpu_check, opened_device};
use model_check::ModelCheck;
use moot_models::Device;
use moot_models::kernels::{self, cpu};
use moot_models::source::FetchEvent;
use moot_models::source::{self, CacheLocations, Catalog, Options};
use self_test::SelfTest;
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Memory required for the self-test: the bandwidth test's buffer and a margin.
const TEST_MEMORY: u64 = 3 << 29;

/// The results of all checks.
#[derive(Debug, Serialize)]
pub struct Report {
    /// Version of this program.
    pub version: &'static str,
    /// The default device.
    pub device: DeviceReport,
    /// The processor.
    pub cpu: CpuReport,
    /// Its memory.
    pub memory: Memory,
    /// Folders with models.
    pub caches: Vec<CacheReport>,
    /// Sources of models; empty offline.
    pub sources: Vec<SourceReport>,
    /// Measurements and bit comparisons; `None` if there is not enough memory.
    pub self_test: Option<SelfTest>,
    /// A model on the device beside the CPU, if one was named.
    pub model: Option<ModelCheck>,
    /// The checks that failed.
    pub broken: Vec<String>,
    /// Notes.
    pub notes: Vec<String>,
}

/// The device that is tested.
#[derive(Debug, Serialize)]
pub struct DeviceReport {
    /// "cpu", "cuda", "metal".
    pub name: &'static str,
    /// Supported devices of this build besides the CPU.
    pub built_with: Vec<&'static str>,
    /// The GPU, where it is one of CUDA.
    pub gpu: Option<GpuReport>,
}

/// A GPU and its self-test.
#[derive(Debug, Serialize)]
pub struct GpuReport {
    /// Its name, compute capability and driver.
    pub description: String,
    /// Seconds of the self-test.
    pub seconds: f64,
    /// Whether every op agrees with its reference; ops that do not are among the failed checks.
    pub passed: bool,
}

/// The processor and the kernels for it.
#[derive(Debug, Serialize)]
pub struct CpuReport {
    /// Model name.
    pub name: String,
    /// Threads of the thread pool.
    pub threads: usize,
    /// Instruction sets that matter to the kernels.
    pub features: Vec<String>,
    /// The kernel table in use; `None` if `MOOT_CPU` names one that cannot run here.
    pub table: Option<&'static str>,
    /// Kernel tables that this machine can run, best first.
    pub tables: Vec<&'static str>,
}

/// A folder with models in it.
#[derive(Debug, Serialize)]
pub struct CacheReport {
    /// "moot" or "hub".
    pub name: &'static str,
    /// The folder.
    pub path: PathBuf,
    /// Bytes in it.
    pub bytes: u64,
    /// Bytes free on its disk; `None` if unknown.
    pub free: Option<u64>,
}

/// The result for one source.
#[derive(Debug, Serialize)]
pub struct SourceReport {
    /// "hub" or "wheels".
    pub name: &'static str,
    /// Its address.
    pub address: String,
    /// Seconds to connect; `None` on failure or behind a proxy.
    pub seconds: Option<f64>,
    /// Reason of the failure.
    pub reason: Option<String>,
}

/// Options of an examination.
#[derive(Debug, Clone)]
pub(crate) struct Examination {
    /// Whether sources of models are left alone.
    pub offline: bool,
    /// The device to test: `auto`, or as `cuda:1`.
    pub device: String,
    /// A model that is compared on the device with the CPU.
    pub model: Option<String>,
}

/// Runs all checks; takes about ten seconds, and longer with a model.
///
/// # Errors
/// There is no cache folder; the named device cannot be used.
pub(crate) fn examine(asked: &Examination, notice: &Notice, progress: &mut dyn FnMut(FetchEvent)) -> Result<Report> {
    let offline = asked.offline || source::offline_by_environment().is_some();
    let options = Options { cache: source::default_cache()?, offline };
    let locations = source::cache_locations(&options);
    let memory = Memory::here();
    let (mut broken, mut notes) = (Vec::new(), Vec::new());
    let device = device(&asked.device, &mut broken)?;
    let cpu = cpu(&mut broken);
    notes.extend(cpu::remark().map(str::to_owned));
    if let Err(why) = writable(&options.cache) {
        broken.push(why);
    }
    let sources = if offline { Vec::new() } else { source::sources().into_iter().map(SourceReport::from).collect() };
    supply(&sources, &options, &locations, &mut notes);
    let self_test = (cpu.table.is_some() && memory.available >= TEST_MEMORY).then(self_test::run);
    let self_test = match self_test {
        Some(Ok(test)) => {
            broken.extend(test.wrong.iter().map(|wrong| format!("self-test: {wrong}")));
            Some(test)
        }
        Some(Err(error)) => {
            broken.push(format!("self-test: {error}"));
            None
        }
        None => {
            notes.push("the self-test was left out".to_owned());
            None
        }
    };
    let model = asked.model.as_ref().and_then(|model| {
        let typed = if asked.device == "auto" { device.name } else { &asked.device };
        let checked = model_check::run(model, typed, offline, (notice, progress));
        checked.map_err(|error| broken.push(format!("model: {error}"))).ok()
    });
    broken.extend(model.as_ref().and_then(ModelCheck::fault));
    let caches = vec![cache("moot", &options.cache), cache("hub", &locations.hub_cache)];
    Ok(Report {
        version: env!("CARGO_PKG_VERSION"),
        device,
        cpu,
        memory,
        caches,
        sources,
        self_test,
        model,
        broken,
        notes,
    })
}

impl Report {
    /// Succeeds if everything works.
    ///
    /// # Errors
    /// [`MootError::Broken`] with the failed checks.
    pub fn verdict(&self) -> Result<()> {
        if self.broken.is_empty() { Ok(()) } else { Err(MootError::Broken(self.broken.clone())) }
    }
}

impl From<source::Reached> for SourceReport {
    fn from(reached: source::Reached) -> Self {
        let (seconds, reason) = match reached.outcome {
            Ok(_) if reached.proxied => (None, Some("not tried: the connection goes through a proxy".to_owned())),
            Ok(seconds) => (Some(seconds), None),
            Err(reason) => (None, Some(reason)),
        };
        Self { name: reached.source, address: reached.address, seconds, reason }
    }
}

fn device(typed: &str, broken: &mut Vec<String>) -> Result<DeviceReport> {
    let built = [("cuda", kernels::CUDA), ("metal", kernels::METAL)];
    let built_with = built.into_iter().filter(|(_, built)| *built).map(|(name, _)| name).collect();
    let opened = match typed {
        // A device that was not named is a failed check alone: everything else can still be examined.
        "auto" => best_device().map_err(|error| broken.push(format!("device: {error}"))).ok(),
        _ => Some(opened_device("--device", typed)?),
    };
    let name = match opened.as_ref().map(|(device, _)| device) {
        Some(Device::Cuda(_)) => "cuda",
        Some(Device::Metal(_)) => "metal",
        Some(Device::Cpu) | None => "cpu",
    };
    let gpu = opened.and_then(|(device, _)| gpu(&device, broken));
    Ok(DeviceReport { name, built_with, gpu })
}

fn gpu(device: &Device, broken: &mut Vec<String>) -> Option<GpuReport> {
    let description = kernels::gpu_description(device).ok()??;
    let began = Instant::now();
    let failures = kernels::self_test(device);
    let seconds = began.elapsed().as_secs_f64();
    broken.extend(failures.iter().map(|failure| format!("self-test of the GPU: {failure}")));
    if !failures.is_empty()
        && let Err(error) = forget_gpu_check(device)
    {
        broken.push(format!("self-test of the GPU: {error}; other commands take it as passed"));
    }
    Some(GpuReport { description, seconds, passed: failures.is_empty() })
}

fn cpu(broken: &mut Vec<String>) -> CpuReport {
    let mut system = sysinfo::System::new();
    system.refresh_cpu_all();
    let table = cpu::table().map(|table| table.name).map_err(|why| broken.push(why)).ok();
    CpuReport {
        name: system.cpus().first().map_or_else(String::new, |cpu| cpu.brand().trim().to_owned()),
        threads: rayon::current_num_threads(),
        features: features(&std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default()),
        table,
        tables: cpu::tables().iter().map(|table| table.name).collect(),
    }
}

/// The relevant instruction sets in `/proc/cpuinfo`; empty if the system has no such file.
fn features(cpuinfo: &str) -> Vec<String> {
    const MATTER: [&str; 16] = [
        "avx2",
        "fma",
        "f16c",
        "avx512f",
        "avx512bw",
        "avx512vl",
        "avx_vnni",
        "avx512_vnni",
        "avx512_bf16",
        "amx_tile",
        "amx_int8",
        "amx_bf16",
        "asimd",
        "asimddp",
        "i8mm",
        "sve",
    ];
    // `flags` on x86, `Features` on Arm.
    let line = cpuinfo.lines().find(|line| line.starts_with("flags") || line.starts_with("Features"));
    let has: Vec<&str> = line.and_then(|line| line.split_once(':')).map_or(vec![], |(_, all)| all.split(' ').collect());
    MATTER.into_iter().filter(|feature| has.contains(feature)).map(str::to_owned).collect()
}

fn cache(name: &'static str, path: &Path) -> CacheReport {
    CacheReport { name, path: path.to_owned(), bytes: source::folder_bytes(path), free: free_space(path) }
}

/// Free bytes of the disk of `path`, or of its nearest existing ancestor.
fn free_space(path: &Path) -> Option<u64> {
    let there = path.ancestors().find(|folder| folder.is_dir())?;
    // `-P` keeps a long device name on one line with its numbers, `-k` counts in KiB.
    let output = std::process::Command::new("df").args(["-Pk"]).arg(there).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let free = text.lines().nth(1)?.split_whitespace().nth(3)?.parse::<u64>().ok()?;
    free.checked_mul(1024)
}

/// Checks that the cache folder is writable.
fn writable(cache: &Path) -> std::result::Result<(), String> {
    let created = std::fs::create_dir_all(cache).and_then(|()| tempfile::tempfile_in(cache));
    created
        .map(drop)
        .map_err(|error| format!("cache {}: cannot write: {error}; MOOT_CACHE can name a folder", cache.display()))
}

/// Adds a note if no model is on this machine or none can be fetched.
fn supply(sources: &[SourceReport], options: &Options, locations: &CacheLocations, notes: &mut Vec<String>) {
    let here = |alias: &str| source::copies(alias, options).is_ok_and(|copies| !copies.is_empty());
    let models = Catalog::embedded().models.iter().filter(|entry| here(&entry.alias)).count();
    if models == 0 {
        notes.push("no model of the catalog is here yet: `moot models pull NAME` fetches one".to_owned());
    }
    // Behind a proxy nothing was tried, so a source may be reached.
    let reached = |source: &SourceReport| source.reason.as_ref().is_none_or(|reason| reason.contains("proxy"));
    if !options.offline && !sources.iter().any(reached) {
        notes.push("no source of models can be reached from here; what is in the caches can be used".to_owned());
    }
    if !options.offline && !locations.token {
        notes.push("there is no HF_TOKEN: gated models (Llama, Mistral) come from their open copies only".to_owned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_are_read_from_either_kind_of_processor() {
        let x86 = "processor\t: 0\nmodel name\t: X\nflags\t\t: fpu avx2 fma avx512f avx512_vnni\n";
        assert_eq!(features(x86), ["avx2", "fma", "avx512f", "avx512_vnni"]);
        assert_eq!(features("Features\t: fp asimd asimddp\n"), ["asimd", "asimddp"]);
        assert!(features("").is_empty() && features("flags").is_empty());
    }

    #[test]
    fn a_cache_that_cannot_be_written_is_named() {
        let file = std::env::temp_dir().join(format!("moot-doctor-test-{}", std::process::id()));
        std::fs::write(&file, "a file").expect("a temporary folder (bug)");
        let why = writable(&file).expect_err("a file is no folder (bug)");
        assert!(why.contains("cannot write") && why.contains("MOOT_CACHE"), "{why}");
        let _ = std::fs::remove_file(&file);
    }
}

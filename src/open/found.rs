//! A model that was found and not yet loaded: what it is, and what it will take.

use super::Options;
use crate::engine::{Cancel, Engine, EngineOptions};
use crate::error::{MootError, Result};
use crate::llm::ModelIdentity;
use crate::llm::local::Local;
use moot_models::source::{self, Progress};
use moot_models::weights::Weights;
use moot_models::{DType, KvCache, Model, arch};
use std::path::PathBuf;

/// Where a model is, and its sizes as its header tells them.
#[derive(Debug, Clone)]
pub struct Found {
    /// As the user named it.
    pub name: String,
    /// Its file or folder.
    pub path: PathBuf,
    /// For the record.
    pub identity: ModelIdentity,
    /// Bytes of its weights once loaded.
    pub weights: usize,
    /// Bytes beside weights and KV pages: activations of a step, logits, the vocabulary's tables.
    pub working: usize,
    /// Bytes of KV pages for one sequence of 2,048 tokens, or of the whole context where that is shorter.
    pub least_kv: usize,
}

impl Found {
    /// Finds the model `name`, fetching it where need be, and reads its header.
    ///
    /// # Errors
    /// It cannot be found or fetched; its header is not sound, or of an unknown kind.
    pub fn find(name: &str, options: &Options, progress: &mut dyn FnMut(Progress)) -> Result<Self> {
        let cache = source::default_cache()?;
        let places = source::Options { cache: cache.clone(), offline: options.offline };
        let located = source::locate(name, &places, progress)?;
        let sha256 = source::model_hash(&located.path, &cache)?;
        let weights = Weights::open(&located.path)?;
        let spec = arch::spec(&weights)?;
        let mut elements: usize = 0;
        for tensor in weights.names() {
            elements = elements.saturating_add(weights.shape(tensor)?.iter().product());
        }
        let dtype = options.load.dtype;
        let page = KvCache::page_bytes(&spec, dtype);
        let tokens = spec.context.min(2048);
        let row = 4 * spec.hidden + 2 * (spec.heads + 2 * spec.kv_heads) * spec.head_dim + 3 * spec.intermediate;
        let logits = 2 * spec.vocab * options.engine.rows;
        Ok(Self {
            name: name.to_owned(),
            weights: elements.saturating_mul(dtype.size_in_bytes()),
            working: DType::F32.size_in_bytes() * (row * options.engine.step_tokens + logits),
            least_kv: tokens.div_ceil(moot_models::PAGE) * page,
            identity: ModelIdentity {
                name: name.to_owned(),
                sha256,
                architecture: spec.architecture.to_owned(),
                context: spec.context,
            },
            path: located.path,
        })
    }

    /// Loads it and starts an engine with `kv_memory` bytes of pages; `None` takes a share of what is free then.
    ///
    /// # Errors
    /// Weights that do not load, memory that is not there.
    pub fn load(&self, kv_memory: Option<usize>, options: &Options, cancel: Cancel) -> Result<Local> {
        let model = Model::open(&self.path, &options.load)?;
        // Asked now: the weights are in memory already.
        let kv_memory = share(kv_memory, &model)?;
        let engine = Engine::start(model, EngineOptions { kv_memory, ..options.engine })?;
        Ok(Local::new(engine, self.identity.clone(), cancel))
    }
}

/// As asked; else a quarter of the free memory, between 256 MiB and 8 GiB; elsewhere than on the CPU, 4 GiB.
///
/// # Errors
/// More than this machine has: the system would lend it page by page, and end the program where it has no more.
fn share(asked: Option<usize>, model: &Model) -> Result<usize> {
    const GIB: usize = 1 << 30;
    if !model.decoder.is_on_cpu() {
        return Ok(asked.unwrap_or(4 * GIB));
    }
    let (total, free) = machine();
    match asked {
        Some(bytes) if total > 0 && bytes > total => Err(MootError::Usage(format!(
            "--kv-memory {bytes}: expected at most {total} bytes, the memory of this machine"
        ))),
        Some(bytes) => Ok(bytes),
        None => Ok((free / 4).clamp(GIB / 4, 8 * GIB)),
    }
}

/// Bytes of memory that this machine has, and those that are free; 0 where it does not tell.
pub(super) fn machine() -> (usize, usize) {
    let mut system = sysinfo::System::new();
    system.refresh_memory();
    let (mut total, mut free) = (system.total_memory(), system.available_memory());
    // Containers: the limit of the control group, where there is one, is what counts.
    if let Some(group) = system.cgroup_limits() {
        total = total.min(group.total_memory);
        free = free.min(group.free_memory);
    }
    let bytes = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
    (bytes(total), bytes(free))
}

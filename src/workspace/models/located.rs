//! A model that was located but not loaded: its identity and memory needs.

use super::options::Options;
use super::recipe::recipe;
use super::recommended;
use crate::cancel::Cancel;
use crate::engine::{Engine, EngineOptions};
use crate::error::{MootError, Result};
use crate::llm::ModelIdentity;
use crate::llm::local::Local;
use crate::memory::{self, Memory};
use moot_models::kernels::{multiplies_blocks, packs_blocks};
use moot_models::memory::{Footprint, Needed, Widened};
use moot_models::source::{self, FetchEvent};
use moot_models::weights::Weights;
use moot_models::{LoadOptions, Model, Residency, arch};
use std::path::{Path, PathBuf};

/// Minimum default memory for keys and values.
const LEAST_KV: usize = 256 << 20;

/// A model's path, and its sizes from its header.
#[derive(Debug, Clone)]
pub struct LocatedModel {
    /// As the user named it.
    pub name: String,
    /// Its file or folder.
    pub path: PathBuf,
    /// For the record; without the hash until [`LocatedModel::identify`] is called.
    pub identity: ModelIdentity,
    /// Its sizes.
    pub footprint: Footprint,
    /// A limitation of the model here, if any: one line.
    pub note: Option<String>,
    /// How it is loaded: on a GPU with a stream of its own, which it keeps where models take turns.
    pub(super) load: LoadOptions,
}

impl LocatedModel {
    /// Finds the model `name`, which may be [`AUTO`](super::AUTO), fetching it if needed, and reads its header.
    ///
    /// # Errors
    /// It cannot be found or fetched; its header is invalid or of an unknown kind.
    pub fn find(name: &str, options: &Options, progress: &mut dyn FnMut(FetchEvent)) -> Result<Self> {
        let name = recommended::named(name, options.offline || source::offline_by_environment().is_some());
        let search = source::Options { cache: source::default_cache()?, offline: options.offline };
        let path = source::locate(name, &search, progress)?.path;
        Self::of(name, &path, &Weights::open(&path)?, options)
    }

    /// The model `name` at `path`, by the header of its `weights`.
    pub(super) fn of(name: &str, path: &Path, weights: &Weights, options: &Options) -> Result<Self> {
        let spec = arch::spec(weights)?;
        let (name, architecture) = (name.to_owned(), spec.architecture.to_owned());
        let mut recipe = recipe(&options.load);
        let footprint = Footprint::of(weights)?;
        let footprint = if options.load.device.is_cpu() {
            footprint.with_kv(options.load.kv_dtype())
        } else {
            let device = &options.load.device;
            let widened = match (multiplies_blocks(device), packs_blocks(device)) {
                _ if options.load.exact => Widened::All,
                (true, _) => Widened::Nothing,
                (false, true) => Widened::Candles,
                (false, false) => Widened::All,
            };
            let of_candles = footprint.types.iter().any(|stored| Widened::Candles.has(stored));
            if widened == Widened::Candles && of_candles && options.load.residency == Residency::AsStored {
                // A card that Candle was compiled for gives other numbers.
                recipe.push_str(", Q2_K and Q3_K widened");
            }
            footprint.on_gpu(options.load.dtype, widened).spread_over(1 + options.load.more_devices.len())
        };
        let (sha256, context) = (String::new(), spec.context);
        let identity = ModelIdentity { name: name.clone(), sha256, architecture, context, recipe };
        let load = options.load.on_own_streams()?;
        Ok(Self { name, path: path.to_owned(), identity, footprint, note: spec.note(), load })
    }

    /// Hashes the file. Called after all cheaper checks, because it reads the whole file.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn identify(mut self) -> Result<Self> {
        self.identity.sha256 = source::model_hash(&self.path, &source::default_cache()?)?;
        Ok(self)
    }

    /// Memory needed with `kv` bytes of pages.
    pub(super) fn needed(&self, kv: usize, options: &Options) -> Needed {
        let weights = self.footprint.resident_bytes(options.load.residency);
        // A sequence has no more positions than pages for them.
        let stored = self.footprint.tokens_within(kv as u64);
        let positions = usize::try_from(stored).unwrap_or(usize::MAX).min(self.identity.context);
        let working = self.footprint.working_bytes(options.engine.step_tokens, options.engine.rows, positions);
        Needed { weights, kv: kv as u64, working }
    }

    /// Checks from the header alone that the model fits. On a device that does not report its memory, always succeeds.
    ///
    /// # Errors
    /// [`MootError::Memory`] with the numbers.
    pub fn check(&self, options: &Options) -> Result<()> {
        let Some(memory) = Memory::of(&options.load)? else { return Ok(()) };
        let kv = options.kv_memory.unwrap_or(LEAST_KV);
        if kv as u64 > memory.total {
            let total = memory.total;
            return Err(MootError::Usage(format!(
                "--kv-memory {kv}: expected at most {total} bytes, the memory that there is"
            )));
        }
        memory::check(&self.name, &self.footprint, self.needed(kv, options), memory)
    }

    /// Loads it and starts an engine with `kv_memory` bytes of pages; `None` takes a quarter of the memory then available,
    /// between 256 MiB and 8 GiB; on a GPU nine tenths of the free memory, less the working space of a step.
    ///
    /// # Errors
    /// Weights that do not load, not enough memory.
    pub fn load(&self, kv_memory: Option<usize>, options: &Options, cancel: Cancel) -> Result<Local> {
        self.start(Model::open(&self.path, &self.load)?, kv_memory, options, cancel)
    }

    /// Starts an engine on `model`, the loaded form of this one.
    pub(super) fn start(
        &self,
        model: Model,
        kv_memory: Option<usize>,
        options: &Options,
        cancel: Cancel,
    ) -> Result<Local> {
        const GIB: usize = 1 << 30;
        // Measured now, with the weights in memory.
        let quarter = || usize::try_from(Memory::here().available / 4).unwrap_or(usize::MAX);
        let kv_memory = match (kv_memory, model.decoder.is_on_cpu()) {
            (Some(asked), _) => asked,
            (None, true) => quarter().clamp(LEAST_KV, 8 * GIB),
            (None, false) => match Memory::of(&options.load)? {
                Some(memory) => {
                    let most = usize::try_from(memory.available / 10 * 9).unwrap_or(usize::MAX);
                    let working = self.needed(most, options).working;
                    most.saturating_sub(usize::try_from(working).unwrap_or(usize::MAX)).max(LEAST_KV)
                }
                None => 4 * GIB,
            },
        };
        let engine = Engine::start(model, EngineOptions { kv_memory, ..options.engine })?;
        Ok(Local::new(engine, self.identity.clone(), cancel))
    }
}

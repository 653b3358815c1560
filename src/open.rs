//! The library's front door: a model by name, then questions.

use crate::engine::{Cancel, Engine, EngineOptions};
use crate::error::{MootError, Result};
use crate::eval::record::QuestionRecord;
use crate::llm::ModelIdentity;
use crate::llm::local::Local;
use crate::memory::{self, Memory};
use crate::methods::ctx::{Observer, Settings, Silent};
use crate::methods::{self, Method, Switches};
use crate::question::{Document, Question};
use moot_models::memory::{Footprint, Needed};
use moot_models::source::{self, Progress};
use moot_models::weights::Weights;
use moot_models::{DType, Device, LoadOptions, Model, kernels};
use std::path::Path;

/// How a model is found, held and run.
#[derive(Debug, Clone)]
pub struct Options {
    /// Never use the network.
    pub offline: bool,
    /// Where and how the weights are held.
    pub load: LoadOptions,
    /// Bytes of KV pages; `None` takes a quarter of what is free.
    pub kv_memory: Option<usize>,
    /// How the engine runs; its `kv_memory` is the one above.
    pub engine: EngineOptions,
}

/// What `moot ask` does where nothing is typed.
impl Default for Options {
    fn default() -> Self {
        let (device, dtype) = best_device().unwrap_or((Device::Cpu, DType::F32));
        let load = LoadOptions { device, dtype, ..LoadOptions::default() };
        Self { offline: false, load, kv_memory: None, engine: EngineOptions::default() }
    }
}

/// Opens the model `name`, a path, an alias of the catalog or `hf:...`, fetching it where need be, and starts an engine
/// on it. `progress` hears how it is found; `cancel` ends every call in flight when it is set.
///
/// # Errors
/// Whatever stands between a name and a loaded model.
pub fn open(name: &str, options: &Options, cancel: Cancel, progress: &mut dyn FnMut(Progress)) -> Result<Local> {
    let cache = source::default_cache()?;
    let located = source::locate(name, &source::Options { cache: cache.clone(), offline: options.offline }, progress)?;
    fits(name, &located.path, options)?;
    let sha256 = source::model_hash(&located.path, &cache)?;
    let model = Model::open(&located.path, &options.load)?;
    let spec = model.decoder.spec();
    let identity = ModelIdentity {
        name: name.to_owned(),
        sha256,
        architecture: spec.architecture.to_owned(),
        context: spec.context,
    };
    // Asked now: the weights are in memory already.
    let kv_memory = kv_memory(options.kv_memory, &model);
    let engine = Engine::start(model, EngineOptions { kv_memory, ..options.engine })?;
    Ok(Local::new(engine, identity, cancel))
}

/// The fastest device that this build can use, and the type that dense weights and activations have on it.
///
/// # Errors
/// The build can use a GPU and none answers: why.
pub fn best_device() -> candle_core::Result<(Device, DType)> {
    if kernels::CUDA {
        Ok((Device::new_cuda(0)?, DType::BF16))
    } else if kernels::METAL {
        Ok((Device::new_metal(0)?, DType::F32))
    } else {
        Ok((Device::Cpu, DType::F32))
    }
}

/// The least memory for keys and values that is taken where none is asked for.
const LEAST_KV: usize = 256 << 20;

/// Whether the model can be held and run, asked of its header alone. Elsewhere than on the CPU only loading can tell.
///
/// # Errors
/// [`MootError::Memory`] with the numbers; a file whose header is not sound.
fn fits(name: &str, path: &Path, options: &Options) -> Result<()> {
    if !options.load.device.is_cpu() {
        return Ok(());
    }
    let footprint = Footprint::of(&Weights::open(path)?)?;
    let weights = footprint.resident_bytes(options.load.residency);
    let memory = Memory::here();
    let kv = options.kv_memory.unwrap_or(LEAST_KV) as u64;
    if kv > memory.total {
        let total = memory.total;
        return Err(MootError::Usage(format!(
            "--kv-memory {kv}: expected at most {total} bytes, the memory of this machine"
        )));
    }
    let working = footprint.working_bytes(options.engine.step_tokens, options.engine.rows);
    memory::check(name, &footprint, Needed { weights, kv, working }, memory)
}

/// As asked; else a quarter of what is available, between 256 MiB and 8 GiB; elsewhere than on the CPU, 4 GiB.
fn kv_memory(asked: Option<usize>, model: &Model) -> usize {
    const GIB: usize = 1 << 30;
    if !model.decoder.is_on_cpu() {
        return asked.unwrap_or(4 * GIB);
    }
    let quarter = || usize::try_from(Memory::here().available / 4).unwrap_or(usize::MAX);
    asked.unwrap_or_else(|| quarter().clamp(LEAST_KV, 8 * GIB))
}

/// A model that holds debates: what a program needs that asks a question now and then.
#[derive(Debug)]
pub struct Moot {
    /// The model, with its engine and its counts.
    pub llm: Local,
    /// What every debate obeys.
    pub settings: Settings,
}

impl Moot {
    /// Opens the model `name` as `moot ask --model` does, in silence.
    ///
    /// # Errors
    /// As [`open`].
    pub fn open(name: &str) -> Result<Self> {
        let llm = open(name, &Options::default(), Cancel::default(), &mut |_| {})?;
        Ok(Self { llm, settings: Settings::default() })
    }

    /// Answers `question` from `documents` by MADAM-RAG as it comes.
    ///
    /// # Errors
    /// As [`Moot::hold`]; no documents.
    pub fn ask(&self, question: &str, documents: Vec<Document>) -> Result<QuestionRecord> {
        let question = Question { id: "asked".into(), text: question.to_owned(), documents, gold: None };
        self.hold(&question, methods::build("madam-rag", &Switches::default())?.as_ref(), &Silent)
    }

    /// Answers `question` by `method` while `observer` looks on.
    ///
    /// # Errors
    /// A call that failed: a document longer than the context, say.
    pub fn hold(&self, question: &Question, method: &dyn Method, observer: &dyn Observer) -> Result<QuestionRecord> {
        methods::hold(question, method, &self.llm, &self.settings, observer)
    }
}

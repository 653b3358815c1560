//! The library's entry point: opens models by name and answers questions.

mod located;
mod plan;
mod random;

pub use located::LocatedModel;
pub use plan::{Member, Plan};
pub use random::random;

use crate::cancel::Cancel;
use crate::engine::EngineOptions;
use crate::error::{MootError, Result};
use crate::llm::local::Local;
use crate::llm::remote::{Address, Key, Notice, Patience, Remote};
use crate::llm::roles::{Assignment, Roles};
use crate::llm::turns::{Loader, Turn};
use crate::llm::{Capabilities, Llm, ModelIdentity};
use crate::methods::ASK;
use crate::protocol::Built;
use crate::protocol::ctx::{Observer, Settings, Silent, Tools};
use crate::protocol::presets::Preset;
use crate::protocol::switches::Typed;
use crate::question::{Document, Question};
use crate::transcript::QuestionRecord;
use moot_models::source::FetchEvent;
use moot_models::{DType, Device, LoadOptions, Residency, kernels};
use std::collections::BTreeMap;

/// Options for finding, loading and running models.
#[derive(Debug, Clone)]
pub struct Options {
    /// Never use the network.
    pub offline: bool,
    /// Device and residency of the weights.
    pub load: LoadOptions,
    /// Bytes of KV pages per model; `None` takes a quarter of the free memory, or what the plan leaves.
    pub kv_memory: Option<usize>,
    /// Bytes for all models of this process together; `None` sets no limit for a single model, and the free memory for
    /// several.
    pub memory: Option<usize>,
    /// Engine options; their `kv_memory` is replaced by the field above.
    pub engine: EngineOptions,
    /// Timeouts and retries of remote models.
    pub patience: Patience,
    /// Receives notes on what servers do not support.
    pub notice: Notice,
}

/// The defaults of `moot ask`.
impl Default for Options {
    fn default() -> Self {
        let (device, dtype) = best_device().unwrap_or((Device::Cpu, DType::F32));
        let load = LoadOptions { device, dtype, ..LoadOptions::default() };
        let (engine, patience, notice) = (EngineOptions::on(&load.device), Patience::default(), Notice::default());
        Self { offline: false, load, kv_memory: None, memory: None, engine, patience, notice }
    }
}

/// Progress of [`open_all`].
pub enum Told<'a> {
    /// Progress of finding the model of this name.
    Finding(&'a str, FetchEvent),
    /// A limitation of the model of this name, sent once, before it is loaded.
    Note(&'a str, &'a str),
    /// The memory plan, sent before the first of several models is loaded.
    Plan(&'a Plan),
    /// The model of this name is being loaded.
    Loading(&'a str),
    /// It is loaded.
    Loaded {
        /// Its name.
        name: &'a str,
        /// Whether it can think.
        thinks: bool,
        /// A limitation of its chat template, if any.
        remark: Option<&'static str>,
    },
    /// The server at this address answers.
    Elsewhere(&'a str),
}

/// Opens the model `name` (a path, an alias of the catalog or `hf:...`), fetching it if needed, and starts an engine on it.
/// `progress` receives the progress of finding it; `cancel` ends every call in flight.
///
/// # Errors
/// Failures to find or load the model.
pub fn open(name: &str, options: &Options, cancel: Cancel, progress: &mut dyn FnMut(FetchEvent)) -> Result<Local> {
    let found = LocatedModel::find(name, options, progress)?;
    let kv_memory = kv_memory(&found, options)?;
    found.identify()?.load(kv_memory, options, cancel)
}

/// Bytes of KV pages for `found`, the only local model; `None` to decide once it is loaded.
///
/// # Errors
/// [`MootError::Memory`] if it does not fit.
fn kv_memory(found: &LocatedModel, options: &Options) -> Result<Option<usize>> {
    match options.memory {
        Some(_) => Ok(Some(Plan::of(&[found], &[], options)?.members[0].kv())),
        None => found.check(options).map(|()| options.kv_memory),
    }
}

/// Tasks that models are opened for.
#[derive(Debug, Clone, Copy)]
pub struct Purpose<'a> {
    /// The method's name, for errors.
    pub method: &'a str,
    /// Its roles.
    pub roles: &'a [&'a str],
    /// What every model must be able to do. A model on this machine can do everything; a server is asked before any other
    /// model is loaded.
    pub needs: Capabilities,
}

/// Opens the models that `assignment` gives to `roles`, the roles of `method`: local or remote, together or in turn. A name
/// that several roles share is one model.
///
/// # Errors
/// As [`open`]; a role without a model; a model that alone exceeds the memory; a server that does not answer, or that cannot
/// do what is needed.
pub fn open_all(
    assignment: &Assignment,
    purpose: Purpose<'_>,
    options: &Options,
    cancel: &Cancel,
    told: &mut dyn FnMut(Told<'_>),
) -> Result<Roles> {
    let Purpose { method, roles, needs } = purpose;
    let by_role = assignment.resolve(method, roles)?;
    let mut models: Vec<Option<Box<dyn Llm>>> = Vec::new();
    let mut found: Vec<(usize, LocatedModel)> = Vec::new();
    for (place, name) in assignment.models.iter().enumerate() {
        models.push(None);
        if Address::is_one(name) {
            let remote = remote(name, options, cancel.clone())?;
            let missing = needs.missing_from(remote.capabilities(roles.first().copied().unwrap_or_default()));
            if !missing.is_empty() {
                let missing = missing.join(", ");
                return Err(MootError::Usage(format!(
                    "{method} needs {missing}: the server at {name} does not give them"
                )));
            }
            models[place] = Some(Box::new(remote));
            told(Told::Elsewhere(name));
        } else {
            let model = LocatedModel::find(name, options, &mut |progress| told(Told::Finding(name, progress)))?;
            // Sent now, because models that take turns are loaded without an observer.
            model.note.iter().for_each(|note| told(Told::Note(name, note)));
            found.push((place, model));
        }
    }
    if let ([(place, only)], None) = (&found[..], options.memory) {
        only.check(options)?;
        models[*place] = Some(Box::new(ready(only, options.kv_memory, options, cancel, told)?));
    } else if !found.is_empty() {
        let plan = plan(assignment, &by_role, &found, options)?;
        told(Told::Plan(&plan));
        load(&plan, found, &mut models, options, cancel, told)?;
    }
    let models: Vec<Box<dyn Llm>> = models.into_iter().flatten().collect();
    let first = roles.first().and_then(|role| by_role.get(*role)).copied().unwrap_or(0);
    Ok(Roles::new(models, by_role, first))
}

fn plan(
    assignment: &Assignment,
    by_role: &BTreeMap<String, usize>,
    found: &[(usize, LocatedModel)],
    options: &Options,
) -> Result<Plan> {
    let roles_of = |place: usize| by_role.iter().filter(move |(_, at)| **at == place).map(|(role, _)| role.clone());
    let elsewhere = (0..assignment.models.len()).filter(|place| found.iter().all(|(at, _)| at != place));
    let elsewhere: Vec<_> = elsewhere.map(|at| (assignment.models[at].clone(), roles_of(at).collect())).collect();
    let here: Vec<&LocatedModel> = found.iter().map(|(_, found)| found).collect();
    let mut plan = Plan::of(&here, &elsewhere, options)?;
    for (member, (place, _)) in plan.members.iter_mut().zip(found) {
        member.roles = roles_of(*place).collect();
    }
    Ok(plan)
}

/// Loads `found` and reports it.
fn ready(
    found: &LocatedModel,
    kv_memory: Option<usize>,
    options: &Options,
    cancel: &Cancel,
    told: &mut dyn FnMut(Told<'_>),
) -> Result<Local> {
    told(Told::Loading(&found.name));
    let llm = found.clone().identify()?.load(kv_memory, options, cancel.clone())?;
    let remark = llm.engine().model().template.remark();
    told(Told::Loaded { name: &found.name, thinks: llm.thinks(), remark });
    Ok(llm)
}

/// Puts the planned models into `models` at their indices: loaded, or taking turns.
fn load(
    plan: &Plan,
    found: Vec<(usize, LocatedModel)>,
    models: &mut [Option<Box<dyn Llm>>],
    options: &Options,
    cancel: &Cancel,
    told: &mut dyn FnMut(Told<'_>),
) -> Result<()> {
    if plan.together {
        for ((place, found), member) in found.iter().zip(&plan.members) {
            models[*place] = Some(Box::new(ready(found, Some(member.kv()), options, cancel, told)?));
        }
        return Ok(());
    }
    let mut members: Vec<(ModelIdentity, Loader)> = Vec::new();
    let mut places = Vec::new();
    for ((place, found), member) in found.into_iter().zip(&plan.members) {
        let found = found.identify()?;
        let (options, cancel, kv, identity) = (options.clone(), cancel.clone(), member.kv(), found.identity.clone());
        places.push(place);
        members.push((identity, Box::new(move || Ok(Box::new(found.load(Some(kv), &options, cancel.clone())?)))));
    }
    for (place, turn) in places.into_iter().zip(Turn::each(members, cancel.clone())) {
        models[place] = Some(Box::new(turn));
    }
    Ok(())
}

/// The model at the address `name`.
///
/// # Errors
/// As [`Remote::open`]; [`MootError::Usage`] for a server on another machine if `offline` is set.
pub fn remote(name: &str, options: &Options, cancel: Cancel) -> Result<Remote> {
    let address = Address::parse(name)?;
    if options.offline && !address.is_loopback() {
        return Err(MootError::Usage(format!("{address} is not on this machine, and the network is not to be used")));
    }
    let key = Key::from_environment(&address);
    Remote::open(address, key, options.patience, options.notice.clone(), cancel)
}

/// The fastest device that this build can use, and the type of dense weights and activations on it.
///
/// # Errors
/// The build supports a GPU and none works: the reason.
pub fn best_device() -> candle_core::Result<(Device, DType)> {
    if kernels::CUDA {
        Ok((kernels::open_cuda(0)?, DType::BF16))
    } else if kernels::METAL {
        Ok((Device::new_metal(0).map_err(kernels::without_backtrace)?, DType::F32))
    } else {
        Ok((Device::Cpu, DType::F32))
    }
}

/// The recipe of the arithmetic, as recorded. All instruction sets of the CPU give the same bits; other devices are not
/// promised to.
#[must_use]
pub fn recipe(load: &LoadOptions) -> String {
    let device = match &load.device {
        Device::Cpu => format!("cpu {}", kernels::cpu::RECIPE),
        Device::Cuda(_) => format!("cuda {}", load.dtype.as_str()),
        Device::Metal(_) => format!("metal {}", load.dtype.as_str()),
    };
    let residency = if load.residency == Residency::Dense { ", widened" } else { "" };
    let sums = if load.exact && !load.device.is_cpu() { ", exact" } else { "" };
    format!("{device}{residency}{sums}")
}

/// A model with settings, for programs that ask single questions.
pub struct Moot {
    /// The model, local or remote.
    pub llm: Box<dyn Llm>,
    /// Settings of every debate.
    pub settings: Settings,
}

impl Moot {
    /// Opens the model `name` as `moot ask --model` does, without output: by name, by path, or by a server's address.
    ///
    /// # Errors
    /// As [`open`] and [`remote`].
    pub fn open(name: &str) -> Result<Self> {
        Self::open_with(name, &Options::default(), Cancel::default(), &mut |_| {})
    }

    /// As [`Moot::open`], with options of the model: device, memory, engine, patience with a server. `cancel` ends every
    /// call in flight; `progress` receives the progress of fetching. The settings of debates are a field.
    ///
    /// # Errors
    /// As [`open`] and [`remote`].
    pub fn open_with(
        name: &str,
        options: &Options,
        cancel: Cancel,
        progress: &mut dyn FnMut(FetchEvent),
    ) -> Result<Self> {
        let llm: Box<dyn Llm> = if Address::is_one(name) {
            Box::new(remote(name, options, cancel)?)
        } else {
            Box::new(open(name, options, cancel, progress)?)
        };
        Ok(Self { llm, settings: Settings::default() })
    }

    /// Answers `question` from `documents` as `moot ask` does: by the preset [`ASK`].
    ///
    /// # Errors
    /// As [`Moot::answer`]; no documents.
    pub fn ask(&self, question: &str, documents: Vec<Document>) -> Result<QuestionRecord> {
        let question = Question { id: "asked".into(), text: question.to_owned(), documents, ..Question::default() };
        self.answer(&question, &Preset::named(ASK)?.build(&Typed::default())?, &Silent)
    }

    /// Answers `question` by `method`, which may have prompts of its own ([`Built::with_prompts`]); `observer` sees each call.
    ///
    /// # Errors
    /// A failed call, for example a document longer than the context.
    pub fn answer(&self, question: &Question, method: &Built, observer: &dyn Observer) -> Result<QuestionRecord> {
        method.answer(question, Tools::new(self.llm.as_ref()), &self.settings, observer)
    }
}

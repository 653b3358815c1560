//! Opens models: located, planned under one memory budget, loaded or connected to.

use super::located::LocatedModel;
use super::memory_plan::{MemoryPlan, kv_memory};
use super::options::Options;
use crate::cancel::Cancel;
use crate::error::{MootError, Result};
use crate::llm::local::Local;
use crate::llm::remote::{Address, Key, Remote};
use crate::llm::replicas::{self, Replicas};
use crate::llm::roles::{Assignment, Roles};
use crate::llm::turns::{Loader, Turn};
use crate::llm::{Capabilities, Llm, ModelIdentity};
use moot_models::source::FetchEvent;
use std::collections::BTreeMap;

/// A step of opening a model.
pub enum Opening<'a> {
    /// Progress of finding the model of this name.
    Finding(&'a str, FetchEvent),
    /// A limitation of the model of this name, sent once, before it is loaded.
    Note(&'a str, &'a str),
    /// The memory plan, sent before the first of several models is loaded.
    Plan(&'a MemoryPlan),
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

/// Tasks that models are opened for.
#[derive(Debug, Clone, Copy)]
pub struct Purpose<'a> {
    /// The method's name, for errors.
    pub method: &'a str,
    /// Its roles.
    pub roles: &'a [&'a str],
    /// Capabilities that every model needs. A local model has all; servers are checked before a local model is
    /// loaded.
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
    told: &mut dyn FnMut(Opening<'_>),
) -> Result<Roles> {
    let Purpose { method, roles, needs } = purpose;
    let by_role = assignment.resolve(method, roles)?;
    let mut models: Vec<Option<Box<dyn Llm>>> = Vec::new();
    let mut found: Vec<(usize, LocatedModel)> = Vec::new();
    for (index, name) in assignment.models.iter().enumerate() {
        models.push(None);
        if Address::is_one(name) {
            let remote = served(name, options, cancel)?;
            let missing = needs.missing_from(remote.capabilities(roles.first().copied().unwrap_or_default()));
            if !missing.is_empty() {
                let missing = missing.join(", ");
                return Err(MootError::Usage(format!(
                    "{method} needs {missing}, which the server at {name} does not support"
                )));
            }
            models[index] = Some(remote);
            told(Opening::Elsewhere(name));
        } else {
            let model = LocatedModel::find(name, options, &mut |progress| told(Opening::Finding(name, progress)))?;
            // Sent now, because models that take turns are loaded without an observer.
            model.note.iter().for_each(|note| told(Opening::Note(name, note)));
            found.push((index, model));
        }
    }
    if let ([(index, only)], None) = (&found[..], options.memory) {
        only.check(options)?;
        models[*index] = Some(Box::new(ready(only, options.kv_memory, options, cancel, told)?));
    } else if !found.is_empty() {
        let plan = plan(assignment, &by_role, &found, options)?;
        told(Opening::Plan(&plan));
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
) -> Result<MemoryPlan> {
    let roles_of = |index: usize| by_role.iter().filter(move |(_, at)| **at == index).map(|(role, _)| role.clone());
    let elsewhere = (0..assignment.models.len()).filter(|index| found.iter().all(|(at, _)| at != index));
    let elsewhere: Vec<_> = elsewhere.map(|at| (assignment.models[at].clone(), roles_of(at).collect())).collect();
    let here: Vec<&LocatedModel> = found.iter().map(|(_, found)| found).collect();
    let mut plan = MemoryPlan::of(&here, &elsewhere, options)?;
    for (member, (index, _)) in plan.members.iter_mut().zip(found) {
        member.roles = roles_of(*index).collect();
    }
    Ok(plan)
}

/// Loads `found` and reports it.
fn ready(
    found: &LocatedModel,
    kv_memory: Option<usize>,
    options: &Options,
    cancel: &Cancel,
    told: &mut dyn FnMut(Opening<'_>),
) -> Result<Local> {
    told(Opening::Loading(&found.name));
    let llm = found.clone().identify()?.load(kv_memory, options, cancel.clone())?;
    let remark = llm.engine().model().template.remark();
    told(Opening::Loaded { name: &found.name, thinks: llm.thinks(), remark });
    Ok(llm)
}

/// Puts the planned models into `models` at their indices: loaded, or taking turns.
fn load(
    plan: &MemoryPlan,
    found: Vec<(usize, LocatedModel)>,
    models: &mut [Option<Box<dyn Llm>>],
    options: &Options,
    cancel: &Cancel,
    told: &mut dyn FnMut(Opening<'_>),
) -> Result<()> {
    if plan.together {
        for ((index, found), member) in found.iter().zip(&plan.members) {
            models[*index] = Some(Box::new(ready(found, Some(member.kv()), options, cancel, told)?));
        }
        return Ok(());
    }
    let mut members: Vec<(ModelIdentity, Loader)> = Vec::new();
    let mut indices = Vec::new();
    for ((index, found), member) in found.into_iter().zip(&plan.members) {
        // Hashed now: headers of records name it before it is loaded for its first turn.
        let found = found.identify()?;
        let (options, cancel, kv, identity) = (options.clone(), cancel.clone(), member.kv(), found.identity.clone());
        indices.push(index);
        members.push((identity, Box::new(move || Ok(Box::new(found.load(Some(kv), &options, cancel.clone())?)))));
    }
    for (index, turn) in indices.into_iter().zip(Turn::each(members, cancel.clone())) {
        models[index] = Some(Box::new(turn));
    }
    Ok(())
}

/// The model at the address `name`, or at the addresses, joined by `+`, of several servers.
///
/// # Errors
/// As [`remote`].
pub(crate) fn served(name: &str, options: &Options, cancel: &Cancel) -> Result<Box<dyn Llm>> {
    let Some(addresses) = replicas::addresses(name) else {
        return Ok(Box::new(remote(name, options, cancel.clone())?));
    };
    for address in &addresses {
        check_offline(&Address::parse(address)?, options)?;
    }
    Ok(Box::new(Replicas::open(&addresses, Key::from_environment, options.patience, &options.notice, cancel)?))
}

/// The model at the address `name`.
///
/// # Errors
/// As [`Remote::open`]; [`MootError::Usage`] for a server on another machine if `offline` is set.
fn remote(name: &str, options: &Options, cancel: Cancel) -> Result<Remote> {
    let address = Address::parse(name)?;
    check_offline(&address, options)?;
    let key = Key::from_environment(&address);
    Remote::open(address, key, options.patience, options.notice.clone(), cancel)
}

fn check_offline(address: &Address, options: &Options) -> Result<()> {
    if options.offline && !address.is_loopback() {
        return Err(MootError::Usage(format!("{address} is on another machine, and the network is off (--offline)")));
    }
    Ok(())
}

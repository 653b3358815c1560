//! Opens one local model for measurements; locates the models of a run without loading them.

use crate::error::{MootError, Result};
use crate::llm::local::Local;
use crate::llm::remote::Address;
use crate::llm::roles::Assignment;
use crate::workspace::control::Control;
use crate::workspace::models::{self, LocatedModel, Opening, RuntimeOptions, WeightStorage};

/// Opens the only model that `model` names, which must be on this machine, or random weights in its shape. `what` needs it.
///
/// # Errors
/// Failures to find or load it; several roles, or a model on a server.
pub(crate) fn open_single(what: &str, model: &str, runtime: &RuntimeOptions, control: &Control) -> Result<Local> {
    let options = runtime.resolve(control.notice())?;
    let assignment = Assignment::parse(model)?;
    let name = assignment.only(what)?;
    if Address::is_one(name) {
        return Err(MootError::Usage(format!("{what} needs a local model, and {name} is on a server")));
    }
    let cancel = control.cancel.clone();
    let llm = match runtime.weights {
        WeightStorage::Random(storage) => models::random(name, storage, &options, cancel)?,
        _ => models::open(name, &options, cancel, &mut |progress| {
            control.watch.opening(&Opening::Finding(name, progress));
        })?,
    };
    let model = llm.engine().model();
    control.watch.opening(&Opening::Loaded { name, thinks: llm.thinks(), remark: model.template.remark() });
    model.decoder.spec().note().iter().for_each(|note| control.note(&format!("{name}: {note}")));
    Ok(llm)
}

/// Locates every model of a run before the first is loaded, so that a misspelt name fails early: fetched if needed; of a
/// server, whether it answers.
///
/// # Errors
/// A model that cannot be found or fetched, exceeds the memory, or does not answer.
pub fn find_models(names: &[String], runtime: &RuntimeOptions, control: &Control) -> Result<()> {
    if matches!(runtime.weights, WeightStorage::Random(_)) {
        return Ok(());
    }
    let options = runtime.resolve(control.notice())?;
    for name in names {
        if Address::is_one(name) {
            models::served(name, &options, &control.cancel)?;
            continue;
        }
        let found = LocatedModel::find(name, &options, &mut |progress| {
            control.watch.opening(&Opening::Finding(name, progress));
        });
        found?.check(&options)?;
    }
    Ok(())
}

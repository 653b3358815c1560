//! A recorded run to be opened again: its method and model, and tools for calls that are not in the record.

use crate::error::{MootError, Result};
use crate::eval::fork;
use crate::eval::record::reader::Record;
use crate::llm::roles::Roles;
use crate::llm::{Llm, ModelIdentity};
use crate::sources::{SourceWeights, WeightsIdentity};
use crate::workspace::control::Control;
use crate::workspace::method::MethodPlan;
use crate::workspace::opened::Workspace;
use crate::workspace::options::PlanOptions;
use crate::workspace::plan::Plan;
use std::path::Path;

/// A record that was read and checked, and is opened again for [`Workspace::fork`] or [`Workspace::why`].
pub struct Recorded {
    /// The record.
    pub record: Record,
    /// The last hash of its file.
    pub chain: String,
}

impl Recorded {
    /// Reads and checks the record at `path`, before its model is opened.
    ///
    /// # Errors
    /// A record that cannot be read, or that was altered.
    pub fn read(path: &Path) -> Result<Self> {
        let (record, ledger) = Record::read_whole(path)?;
        ledger.check(path)?;
        Ok(Self { record, chain: ledger.chain })
    }

    /// Opens the record's model, or `model` where it is now under another name or path, and the corpus, the classifier and the
    /// weights of `options`, for what is not in the record.
    ///
    /// # Errors
    /// A method that this program does not have; other source weights, or another model, than recorded; a model that cannot be
    /// opened.
    pub fn open(&self, model: Option<&str>, options: PlanOptions, control: &Control) -> Result<Workspace> {
        let header = &self.record.header;
        let method = MethodPlan {
            method: fork::method_of(&self.record)?,
            settings: header.settings.clone(),
            weights: weights(options.method.source_weights.as_deref(), &self.record)?,
        };
        for file in fork::other_files(header, &method.method) {
            control.note(&format!("note: {file} is not the recorded file: calls that use it are computed anew"));
        }
        let roles = method.method.roles();
        let named = || roles.iter().map(|role| format!("{role}={}", header.model_of(role).name));
        let one = roles.iter().all(|role| header.model_of(role) == &header.model);
        let recorded = || if one { header.model.name.clone() } else { named().collect::<Vec<_>>().join(",") };
        let model = model.map_or_else(recorded, str::to_owned);
        let options = PlanOptions { model, ..options }.by_recipe_of(&header.model.recipe);
        let workspace = Workspace::open(Plan::again(options, method)?, control)?;
        for role in &roles {
            same_model(&self.record, role, workspace.models(), control)?;
        }
        Ok(workspace)
    }
}

/// The source weights, which must be those of the record.
pub(super) fn weights(given: Option<&Path>, record: &Record) -> Result<Option<(SourceWeights, WeightsIdentity)>> {
    let given = given.map(SourceWeights::read).transpose()?;
    let found = given.as_ref().map(|(_, identity)| identity.sha256.as_str());
    let recorded = record.header.weights.as_ref().map(|identity| identity.sha256.as_str());
    if found == recorded {
        return Ok(given);
    }
    let told = |hash: Option<&str>| hash.map_or("none".to_owned(), |hash| format!("SHA-256 {hash}"));
    Err(MootError::Usage(format!(
        "--source-weights: expected those of the record ({}), found {}",
        told(recorded),
        told(found)
    )))
}

/// Whether `now` has the weights of the recorded model `then`; of a server, which has no hash, whether it has its name.
pub(super) fn has_weights(now: &ModelIdentity, then: &ModelIdentity) -> bool {
    if then.sha256.is_empty() { then.name == now.name } else { then.sha256 == now.sha256 }
}

/// A continued debate must not mix the replies of two models.
pub(super) fn same_model(record: &Record, role: &str, models: &Roles, control: &Control) -> Result<()> {
    let (then, now) = (record.header.model_of(role), models.identity_of(role));
    if !has_weights(now, then) {
        return Err(MootError::Input {
            path: record.path.clone(),
            line: Some(1),
            expected: format!("the model {} for the role {role}, which the record names", then.name),
            found: format!("{}, which has other weights", now.name),
        });
    }
    if then.recipe != now.recipe && !then.recipe.is_empty() {
        control.note(&format!(
            "note: recorded by the recipe {:?}, this is {:?}: new replies may differ in their bits",
            then.recipe, now.recipe
        ));
    }
    Ok(())
}

//! The calls of a record made again in other batches.

use crate::error::Result;
use crate::eval::record::reader::Record;
use crate::eval::verify::{Report, Sample};
use crate::llm::Capabilities;
use crate::workspace::control::{Control, Phase};
use crate::workspace::models::{Purpose, RuntimeOptions};
use crate::workspace::opened::start;
use crate::workspace::options::PlanOptions;

/// Which calls of a record are made again, and by which model.
#[derive(Debug, Clone, Default)]
pub struct VerifyOptions {
    /// Only this many calls, chosen at random; `None`: all.
    pub sample: Option<usize>,
    /// Seed for the choice of calls and batches.
    pub seed: u64,
    /// The record's model, if it is now under another name or path.
    pub model: Option<String>,
    /// Device, memory and engine.
    pub runtime: RuntimeOptions,
}

impl VerifyOptions {
    /// Opens the models of `record`, makes its calls again and compares. `progress` receives the numbers of replies that are
    /// there and of all.
    ///
    /// # Errors
    /// A record without a call of a local model; a model other than the record's; a failed call.
    pub fn verify(&self, record: &Record, control: &Control, progress: &mut dyn FnMut(usize, usize)) -> Result<Report> {
        let sample = Sample::draw(record, self.sample, self.seed)?;
        let roles: Vec<&str> = sample.roles().map(|(role, _)| role).collect();
        let recorded = || {
            let named = sample.roles().map(|(role, model)| format!("{role}={}", model.name));
            named.collect::<Vec<_>>().join(",")
        };
        let model = self.model.clone().unwrap_or_else(recorded);
        let purpose = Purpose { method: &record.header.method, roles: &roles, needs: Capabilities::default() };
        let options = PlanOptions { model, runtime: self.runtime.clone(), ..PlanOptions::default() };
        let options = options.by_recipe_of(&record.header.model.recipe);
        let llm = start(&options, purpose, record.header.settings.think, control)?;
        sample.check(&llm)?.iter().for_each(|note| control.note(&format!("note: {note}")));
        control.watch.phase(Phase::Working);
        sample.ask_again(&llm, progress)
    }
}

//! Arguments of subcommands that open a recorded run again.

use crate::cli::args::{corpus, model};
use crate::error::Result;
use crate::workspace::{Control, MethodOptions, PlanOptions, Recorded, Workspace};
use std::path::PathBuf;

/// Arguments for a recorded run that is opened again.
#[derive(Debug, clap::Args)]
pub(crate) struct AgainArgs {
    /// The weights of sources that its votes carried
    #[arg(long, value_name = "FILE")]
    pub source_weights: Option<PathBuf>,
    /// The corpus that it searched, for searches that are not in the record.
    #[command(flatten)]
    pub retrieve: corpus::CorpusArgs,
    /// The classifier of pairs, for pairs that are not in the record.
    #[command(flatten)]
    pub classifier: corpus::ClassifierArgs,
    /// The record's model, if it is now under another name or path
    #[arg(short, long, help_heading = "Model")]
    pub model: Option<String>,
    /// Runtime arguments.
    #[command(flatten)]
    pub runtime: model::Runtime,
}

impl AgainArgs {
    /// Opens the model of `recorded`, and the corpus, classifier and weights that are typed.
    ///
    /// # Errors
    /// As [`Recorded::open`].
    pub(crate) fn open(&self, recorded: &Recorded, control: &Control) -> Result<Workspace> {
        let options = PlanOptions {
            method: MethodOptions { source_weights: self.source_weights.clone(), ..MethodOptions::default() },
            corpus: self.retrieve.options(),
            classifier: self.classifier.options(),
            runtime: self.runtime.options(),
            ..PlanOptions::default()
        };
        recorded.open(self.model.as_deref(), options, control)
    }
}

//! The arguments of a plan that several subcommands take: corpus, classifier, method, model.

use crate::cli::args::{corpus, method, model};
use crate::error::Result;
use crate::workspace::PlanOptions;

/// Corpus, classifier, method and model, as typed.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct PlanArgs {
    /// The corpus to search for documents.
    #[command(flatten)]
    pub retrieve: corpus::CorpusArgs,
    /// The classifier of pairs.
    #[command(flatten)]
    pub classifier: corpus::ClassifierArgs,
    /// The method and its settings.
    #[command(flatten)]
    pub method: method::MethodArgs,
    /// Model and device.
    #[command(flatten)]
    pub model: model::ModelArgs,
}

impl PlanArgs {
    /// As the plan takes them, without a question and a run.
    ///
    /// # Errors
    /// As [`method::MethodArgs::options`].
    pub(in crate::cli) fn options(&self) -> Result<PlanOptions> {
        Ok(PlanOptions {
            corpus: self.retrieve.options(),
            method: self.method.options()?,
            classifier: self.classifier.options(),
            model: self.model.name(),
            runtime: self.model.runtime.options(),
            ..PlanOptions::default()
        })
    }
}

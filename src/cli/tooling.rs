//! Opens the tools of a method: models, a retriever, a classifier.

use crate::cli::fetching::{Shown, tell};
use crate::cli::interrupt::Interrupt;
use crate::cli::method::Resolved;
use crate::cli::{model, retrieve};
use crate::error::{MootError, Result};
use crate::llm::roles::Roles;
use crate::methods::ctx::Tools;
use crate::methods::entailment;
use crate::nli::{Classifier, ClassifierOptions, LocalClassifier};
use crate::open::Purpose;
use crate::retrieval::{Batched, Embedder, Retriever, Wanted};
use crate::sources::SourceWeights;
use moot_models::encoder::EncoderOptions;
use std::sync::Arc;

/// The classifier of pairs, for methods that need one.
#[derive(Debug, clap::Args)]
pub struct ClassifierArgs {
    /// Classify pairs with this NLI model (a name of the catalog, a folder, hf:org/repo) instead of the role `entailment`
    #[arg(long, value_name = "NAME", help_heading = "Retrieval and entailment", hide_short_help = true)]
    pub classifier: Option<String>,
    /// Device of the classifier: cpu, cuda, cuda:N or metal
    #[arg(long, value_name = "DEVICE", default_value = "cpu", requires = "classifier")]
    #[arg(help_heading = "Retrieval and entailment", hide_short_help = true)]
    pub classifier_device: String,
}

impl ClassifierArgs {
    fn open(&self, offline: bool) -> Result<Option<Box<dyn Classifier>>> {
        let Some(name) = &self.classifier else { return Ok(None) };
        let (device, _) = model::device("--classifier-device", &self.classifier_device)?;
        let load = EncoderOptions::on(device);
        let options = ClassifierOptions { offline, load };
        let mut shown = Shown::new(name);
        let classifier = LocalClassifier::open(name, &options, &mut |progress| shown.show(&progress))?;
        shown.loaded();
        Ok(Some(Box::new(classifier)))
    }
}

/// The open models, retriever and classifier of a run.
pub(super) struct Tooling {
    /// The models.
    pub llm: Roles,
    retriever: Option<Batched>,
    classifier: Option<Box<dyn Classifier>>,
    embedder: Option<Arc<dyn Embedder>>,
    weights: Option<SourceWeights>,
    wanted: Wanted,
}

impl Tooling {
    /// Opens the corpus first, because its errors are found quickly, then the models.
    ///
    /// # Errors
    /// A method that retrieves and no corpus; a corpus, a classifier or a model that cannot be opened; a model that cannot do
    /// what the method needs, which for a model on this machine is known before it is loaded.
    pub(super) fn open(
        model: &model::Args,
        retrieve: &retrieve::Args,
        classifier: &ClassifierArgs,
        resolved: &Resolved,
        interrupt: &Interrupt,
    ) -> Result<Self> {
        let row = resolved.row();
        if row.needs.retriever && !retrieve.is_typed() {
            return Err(MootError::Usage(format!("{} retrieves: expected --corpus PATH, found none", row.name)));
        }
        model.runtime.set_threads()?;
        let offline = model.runtime.offline;
        let retriever = if retrieve.is_typed() { Some(Batched::new(retrieve.open(offline, interrupt)?)) } else { None };
        let embedder = retrieve.open_embedder(row, offline)?;
        interrupt.preparing();
        let classifier = if row.needs.entails() { classifier.open(offline)? } else { None };
        let roles = resolved.method.roles();
        let mut roles: Vec<&str> = roles.iter().map(String::as_str).collect();
        if row.needs.entails() && classifier.is_none() {
            roles.push(entailment::ROLE);
        }
        let purpose = Purpose { method: row.name, roles: &roles, needs: row.needs.model };
        let llm = model.start(purpose, resolved.settings.think, &interrupt.cancel)?;
        let weights = resolved.weights.as_ref().map(|(weights, _)| weights.clone());
        Ok(Self { llm, retriever, classifier, embedder, weights, wanted: retrieve.wanted() })
    }

    /// Prints what retrieval and entailment did together for questions in flight.
    pub(super) fn report(&self) {
        if let Some(counts) = self.retriever.as_ref().map(Batched::counts).filter(|counts| counts.queries > 0) {
            let (queries, batches) = (counts.queries, counts.batches);
            tell(&format!("{queries} queries in {batches} searches, {:.1} s", counts.seconds));
        }
        if let Some(counts) = self.classifier.as_ref().map(|classifier| classifier.counts()).filter(|c| c.pairs > 0) {
            let (pairs, batches) = (counts.pairs, counts.batches);
            tell(&format!("{pairs} pairs classified in {batches} batches, {:.1} s", counts.seconds));
        }
    }

    /// As passed to methods.
    pub(super) fn tools(&self) -> Tools<'_> {
        Tools {
            llm: &self.llm,
            retriever: self.retriever.as_ref().map(|retriever| retriever as &dyn Retriever),
            wanted: &self.wanted,
            classifier: self.classifier.as_deref(),
            embedder: self.embedder.as_deref(),
            weights: self.weights.as_ref(),
        }
    }
}

//! Opens the tools of a method: models, a retriever, a classifier.

use crate::cli::fetching::{Shown, tell};
use crate::cli::interrupt::Interrupt;
use crate::cli::method::Resolved;
use crate::cli::{model, retrieve};
use crate::error::{MootError, Result};
use crate::llm::Capabilities;
use crate::llm::roles::{Assignment, Roles};
use crate::methods::conflict_score::labels;
use crate::nli::{Classifier, ClassifierOptions, LocalClassifier};
use crate::open::Purpose;
use crate::protocol::ctx::Tools;
use crate::protocol::entailment;
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

/// What is done with the retriever, where there is one, and what is wanted of it, before a model is loaded.
pub(super) type Searched<'a> = &'a mut dyn FnMut(Option<&dyn Retriever>, &Wanted) -> Result<()>;

/// Refuses what is known to fail before anything is opened.
fn check(
    model: &model::Args,
    retrieve: &retrieve::Args,
    classifier: &ClassifierArgs,
    methods: &[&Resolved],
) -> Result<()> {
    if methods.len() > 1 {
        Assignment::parse(&model.model)?.only("a run of several methods")?;
    }
    if let (None, Some(resolved)) = (&classifier.classifier, methods.first()) {
        labels::without_classifier(&resolved.method.values.json())?;
    }
    let searching = methods.iter().map(|resolved| resolved.row()).find(|row| row.needs.retriever);
    match searching.filter(|_| !retrieve.is_typed()) {
        Some(row) => Err(MootError::Usage(format!("{} retrieves: expected --corpus PATH, found none", row.name))),
        None => Ok(()),
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
        Self::open_for(model, retrieve, classifier, &[resolved], interrupt)
    }

    /// As [`Tooling::open`]; `searched` is called with what is searched before a model is loaded.
    ///
    /// # Errors
    /// As [`Tooling::open`], and those of `searched`.
    pub(super) fn open_after(
        model: &model::Args,
        retrieve: &retrieve::Args,
        classifier: &ClassifierArgs,
        resolved: &Resolved,
        interrupt: &Interrupt,
        searched: Searched<'_>,
    ) -> Result<Self> {
        check(model, retrieve, classifier, &[resolved])?;
        Self::open_tools(model, retrieve, classifier, &[resolved], interrupt, searched)
    }

    /// As [`Tooling::open`], with what several methods need together. Several methods take one model for all roles.
    ///
    /// # Errors
    /// As [`Tooling::open`].
    pub(super) fn open_for(
        model: &model::Args,
        retrieve: &retrieve::Args,
        classifier: &ClassifierArgs,
        methods: &[&Resolved],
        interrupt: &Interrupt,
    ) -> Result<Self> {
        check(model, retrieve, classifier, methods)?;
        Self::open_again(model, retrieve, classifier, methods, interrupt)
    }

    /// As [`Tooling::open_for`], for recorded runs: what they searched is in the record, so a corpus may be missing.
    ///
    /// # Errors
    /// As [`Tooling::open`].
    pub(super) fn open_again(
        model: &model::Args,
        retrieve: &retrieve::Args,
        classifier: &ClassifierArgs,
        methods: &[&Resolved],
        interrupt: &Interrupt,
    ) -> Result<Self> {
        Self::open_tools(model, retrieve, classifier, methods, interrupt, &mut |_, _| Ok(()))
    }

    fn open_tools(
        model: &model::Args,
        retrieve: &retrieve::Args,
        classifier: &ClassifierArgs,
        methods: &[&Resolved],
        interrupt: &Interrupt,
        searched: Searched<'_>,
    ) -> Result<Self> {
        model.runtime.set_threads()?;
        let offline = model.runtime.offline;
        let mut searching =
            methods.iter().map(|resolved| resolved.row().needs).filter(|needs| needs.searches()).peekable();
        let dense = searching.peek().is_some() && searching.all(|needs| needs.dense);
        let open = || retrieve.open(dense, offline, interrupt);
        let retriever = if retrieve.is_typed() { Some(Batched::new(open()?)) } else { None };
        let embedding = methods.iter().find(|resolved| resolved.row().needs.embedder).or(methods.first());
        let embedder = embedding.map(|resolved| retrieve.open_embedder(resolved.row(), offline)).transpose()?.flatten();
        searched(retriever.as_ref().map(|retriever| retriever as &dyn Retriever), &retrieve.wanted())?;
        interrupt.preparing();
        let entails = methods.iter().any(|resolved| resolved.row().needs.entails());
        let classifier = if entails { classifier.open(offline)? } else { None };
        let mut roles: Vec<String> = Vec::new();
        for role in methods.iter().flat_map(|resolved| resolved.method.roles()) {
            if !roles.contains(&role) {
                roles.push(role);
            }
        }
        if entails && classifier.is_none() {
            roles.push(entailment::ROLE.to_owned());
        }
        let roles: Vec<&str> = roles.iter().map(String::as_str).collect();
        let names: Vec<&str> = methods.iter().map(|resolved| resolved.row().name).collect();
        let needs = methods.iter().fold(Capabilities::default(), |needs, other| needs.or(other.row().needs.model));
        let purpose = Purpose { method: &names.join(", "), roles: &roles, needs };
        let think = methods.first().map_or(0, |resolved| resolved.settings.think);
        let llm = model.start(purpose, think, &interrupt.cancel)?;
        let weights = methods.first().and_then(|resolved| resolved.weights.as_ref());
        let weights = weights.map(|(weights, _)| weights.clone());
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

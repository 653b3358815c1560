//! Another plan on an open workspace: a server opens its models once, and every request has a plan of its own.

use crate::error::{MootError, Result};
use crate::eval::fork;
use crate::eval::record::reader::Record;
use crate::llm::roles::{Assignment, Roles};
use crate::llm::{Capabilities, Llm, ModelIdentity};
use crate::protocol::Built;
use crate::retrieval::Batched;
use crate::workspace::control::{Control, Phase};
use crate::workspace::method::MethodPlan;
use crate::workspace::models::Purpose;
use crate::workspace::opened::{Workspace, open_classifier, open_retriever, roles, start};
use crate::workspace::options::{CorpusOptions, MethodOptions, PlanOptions};
use crate::workspace::plan::Plan;
use crate::workspace::recorded::{has_weights, same_model, weights};
use std::sync::Arc;

impl Workspace {
    /// Opens the parts that plans will share ([`Workspace::share`]): every model, the corpus, and the classifier, the embedder
    /// and the reranker where they are named, whether `plan`'s own method needs them or not. The plan has no question and no
    /// run.
    ///
    /// # Errors
    /// As [`Workspace::open`].
    pub fn open_to_share(plan: Plan, control: &Control) -> Result<Self> {
        let options = plan.options();
        let PlanOptions { runtime, classifier, corpus, .. } = options;
        runtime.set_threads(&control.notice())?;
        let reranker = corpus.reranker(runtime.offline).open(control)?;
        let retriever = open_retriever(&plan, corpus, None, reranker.clone(), control)?;
        let embedder = corpus.embedder(runtime.offline);
        let embedder = if embedder.name.is_some() { embedder.named(control)? } else { None };
        control.watch.phase(Phase::Opening);
        let classifier = open_classifier(classifier, runtime.offline, control)?;
        let assignment = Assignment::parse(&options.model)?;
        // No plan is known yet: `assigned` checks what the methods of each one need.
        let (roles, needs) = (assignment.every_model(), Capabilities::default());
        let llm = start(options, Purpose { method: "a server", roles: &roles, needs }, 0, control)?;
        control.watch.phase(Phase::Working);
        let weights = plan.method().weights.as_ref().map(|(weights, _)| weights.clone());
        let (wanted, control) = (corpus.wanted(), control.clone());
        Ok(Self { llm, retriever, reranker, classifier, embedder, weights, wanted, asked: None, control, plan })
    }

    /// This workspace with one of its models for every role: the first whose identity satisfies `is`; `None` if no
    /// model does.
    #[must_use]
    pub fn of_model(&self, is: impl Fn(&ModelIdentity) -> bool) -> Option<Self> {
        let index = self.llm.models().position(|model| is(model.identity()))?;
        let assignment = Assignment::parse(&self.plan.options().model).ok()?;
        Some(Self {
            plan: self.plan.of_model(assignment.models.get(index)?.clone()),
            control: self.control.clone(),
            llm: self.llm.only(index),
            retriever: self.retriever.clone(),
            reranker: self.reranker.clone(),
            classifier: self.classifier.clone(),
            embedder: self.embedder.clone(),
            weights: self.weights.clone(),
            wanted: self.wanted.clone(),
            asked: None,
        })
    }

    /// Another plan on the open models, classifier and embedder, and with `searched` on the open corpus.
    ///
    /// `options` name no model, documents, corpus or classifier. If they set any option of a search (`top`, `sources`, dates),
    /// all settings of the search are theirs; otherwise the workspace's. How the corpus is searched was decided when it was
    /// opened. Source weights are the workspace's unless `options` name others. `control` receives what happens, and ends the
    /// calls of the new plan alone.
    ///
    /// # Errors
    /// Options that name one of these; a method that needs a part that is not open.
    pub fn share(&self, options: PlanOptions, searched: bool, control: &Control) -> Result<Self> {
        let (options, retriever) = self.shared_options(options, searched)?;
        self.on_what_is_open(Plan::of(options, control)?, retriever, control)
    }

    /// As [`Workspace::share`], by `methods` that the caller has built ([`Plan::by`]).
    ///
    /// # Errors
    /// As [`Workspace::share`] and [`Plan::by`].
    pub fn share_by(
        &self,
        options: PlanOptions,
        methods: Vec<Built>,
        searched: bool,
        control: &Control,
    ) -> Result<Self> {
        let (options, retriever) = self.shared_options(options, searched)?;
        self.on_what_is_open(Plan::by(options, methods, control)?, retriever, control)
    }

    /// `options` with the model, the corpus and the weights that are open here, and what is searched.
    fn shared_options(&self, options: PlanOptions, searched: bool) -> Result<(PlanOptions, Option<Arc<Batched>>)> {
        refuse_opening(&options)?;
        let open = self.plan.options();
        let retriever = self.retriever.clone().filter(|_| searched);
        if let (None, Some(option)) = (&retriever, options.corpus.search_options().next()) {
            return Err(MootError::Usage(format!("{option}: expected a corpus that is searched, found none")));
        }
        let is_set = options.corpus.search_options().next().is_some();
        let corpus = match &retriever {
            None => options.corpus,
            Some(_) if is_set => CorpusOptions { paths: open.corpus.paths.clone(), ..options.corpus },
            Some(_) => open.corpus.clone(),
        };
        let weights = options.method.source_weights.clone().or_else(|| open.method.source_weights.clone());
        let options = PlanOptions {
            corpus,
            method: MethodOptions { source_weights: weights, ..options.method },
            model: open.model.clone(),
            ..options
        };
        Ok((options, retriever))
    }

    /// A recorded run's plan on the open models and tools: its method with its switches, prompts and settings. An open
    /// model that had every role of the record has them again, whatever the roles of the workspace.
    ///
    /// # Errors
    /// As [`Workspace::share`]; a record of another model, or of source weights.
    pub fn share_recorded(&self, record: &Record, control: &Control) -> Result<Self> {
        let header = &record.header;
        let method = MethodPlan {
            method: fork::method_of(record)?,
            settings: header.settings.clone(),
            weights: weights(self.plan.options().method.source_weights.as_deref(), record)?,
        };
        let roles = method.method.roles();
        let alone = self.of_model(|identity| roles.iter().all(|role| has_weights(identity, header.model_of(role))));
        let open = alone.as_ref().unwrap_or(self);
        let options = PlanOptions { model: open.plan.options().model.clone(), ..PlanOptions::default() };
        let shared = open.on_what_is_open(Plan::again(options, method)?, self.retriever.clone(), control)?;
        for role in &roles {
            same_model(record, role, &shared.llm, control)?;
        }
        Ok(shared)
    }

    /// `plan` on the open models and tools.
    fn on_what_is_open(&self, plan: Plan, retriever: Option<Arc<Batched>>, control: &Control) -> Result<Self> {
        for method in plan.methods() {
            let row = method.row();
            if row.needs.retriever && retriever.is_none() {
                let name = row.name;
                return Err(MootError::Usage(format!(
                    "{name} retrieves: expected a corpus that is searched, found none"
                )));
            }
            method.unread(plan.options().corpus.top).for_each(|line| control.note(&line));
        }
        let entails = plan.methods().iter().any(|method| method.row().needs.entails());
        let classifier = self.classifier.clone().filter(|_| entails);
        let llm = assigned(&self.llm, &plan, &roles(&plan, entails && classifier.is_none()))?;
        Ok(Self {
            llm,
            retriever,
            reranker: self.reranker.clone(),
            classifier,
            embedder: self.embedder.clone(),
            weights: plan.method().weights.as_ref().map(|(weights, _)| weights.clone()),
            wanted: plan.options().corpus.wanted(),
            asked: None,
            control: control.clone(),
            plan,
        })
    }
}

/// Refuses options that would open something.
fn refuse_opening(options: &PlanOptions) -> Result<()> {
    let documents = Some("--docs").filter(|_| !options.documents.paths.is_empty());
    let classifier = Some("--classifier").filter(|_| options.classifier.name.is_some());
    match documents.into_iter().chain(options.corpus.opening_options()).chain(classifier).next() {
        Some(option) => Err(MootError::Usage(format!("{option}: expected none, since all plans share what is open"))),
        None => Ok(()),
    }
}

/// `models`, assigned to `roles` as the plan asks; each must have the capabilities that the methods need.
fn assigned(models: &Roles, plan: &Plan, roles: &[String]) -> Result<Roles> {
    let roles: Vec<&str> = roles.iter().map(String::as_str).collect();
    let assignment = Assignment::parse(&plan.options().model)?;
    let rows = || plan.methods().iter().map(|method| method.row());
    if plan.methods().len() > 1 {
        assignment.only("a run of several methods")?;
    }
    let name = rows().map(|row| row.name).collect::<Vec<_>>().join(", ");
    let needs = rows().fold(Capabilities::default(), |needs, row| needs.or(row.needs.model));
    let llm = models.assigned(&assignment, &name, &roles)?;
    for role in roles {
        let missing = needs.missing_from(llm.capabilities(role));
        if !missing.is_empty() {
            let (missing, model) = (missing.join(", "), &llm.identity_of(role).name);
            return Err(MootError::Usage(format!("{name} needs {missing}, which {model} does not support")));
        }
    }
    Ok(llm)
}

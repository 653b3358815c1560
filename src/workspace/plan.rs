//! A plan: options with everything resolved and checked that can be before a model is opened.

use crate::error::{MootError, Result};
use crate::llm::roles::Assignment;
use crate::methods::ASK;
use crate::protocol::Built;
use crate::protocol::labelling::settings;
use crate::workspace::control::Control;
use crate::workspace::method::MethodPlan;
use crate::workspace::options::{PlanOptions, RunOptions};
use crate::workspace::run::Recording;
use serde::{Serialize, Serializer};
use std::sync::Arc;

/// Methods, models, documents and runs: resolved once, then never changed.
///
/// Its JSON is that of its options, so that a plan can be stored and resolved again.
pub struct Plan {
    options: PlanOptions,
    methods: Vec<Arc<MethodPlan>>,
    /// Batches of recordings: those of a batch have the same questions and go side by side.
    batches: Vec<Vec<Recording>>,
    /// Searches may be answered from a record, so a corpus may be missing.
    recorded: bool,
}

impl Plan {
    /// Resolves `options` of a single question, or of a run with one model.
    ///
    /// # Errors
    /// An unknown name, an invalid value, a dataset or a prompt that cannot be read, an output that cannot be this
    /// run's record. Each names the option.
    pub fn of(options: PlanOptions, control: &Control) -> Result<Self> {
        if options.run.is_some() {
            let mut plans = Self::each(options, control)?;
            return match (plans.pop(), plans.is_empty()) {
                (Some(plan), true) => Ok(plan),
                _ => Err(MootError::Usage("expected one model, found several".into())),
            };
        }
        check_options(&options)?;
        let method = Arc::new(options.method.resolve(ASK, &control.notice())?);
        Ok(Self { options, methods: vec![method], batches: Vec::new(), recorded: false })
    }

    /// As [`Plan::of`], with `methods` that the caller has built: its own, the program's, or both.
    ///
    /// # Errors
    /// As [`Plan::of`]; options that name a method; several methods for a single question.
    pub fn by(options: PlanOptions, methods: Vec<Built>, control: &Control) -> Result<Self> {
        let mut methods = options.method.resolve_built(methods)?;
        if let Some(run) = &options.run {
            return Self::of_run_by(&options, run, methods, control);
        }
        match (methods.pop(), methods.is_empty()) {
            (Some((_, method)), true) => Self::with_method(options, method),
            _ => Err(MootError::Usage("expected one method for a single question, found none or several".into())),
        }
    }

    /// A plan for a method that is resolved already.
    ///
    /// # Errors
    /// An invalid value, options that exclude each other.
    fn with_method(options: PlanOptions, method: MethodPlan) -> Result<Self> {
        check_options(&options)?;
        Ok(Self { options, methods: vec![Arc::new(method)], batches: Vec::new(), recorded: false })
    }

    /// A plan for a recorded run: what it searched is in the record, so a corpus may be missing.
    pub(crate) fn again(options: PlanOptions, method: MethodPlan) -> Result<Self> {
        Ok(Self { recorded: true, ..Self::with_method(options, method)? })
    }

    /// This plan of no run, with `model` for every role.
    pub(crate) fn of_model(&self, model: String) -> Self {
        let options = PlanOptions { model, ..self.options.clone() };
        Self { options, methods: self.methods.clone(), batches: Vec::new(), recorded: self.recorded }
    }

    /// A plan for `batches` of recordings, whose methods are those of the first.
    pub(crate) fn of_batches(options: PlanOptions, batches: Vec<Vec<Recording>>) -> Result<Self> {
        check_options(&options)?;
        let methods = batches.first().into_iter().flatten().map(|recording| recording.method.clone()).collect();
        Ok(Self { options, methods, batches, recorded: false })
    }

    /// The options.
    #[must_use]
    pub fn options(&self) -> &PlanOptions {
        &self.options
    }

    /// The first method: the only one of a plan for a single question.
    #[must_use]
    pub fn method(&self) -> &MethodPlan {
        self.methods.first().expect("a plan has a method (bug)")
    }

    /// The methods.
    #[must_use]
    pub fn methods(&self) -> &[Arc<MethodPlan>] {
        &self.methods
    }

    /// The recordings of a run; those of a batch go side by side.
    #[must_use]
    pub fn batches(&self) -> &[Vec<Recording>] {
        &self.batches
    }

    /// Refuses plans that are known to fail, before anything is opened; `searches` says whether there is something to
    /// search.
    pub(super) fn check(&self, searches: bool) -> Result<()> {
        if self.recorded {
            return Ok(());
        }
        if self.methods.len() > 1 {
            Assignment::parse(&self.options.model)?.only("a run of several methods")?;
        }
        if self.options.classifier.name.is_none() {
            settings::without_classifier(&self.method().method.values.json())?;
        }
        let corpus = &self.options.corpus;
        if corpus.reranker.is_some() && !searches && self.options.documents.paths.is_empty() {
            return Err(MootError::Usage("--reranker: expected --docs or --corpus beside it, found neither".into()));
        }
        match self.methods.iter().map(|method| method.row()).find(|row| row.needs.retriever && !searches) {
            Some(row) => Err(MootError::Usage(format!("{} retrieves: expected --corpus PATH, found none", row.name))),
            None => Ok(()),
        }
    }
}

/// Checks ranges, and options that exclude or require each other. JSON does not pass the command line's parser, so both are
/// checked here.
fn check_options(options: &PlanOptions) -> Result<()> {
    options.corpus.check()?;
    options.runtime.check()?;
    options.run.as_ref().map_or(Ok(()), RunOptions::check)?;
    let (documents, corpus) = (&options.documents, &options.corpus);
    let wrong = |text: String| Err(MootError::Usage(text));
    let mut set = corpus.search_options();
    match (documents.paths.is_empty(), corpus.is_given()) {
        (false, true) => return wrong("--docs: expected either this or --corpus, found both".into()),
        (false, false) if options.run.is_some() => {
            return wrong("--docs: a run reads its dataset's documents or a --corpus".into());
        }
        (true, false) => match set.next() {
            Some(option) => return wrong(format!("{option} needs --docs or --corpus")),
            None if documents.whole => return wrong("--whole needs --docs".into()),
            None => {}
        },
        (true, true) if documents.whole => {
            return wrong("--whole: expected either this or --corpus, found both".into());
        }
        _ => {}
    }
    match set.find(|option| documents.whole && ["--top", "--by-source", "--retriever"].contains(option)) {
        Some(option) => wrong(format!("{option}: expected either this or --whole, found both")),
        None => Ok(()),
    }
}

impl Serialize for Plan {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        self.options.serialize(serializer)
    }
}

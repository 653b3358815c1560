//! An open workspace: the models, the retriever, the classifier and the embedder of a plan.

use crate::error::MootError;
use crate::error::Result;
use crate::eval::record::Reader;
use crate::llm::Capabilities;
use crate::llm::roles::Assignment;
use crate::llm::roles::Roles;
use crate::nli::{self, Classifier, Counts, LocalClassifier};
use crate::protocol::ctx::{Observer, Tools};
use crate::protocol::entailment;
use crate::question::Question;
use crate::retrieval::corpus::Corpus;
use crate::retrieval::{Batched, Embedder, Reranker, Retriever, Wanted};
use crate::sources::SourceWeights;
use crate::transcript::{Event, QuestionRecord};
use crate::units::plural;
use crate::workspace::control::{Control, Phase};
use crate::workspace::documents::Asked;
use crate::workspace::indexing::note_pdf_workers;
use crate::workspace::models::{self, Opening, Purpose, device, open_all};
use crate::workspace::models::{Options, WeightStorage};
use crate::workspace::options::{ClassifierOptions, CorpusOptions, PlanOptions};
use crate::workspace::plan::Plan;
use crate::workspace::reranker::note_reranked;
use moot_models::encoder::EncoderOptions;
use std::sync::Arc;

/// An open plan. It answers questions and runs datasets any number of times.
pub struct Workspace {
    pub(super) plan: Plan,
    pub(super) control: Control,
    pub(super) llm: Roles,
    pub(super) retriever: Option<Arc<Batched>>,
    pub(super) reranker: Option<Arc<dyn Reranker>>,
    pub(super) classifier: Option<Arc<dyn Classifier>>,
    pub(super) embedder: Option<Arc<dyn Embedder>>,
    pub(super) weights: Option<SourceWeights>,
    pub(super) wanted: Wanted,
    /// The question of the plan, with its documents and the events of their search.
    pub(super) asked: Option<(Question, Vec<Event>)>,
}

impl Workspace {
    /// Opens a plan: documents and corpora first, because their errors are found quickly, then the models.
    ///
    /// # Errors
    /// Documents, a corpus, a classifier or a model that cannot be opened; a method that retrieves, without a corpus; a model
    /// without the capabilities that the method needs, which is known before a local model is loaded.
    pub fn open(plan: Plan, control: &Control) -> Result<Self> {
        let options = plan.options();
        let single = options.run.is_none() && (options.question.is_some() || !options.documents.paths.is_empty());
        if !single {
            let corpus = options.corpus.clone();
            plan.check(corpus.is_given())?;
            return Self::open_tools(plan, &corpus, None, None, control);
        }
        let Asked { question, corpus, listed } = Asked::read(options, plan.method().row(), control)?;
        plan.check(corpus.is_given())?;
        Self::open_tools(plan, &corpus, listed, Some(question), control)
    }

    fn open_tools(
        plan: Plan,
        corpus: &CorpusOptions,
        listed: Option<Corpus>,
        question: Option<Question>,
        control: &Control,
    ) -> Result<Self> {
        let options = plan.options();
        let PlanOptions { runtime, classifier, .. } = options;
        runtime.set_threads(&control.notice())?;
        let unread = plan.methods().iter().flat_map(|method| method.unread(options.corpus.top));
        unread.for_each(|line| control.note(&line));
        let is_built = corpus.is_built(listed.is_some());
        let reranker = if corpus.is_given() { corpus.reranker(runtime.offline).open(control)? } else { None };
        let retriever = open_retriever(&plan, corpus, listed, reranker.clone(), control)?;
        let embedding = plan.methods().iter().find(|method| method.row().needs.embedder).or(plan.methods().first());
        let embedder = match embedding {
            Some(method) => corpus.open_embedder(method.row(), runtime.offline, control)?,
            None => None,
        };
        let wanted = corpus.wanted();
        // Before the models are loaded: documents that cannot be read, or a search that fails, end the command in time.
        let asked = match question {
            Some(question) => {
                let retriever = retriever.as_deref().map(|retriever| retriever as &dyn Retriever);
                let gathered = plan.method().method.gather_from(&question, retriever, &wanted)?;
                note_gathered(&gathered.0, &gathered.1, control);
                // The notes on other files were printed when they were indexed.
                if is_built {
                    let documents = gathered.0.documents.iter();
                    let notes = documents.flat_map(|document| document.notes.iter().map(|note| (&document.name, note)));
                    notes.for_each(|(name, note)| control.note(&format!("note {name}: {note}")));
                }
                Some(gathered)
            }
            None => None,
        };
        control.watch.phase(Phase::Opening);
        let entails = plan.methods().iter().any(|method| method.row().needs.entails());
        if !entails && classifier.name.is_some() {
            control.note("note: --classifier is not used: no method here compares pairs of texts");
        }
        let classifier = if entails { open_classifier(classifier, runtime.offline, control)? } else { None };
        let llm = open_models(&plan, entails && classifier.is_none(), control)?;
        let weights = plan.methods().first().and_then(|method| method.weights.as_ref());
        let weights = weights.map(|(weights, _)| weights.clone());
        control.watch.phase(Phase::Working);
        let control = control.clone();
        Ok(Self { llm, retriever, reranker, classifier, embedder, weights, wanted, asked, control, plan })
    }

    /// The plan.
    #[must_use]
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The models.
    #[must_use]
    pub fn models(&self) -> &Roles {
        &self.llm
    }

    /// The plan's question with the documents that its method reads; `None` where the plan has no question.
    #[must_use]
    pub fn question(&self) -> Option<&Question> {
        self.asked.as_ref().map(|(question, _)| question)
    }

    /// The reranker, where one is open.
    #[must_use]
    pub fn reranker(&self) -> Option<&dyn Reranker> {
        self.reranker.as_deref()
    }

    /// The tools, as methods take them.
    #[must_use]
    pub fn tools(&self) -> Tools<'_> {
        Tools {
            llm: &self.llm,
            retriever: self.retriever.as_deref().map(|retriever| retriever as &dyn Retriever),
            wanted: &self.wanted,
            cancel: Some(&self.control.cancel),
            classifier: self.classifier.as_deref(),
            embedder: self.embedder.as_deref(),
            weights: self.weights.as_ref(),
        }
    }

    /// Answers the plan's question; `observer` receives each call as it is answered.
    ///
    /// # Errors
    /// [`MootError::Usage`] where the plan has no question; a call that failed.
    pub fn ask(&self, observer: &dyn Observer) -> Result<QuestionRecord> {
        let Some((question, events)) = &self.asked else {
            return Err(MootError::Usage("the plan has no question: expected one, found none".into()));
        };
        self.answer_gathered(question, events.clone(), observer)
    }

    /// Answers another question by the plan's method, from its own documents or from the plan's corpus.
    ///
    /// # Errors
    /// No documents for a method that needs some; a call that failed.
    pub fn answer(&self, question: &Question, observer: &dyn Observer) -> Result<QuestionRecord> {
        let method = self.plan.method();
        let (record, error) = method.method.record(question, self.tools(), &method.settings, observer);
        self.noted(record, error)
    }

    /// The question with the documents that the plan's method reads, and the events of their search.
    ///
    /// # Errors
    /// No documents for a method that needs some; errors of the corpus.
    pub fn gather(&self, question: &Question) -> Result<(Question, Vec<Event>)> {
        self.plan.method().method.gather(question, self.tools())
    }

    /// As [`Workspace::answer`], of what [`Workspace::gather`] returned.
    ///
    /// # Errors
    /// A call that failed.
    pub fn answer_gathered(
        &self,
        question: &Question,
        events: Vec<Event>,
        observer: &dyn Observer,
    ) -> Result<QuestionRecord> {
        let method = self.plan.method();
        let (record, error) = method.method.record_gathered(question, events, self.tools(), &method.settings, observer);
        self.noted(record, error)
    }

    fn noted(&self, record: QuestionRecord, error: Option<MootError>) -> Result<QuestionRecord> {
        let documents = record.question.documents.iter().chain(&record.retrieved);
        if let Some(line) = self.plan.method().unknown_sources(documents) {
            self.control.note(&line);
        }
        error.map_or(Ok(record), Err)
    }

    /// Notes the searches and classifications that were computed together for questions in flight.
    pub fn note_counts(&self) {
        if let Some(counts) = self.retriever.as_deref().map(Batched::counts).filter(|counts| counts.queries > 0) {
            let queries = plural(counts.queries, "query", "queries");
            let searches = plural(counts.batches, "search", "searches");
            self.control.note(&format!("{queries} in {searches}, {:.1} s", counts.seconds));
        }
        note_reranked(self.reranker.as_deref(), &self.control);
        if let Some(counts) = self.classifier.as_ref().map(|classifier| classifier.counts()).filter(|c| c.pairs > 0) {
            let pairs = plural(counts.pairs, "pair", "pairs");
            let batches = plural(counts.batches, "batch", "batches");
            self.control.note(&format!("{pairs} classified in {batches}, {:.1} s", counts.seconds));
            cut_hypotheses(counts).iter().for_each(|line| self.control.note(line));
        }
        note_pdf_workers(&self.control);
    }
}

/// The line on pairs whose hypothesis exceeds the classifier's limit.
fn cut_hypotheses(counts: Counts) -> Option<String> {
    let pairs = plural(counts.truncated, "hypothesis exceeds", "hypotheses exceed");
    (counts.truncated > 0).then(|| format!("{pairs} the classifier's limit: the beginnings were classified"))
}

pub(super) fn open_retriever(
    plan: &Plan,
    corpus: &CorpusOptions,
    listed: Option<Corpus>,
    reranker: Option<Arc<dyn Reranker>>,
    control: &Control,
) -> Result<Option<Arc<Batched>>> {
    if !corpus.is_given() {
        return Ok(None);
    }
    let mut searching = plan.methods().iter().map(|method| method.row().needs).filter(|n| n.searches()).peekable();
    let dense = searching.peek().is_some() && searching.all(|needs| needs.dense);
    let offline = plan.options().runtime.offline;
    let retriever = corpus.open(listed, dense, offline, control)?;
    Ok(Some(Arc::new(Batched::new(corpus.reranker(offline).over(retriever, reranker)))))
}

pub(super) fn open_classifier(
    options: &ClassifierOptions,
    offline: bool,
    control: &Control,
) -> Result<Option<Arc<dyn Classifier>>> {
    let Some(name) = options.name.as_deref() else { return Ok(None) };
    let (device, _) = device("--classifier-device", &options.device, &control.notice())?;
    let options = nli::ClassifierOptions { offline, load: EncoderOptions::on(device) };
    let watch = &control.watch;
    let classifier =
        LocalClassifier::open(name, &options, &mut |progress| watch.opening(&Opening::Finding(name, progress)))?;
    watch.opening(&Opening::Loaded { name, thinks: true, remark: None });
    classifier.note().iter().for_each(|note| control.note(&format!("{name}: {note}")));
    Ok(Some(Arc::new(classifier)))
}

/// Opens the models of all roles; with `entailment`, also of the role that classifies pairs.
fn open_models(plan: &Plan, entailment: bool, control: &Control) -> Result<Roles> {
    let methods = plan.methods();
    let roles = roles(plan, entailment);
    let roles: Vec<&str> = roles.iter().map(String::as_str).collect();
    let names: Vec<&str> = methods.iter().map(|method| method.row().name).collect();
    let needs = methods.iter().fold(Capabilities::default(), |needs, other| needs.or(other.row().needs.model));
    let purpose = Purpose { method: &names.join(", "), roles: &roles, needs };
    let think = methods.first().map_or(0, |method| method.settings.think);
    // A resumed run keeps the arithmetic of its record.
    let recorded = plan.batches().iter().flatten().find_map(|recording| Reader::open(&recording.output).ok());
    let recorded = recorded.map(|reader| reader.header().model.recipe.clone()).unwrap_or_default();
    start(&plan.options().by_recipe_of(&recorded), purpose, think, control)
}

/// The roles of the plan's methods, each once; with `entailment` also the one that classifies pairs.
pub(super) fn roles(plan: &Plan, entailment: bool) -> Vec<String> {
    let mut roles: Vec<String> = Vec::new();
    for role in plan.methods().iter().flat_map(|method| method.method.roles()) {
        if !roles.contains(&role) {
            roles.push(role);
        }
    }
    if entailment {
        roles.push(entailment::ROLE.to_owned());
    }
    roles
}

/// Opens the models of `options` for `purpose`. Above 0, `think` notes which models cannot think.
///
/// # Errors
/// Failures to find, load or reach a model.
pub(crate) fn start(options: &PlanOptions, purpose: Purpose<'_>, think: usize, control: &Control) -> Result<Roles> {
    let resolved: Options = options.runtime.resolve(control.notice())?;
    let assignment = Assignment::parse(&options.model)?;
    if let WeightStorage::Random(storage) = options.runtime.weights {
        let name = assignment.only("--weights random")?;
        let by_role = assignment.resolve(purpose.method, purpose.roles)?;
        let model = models::random(name, storage, &resolved, control.cancel.clone())?;
        control.note("random weights: replies are noise, for measurements of time and memory");
        return Ok(Roles::new(vec![Box::new(model)], by_role, 0));
    }
    open_all(&assignment, purpose, &resolved, &control.cancel, &mut |step| {
        control.watch.opening(&step);
        if let Opening::Loaded { name, thinks: false, .. } = step
            && think > 0
        {
            control.note(&format!("{name} has no thinking mode: --think is ignored for it"));
        }
    })
}

/// Notes how many passages were found and are read, where documents were searched for the question.
fn note_gathered(question: &Question, events: &[Event], control: &Control) {
    let found = |event: &Event| match event {
        Event::Retrieval { hits, .. } => Some(hits.iter().map(Vec::len).sum::<usize>()),
        _ => None,
    };
    let (passages, documents) = (events.iter().filter_map(found).sum::<usize>(), question.documents.len());
    if passages > 0 {
        let passages = plural(passages, "passage", "passages");
        let documents = plural(documents, "document", "documents");
        control.note(&format!("{passages} of {documents} found and read"));
    }
}

#[cfg(test)]
mod tests {
    use super::cut_hypotheses;
    use crate::nli::Counts;

    #[test]
    fn hypotheses_that_were_cut_are_counted() {
        let of = |truncated| cut_hypotheses(Counts { pairs: 9, truncated, ..Counts::default() });
        assert_eq!(of(0), None);
        assert!(of(1).unwrap().starts_with("1 hypothesis exceeds "));
        assert!(of(2).unwrap().starts_with("2 hypotheses exceed "));
    }
}

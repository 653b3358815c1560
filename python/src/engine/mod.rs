//! The engine of the package: models that are opened once, and what is asked of them.

mod asked;
mod compared;
pub(crate) mod generated;
mod run;

use crate::errors;
use crate::method::Own;
use crate::wait::Work;
use moot::cancel::Cancel;
use moot::retrieval::Side;
use moot::workspace::{Control, Plan, PlanOptions, Workspace};
use moot::{MootError, Result};
use pyo3::prelude::*;
use std::sync::{Arc, Mutex, PoisonError};

/// Open models, and perhaps a corpus, an embedder and a classifier.
#[pyclass(frozen)]
pub(crate) struct Engine {
    workspace: Mutex<Option<Arc<Workspace>>>,
    /// Ends the calls of everything that is asked.
    cancel: Cancel,
}

#[pymethods]
impl Engine {
    /// Opens what `options` name: `PlanOptions` as JSON.
    #[new]
    fn new(py: Python<'_>, options: &str, tell: &Bound<'_, PyAny>) -> PyResult<Self> {
        let mut options: PlanOptions = errors::read(py, options)?;
        // A single question of a corpus: passages that have nothing to do with it are left out.
        if !options.corpus.paths.is_empty() {
            options.corpus.cutoff = options.corpus.cutoff.or(Some(true));
        }
        let cancel = Cancel::default();
        let work = Work::new(&cancel);
        let control = work.control.clone();
        let opened =
            work.wait(py, tell, true, move || Workspace::open_to_share(Plan::of(options, &control)?, &control))?;
        Ok(Self { workspace: Mutex::new(Some(Arc::new(opened))), cancel })
    }

    /// Answers a question. `request` is JSON; `method` is an object of `moot.Method`, or none.
    #[pyo3(signature = (request, method, tell))]
    fn ask(
        &self,
        py: Python<'_>,
        request: &str,
        method: Option<Bound<'_, PyAny>>,
        tell: &Bound<'_, PyAny>,
    ) -> PyResult<String> {
        let (request, workspace) = (errors::read::<asked::Question>(py, request)?, self.open(py)?);
        let work = Work::new(&self.cancel);
        let own = method.map(|method| Own::of(&method, &work.failure)).transpose()?;
        let (control, teller) = (work.control.clone(), work.teller.clone());
        work.wait(py, tell, false, move || asked::answer(&workspace, request, own, &control, &teller))
    }

    /// Labels the claims of a text against documents.
    fn conflict(&self, py: Python<'_>, request: &str, tell: &Bound<'_, PyAny>) -> PyResult<String> {
        let (request, workspace) = (errors::read::<asked::Text>(py, request)?, self.open(py)?);
        let work = Work::new(&self.cancel);
        let (control, teller) = (work.control.clone(), work.teller.clone());
        work.wait(py, tell, false, move || asked::conflict(&workspace, request, &control, &teller))
    }

    /// Compares documents with each other.
    fn contradictions(&self, py: Python<'_>, request: &str, tell: &Bound<'_, PyAny>) -> PyResult<String> {
        let (request, workspace) = (errors::read::<compared::Request>(py, request)?, self.open(py)?);
        let work = Work::new(&self.cancel);
        let (control, teller) = (work.control.clone(), work.teller.clone());
        work.wait(py, tell, false, move || compared::contradictions(&workspace, request, &control, &teller))
    }

    /// Answers a dataset by methods, each a name or an object of `moot.Method`.
    fn run(
        &self,
        py: Python<'_>,
        request: &str,
        methods: Vec<Bound<'_, PyAny>>,
        tell: &Bound<'_, PyAny>,
    ) -> PyResult<String> {
        let (request, workspace) = (errors::read::<run::Request>(py, request)?, self.open(py)?);
        let work = Work::new(&self.cancel);
        let methods = run::Methods::of(&methods, &work.failure)?;
        let control = work.control.clone();
        work.wait(py, tell, false, move || run::run(&workspace, request, methods, &control))
    }

    /// The vectors of texts: as many numbers a text as the embedder has dimensions.
    fn embed(
        &self,
        py: Python<'_>,
        texts: Vec<String>,
        query: bool,
        tell: &Bound<'_, PyAny>,
    ) -> PyResult<Vec<Vec<f32>>> {
        if let Some(empty) = texts.iter().position(String::is_empty) {
            return Err(errors::of_field(py, &format!("texts[{empty}]"), "a text", "an empty one"));
        }
        let workspace = self.open(py)?;
        let work = Work::new(&self.cancel);
        let side = if query { Side::Query } else { Side::Passage };
        work.wait(py, tell, false, move || {
            let missing = || {
                let wrong = "--embedder: expected an engine that was opened with an embedder, found one without";
                MootError::Usage(wrong.into())
            };
            let embedder = workspace.tools().embedder.ok_or_else(missing)?;
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            let vectors = embedder.embed(&texts, side)?;
            Ok(vectors.chunks_exact(embedder.dimension().max(1)).map(<[f32]>::to_vec).collect())
        })
    }

    /// The replies to chats, which are answered in one batch.
    fn generate(&self, py: Python<'_>, request: &str, tell: &Bound<'_, PyAny>) -> PyResult<String> {
        let (request, workspace) = (errors::read::<generated::Request>(py, request)?, self.open(py)?);
        let work = Work::new(&self.cancel);
        let control = work.control.clone();
        work.wait(py, tell, false, move || generated::replies(&workspace, &request, &control))
    }

    /// The models by name: the first answers where no role is named.
    fn model(&self, py: Python<'_>) -> PyResult<String> {
        use moot::llm::Llm;
        Ok(serde_json::json!(self.open(py)?.models().identity()).to_string())
    }

    /// Ends every call, and frees the models once these have ended.
    fn close(&self) {
        self.cancel.cancel();
        self.workspace.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}

impl Engine {
    fn open(&self, py: Python<'_>) -> PyResult<Arc<Workspace>> {
        let open = self.workspace.lock().unwrap_or_else(PoisonError::into_inner).clone();
        open.ok_or_else(|| errors::exception(py, &MootError::Usage("the engine is closed".into())))
    }
}

/// `workspace` with a plan of its own for `options`, by the method that they name or by the caller's own.
fn shared(
    workspace: &Workspace,
    options: PlanOptions,
    own: Option<Own>,
    searched: bool,
    control: &Control,
) -> Result<Workspace> {
    match own {
        Some(own) => workspace.share_by(options, vec![own.built()], searched, control),
        None => workspace.share(options, searched, control),
    }
}

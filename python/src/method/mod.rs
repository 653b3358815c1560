//! Methods in Python. The method runs on a thread of its own and sends what it asks of its context to the thread that has it:
//! so its calls are recorded and batched like those of every other method, and no borrowed context reaches Python.

mod asks;
mod described;

use crate::wait::Failure;
use crate::{call, errors};
use described::{Concluded, Described};
use moot::protocol::switches::{Typed, Values};
use moot::protocol::{Built, Ctx, Method, Row};
use moot::question::{Conclusion, Document, Question};
use moot::{MootError, Result};
use pyo3::prelude::*;
use serde_json::{Value, json};
use std::sync::mpsc::{self, Sender};
use std::sync::{Mutex, PoisonError};

/// A method of the caller's, built.
pub(crate) struct Own(Built);

impl Own {
    /// Of an object of `moot.Method`.
    pub(crate) fn of(method: &Bound<'_, PyAny>, failure: &Failure) -> PyResult<Self> {
        let py = method.py();
        let described = py.import("moot.methods")?.call_method1("described", (method,))?.extract::<String>()?;
        let row = errors::read::<Described>(py, &described)?.row();
        let values = Values::resolve(row.name, row.switches, &Typed::new());
        let values = values.map_err(|error| errors::exception(py, &error))?;
        let method = InPython { method: method.clone().unbind(), row, failure: failure.clone() };
        Ok(Self(Built::new(row, values, Box::new(method))))
    }

    pub(crate) fn built(self) -> Built {
        self.0
    }
}

struct InPython {
    method: Py<PyAny>,
    row: &'static Row,
    failure: Failure,
}

impl Method for InPython {
    fn answer(&self, question: &Question, ctx: &mut Ctx<'_>) -> Result<Conclusion> {
        let (jobs, sent) = mpsc::channel::<Job>();
        // A method must not see the gold answers and labels of its dataset.
        let asked = json!({
            "id": question.id, "text": question.text, "options": question.options,
            "documents": documents(ctx.documents(), 0),
        });
        std::thread::scope(|scope| {
            let python = std::thread::Builder::new()
                .name(self.row.name.to_owned())
                .spawn_scoped(scope, move || self.answer_in_python(&asked.to_string(), jobs))
                .map_err(MootError::Threads)?;
            while let Ok(job) = sent.recv() {
                job(ctx);
            }
            let ended = python.join();
            let panicked = |_| Err(MootError::Engine("a thread of Python panicked (bug)".into()));
            ended.unwrap_or_else(panicked)?.conclusion(ctx.documents().len())
        })
    }

    /// A rehearsal could trigger the user code's side effects.
    fn may_be_rehearsed(&self) -> bool {
        false
    }
}

impl InPython {
    fn answer_in_python(&self, question: &str, jobs: Sender<Job>) -> Result<Concluded> {
        Python::attach(|py| {
            let context = Context { jobs: Mutex::new(Some(jobs)), raised: Mutex::default() };
            let context = Bound::new(py, context).map_err(|error| self.failed(error))?;
            let answered = py
                .import("moot.methods")
                .and_then(|module| module.call_method1("answered", (&self.method, question, &context)))
                .and_then(|concluded| concluded.extract::<String>())
                .and_then(|concluded| errors::read::<Concluded>(py, &concluded));
            let context = context.get();
            context.close();
            answered.map_err(|error| match context.cause(py, &error) {
                Some(cause) => cause,
                None => self.raised(py, error),
            })
        })
    }

    /// An exception of the method: an error of the question where it says so, else the end of the work.
    fn raised(&self, py: Python<'_>, error: PyErr) -> MootError {
        let class = py.import("moot.errors").and_then(|module| module.getattr("QuestionError"));
        match class {
            Ok(class) if error.is_instance(py, &class) => MootError::Question(error.value(py).to_string()),
            _ => self.failed(error),
        }
    }

    fn failed(&self, error: PyErr) -> MootError {
        self.failure.keep(error);
        MootError::Interrupted
    }
}

/// A job for the thread that owns the context.
type Job = Box<dyn FnOnce(&mut Ctx<'_>) + Send>;

/// The context of a question, as a method in Python calls it.
#[pyclass(frozen)]
pub(crate) struct Context {
    /// To the thread that has the context; none once the question is answered.
    jobs: Mutex<Option<Sender<Job>>>,
    /// The last exception that was raised here, and the error that it stands for.
    raised: Mutex<Option<(Py<PyAny>, MootError)>>,
}

#[pymethods]
impl Context {
    /// Makes a stage of calls, all in flight at once; their replies as JSON.
    fn ask_all(&self, py: Python<'_>, asks: &str) -> PyResult<Vec<String>> {
        let asks: Vec<asks::Asked> = errors::read(py, asks)?;
        let replies = self.with(py, move |ctx| {
            let asks = asks
                .into_iter()
                .enumerate()
                .map(|(index, asked)| asked.ask(index, ctx.documents().len()))
                .collect::<Result<Vec<_>>>()?;
            ctx.ask_all(&asks)
        })?;
        Ok(replies.iter().map(|reply| call::json(reply).to_string()).collect())
    }

    /// Searches the corpus for each of `queries`, and takes the passages up as documents: those, as JSON.
    fn retrieve(&self, py: Python<'_>, queries: Vec<String>, top: Option<usize>) -> PyResult<String> {
        let found = self.with(py, move |ctx| {
            let mut wanted = ctx.wanted().clone();
            wanted.top = top.unwrap_or(wanted.top);
            let queries: Vec<&str> = queries.iter().map(String::as_str).collect();
            let hits = ctx.retrieve(&queries, &wanted)?.concat();
            let numbers = ctx.take_up(hits);
            let all = documents(ctx.documents(), 0);
            Ok(numbers.into_iter().filter_map(|number| all.get(number).cloned()).collect::<Vec<_>>())
        })?;
        Ok(json!(found).to_string())
    }

    /// Records that the method did something else than its protocol says.
    fn fall_back(&self, py: Python<'_>, what: String) -> PyResult<()> {
        self.with(py, move |ctx| {
            ctx.fall_back(what);
            Ok(())
        })
    }

    /// The vectors of texts; none where the engine has no embedder.
    fn embed(&self, py: Python<'_>, texts: Vec<String>) -> PyResult<Option<Vec<Vec<f32>>>> {
        self.with(py, move |ctx| ctx.embed(&texts.iter().map(String::as_str).collect::<Vec<_>>()))
    }

    /// The seed of a random choice by `role` in `round`.
    fn seed(&self, py: Python<'_>, role: String, round: usize, call: usize) -> PyResult<u64> {
        self.with(py, move |ctx| Ok(ctx.seed(&role, round, call)))
    }
}

impl Context {
    /// Does `job` on the thread that has the context, and waits without the GIL.
    fn with<T: Send + 'static>(
        &self,
        py: Python<'_>,
        job: impl FnOnce(&mut Ctx<'_>) -> Result<T> + Send + 'static,
    ) -> PyResult<T> {
        let over = || {
            MootError::Usage(
                "ctx: expected the context of a question that is being answered, found one that is over".into(),
            )
        };
        let (send, receive) = mpsc::channel();
        let job: Job = Box::new(move |ctx| {
            let _ = send.send(job(ctx));
        });
        let jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let sent = jobs.is_some_and(|jobs| jobs.send(job).is_ok());
        let done = if sent { py.detach(move || receive.recv()).ok() } else { None };
        done.unwrap_or_else(|| Err(over())).map_err(|error| {
            let exception = errors::exception(py, &error);
            let kept = (exception.value(py).clone().into_any().unbind(), error);
            *self.raised.lock().unwrap_or_else(PoisonError::into_inner) = Some(kept);
            exception
        })
    }

    /// The error that `exception` stands for, where it was raised here.
    fn cause(&self, py: Python<'_>, exception: &PyErr) -> Option<MootError> {
        let (raised, error) = self.raised.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        exception.value(py).is(&raised).then_some(error)
    }

    fn close(&self) {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}

/// Documents with their numbers, the first of which is `from` + 1.
fn documents<'a>(all: impl Iterator<Item = &'a Document>, from: usize) -> Vec<Value> {
    let document = |(index, document): (usize, &Document)| {
        let Document { name, text, title, source, date, url, .. } = document;
        json!({
            "number": from + index + 1, "name": name, "text": text, "title": title, "source": source, "date": date,
            "url": url,
        })
    };
    all.enumerate().map(document).collect()
}

//! Runs over datasets.

use crate::errors;
use crate::method::Own;
use crate::teller::counts;
use crate::wait::Failure;
use moot::methods;
use moot::protocol::Built;
use moot::protocol::switches::Typed;
use moot::workspace::{Control, CorpusOptions, MethodOptions, PlanOptions, RunOptions, RunReport, Workspace};
use moot::{MootError, Result};
use pyo3::prelude::*;
use serde::Deserialize;
use serde_json::{Value, json};

/// A run.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Request {
    run: RunOptions,
    method: MethodOptions,
    corpus: CorpusOptions,
}

/// The methods of a run.
pub(super) enum Methods {
    /// Those that the options name.
    Named,
    /// Some are the caller's own.
    Built(Vec<Built>),
}

impl Methods {
    /// Each of `methods` is a name or an object of `moot.Method`; none are those that the options name.
    pub(super) fn of(methods: &[Bound<'_, PyAny>], failure: &Failure) -> PyResult<Self> {
        if methods.is_empty() {
            return Ok(Self::Named);
        }
        let built = |method: &Bound<'_, PyAny>| match method.extract::<String>() {
            Ok(name) => methods::build(&name, &Typed::new()).map_err(|error| errors::exception(method.py(), &error)),
            Err(_) => Own::of(method, failure).map(Own::built),
        };
        methods.iter().map(built).collect::<PyResult<_>>().map(Self::Built)
    }
}

/// Runs; the result is JSON, one report a method.
pub(super) fn run(workspace: &Workspace, request: Request, methods: Methods, control: &Control) -> Result<String> {
    let Request { run, method, corpus } = request;
    if run.dry_run {
        return Err(MootError::Usage("--dry-run: expected none here; `moot run --dry-run` estimates a run".into()));
    }
    let options = PlanOptions { run: Some(run), method, corpus, ..PlanOptions::default() };
    let searched = !workspace.plan().options().corpus.paths.is_empty();
    let shared = match methods {
        Methods::Named => workspace.share(options, searched, control)?,
        Methods::Built(methods) => workspace.share_by(options, methods, searched, control)?,
    };
    let reports = shared.run()?;
    shared.note_counts();
    Ok(json!(reports.iter().map(report_fields).collect::<Vec<_>>()).to_string())
}

fn report_fields(report: &RunReport) -> Value {
    json!({
        "output": report.output,
        "progress": counts(&report.progress),
        "answers": report.answers.as_ref().map(|(path, _)| path),
        "unanswered": report.unanswered.as_ref().map(ToString::to_string),
    })
}

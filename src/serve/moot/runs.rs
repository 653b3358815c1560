//! `/moot/v1/runs`: the questions of a dataset with their documents, answered side by side by one method, in one record.

use crate::assess::Answered;
use crate::cancel::Cancel;
use crate::error::MootError;
use crate::eval::runner::Progress;
use crate::generation::Usage;
use crate::serve::body::{self, list};
use crate::serve::moot::ask::{Named, Search};
use crate::serve::moot::reply::reply;
use crate::serve::moot::sink::Sink;
use crate::serve::refusal::{Answer, Refusal};
use crate::serve::state::{State, refused};
use crate::transcript::QuestionRecord;
use crate::workspace::{Control, MethodOptions, PlanOptions, RunOptions, Watch};
use axum::Json;
use axum::body::Body as Raw;
use axum::extract::{Path, State as Extract};
use axum::http::Request;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::path::{MAIN_SEPARATOR, Path as FilePath};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// The dataset of a request as a file; its name is in the record.
const FILE: &str = "questions.jsonl";

/// A dataset and how it is answered.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Body {
    /// Questions in the form of `docs/question.schema.json`.
    #[serde(deserialize_with = "list")]
    questions: Vec<Value>,
    /// Without one, that of the server.
    method: Option<Named>,
    /// The model of every role. Without one, the models of the roles as the server was started.
    model: Option<String>,
    search: Search,
    /// Questions that are answered at once.
    in_flight: Option<usize>,
    stream: bool,
}

/// The result of a run.
#[derive(Serialize)]
struct Reply {
    /// The id of the record: `/moot/v1/records/{id}`.
    id: String,
    method: String,
    /// Questions of the dataset.
    questions: usize,
    /// Questions that are recorded, those that failed by themselves among them.
    recorded: usize,
    failed: usize,
    /// Whether the run ended before its last question.
    cancelled: bool,
    calls: usize,
    malformed: usize,
    usage: Usage,
    seconds: f64,
    notes: Vec<String>,
}

pub(super) async fn run_all(Extract(state): Extract<Arc<State>>, request: Request<Raw>) -> Answer {
    let body: Body = body::json(&state, request).await?;
    reply(state, body.stream, "run", move |state, cancel, sink| answered(state, body, cancel, sink)).await
}

/// The action on a run.
#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Action {
    Cancel,
}

#[derive(Deserialize)]
struct Order {
    action: Action,
}

/// `POST /moot/v1/runs/{id}` with `{"action": "cancel"}`: recorded questions stay.
pub(super) async fn control(
    Extract(state): Extract<Arc<State>>,
    Path(id): Path<String>,
    request: Request<Raw>,
) -> Answer<Json<Value>> {
    let Order { action: Action::Cancel } = body::json(&state, request).await?;
    let Some(running) = state.records.runs.get(&id) else {
        let id = crate::escape::beginning(&id, 60);
        return Err(Refusal::missing(format!("no run is called {id:?}")));
    };
    running.cancel.cancel();
    Ok(Json(json!({ "id": id })))
}

/// Answers the questions of `body`.
fn answered(state: &State, body: Body, cancel: &Cancel, sink: &Sink) -> Answer<Reply> {
    if body.questions.is_empty() {
        return Err(Refusal::field("questions", "a question or more", "none"));
    }
    let (id, started) = (state.records.new_id(), Instant::now());
    // A plan reads its dataset from a file.
    let folder = tempfile::tempdir().map_err(|e| MootError::io(&std::env::temp_dir(), "write to", e))?;
    let dataset = folder.path().join(FILE);
    let lines: String = body.questions.iter().map(|question| format!("{question}\n")).collect();
    std::fs::write(&dataset, lines).map_err(|e| MootError::io(&dataset, "write", e))?;
    let most = state.limits.at_once;
    let in_flight = body.in_flight.unwrap_or(RunOptions::default().in_flight.min(most));
    if in_flight > most {
        return Err(Refusal::field("in_flight", &format!("at most {most}, the requests at once"), in_flight));
    }
    let bring = body.questions.iter().all(|question| question.get("documents").is_some());
    let options = PlanOptions {
        method: method(state, body.method)?,
        corpus: body.search.options(),
        run: Some(RunOptions {
            dataset,
            output: Some(state.records.file(&id)),
            format: Some("questions".into()),
            in_flight,
            ..RunOptions::default()
        }),
        ..PlanOptions::default()
    };
    let watch = Arc::new(Told::new(sink, state.records.file(&id).parent()));
    let control = Control { stop: Arc::default(), cancel: cancel.clone(), watch: watch.clone() };
    let shared = state.on_model(body.model.as_deref(), |open| open.share(options, !bring, &control))?;
    let workspace = shared.map_err(of_question)?;
    let method = workspace.plan().method().row().name.to_owned();
    let _running = state.records.runs.enter(&id, cancel);
    sink.send("open", &json!({ "id": id, "method": method, "questions": body.questions.len() }));
    watch.state().method.clone_from(&method);
    let ended = workspace.run();
    let progress = watch.state().progress.clone();
    let cancelled = matches!(ended, Err(MootError::Interrupted)) && cancel.is_cancelled();
    if let Err(error) = ended.map(drop)
        && !cancelled
    {
        state.records.keep_part(&id);
        return Err(refused(error, &state.limits, cancel));
    }
    state.metrics.used(progress.usage);
    (0..progress.done).for_each(|_| state.metrics.question());
    let Progress { total, done, errors, calls, malformed, usage, .. } = progress;
    state.records.keep_run(&id, &method, done);
    let (seconds, notes) = (started.elapsed().as_secs_f64(), std::mem::take(&mut watch.state().notes));
    Ok(Reply {
        id,
        method,
        questions: total,
        recorded: done,
        failed: errors,
        cancelled,
        calls,
        malformed,
        usage,
        seconds,
        notes,
    })
}

/// An error in the dataset names the question in the body instead of the line of the file.
fn of_question(error: MootError) -> Refusal {
    match error {
        MootError::Input { line: Some(line), expected, found, .. } => {
            Refusal::field(&format!("questions[{}]", line.saturating_sub(1)), &expected, found)
        }
        other => other.into(),
    }
}

/// The one method of a run: that of the request, else the server's.
fn method(state: &State, named: Option<Named>) -> Answer<MethodOptions> {
    let of_server = || -> Answer<MethodOptions> {
        let plan = state.workspace()?.plan();
        // Named, because a run without a name has another default.
        Ok(MethodOptions { name: Some(plan.method().row().name.into()), ..plan.options().method.clone() })
    };
    let method = named.map_or_else(of_server, Named::options)?;
    match method.name.as_deref().filter(|name| name.contains(',')) {
        Some(name) => Err(Refusal::field("method", "one method", crate::escape::beginning(name, 100))),
        None => Ok(method),
    }
}

/// Sends what happens, and keeps what the reply says.
struct Told {
    sink: Sink,
    /// The folder of records, which is the server's own.
    folder: String,
    state: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    method: String,
    progress: Progress,
    notes: Vec<String>,
}

impl Told {
    fn new(sink: &Sink, folder: Option<&FilePath>) -> Self {
        let folder = folder.map_or_else(String::new, |folder| format!("{}{MAIN_SEPARATOR}", folder.display()));
        Self { sink: sink.clone(), folder, state: Mutex::default() }
    }

    fn state(&self) -> MutexGuard<'_, Kept> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Watch for Told {
    fn note(&self, line: &str) {
        let line = line.replace(&self.folder, "");
        self.sink.send("note", &json!({ "line": line }));
        self.state().notes.push(line);
    }

    fn answered(&self, record: &QuestionRecord) {
        let answered = Answered::of(&self.state().method, record);
        self.sink.send(
            "question",
            &json!({ "id": record.question.id, "index": record.place, "answered": answered, "error": record.error }),
        );
    }

    fn running(&self, progress: Option<&Progress>) {
        if let Some(progress) = progress {
            self.state().progress = progress.clone();
        }
    }
}

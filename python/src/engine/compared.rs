//! Documents that are compared with each other.

use crate::given::{self, Given};
use crate::teller::Teller;
use moot::contradictions::{Event, Folder, Follow, Options};
use moot::workspace::{Control, Workspace, contradictions_cache};
use moot::{MootError, Result};
use serde::Deserialize;
use serde_json::json;

/// Documents, or the least probability of what is reported.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Request {
    documents: Vec<Given>,
    least: Option<f64>,
}

/// The contradictions of the documents; the result is JSON. Work on files alone is kept in the cache, so that the same call
/// goes on where an interrupted one ended.
pub(super) fn contradictions(
    workspace: &Workspace,
    request: Request,
    control: &Control,
    teller: &Teller,
) -> Result<String> {
    let options = Options::of_least(request.least)?;
    if request.documents.is_empty() {
        return Err(MootError::Usage("documents: expected two documents or more, found none".into()));
    }
    let paths: Option<Vec<String>> = request.documents.iter().map(Given::as_path).collect();
    let (folder, cache) = match paths {
        Some(paths) => (Folder::read(&paths, None)?, Some(contradictions_cache(&paths)?)),
        None => (Folder::of(&given::documents(request.documents, true, control)?)?, None),
    };
    let shared = workspace.share_contradictions(control)?;
    let told = Told { control: control.clone(), teller: teller.clone() };
    let report = shared.contradictions(&folder, &Options { cache, ..options }, &told)?;
    folder.notes.iter().for_each(|line| told.note(line));
    Ok(json!(report).to_string())
}

/// Tells what happens, and stops when the call is cancelled.
struct Told {
    control: Control,
    teller: Teller,
}

impl Follow for Told {
    fn event(&self, event: &Event) {
        let told = |kind: &str, done: usize, of: usize| json!({ "kind": kind, "done": done, "total": of });
        self.teller.tell(&match *event {
            Event::Documents { documents, sentences, passages } => {
                json!({ "kind": "documents", "data": { "documents": documents, "sentences": sentences, "passages": passages } })
            }
            Event::Reading { done, of } => told("reading", done, of),
            Event::Embedding { done, of } => told("embedding", done, of),
            Event::Pairs { claims, pairs, calls } => {
                json!({ "kind": "pairs", "data": { "claims": claims, "pairs": pairs, "calls": calls } })
            }
            Event::Labelling { done, of } => told("labelling", done, of),
        });
    }

    fn note(&self, line: &str) {
        self.control.watch.note(line);
    }

    fn is_stopped(&self) -> bool {
        self.control.is_stopped() || self.control.cancel.is_cancelled()
    }
}

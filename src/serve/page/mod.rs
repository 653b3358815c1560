//! The page at `/`: files in the program, and a policy that lets it load nothing else.

use crate::serve::refusal::{Answer, Refusal};
use crate::serve::state::State;
use axum::Router;
use axum::extract::Path;
use axum::http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use std::sync::Arc;

/// Own files and own requests alone; documents of people are set as text, and no markup of theirs would run.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self'; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const SCRIPT: &str = "text/javascript; charset=utf-8";

/// The files beside the page, with their types.
const FILES: [(&str, &str, &str); 13] = [
    ("app.js", SCRIPT, include_str!("app.js")),
    ("claims.js", SCRIPT, include_str!("claims.js")),
    ("contradictions.js", SCRIPT, include_str!("contradictions.js")),
    ("debate.js", SCRIPT, include_str!("debate.js")),
    ("documents.js", SCRIPT, include_str!("documents.js")),
    ("dom.js", SCRIPT, include_str!("dom.js")),
    ("files.js", SCRIPT, include_str!("files.js")),
    ("history.js", SCRIPT, include_str!("history.js")),
    ("methods.js", SCRIPT, include_str!("methods.js")),
    ("models.js", SCRIPT, include_str!("models.js")),
    ("output.js", SCRIPT, include_str!("output.js")),
    ("server.js", SCRIPT, include_str!("server.js")),
    ("style.css", "text/css; charset=utf-8", include_str!("style.css")),
];

pub(super) fn routes() -> Router<Arc<State>> {
    Router::new()
        .route("/", get(|| async { sent("text/html; charset=utf-8", include_str!("index.html")) }))
        .route("/page/{name}", get(file))
}

async fn file(Path(name): Path<String>) -> Answer {
    let found = FILES.iter().find(|(known, ..)| *known == name);
    found.map(|(_, kind, text)| sent(kind, text)).ok_or_else(|| Refusal::missing("the page has no such file"))
}

fn sent(kind: &'static str, text: &'static str) -> Response {
    let headers = [(CONTENT_TYPE, kind), (CONTENT_SECURITY_POLICY, POLICY), (CACHE_CONTROL, "no-cache")];
    (headers, text).into_response()
}

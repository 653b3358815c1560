//! The Model Context Protocol: questions of documents as tools, over HTTP (`POST /mcp`) and over standard input and output
//! (`moot mcp`).
//!
//! A message is read by `rpc`, its revision of the protocol is found by `revision`, `dispatch` answers it or names the tool that
//! it calls, and `work` does the call.

mod calls;
mod dispatch;
mod http;
mod progress;
mod revision;
mod rpc;
mod stdio;
mod tools;
mod work;

pub use stdio::StdioServer;

use crate::serve::mcp::calls::Calls;
use crate::serve::state::State;
use axum::Router;
use axum::body::Body;
use axum::extract::State as Extract;
use axum::http::Request;
use axum::routing::post;
use std::sync::Arc;

pub(super) fn routes() -> Router<Arc<State>> {
    let calls: Arc<Calls> = Arc::default();
    let answer = move |Extract(state): Extract<Arc<State>>, request: Request<Body>| http::answer(state, calls, request);
    Router::new().route("/mcp", post(answer))
}

//! `POST /mcp`: each message is a request of its own. A call's response is a stream of events, which carries its progress; a client
//! that takes none gets one object.

use crate::cancel::Cancel;
use crate::serve::admission::{Leave, end_after};
use crate::serve::body;
use crate::serve::mcp::calls::{Calls, Listed};
use crate::serve::mcp::dispatch::{Asked, Call, asked};
use crate::serve::mcp::revision::Revision;
use crate::serve::mcp::rpc::{self, Failure};
use crate::serve::mcp::{progress, work};
use crate::serve::refusal::Refusal;
use crate::serve::state::{State, slot};
use crate::serve::stream::{self, Events};
use axum::Json;
use axum::body::{Body, Bytes};
use axum::http::header::ACCEPT;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Request, StatusCode};
use axum::response::{IntoResponse, Response};
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::time::Duration;

const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");

/// Interval of comments in a stream, so that no part of the way takes it for dead.
const BEAT: Duration = Duration::from_secs(15);

/// The reason that a call has no result.
pub(super) enum Wrong {
    Http(Refusal),
    Rpc(Failure),
}

impl From<Refusal> for Wrong {
    fn from(refusal: Refusal) -> Self {
        Self::Http(refusal)
    }
}

impl From<Failure> for Wrong {
    fn from(failure: Failure) -> Self {
        Self::Rpc(failure)
    }
}

impl IntoResponse for Wrong {
    fn into_response(self) -> Response {
        match self {
            Self::Http(refusal) => refusal.into_response(),
            Self::Rpc(failure) => (failure.status, Json(failure.json())).into_response(),
        }
    }
}

pub(super) async fn answer(state: Arc<State>, calls: Arc<Calls>, request: Request<Body>) -> Result<Response, Wrong> {
    let headers = request.headers().clone();
    let (bytes, turn) = body::bytes(&state, request).await?;
    let accepted = || StatusCode::ACCEPTED.into_response();
    let Some(message) = rpc::read(&bytes)? else { return Ok(accepted()) };
    // The body is read: another large one need not wait for the call.
    drop(turn);
    let begins = message.method == "initialize";
    let revision = Revision::of(&message, Some(&headers))?;
    match asked(message, revision)? {
        Asked::Nothing => Ok(accepted()),
        Asked::Cancel(id) => {
            if let Some(session) = session(&headers) {
                calls.cancel(session, id);
            }
            Ok(accepted())
        }
        Asked::Result(id, value) => {
            let mut response = Json(rpc::result(&id, &value)).into_response();
            if begins && let Ok(name) = HeaderValue::from_str(&new_session()) {
                response.headers_mut().insert(SESSION, name);
            }
            Ok(response)
        }
        Asked::Call(call) => called(state, &calls, call, &headers, bytes).await,
    }
}

fn session(headers: &HeaderMap) -> Option<&str> {
    headers.get(SESSION).and_then(|value| value.to_str().ok())
}

/// An unguessable session id: hashes of nothing, under keys that the system draws. No state of a session is kept.
fn new_session() -> String {
    let drawn = || RandomState::new().hash_one(0);
    format!("{:016x}{:016x}", drawn(), drawn())
}

async fn called(
    state: Arc<State>,
    calls: &Arc<Calls>,
    call: Call,
    headers: &HeaderMap,
    message: Bytes,
) -> Result<Response, Wrong> {
    let permit = slot(&state).await?;
    let cancel = state.child();
    let listed = listed(calls, &call, headers, &cancel)?;
    let timer = end_after(state.limits.seconds, &cancel);
    let mut accepted = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
    if !accepted.any(|value| value.to_ascii_lowercase().contains("text/event-stream")) {
        let mut leave = Leave::new(&cancel);
        let sink = progress::sink(None, &cancel, |_| ());
        let response = work::response(state, permit, call, message, cancel, sink).await;
        leave.done();
        drop(timer);
        // A request over HTTP must have a response, so a cancelled call has one too.
        listed.map(Listed::ends);
        return Ok(Json(response).into_response());
    }
    let (events, mut response) = stream::events(&cancel, timer);
    // Otherwise nginx collects events before it sends them on.
    response.headers_mut().insert("x-accel-buffering", HeaderValue::from_static("no"));
    let told = events.clone();
    let sink = progress::sink(call.progress.clone(), &cancel, move |value| told.data(value));
    tokio::spawn(async move {
        let beating = beat(events.clone());
        let response = work::response(state, permit, call, message, cancel, sink).await;
        beating.abort();
        if listed.is_none_or(Listed::ends) {
            events.data(&response);
        }
    });
    Ok(response)
}

/// Lists a call of a session. Without one, the end of its connection alone ends a call.
fn listed(calls: &Arc<Calls>, call: &Call, headers: &HeaderMap, cancel: &Cancel) -> Result<Option<Listed>, Failure> {
    let Some(session) = session(headers).filter(|_| call.revision == Revision::Initialized) else { return Ok(None) };
    calls.enter(session, &call.id, cancel).map(Some)
}

fn beat(events: Events) -> tokio::task::JoinHandle<()> {
    tokio::spawn(async move {
        loop {
            tokio::time::sleep(BEAT).await;
            events.comment();
        }
    })
}

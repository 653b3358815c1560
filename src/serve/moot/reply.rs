//! The reply of an endpoint: a JSON object, or the last event of a stream.

use crate::cancel::Cancel;
use crate::serve::moot::sink::Sink;
use crate::serve::refusal::Answer;
use crate::serve::state::{State, run, run_streamed};
use axum::Json;
use axum::response::IntoResponse;
use serde::Serialize;
use std::sync::Arc;

/// Runs `work` in a slot. Its result is the response's JSON. With `stream` the response is a stream of the events of
/// `work`, and the result is the event `name` at its end.
///
/// # Errors
/// As [`run`] and [`run_streamed`].
pub(super) async fn reply<T: Serialize + Send + 'static>(
    state: Arc<State>,
    stream: bool,
    name: &'static str,
    work: impl FnOnce(&State, &Cancel, &Sink) -> Answer<T> + Send + 'static,
) -> Answer {
    if stream {
        return run_streamed(state, move |state, cancel, events| {
            let result = work(state, cancel, &Sink::Events(events.clone()))?;
            events.named(name, &result);
            Ok(())
        })
        .await;
    }
    let result = run(state, move |state, cancel| work(state, cancel, &Sink::Discard)).await?;
    Ok(Json(result).into_response())
}

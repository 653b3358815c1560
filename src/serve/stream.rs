//! Server-sent events: a thread writes, the client reads. What is not read yet waits in memory, so a slow client holds no
//! slot; a reply's limit of tokens bounds it, and the connection's write timeout ends it.

use crate::serve::admission::{Leave, Timer};
use axum::body::{Body, Bytes};
use axum::http::HeaderValue;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::Response;
use http_body::Frame;
use serde::Serialize;
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// Writes events. Where the client has left, they are lost: its work is cancelled.
#[derive(Clone)]
pub(super) struct Events(UnboundedSender<Bytes>);

impl Events {
    /// An event without a name, as OpenAI's streams have them.
    pub(super) fn data(&self, value: &impl Serialize) {
        self.line("", &serde_json::to_string(value).unwrap_or_default());
    }

    /// A named event.
    pub(super) fn named(&self, name: &str, value: &impl Serialize) {
        self.line(name, &serde_json::to_string(value).unwrap_or_default());
    }

    /// The end of OpenAI's streams.
    pub(super) fn done(&self) {
        self.line("", "[DONE]");
    }

    fn line(&self, name: &str, data: &str) {
        let name = if name.is_empty() { String::new() } else { format!("event: {name}\n") };
        let _ = self.0.send(format!("{name}data: {data}\n\n").into());
    }
}

/// The body of a stream.
struct Stream {
    events: UnboundedReceiver<Bytes>,
    /// Cancels the work when the client leaves.
    leave: Leave,
    _timer: Timer,
}

impl axum::body::HttpBody for Stream {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let next = self.events.poll_recv(cx);
        if let Poll::Ready(None) = next {
            self.leave.done();
        }
        next.map(|event| event.map(|bytes| Ok(Frame::data(bytes))))
    }
}

/// A stream of events, and its writer. It ends when all writers are dropped; `leave` cancels the work if the client ends it.
pub(super) fn events(leave: Leave, timer: Timer) -> (Events, Response) {
    let (sender, receiver) = unbounded_channel();
    let mut response = Response::new(Body::new(Stream { events: receiver, leave, _timer: timer }));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    (Events(sender), response)
}

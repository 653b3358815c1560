//! Server-sent events: a thread writes, the client reads. What is not read yet waits in memory, so a slow client holds no
//! slot. A client with too much unread is left, and the connection's write timeout ends one that reads nothing.

use crate::cancel::Cancel;
use crate::serve::admission::{Leave, Timer};
use axum::body::{Body, Bytes};
use axum::http::HeaderValue;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::Response;
use http_body::Frame;
use serde::Serialize;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// Bytes that a client has not read yet; with more its work is cancelled.
const UNREAD: usize = 16 << 20;

/// Writes events. Where the client has left, they are lost: its work is cancelled.
#[derive(Clone)]
pub(super) struct Events {
    sender: UnboundedSender<Bytes>,
    unread: Arc<AtomicUsize>,
    cancel: Cancel,
}

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

    /// A line that clients ignore: the stream is alive.
    pub(super) fn comment(&self) {
        self.write(Bytes::from_static(b":\n\n"));
    }

    fn line(&self, name: &str, data: &str) {
        let name = if name.is_empty() { String::new() } else { format!("event: {name}\n") };
        self.write(Bytes::from(format!("{name}data: {data}\n\n")));
    }

    fn write(&self, bytes: Bytes) {
        if self.unread.fetch_add(bytes.len(), Ordering::Relaxed) > UNREAD {
            return self.cancel.cancel();
        }
        let _ = self.sender.send(bytes);
    }
}

/// The body of a stream.
struct Stream {
    events: UnboundedReceiver<Bytes>,
    unread: Arc<AtomicUsize>,
    /// Cancels the work when the client leaves.
    leave: Leave,
    _timer: Timer,
}

impl axum::body::HttpBody for Stream {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let next = self.events.poll_recv(cx);
        match &next {
            // All writers are gone: the work has ended by itself.
            Poll::Ready(None) => self.leave.done(),
            Poll::Ready(Some(bytes)) => drop(self.unread.fetch_sub(bytes.len(), Ordering::Relaxed)),
            Poll::Pending => {}
        }
        next.map(|event| event.map(|bytes| Ok(Frame::data(bytes))))
    }
}

/// A stream of events, and its writer. It ends when all writers are dropped; `cancel` is set if the client ends it.
pub(super) fn events(cancel: &Cancel, timer: Timer) -> (Events, Response) {
    let ((sender, events), unread) = (unbounded_channel(), Arc::<AtomicUsize>::default());
    let stream = Stream { events, unread: unread.clone(), leave: Leave::new(cancel), _timer: timer };
    let mut response = Response::new(Body::new(stream));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    (Events { sender, unread, cancel: cancel.clone() }, response)
}

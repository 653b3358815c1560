//! A server in this process: requests go to a function instead of a connection. Tests use it where a socket is too slow.

use std::fmt;
use std::sync::Arc;
use ureq::http::{Request, Response};
use ureq::middleware::{Middleware, MiddlewareNext};
use ureq::{Body, Error, SendBody};

/// A response as a server sends it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// HTTP status.
    pub status: u16,
    /// Content type; a value that no header can have makes the request fail.
    pub content_type: String,
    /// The whole body.
    pub body: Vec<u8>,
}

/// A function instead of a server: it is called with a request's path.
#[derive(Clone)]
pub struct InProcess(Arc<dyn Fn(&str) -> Answer + Send + Sync>);

impl InProcess {
    /// `answer` is called for each request with its path, "/v1/chat/completions" for example, from any thread.
    pub fn new(answer: impl Fn(&str) -> Answer + Send + Sync + 'static) -> Self {
        Self(Arc::new(answer))
    }
}

impl Middleware for InProcess {
    fn handle(&self, request: Request<SendBody<'_>>, _: MiddlewareNext<'_>) -> Result<Response<Body>, Error> {
        let Answer { status, content_type, body } = (self.0)(request.uri().path());
        let response = Response::builder().status(status).header("content-type", content_type);
        Ok(response.body(Body::builder().data(body))?)
    }
}

impl fmt::Debug for InProcess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("InProcess(..)")
    }
}

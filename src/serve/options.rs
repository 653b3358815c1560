//! The settings of a server.

use crate::workspace::PlanOptions;
use std::path::PathBuf;

/// The settings of a server.
#[derive(Debug, Clone, PartialEq)]
pub struct ServeOptions {
    /// The name or address to listen on.
    pub host: String,
    /// The port; 0 takes a free one.
    pub port: u16,
    /// Names that a client may use for this server in its `Host` header, besides addresses and `localhost`.
    pub names: Vec<String>,
    /// The key that clients send; `None` lets every program of this machine in.
    pub key: Option<String>,
    /// The folder in which records are kept; `None` keeps them until the server ends.
    pub records: Option<PathBuf>,
    /// Models, corpus, classifier, embedder, and the method of questions that name none.
    pub plan: PlanOptions,
    /// Bounds on what clients may ask.
    pub limits: Limits,
}

/// Bounds on what clients may ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Requests that are answered at once.
    pub at_once: usize,
    /// Requests that wait for one of these to end; further ones are refused with 429.
    pub waiting: usize,
    /// Bytes of a request's body.
    pub body: usize,
    /// Seconds until a request is ended.
    pub seconds: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { at_once: 64, waiting: 256, body: 16 << 20, seconds: 3600 }
    }
}

impl Default for ServeOptions {
    fn default() -> Self {
        Self {
            host: "127.0.0.1".into(),
            port: 8642,
            names: Vec::new(),
            key: None,
            records: None,
            plan: PlanOptions::default(),
            limits: Limits::default(),
        }
    }
}

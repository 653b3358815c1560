//! Faults between a call and a server's reply, each in one line, and whether a retry can help.

use crate::escape;
use crate::fault::RemoteFault;
use crate::jsonl;
use std::time::Duration;
use ureq::http::StatusCode;

/// One attempt that failed.
#[derive(Debug)]
pub(crate) struct Fault {
    pub kind: RemoteFault,
    /// One line.
    pub reason: String,
    pub again: Again,
}

/// Whether the same call may be sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Again {
    Never,
    /// When the backoff says so.
    Later,
    /// The server said when.
    After(Duration),
}

impl Fault {
    pub(crate) fn new(kind: RemoteFault, again: Again, reason: impl Into<String>) -> Self {
        Self { kind, reason: reason.into(), again }
    }

    /// The reply came, but not as the protocol says; the next one may.
    pub(crate) fn broken(reason: impl Into<String>) -> Self {
        Self::new(RemoteFault::Broken, Again::Later, reason)
    }

    /// The client's message of a failed connection.
    pub(crate) fn of(error: ureq::Error) -> Self {
        use RemoteFault::{Broken, Silent, Unreachable};
        match error {
            ureq::Error::Timeout(what @ (ureq::Timeout::Connect | ureq::Timeout::Resolve)) => {
                Self::new(Unreachable, Again::Later, format!("no connection in time ({what})"))
            }
            ureq::Error::Timeout(ureq::Timeout::PerRead) => {
                Self::new(Silent, Again::Later, "nothing came for too long")
            }
            ureq::Error::Timeout(what) => Self::new(Silent, Again::Later, format!("it took too long ({what})")),
            ureq::Error::HostNotFound => Self::new(Unreachable, Again::Later, "no host has this name"),
            ureq::Error::Tls(reason) => Self::new(Unreachable, Again::Never, format!("TLS: {reason}")),
            ureq::Error::Rustls(reason) => Self::new(Unreachable, Again::Never, format!("TLS: {reason}")),
            ureq::Error::BodyExceedsLimit(limit) => {
                Self::new(Broken, Again::Never, format!("the reply is longer than {limit} bytes"))
            }
            ureq::Error::Io(reason) => Self::of_io(&reason),
            ureq::Error::Protocol(reason) => Self::broken(format!("the reply is not HTTP: {reason}")),
            other => Self::new(Unreachable, Again::Later, other.to_string()),
        }
    }

    fn of_io(error: &std::io::Error) -> Self {
        use std::io::ErrorKind::{ConnectionRefused, HostUnreachable, InvalidData, NetworkUnreachable, UnexpectedEof};
        match error.kind() {
            ConnectionRefused => Self::new(RemoteFault::Unreachable, Again::Later, "no server listens there"),
            HostUnreachable | NetworkUnreachable => {
                Self::new(RemoteFault::Unreachable, Again::Later, "the host is unreachable")
            }
            // rustls speaks through this one.
            InvalidData => Self::new(RemoteFault::Unreachable, Again::Never, format!("TLS: {error}")),
            // The system's resolver has no kind of its own, only this beginning.
            _ if error.to_string().starts_with("failed to lookup address") => {
                let reason = error.to_string();
                let why = reason.split_once(": ").map_or("", |(_, why)| why);
                Self::new(RemoteFault::Unreachable, Again::Later, format!("no host has this name ({why})"))
            }
            UnexpectedEof => Self::broken("the connection was cut"),
            _ => Self::broken(format!("the connection was cut: {error}")),
        }
    }

    /// The server's answer instead of a reply: its status, and the message in `body`.
    pub(crate) fn of_status(status: StatusCode, after: Option<Duration>, body: &str) -> Self {
        use RemoteFault::{Broken, Busy, Key, Missing, Quota, Refused};
        let message = message(body);
        let said = if message.is_empty() { String::new() } else { format!(": {message}") };
        let reason = format!("{status}{said}");
        let later = after.map_or(Again::Later, Again::After);
        match status.as_u16() {
            // OpenAI's code for an account without credit, which no wait changes.
            429 if body.contains("insufficient_quota") => Self::new(Quota, Again::Never, reason),
            402 => Self::new(Quota, Again::Never, reason),
            401 | 403 => Self::new(Key, Again::Never, reason),
            404 => Self::new(Missing, Again::Never, reason),
            408 | 425 | 429 | 500..=599 => Self::new(Busy, later, reason),
            300..=399 => Self::new(Broken, Again::Never, format!("{reason} (a redirection, which is not followed)")),
            _ => Self::new(Refused, Again::Never, reason),
        }
    }
}

/// Values of an error's body that are parsed; a longer one is shown as it is.
const MOST_VALUES: usize = 10_000;

/// The message in an error's body, `{"error": {"message": ...}}` or something like it, else its beginning, on one line.
fn message(body: &str) -> String {
    let json: Option<serde_json::Value> = jsonl::parse_within(body.as_bytes(), MOST_VALUES).ok();
    let at = |path: &str| json.as_ref().and_then(|json| json.pointer(path)?.as_str());
    let text = ["/error/message", "/message", "/detail", "/error", "/status/error"]
        .iter()
        .find_map(|path| at(path))
        .unwrap_or(body);
    beginning(&text.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// As much of a message as one line takes.
pub(crate) fn beginning(text: &str) -> String {
    escape::beginning(text, 300)
}

//! Lines of a record of version 3: their content, a hash over it and the line before, and times outside the hash.
//!
//! ```text
//! {"of":"q1","entry":0,"call":{...},"chain":"<64 hex digits>","times":{"seconds":1.5,"elapsed":3.2}}
//! ```
//!
//! The hash of a line is the SHA-256 of the hash of the line before, as hex text (nothing before the header), and of the
//! line's own text up to `,"chain":"`. Times differ between two runs that are otherwise equal, so they follow it.

use crate::transcript::{CallRecord, Event, QuestionRecord};
use crate::units::hex;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::io;

/// The separator between a line's content and its hash. Within a text its quotes would be escaped.
const CHAIN: &str = ",\"chain\":\"";

/// How a call's line starts.
pub(super) const CALL: &[u8] = b"{\"of\":";

/// The hash of the last line, from which the next one's is made.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Chain {
    last: String,
}

/// Times of a line, in seconds.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Times {
    /// Of the call, or of the question.
    #[serde(default)]
    pub(super) seconds: f64,
    /// From the question's start until a call was recorded, earlier attempts included.
    #[serde(default, skip_serializing_if = "crate::units::is_zero")]
    pub(super) elapsed: f64,
    /// Of the question's events, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) events: Vec<f64>,
}

impl Chain {
    /// The last line's hash, 64 hex digits; empty before the first line.
    #[must_use]
    pub fn last(&self) -> &str {
        &self.last
    }

    fn hash(&self, content: &[u8]) -> String {
        let mut hash = Sha256::new();
        hash.update(self.last.as_bytes());
        hash.update(content);
        hex(&hash.finalize())
    }

    /// The line of `content`, its hash and its end included; the next line follows this one.
    ///
    /// # Errors
    /// `content` is not a JSON object.
    pub fn link(&mut self, content: &impl Serialize) -> io::Result<Vec<u8>> {
        self.link_with(&serde_json::to_vec(content)?, None)
    }

    fn link_with(&mut self, content: &[u8], times: Option<&Times>) -> io::Result<Vec<u8>> {
        let content = content.strip_suffix(b"}").ok_or(io::ErrorKind::InvalidData)?;
        self.last = self.hash(content);
        let mut line = content.to_vec();
        line.extend_from_slice(format!("{CHAIN}{}\"", self.last).as_bytes());
        if let Some(times) = times {
            line.extend_from_slice(b",\"times\":");
            serde_json::to_writer(&mut line, times)?;
        }
        line.extend_from_slice(b"}\n");
        Ok(line)
    }

    /// Whether the hash in `line` is that of its content and the line before. The next line is checked against the hash that
    /// `line` states; therefore only the changed line is reported, and not every line after it.
    pub(super) fn follow(&mut self, line: &[u8]) -> bool {
        // The last one: a header's `forked` has a field of this name too.
        let found = line.windows(CHAIN.len()).rposition(|window| window == CHAIN.as_bytes());
        let Some(at) = found else {
            self.last.clear();
            return false;
        };
        let here = self.hash(&line[..at]);
        let stated = line[at + CHAIN.len()..].split(|&byte| byte == b'"').next().unwrap_or_default();
        self.last = String::from_utf8_lossy(stated).into_owned();
        // The text behind the hash is checked with the line's shape.
        here == self.last
    }
}

#[derive(Serialize)]
struct CallContent<'a> {
    of: &'a str,
    entry: usize,
    call: &'a CallRecord,
}

/// A call's line, as it is read.
#[derive(Deserialize)]
pub(super) struct CallLine {
    pub(super) of: String,
    pub(super) entry: usize,
    pub(super) call: CallRecord,
    #[serde(default)]
    pub(super) times: Times,
}

/// The fields of a question's line besides its record.
#[derive(Deserialize)]
pub(super) struct QuestionEnd {
    #[serde(default)]
    pub(super) entries: Vec<usize>,
    /// The run that wrote it had no other question left.
    #[serde(default)]
    pub(super) last: bool,
    #[serde(default)]
    pub(super) times: Times,
}

/// The line of a call: entry number `entry` of the question `of`, recorded after `elapsed` seconds of it.
pub(super) fn call(chain: &mut Chain, of: &str, entry: usize, call: &CallRecord, elapsed: f64) -> io::Result<Vec<u8>> {
    let times = Times { seconds: call.seconds, elapsed, events: Vec::new() };
    // The number is known when all calls of its stage are; the reader counts.
    let call = CallRecord { seconds: 0.0, number: 0, ..call.clone() };
    let content = serde_json::to_vec(&CallContent { of, entry, call: &call })?;
    chain.link_with(&content, Some(&times))
}

/// The line of a question whose calls are the entries `entries` of its journal. The `last` one of a run is marked, since hashes
/// alone do not show that later lines were cut off.
pub(super) fn question(
    chain: &mut Chain,
    record: &QuestionRecord,
    entries: &[usize],
    last: bool,
) -> io::Result<Vec<u8>> {
    let mut record = QuestionRecord { calls: Vec::new(), ..record.clone() };
    let seconds = std::mem::take(&mut record.seconds);
    let taken: Vec<f64> =
        record.events.iter_mut().map(|event| event.seconds_mut().map_or(0.0, std::mem::take)).collect();
    let events = if taken.iter().all(|seconds| *seconds == 0.0) { Vec::new() } else { taken };
    let mut content = serde_json::to_vec(&record)?;
    // Without its closing brace: the fields that follow are within the hash too.
    content.truncate(content.len() - 1);
    content.extend_from_slice(b",\"entries\":");
    serde_json::to_writer(&mut content, entries)?;
    content.extend_from_slice(if last { b",\"last\":true}" } else { b"}" });
    chain.link_with(&content, Some(&Times { seconds, elapsed: 0.0, events }))
}

/// Puts the times of a question's line back where they belong.
pub(super) fn put_back(record: &mut QuestionRecord, times: Times) {
    if record.seconds == 0.0 {
        record.seconds = times.seconds;
    }
    for (seconds, event) in times.events.into_iter().zip(record.events.iter_mut().map(Event::seconds_mut)) {
        if let Some(own) = event
            && *own == 0.0
        {
            *own = seconds;
        }
    }
}

//! Passages in a collection of a Qdrant server.
//!
//! Uses REST and the existing HTTP client. The official client uses gRPC with an async runtime and its own HTTP stack, some
//! hundred crates for a few kinds of requests.

mod address;
mod points;

pub use address::Address;

use super::store::{Contents, Found, MOST, Store};
use crate::error::{MootError, Result};
use crate::escape;
use crate::fault::RemoteFault;
use crate::jsonl::{self, MAX_VALUES};
use crate::llm::remote::fault::{Again, Fault, beginning};
use crate::llm::remote::patience::retry_after;
use crate::llm::remote::{Key, Patience};
use crate::question::Passage;
use crate::resolver;
use crate::retrieval::passage::Wanted;
use points::{Answer, Collection, Count, Groups, Point, Points, filter, point};
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::{Value, json};
use std::io::Read;
use std::sync::atomic::{AtomicBool, Ordering};
use ureq::Agent;
use ureq::http::Method;

/// Maximum size of a response in bytes; hundreds of passages are far below it.
const MAX_ANSWER: u64 = 64 << 20;
/// Values of a point in an answer: its number, its score and its passage have some 25.
const VALUES_PER_POINT: usize = 64;
/// Maximum number of sources in a search by source.
const MOST_SOURCES: usize = 256;

/// Values that an answer of at most `points` points may hold.
fn values(points: usize) -> usize {
    points.saturating_mul(VALUES_PER_POINT).saturating_add(1 << 10).min(MAX_VALUES)
}

/// A collection of a Qdrant server.
pub struct Qdrant {
    address: Address,
    key: Option<Key>,
    patience: Patience,
    agent: Agent,
    /// Whether the server has answered.
    reached: AtomicBool,
}

/// The key for a server, from the environment: `MOOT_QDRANT_KEY`, else `QDRANT_API_KEY`.
#[must_use]
pub(super) fn key_from_environment() -> Option<Key> {
    ["MOOT_QDRANT_KEY", "QDRANT_API_KEY"].iter().find_map(|name| Key::new(&std::env::var(name).ok()?))
}

impl Qdrant {
    /// The collection at `address`, of which nothing is read yet.
    #[must_use]
    pub fn new(address: Address, key: Option<Key>, patience: Patience) -> Self {
        let config = patience.connections(address.is_loopback()).timeout_global(Some(patience.total));
        Self { address, key, patience, agent: resolver::agent(config.build()), reached: AtomicBool::new(false) }
    }

    /// A point as a passage. One that is not of `embedder` is refused, whatever else it holds.
    fn found(&self, point: Point, embedder: Option<&str>) -> Result<Found> {
        let id = point.id.unwrap_or(u64::MAX);
        let foreign = |made_by: &&str| !made_by.is_empty() && embedder.is_some_and(|embedder| embedder != *made_by);
        if let Some(made_by) = point.payload.embedder.as_deref().filter(foreign) {
            let (made_by, own) = (escape::excerpt(&self.hidden(made_by)), embedder.unwrap_or_default());
            return Err(self.unusable(format!("point {id} was embedded by {made_by}, the query by {own}")));
        }
        let passage = point.payload.passage(&|text| self.hidden(text)).map_err(|missing| {
            self.unusable(format!("point {id} is no passage of moot's: missing field `{missing}`"))
        })?;
        Ok(Found { id, score: point.score.unwrap_or(f64::NEG_INFINITY) as f32, passage })
    }

    /// `text` without the key.
    fn hidden(&self, text: &str) -> String {
        self.key.as_ref().map_or_else(|| text.to_owned(), |key| key.hide_in(text))
    }

    /// A request that changes the collection; the content of its response is not needed.
    fn tell(&self, what: &str, path: &str, body: &Value) -> Result<()> {
        self.ask::<IgnoredAny>((what, "JSON"), MAX_VALUES, &Method::PUT, path, Some(body)).map(drop)
    }

    /// One request, with retries. `what` names it and what is expected of its answer, which may hold `most` values.
    fn ask<T: DeserializeOwned>(
        &self,
        (what, expected): (&str, &str),
        most: usize,
        method: &Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<T> {
        let attempt = || {
            let text = self.attempt(method, path, body)?;
            self.reached.store(true, Ordering::Relaxed);
            self.parse(&text, expected, most)
        };
        self.patience
            .persist(|| self.reached.load(Ordering::Relaxed), attempt)
            .map_err(|fault| self.error(fault.kind, format!("{what}: {}", fault.reason)))
    }

    fn parse<T: DeserializeOwned>(&self, text: &str, expected: &str, most: usize) -> std::result::Result<T, Fault> {
        jsonl::parse_within(text.as_bytes(), most).map_err(|e| {
            let reason = match e.is_data() {
                true => format!("expected {expected}, found another answer ({})", self.hidden(&jsonl::json_fault(&e))),
                false => format!("the answer is no JSON: {e}: {}", beginning(self.hidden(text).trim())),
            };
            Fault::new(RemoteFault::Broken, Again::Never, reason)
        })
    }

    fn attempt(&self, method: &Method, path: &str, body: Option<&Value>) -> std::result::Result<String, Fault> {
        let mut request = ureq::http::Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.address.collection_url()))
            .header("accept", "application/json")
            .header("content-type", "application/json");
        if let Some(key) = &self.key {
            request = request.header("authorization", key.bearer());
        }
        let unsendable = |e: ureq::http::Error| Fault::new(RemoteFault::Refused, Again::Never, e.to_string());
        let sent = match body {
            Some(body) => self.agent.run(request.body(body.to_string()).map_err(unsendable)?),
            None => self.agent.run(request.body(()).map_err(unsendable)?),
        };
        let mut response = sent.map_err(Fault::of)?;
        let status = response.status();
        let after = response.headers().get("retry-after").and_then(|value| retry_after(value.to_str().ok()?));
        let mut text = Vec::new();
        let read = response.body_mut().as_reader().take(MAX_ANSWER).read_to_end(&mut text);
        let text = String::from_utf8_lossy(&text).into_owned();
        if !status.is_success() {
            // The message is decoded from JSON, whose escapes may hide the key.
            let fault = Fault::of_status(status, after, &self.hidden(&text));
            return Err(Fault { reason: self.hidden(&fault.reason), ..fault });
        }
        read.map_err(|e| Fault::broken(format!("the connection was cut: {e}")))?;
        Ok(text)
    }

    fn error(&self, kind: RemoteFault, reason: String) -> MootError {
        MootError::Collection { server: self.address.to_string(), kind, reason, hint: kind.qdrant_hint() }
    }
}

impl Store for Qdrant {
    fn address(&self) -> String {
        self.address.to_string()
    }

    /// Each point names its embedder, the collection does not. Whether it is whole is not known. A large one has a graph.
    fn contents(&self) -> Result<Contents> {
        let what = ("the collection", "its settings at /result/config/params/vectors");
        let told: Answer<Collection> = self.ask(what, MAX_VALUES, &Method::GET, "", None)?;
        let (dimension, order) = (told.result.dimension(), told.result.order());
        Ok(Contents { dimension, order, embedder: None, finished: true, approximate: true })
    }

    /// With indexes for filters by source and date.
    fn begin(&self, dimension: usize, _embedder: &str, exists: bool) -> Result<()> {
        if !exists {
            // Dot product: vectors are already normalised if the model normalises. On disk: such corpora exceed memory.
            let vectors = json!({ "size": dimension, "distance": "Dot", "on_disk": true });
            self.tell("the new collection", "", &json!({ "vectors": vectors }))?;
        }
        for (field, kind) in [("source", "keyword"), ("date_from", "integer"), ("date_until", "integer")] {
            let body = json!({ "field_name": field, "field_schema": kind });
            self.tell("an index of its fields", "/index?wait=true", &body)?;
        }
        Ok(())
    }

    fn count(&self) -> Result<u64> {
        let (what, body) = (("the number of points", "a number at /result/count"), json!({ "exact": true }));
        let told: Answer<Count> = self.ask(what, MAX_VALUES, &Method::POST, "/points/count", Some(&body))?;
        Ok(told.result.count)
    }

    fn passage(&self, id: u64) -> Result<Option<Passage>> {
        let (what, body) = (("a point", "a list at /result"), json!({ "ids": [id], "with_payload": true }));
        let told: Answer<Vec<Point>> = self.ask(what, values(1), &Method::POST, "/points", Some(&body))?;
        told.result.into_iter().next().map(|point| Ok(self.found(point, None)?.passage)).transpose()
    }

    fn insert(&self, first: u64, passages: &[Passage], vectors: &[f32], embedder: &str) -> Result<()> {
        let rows = vectors.chunks_exact((vectors.len() / passages.len().max(1)).max(1));
        let points: Vec<Value> = (first..)
            .zip(passages.iter().zip(rows))
            .map(|(id, (passage, vector))| point(id, passage, vector, embedder))
            .collect();
        // Otherwise Qdrant answers before the points are stored, and their count at the end may be short.
        self.tell("new points", "/points?wait=true", &json!({ "points": points }))
    }

    fn nearest(
        &self,
        vector: &[f32],
        embedder: &str,
        wanted: &Wanted,
        limit: usize,
        exact: bool,
    ) -> Result<Vec<Found>> {
        let mut body = json!({ "query": vector, "with_payload": true });
        if let Some(filter) = filter(&wanted.filter) {
            body["filter"] = filter;
        }
        if exact {
            body["params"] = json!({ "exact": true });
        }
        let points = if wanted.by_source {
            (body["group_by"], body["group_size"], body["limit"]) =
                ("source".into(), limit.into(), MOST_SOURCES.into());
            let (most, what) = (limit.min(MOST) * MOST_SOURCES, ("the points", "a list at /result/groups"));
            let told: Answer<Groups> =
                self.ask(what, values(most), &Method::POST, "/points/query/groups", Some(&body))?;
            told.result.groups.into_iter().flat_map(|group| group.hits).collect()
        } else {
            body["limit"] = limit.into();
            let what = ("the points", "a list at /result/points");
            let told: Answer<Points> = self.ask(what, values(limit), &Method::POST, "/points/query", Some(&body))?;
            told.result.points
        };
        points.into_iter().map(|point| self.found(point, Some(embedder))).collect()
    }

    fn unusable(&self, reason: String) -> MootError {
        self.error(RemoteFault::Refused, reason)
    }
}

//! Passages on a Qdrant server, for corpora that do not fit on one machine.
//!
//! Uses REST and the existing HTTP client. The official client uses gRPC with an async runtime and its own HTTP stack, some
//! hundred crates for four kinds of requests.

mod address;
mod points;

pub use address::Address;

use crate::cancel::Cancel;
use crate::error::{MootError, Result};
use crate::escape;
use crate::fault::RemoteFault;
use crate::jsonl::{self, MAX_VALUES};
use crate::llm::remote::fault::{Again, Fault, beginning};
use crate::llm::remote::patience::{retry_after, sleep};
use crate::llm::remote::{Key, Patience};
use crate::question::Hit;
use crate::question::Passage;
use crate::resolver;
use crate::retrieval::fold;
use crate::retrieval::index::full_text;
use crate::retrieval::passage::{Embedder, Retriever, RetrieverIdentity, Side, Wanted};
use points::{Answer, Collection, Groups, Point, Points, filter, point};
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::{Value, json};
use std::borrow::Cow;
use std::io::Read;
use std::sync::Arc;
use ureq::Agent;
use ureq::http::Method;

/// Maximum size of a response in bytes; hundreds of passages are far below it.
const MAX_ANSWER: u64 = 64 << 20;
/// Values of a point in an answer: its number, its score and its passage have some 25.
const VALUES_PER_POINT: usize = 64;
/// Passages inserted per request.
const BATCH: usize = 128;
/// Maximum number of candidates, in all or of each source.
const MOST: usize = 1024;
/// Maximum number of sources in a search by source.
const MOST_SOURCES: usize = 256;

/// Values that an answer of at most `points` points may hold.
fn values(points: usize) -> usize {
    points.saturating_mul(VALUES_PER_POINT).saturating_add(1 << 10).min(MAX_VALUES)
}

/// A collection of passages on a server, and the embedder that its vectors were made by.
pub struct Qdrant {
    address: Address,
    key: Option<Key>,
    patience: Patience,
    agent: Agent,
    embedder: Arc<dyn Embedder>,
}

/// The key for a server, from the environment: `MOOT_QDRANT_KEY`, else `QDRANT_API_KEY`.
#[must_use]
pub(crate) fn key_from_environment() -> Option<Key> {
    ["MOOT_QDRANT_KEY", "QDRANT_API_KEY"].iter().find_map(|name| Key::new(&std::env::var(name).ok()?))
}

impl Qdrant {
    /// Opens an existing collection.
    ///
    /// # Errors
    /// [`MootError::Qdrant`] if the server does not answer, the key is refused, the collection does not exist, or its
    /// vectors have another length than the embedder's.
    pub fn open(address: Address, key: Option<Key>, patience: Patience, embedder: Arc<dyn Embedder>) -> Result<Self> {
        let this = Self::new(address, key, patience, embedder);
        let what = ("the collection", "its settings at /result/config/params/vectors");
        let told: Answer<Collection> = this.ask(what, MAX_VALUES, &Method::GET, "", None)?;
        let (found, expected) = (told.result.dimension(), this.embedder.dimension());
        if found == Some(expected as u64) {
            return Ok(this);
        }
        let found = found.map_or("vectors under names".to_owned(), |size| format!("vectors of {size}"));
        let by = this.embedder.identity();
        Err(this
            .error(RemoteFault::Refused, format!("the collection has {found}, the embedder makes {expected} ({by})")))
    }

    /// Creates an empty collection with payload indexes for filters by source and date.
    ///
    /// # Errors
    /// [`MootError::Qdrant`], also if the collection already exists.
    pub fn create(address: Address, key: Option<Key>, patience: Patience, embedder: Arc<dyn Embedder>) -> Result<Self> {
        let this = Self::new(address, key, patience, embedder);
        // Dot product: vectors are already normalised if the model normalises. On disk: such corpora exceed memory.
        let vectors = json!({ "size": this.embedder.dimension(), "distance": "Dot", "on_disk": true });
        this.tell("the new collection", "", &json!({ "vectors": vectors }))?;
        for (field, kind) in [("source", "keyword"), ("date_from", "integer"), ("date_until", "integer")] {
            let body = json!({ "field_name": field, "field_schema": kind });
            this.tell("an index of its fields", "/index?wait=true", &body)?;
        }
        Ok(this)
    }

    /// Embeds `passages` and adds them as points `first`, `first + 1`, ... Existing points of these numbers are replaced, so
    /// an interrupted batch can be repeated.
    ///
    /// # Errors
    /// [`MootError::Qdrant`], or an embedder that fails.
    pub fn insert(&self, first: u64, passages: &[Passage]) -> Result<()> {
        let mut id = first;
        for batch in passages.chunks(BATCH) {
            let texts: Vec<Cow<'_, str>> = batch.iter().map(full_text).collect();
            let texts: Vec<&str> = texts.iter().map(AsRef::as_ref).collect();
            let vectors = self.embedder.embed(&texts, Side::Passage)?;
            let rows = vectors.chunks_exact(self.embedder.dimension());
            let points: Vec<Value> = (id..)
                .zip(batch.iter().zip(rows))
                .map(|(id, (passage, vector))| point(id, passage, vector, self.embedder.identity()))
                .collect();
            self.tell("new points", "/points?wait=true", &json!({ "points": points }))?;
            id += batch.len() as u64;
        }
        Ok(())
    }

    fn new(address: Address, key: Option<Key>, patience: Patience, embedder: Arc<dyn Embedder>) -> Self {
        let config = patience.connections(address.is_loopback()).timeout_global(Some(patience.total));
        Self { address, key, patience, agent: resolver::agent(config.build()), embedder }
    }

    /// The best `limit` points of all, or of each source, best first.
    fn candidates(&self, vector: &[f32], wanted: &Wanted, limit: usize) -> Result<Vec<Hit>> {
        let mut body = json!({ "query": vector, "with_payload": true });
        if let Some(filter) = filter(&wanted.filter) {
            body["filter"] = filter;
        }
        let points = if wanted.by_source {
            (body["group_by"], body["group_size"], body["limit"]) =
                ("source".into(), limit.into(), MOST_SOURCES.into());
            let (most, what) = (limit * MOST_SOURCES, ("the points", "a list at /result/groups"));
            let told: Answer<Groups> =
                self.ask(what, values(most), &Method::POST, "/points/query/groups", Some(&body))?;
            told.result.groups.into_iter().flat_map(|group| group.hits).collect()
        } else {
            body["limit"] = limit.into();
            let what = ("the points", "a list at /result/points");
            let told: Answer<Points> = self.ask(what, values(limit), &Method::POST, "/points/query", Some(&body))?;
            told.result.points
        };
        let mut hits = points.into_iter().map(|point| self.hit(point)).collect::<Result<Vec<_>>>()?;
        // Qdrant does not define the order of equal scores.
        hits.sort_by(|(a, i), (b, j)| b.score.total_cmp(&a.score).then(i.cmp(j)));
        Ok(hits.into_iter().map(|(hit, _)| hit).collect())
    }

    /// A point as a passage, with its number.
    fn hit(&self, point: Point) -> Result<(Hit, u64)> {
        let id = point.id.unwrap_or(u64::MAX);
        let made_by = point.payload.embedder.as_deref().unwrap_or_default();
        if !made_by.is_empty() && made_by != self.embedder.identity() {
            let made_by = escape::excerpt(&self.hidden(made_by));
            let reason = format!("point {id} was embedded by {made_by}, the query by {}", self.embedder.identity());
            return Err(self.error(RemoteFault::Refused, reason));
        }
        let passage = point.payload.passage(&|text| self.hidden(text)).map_err(|missing| {
            let reason = format!("point {id} is no passage of moot's: missing field `{missing}`");
            self.error(RemoteFault::Refused, reason)
        })?;
        let score = point.score.unwrap_or(f64::NEG_INFINITY) as f32;
        Ok((Hit { passage, score, copies: Vec::new() }, id))
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
        let mut attempts = 1;
        loop {
            let fault = match self.attempt(method, path, body).and_then(|text| self.parse(&text, expected, most)) {
                Ok(value) => return Ok(value),
                Err(fault) => fault,
            };
            // A server that was never reached is not retried.
            let again = if fault.kind == RemoteFault::Unreachable { Again::Never } else { fault.again };
            let Some(wait) = self.patience.wait(again, attempts, 0) else {
                let tried = if attempts > 1 { format!(" ({attempts} attempts)") } else { String::new() };
                return Err(self.error(fault.kind, format!("{what}: {}{tried}", fault.reason)));
            };
            sleep(wait, &Cancel::default())?;
            attempts += 1;
        }
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
        MootError::Qdrant { server: self.address.to_string(), kind, reason }
    }
}

impl Retriever for Qdrant {
    fn retrieve(&self, query: &str, wanted: &Wanted) -> Result<Vec<Hit>> {
        let vector = self.embedder.embed(&[query], Side::Query)?;
        // Folding happens here, so more candidates are requested than wanted, and more again if too few remain.
        let mut limit = if wanted.fold { wanted.top.saturating_mul(2) } else { wanted.top }.clamp(1, MOST);
        loop {
            let candidates = self.candidates(&vector, wanted, limit)?;
            let all = candidates.len();
            let chosen = fold::select(candidates, wanted);
            let enough = wanted.by_source || chosen.len() >= wanted.top;
            if !wanted.fold || enough || all < limit || limit >= MOST {
                return Ok(chosen);
            }
            limit = (2 * limit).min(MOST);
        }
    }

    /// The address identifies the index: a server's collection has no hash.
    fn identity(&self) -> RetrieverIdentity {
        RetrieverIdentity {
            reranker: None,
            index: self.address.to_string(),
            embedder: Some(self.embedder.identity().to_owned()),
            mode: "dense".to_owned(),
        }
    }
}

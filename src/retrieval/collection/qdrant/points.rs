//! Passages as points of a collection, and filters in Qdrant's syntax.

use crate::question::{Origin, Passage};
use crate::retrieval::collection::store::{Order, days};
use crate::retrieval::passage::Filter;
use crate::unicode;
use serde::Deserialize;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::collections::BTreeSet;

/// A passage as a point. The payload adds the first and last day of its date and the embedder's identity.
pub(super) fn point(id: u64, passage: &Passage, vector: &[f32], embedder: &str) -> Value {
    let mut payload = serde_json::to_value(passage).expect("a passage is plain data (bug)");
    // Qdrant omits points without the grouping field from every group.
    payload["source"] = passage.source.as_deref().unwrap_or_default().into();
    if let Some((from, until)) = passage.date.as_deref().and_then(days) {
        (payload["date_from"], payload["date_until"]) = (from.into(), until.into());
    }
    payload["embedder"] = embedder.into();
    json!({ "id": id, "vector": vector, "payload": payload })
}

/// The envelope of every answer: its `result`.
#[derive(Deserialize)]
pub(super) struct Answer<T> {
    pub(super) result: T,
}

/// A collection's settings.
#[derive(Deserialize)]
pub(super) struct Collection {
    config: Config,
}

#[derive(Deserialize)]
struct Config {
    params: Params,
}

#[derive(Deserialize)]
struct Params {
    #[serde(default)]
    vectors: Vectors,
}

#[derive(Default, Deserialize)]
struct Vectors {
    /// Absent where the collection has vectors under names.
    size: Option<u64>,
    distance: Option<String>,
}

impl Collection {
    /// How it orders vectors.
    ///
    /// # Errors
    /// A distance whose order is never that of dot products: it is named.
    pub(super) fn order(&self) -> Result<Order, String> {
        match self.config.params.vectors.distance.as_deref() {
            // Vectors under names have no distance here, and are refused for their names.
            None | Some("Dot") => Ok(Order::Dot),
            Some("Cosine") => Ok(Order::Cosine),
            Some(other) => Err(other.to_owned()),
        }
    }

    /// Dimension of the vectors; `Err` describes vectors under names.
    pub(super) fn dimension(&self) -> Result<u64, String> {
        self.config.params.vectors.size.ok_or_else(|| "vectors under names".to_owned())
    }
}

/// How many points there are.
#[derive(Deserialize)]
pub(super) struct Count {
    pub(super) count: u64,
}

/// The points found for a query.
#[derive(Deserialize)]
pub(super) struct Points {
    pub(super) points: Vec<Point>,
}

/// The points found for a query, by source.
#[derive(Deserialize)]
pub(super) struct Groups {
    pub(super) groups: Vec<Group>,
}

/// Those of one source.
#[derive(Deserialize)]
pub(super) struct Group {
    #[serde(default)]
    pub(super) hits: Vec<Point>,
}

/// A point found.
#[derive(Deserialize)]
pub(super) struct Point {
    pub(super) id: Option<u64>,
    pub(super) score: Option<f64>,
    #[serde(default)]
    pub(super) payload: Payload,
}

/// The fields of a passage, each of which may be missing in a point of another program.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Payload {
    pub(super) embedder: Option<String>,
    text: Option<String>,
    title: Option<String>,
    source: Option<String>,
    date: Option<String>,
    url: Option<String>,
    notes: Vec<String>,
    origin: Option<Origin>,
}

impl Payload {
    /// The passage; `hide` takes the key out of a text.
    ///
    /// # Errors
    /// The field that is missing: [`point`] did not make it.
    pub(super) fn passage(self, hide: &dyn Fn(&str) -> String) -> Result<Passage, &'static str> {
        let hidden = |text: Option<String>| text.map(|text| hide(&text));
        let origin = self.origin.ok_or("origin")?;
        Ok(Passage {
            text: hide(&self.text.ok_or("text")?),
            title: hidden(self.title),
            source: hidden(self.source).filter(|source| !source.is_empty()),
            date: hidden(self.date),
            url: hidden(self.url),
            notes: self.notes.iter().map(|note| hide(note)).collect(),
            origin: Origin { file: hide(&origin.file), id: hidden(origin.id), ..origin },
        })
    }
}

/// The equivalent of [`Filter::admits`]; `None` if everything is admitted.
pub(super) fn filter(filter: &Filter) -> Option<Value> {
    let mut must = Vec::new();
    if !filter.sources.is_empty() {
        // As typed, and as new points have it.
        let sources: BTreeSet<Cow<'_, str>> =
            filter.sources.iter().flat_map(|source| [Cow::Borrowed(source.as_str()), unicode::nfc(source)]).collect();
        must.push(json!({ "key": "source", "match": { "any": sources } }));
    }
    if let Some((from, _)) = filter.from.as_deref().and_then(days) {
        must.push(json!({ "key": "date_until", "range": { "gte": from } }));
    }
    if let Some((_, until)) = filter.until.as_deref().and_then(days) {
        must.push(json!({ "key": "date_from", "range": { "lte": until } }));
    }
    (!must.is_empty()).then(|| json!({ "must": must }))
}

#[cfg(test)]
mod tests {
    use super::filter;
    use crate::retrieval::Filter;

    #[test]
    fn nothing_to_filter_is_no_filter() {
        assert_eq!(filter(&Filter::default()), None);
    }
}

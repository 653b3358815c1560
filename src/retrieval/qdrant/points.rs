//! Passages as points of a collection, and filters in Qdrant's syntax.

use crate::question::Passage;
use crate::retrieval::passage::Filter;
use crate::unicode;
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

/// The passage of a point.
///
/// # Errors
/// A payload that [`point`] did not make.
pub(super) fn passage(payload: &Value) -> Result<Passage, serde_json::Error> {
    let mut passage: Passage = serde_json::from_value(payload.clone())?;
    passage.source = passage.source.filter(|source| !source.is_empty());
    Ok(passage)
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

/// The first and the last day that `date` may mean, as yyyymmdd: "1998-05" lies between 19980500 and 19980599. `None`
/// if `date` is not ISO 8601.
fn days(date: &str) -> Option<(u32, u32)> {
    let number = |text: Option<&str>, digits: usize| {
        text.and_then(|text| text.get(..digits)).filter(|text| text.bytes().all(|b| b.is_ascii_digit()))?.parse().ok()
    };
    let year: u32 = number(date.get(..4), 4)?;
    let month: Option<u32> = date.as_bytes().get(4).filter(|&&b| b == b'-').and_then(|_| number(date.get(5..), 2));
    let day: Option<u32> =
        month.and(date.as_bytes().get(7)).filter(|&&b| b == b'-').and_then(|_| number(date.get(8..), 2));
    let at = |missing: u32| year * 10_000 + month.unwrap_or(missing) * 100 + day.unwrap_or(missing);
    Some((at(0), at(99)))
}

#[cfg(test)]
mod tests {
    use super::{days, filter};
    use crate::retrieval::Filter;

    #[test]
    fn dates_are_days() {
        assert_eq!(days("1998"), Some((19_980_000, 19_989_999)));
        assert_eq!(days("1998-05"), Some((19_980_500, 19_980_599)));
        assert_eq!(days("1998-05-07T10:00:00Z"), Some((19_980_507, 19_980_507)));
        for unknown in ["", "May 1998", "98", "\u{6a4b}"] {
            assert_eq!(days(unknown), None, "{unknown}");
        }
    }

    #[test]
    fn nothing_to_filter_is_no_filter() {
        assert_eq!(filter(&Filter::default()), None);
    }
}

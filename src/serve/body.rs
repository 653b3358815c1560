//! Bodies of requests: JSON, bounded in bytes, in time, in values and in what lists may hold.

use crate::jsonl::{MAX_VALUES, holds_more_values};
use crate::serve::refusal::{Answer, Refusal};
use crate::serve::state::State;
use axum::body::{Body, Bytes, to_bytes};
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use axum::http::{Request, StatusCode};
use serde::de::{DeserializeOwned, Error, IgnoredAny, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use std::fmt;
use std::marker::PhantomData;
use std::time::Duration;
use tokio::sync::SemaphorePermit;

/// Time for a client to send a body.
const TIME: Duration = Duration::from_secs(30);

/// Bytes of a body that does not wait for others.
const SMALL: usize = 64 << 10;

/// Entries of a list in a body that has no lower bound of its own. A body of 16 MiB may hold millions of empty ones, each many
/// times its bytes in memory.
pub(super) const ENTRIES: usize = 20_000;

/// The bytes of a body of JSON, and the turn of a large one, which is kept until they are read.
///
/// # Errors
/// 415 for another type than JSON, 413 for too many bytes, 408 for a slow client.
pub(super) async fn bytes(state: &State, request: Request<Body>) -> Answer<(Bytes, Option<SemaphorePermit<'_>>)> {
    let kind = request.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    if !kind.to_ascii_lowercase().starts_with("application/json") {
        let message =
            format!("Content-Type: expected application/json, found {:?}", crate::escape::beginning(kind, 60));
        return Err(Refusal::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, message));
    }
    let limit = state.limits.body;
    let length = request.headers().get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse().ok());
    // A body without a length is of unknown size.
    let turn = if length.is_none_or(|length: usize| length > SMALL) { state.large.acquire().await.ok() } else { None };
    let read = tokio::time::timeout(TIME, to_bytes(request.into_body(), limit));
    let late = |_| Refusal::new(StatusCode::REQUEST_TIMEOUT, format!("the body did not arrive within {TIME:?}"));
    let cut = |error: axum::Error| {
        // `LengthLimitError` is http-body-util's, and axum does not re-export it: its text is looked for instead.
        let too_long = error.to_string().contains("length limit");
        let status = if too_long { StatusCode::PAYLOAD_TOO_LARGE } else { StatusCode::BAD_REQUEST };
        Refusal::new(status, format!("expected a body of at most {limit} bytes: {error}"))
    };
    Ok((read.await.map_err(late)?.map_err(cut)?, turn))
}

/// The body of a request. Its fields may be any JSON, so all of it has at most [`MAX_VALUES`] values.
///
/// # Errors
/// As [`bytes`], and 400 with the field for what it holds.
pub(super) async fn json<T: DeserializeOwned>(state: &State, request: Request<Body>) -> Answer<T> {
    let (bytes, _turn) = bytes(state, request).await?;
    if holds_more_values(&bytes, MAX_VALUES) {
        return Err(Refusal::field("body", &format!("at most {MAX_VALUES} values"), "more"));
    }
    parsed(&bytes)
}

fn parsed<T: DeserializeOwned>(bytes: &[u8]) -> Answer<T> {
    // Structs would also be read from lists of their fields' values.
    if bytes.trim_ascii_start().first().is_some_and(|&byte| byte != b'{') {
        let found = crate::escape::excerpt(&String::from_utf8_lossy(&bytes[..bytes.len().min(40)]));
        return Err(Refusal::field("body", "a JSON object", found));
    }
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let value = serde_path_to_error::deserialize(&mut reader).map_err(|error| {
        let (path, reason) = (error.path().to_string(), error.into_inner().to_string());
        // `serde_path_to_error` writes `.` for the whole value, and `?` where it does not know the path.
        let path = if path == "." || path == "?" { "body".to_owned() } else { path };
        unread(&path, "JSON as the documentation says", &reason)
    })?;
    reader.end().map_err(|error| Refusal::field("body", "one JSON object", error))?;
    Ok(value)
}

/// The refusal of a field that serde cannot read. The `reason` of a bound has what it expects, else that is `expected`.
pub(super) fn unread(field: &str, expected: &str, reason: &str) -> Refusal {
    let reason = crate::escape::line(reason);
    match reason.strip_prefix("expected ").and_then(|bound| bound.split_once(", found ")) {
        Some((expected, found)) => {
            // Without the position: the field is named.
            let found = found.rsplit_once(" at line ").map_or(found, |(found, _)| found);
            Refusal::field(field, expected, found)
        }
        None => Refusal::field(field, expected, reason),
    }
}

/// A list with at most [`ENTRIES`] entries; `null` is an empty one.
pub(super) fn list<'de, T: Deserialize<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<T>, D::Error> {
    struct Entries<T>(PhantomData<T>);

    impl<'de, T: Deserialize<'de>> Visitor<'de> for Entries<T> {
        type Value = Vec<T>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "a list of at most {ENTRIES} entries")
        }

        fn visit_unit<E>(self) -> Result<Self::Value, E> {
            Ok(Vec::new())
        }

        fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Self::Value, A::Error> {
            entries(Vec::new(), seq, ENTRIES)
        }
    }

    deserializer.deserialize_any(Entries(PhantomData))
}

/// A list of which `first` was read already: at most `most` entries. Further ones are counted for the error, and not kept.
pub(super) fn entries<'de, T: Deserialize<'de>, A: SeqAccess<'de>>(
    first: Vec<T>,
    mut rest: A,
    most: usize,
) -> Result<Vec<T>, A::Error> {
    let mut all = first;
    while all.len() < most {
        match rest.next_element()? {
            Some(entry) => all.push(entry),
            None => return Ok(all),
        }
    }
    let mut more = 0;
    while rest.next_element::<IgnoredAny>()?.is_some() {
        more += 1;
    }
    match more {
        0 => Ok(all),
        more => Err(A::Error::custom(format!("expected at most {most} entries, found {}", most + more))),
    }
}

/// A text, or a list of at most `MOST` entries.
pub(super) enum TextOrList<T, const MOST: usize = ENTRIES> {
    Text(String),
    List(Vec<T>),
}

// Not derived as an untagged enum, which collects a list of any length first and hides its error.
impl<'de, T: Deserialize<'de>, const MOST: usize> Deserialize<'de> for TextOrList<T, MOST> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either<T, const MOST: usize>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>, const MOST: usize> Visitor<'de> for Either<T, MOST> {
            type Value = TextOrList<T, MOST>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "a text, or a list of at most {MOST} entries")
            }

            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(TextOrList::Text(text.to_owned()))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Self::Value, A::Error> {
                entries(Vec::new(), seq, MOST).map(TextOrList::List)
            }
        }

        deserializer.deserialize_any(Either::<T, MOST>(PhantomData))
    }
}

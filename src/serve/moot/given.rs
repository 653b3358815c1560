//! Documents that a request brings: texts, or files of the kinds that `moot ask --docs` reads.

use crate::cancel::Cancel;
use crate::question::Document;
use crate::serve::refusal::Answer;
use crate::serve::state::{State, refused};
use crate::workspace::{InlineDocument, InlineRead};
use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use std::fmt;

/// A document of a request: `text`, or a file as `base64` with its `name`; a text alone is a document too.
#[derive(Debug, Default, Clone)]
pub(in crate::serve) struct GivenDocument(Fields);

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default)]
struct Fields {
    /// As clients of retrieval name a document.
    id: Option<String>,
    name: Option<String>,
    text: Option<String>,
    base64: Option<String>,
    title: Option<String>,
    source: Option<String>,
    date: Option<String>,
    url: Option<String>,
}

impl<'de> Deserialize<'de> for GivenDocument {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TextOrFields;

        impl<'de> Visitor<'de> for TextOrFields {
            type Value = Fields;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "a text, or an object with text or base64")
            }

            fn visit_str<E>(self, text: &str) -> Result<Fields, E> {
                Ok(Fields { text: Some(text.to_owned()), ..Fields::default() })
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Fields, A::Error> {
                Fields::deserialize(MapAccessDeserializer::new(map))
            }
        }

        deserializer.deserialize_any(TextOrFields).map(Self)
    }
}

/// Advice for more documents than a debate can hold, where the server has no corpus.
const TO_SEARCH: &str = "a server that was started with a corpus searches more";

/// The same, where the server has one.
const TO_SHORTEN: &str = "send fewer or shorter ones";

/// The documents, in the order given, and lines on what was not read. A file may hold several.
///
/// # Errors
/// A document without text, a file that cannot be read, more than a debate can hold; a client that has left.
pub(in crate::serve) fn documents(
    state: &State,
    all: Vec<GivenDocument>,
    cancel: &Cancel,
) -> Answer<(Vec<Document>, Vec<String>)> {
    let all = all.into_iter().map(InlineDocument::from).collect();
    let has_corpus = state.workspace()?.tools().retriever.is_some();
    let read = InlineRead::of(all, Some(if has_corpus { TO_SHORTEN } else { TO_SEARCH }), cancel);
    let read = read.map_err(|error| refused(error, &state.limits, cancel))?;
    Ok((read.documents, read.notes))
}

/// Without a path: files of this machine are not the client's.
impl From<GivenDocument> for InlineDocument {
    fn from(given: GivenDocument) -> Self {
        let Fields { id, name, text, base64, title, source, date, url } = given.0;
        Self { id, name, text, base64, path: None, title, source, date, url }
    }
}

//! `/v1/embeddings`: vectors of the embedder that the server was started with.

use crate::cancel::Cancel;
use crate::error::MootError;
use crate::retrieval::Side;
use crate::serve::body::{self, ENTRIES, entries};
use crate::serve::refusal::{Answer, Refusal};
use crate::serve::state::{State, refused, run};
use axum::Json;
use axum::body::Body as Raw;
use axum::extract::State as Extract;
use axum::http::Request;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde::de::{IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};
use std::fmt;
use std::sync::Arc;

/// Texts embedded between two looks at whether the client has left.
const AT_ONCE: usize = 64;

#[derive(Default, Deserialize)]
#[serde(default)]
struct Body {
    input: Option<Input>,
    encoding_format: Option<String>,
    dimensions: Option<usize>,
    /// "query" or "passage", for embedders that tell them apart.
    input_type: Option<String>,
}

enum Input {
    One(String),
    Several(Vec<String>),
    /// Tokens of some vocabulary, as some clients send them to OpenAI.
    Other,
}

/// The expected type of `input`.
const TEXTS: &str = "a text or a list of texts";

// Not derived as an untagged enum, which would take a list of too many texts for tokens.
impl<'de> Deserialize<'de> for Input {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        /// The first entry of a list, which determines the type of the others.
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum First {
            Text(String),
            Other(IgnoredAny),
        }

        struct Texts;

        impl<'de> Visitor<'de> for Texts {
            type Value = Input;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(TEXTS)
            }

            fn visit_str<E>(self, text: &str) -> Result<Input, E> {
                Ok(Input::One(text.to_owned()))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Input, A::Error> {
                match seq.next_element()? {
                    None => Ok(Input::Several(Vec::new())),
                    Some(First::Text(text)) => entries(vec![text], seq, ENTRIES).map(Input::Several),
                    Some(First::Other(_)) => IgnoredAny.visit_seq(seq).map(|_| Input::Other),
                }
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Input, A::Error> {
                IgnoredAny.visit_map(map).map(|_| Input::Other)
            }
        }

        deserializer.deserialize_any(Texts)
    }
}

pub(super) async fn embed(Extract(state): Extract<Arc<State>>, request: Request<Raw>) -> Answer<Json<Value>> {
    let body: Body = body::json(&state, request).await?;
    run(state, move |state, cancel| vectors(state, &body, cancel)).await.map(Json)
}

fn vectors(state: &State, body: &Body, cancel: &Cancel) -> Answer<Value> {
    let missing = || Refusal::missing("no embedder is loaded: expected moot serve --embedder NAME");
    let embedder = state.workspace()?.tools().embedder.ok_or_else(missing)?;
    let texts: Vec<&str> = match &body.input {
        None => return Err(Refusal::field("input", TEXTS, "none")),
        Some(Input::Other) => {
            let hint = "tokens or something else; LangChain sends texts with check_embedding_ctx_length=False";
            return Err(Refusal::field("input", TEXTS, hint));
        }
        Some(Input::One(text)) => vec![text],
        Some(Input::Several(texts)) => texts.iter().map(String::as_str).collect(),
    };
    if let Some(empty) = texts.iter().position(|text| text.is_empty()) {
        return Err(Refusal::field(&format!("input[{empty}]"), "a text", "an empty one"));
    }
    let dimension = embedder.dimension();
    if let Some(other) = body.dimensions.filter(|&other| other != dimension) {
        return Err(Refusal::field("dimensions", &format!("{dimension}, those of the embedder"), other));
    }
    let side = match body.input_type.as_deref() {
        None | Some("passage" | "document" | "search_document") => Side::Passage,
        Some("query" | "search_query") => Side::Query,
        Some(other) => {
            return Err(Refusal::field("input_type", "query or passage", crate::escape::beginning(other, 40)));
        }
    };
    let encode = match body.encoding_format.as_deref() {
        None | Some("float") => |vector: &[f32]| json!(vector),
        Some("base64") => |vector: &[f32]| {
            // OpenAI's clients read base64 as f32, the lowest byte first.
            let bytes: Vec<u8> = vector.iter().flat_map(|number| number.to_le_bytes()).collect();
            json!(BASE64_STANDARD.encode(bytes))
        },
        Some(other) => {
            return Err(Refusal::field("encoding_format", "float or base64", crate::escape::beginning(other, 40)));
        }
    };
    let mut vectors = Vec::with_capacity(texts.len() * dimension);
    for part in texts.chunks(AT_ONCE) {
        if cancel.is_cancelled() {
            return Err(refused(MootError::Interrupted, &state.limits, cancel));
        }
        vectors.extend(embedder.embed(part, side)?);
    }
    // `chunks_exact` panics with 0.
    let data = vectors.chunks_exact(dimension.max(1)).enumerate();
    let data: Vec<Value> = data
        .map(|(index, vector)| json!({ "object": "embedding", "index": index, "embedding": encode(vector) }))
        .collect();
    let tokens = embedder.tokens(&texts, side);
    Ok(json!({
        "object": "list", "data": data, "model": embedder.identity(),
        "usage": { "prompt_tokens": tokens, "total_tokens": tokens },
    }))
}

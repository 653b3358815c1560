//! Vectors by a model on a server: OpenAI's `/v1/embeddings`, or `/embed` of Text Embeddings Inference.

use crate::error::{MootError, Result};
use crate::fault::RemoteFault;
use crate::jsonl;
use crate::llm::remote::fault::{Again, Fault, beginning};
use crate::llm::remote::patience::retry_after;
use crate::llm::remote::{Address, Key, Patience};
use crate::resolver;
use crate::retrieval::passage::{Embedder, Side};
use moot_models::encoder::Prefixes;
use serde_json::{Value, json};
use std::io::Read;
use ureq::Agent;

/// Texts of a request: the default limit of Text Embeddings Inference.
const BATCH: usize = 32;
/// Most bytes of an answer: 32 vectors of 65,536 numbers of 20 characters.
const MAX_ANSWER: u64 = 48 << 20;
/// Most values of an answer.
const MAX_VALUES: usize = 32 * (65_536 + 64);

/// How a server is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// `POST /v1/embeddings`, answered by a list at `data`, each with an `embedding` and its `index`.
    OpenAi,
    /// `POST /embed`, answered by a list of vectors.
    Tei,
}

/// An embedding model on a server.
pub struct ServedEmbedder {
    address: Address,
    key: Option<Key>,
    patience: Patience,
    agent: Agent,
    form: Form,
    prefixes: Prefixes,
    dimension: usize,
    identity: String,
}

impl ServedEmbedder {
    /// Finds out which form the server at `address` has and how long its vectors are, by one text. Texts get `prefixes`, which
    /// no server adds.
    ///
    /// # Errors
    /// [`MootError::Remote`] where no server answers there, or none that embeds.
    pub fn open(address: Address, key: Option<Key>, patience: Patience, prefixes: Prefixes) -> Result<Self> {
        let config = patience.connections(address.is_loopback()).timeout_global(Some(patience.total));
        let Prefixes { query, passage } = &prefixes;
        let identity = format!("{address} query {query:?} passage {passage:?}");
        let agent = resolver::agent(config.build());
        let mut this = Self { address, key, patience, agent, form: Form::OpenAi, prefixes, dimension: 0, identity };
        let probe = [with_prefix(&this.prefixes.query, "moot")];
        let first = match this.batch(&probe) {
            Err(MootError::Remote { kind: RemoteFault::Missing, .. }) => {
                this.form = Form::Tei;
                this.batch(&probe)?
            }
            told => told?,
        };
        this.dimension = first.len();
        Ok(this)
    }

    /// The vectors of `texts`, at most [`BATCH`], with retries.
    fn batch(&self, texts: &[String]) -> Result<Vec<f32>> {
        // The dimension is known once the server has answered.
        let reached = || self.dimension > 0;
        self.patience.persist(reached, || self.attempt(texts)).map_err(|fault| {
            let reason = format!("vectors of {} texts: {}", texts.len(), fault.reason);
            MootError::Remote { server: self.address.to_string(), kind: fault.kind, reason }
        })
    }

    fn attempt(&self, texts: &[String]) -> std::result::Result<Vec<f32>, Fault> {
        let base = &self.address.base;
        let (url, body) = match self.form {
            Form::OpenAi => {
                let mut body = json!({ "input": texts, "encoding_format": "float" });
                body["model"] = self.address.model.as_deref().unwrap_or_default().into();
                (format!("{base}/embeddings"), body)
            }
            Form::Tei => {
                // Text Embeddings Inference has `/embed` at its root, beside `/v1`.
                let root = base.strip_suffix("/v1").unwrap_or(base);
                (format!("{root}/embed"), json!({ "inputs": texts, "truncate": true }))
            }
        };
        let mut request = self.agent.post(url).header("accept", "application/json").content_type("application/json");
        if let Some(key) = &self.key {
            request = request.header("authorization", key.bearer());
        }
        let mut response = request.send(body.to_string()).map_err(Fault::of)?;
        let status = response.status();
        let after = response.headers().get("retry-after").and_then(|value| retry_after(value.to_str().ok()?));
        let mut bytes = Vec::new();
        let read = response.body_mut().as_reader().take(MAX_ANSWER).read_to_end(&mut bytes);
        let hidden = |text: &str| self.key.as_ref().map_or_else(|| text.to_owned(), |key| key.hide_in(text));
        if !status.is_success() {
            let fault = Fault::of_status(status, after, &hidden(&String::from_utf8_lossy(&bytes)));
            return Err(Fault { reason: hidden(&fault.reason), ..fault });
        }
        read.map_err(|e| Fault::broken(format!("the connection was cut: {e}")))?;
        if bytes.len() as u64 == MAX_ANSWER {
            let reason = format!("expected an answer of less than {MAX_ANSWER} bytes, found more");
            return Err(Fault::new(RemoteFault::Broken, Again::Never, reason));
        }
        let answer: Value = jsonl::parse_within(&bytes, MAX_VALUES).map_err(|_| {
            let text = hidden(&String::from_utf8_lossy(&bytes));
            Fault::new(RemoteFault::Broken, Again::Never, format!("the answer is no JSON: {}", beginning(text.trim())))
        })?;
        let vectors = match self.form {
            Form::OpenAi => of_openai(&answer, texts.len()),
            Form::Tei => of_tei(&answer, texts.len()),
        };
        let expected = |what: String| Fault::new(RemoteFault::Broken, Again::Never, what);
        let vectors =
            vectors.ok_or_else(|| expected(format!("expected {} vectors, found another answer", texts.len())))?;
        let length = vectors.first().map_or(0, Vec::len);
        if length == 0 || vectors.iter().any(|v| v.len() != length) || (self.dimension > 0 && length != self.dimension)
        {
            let wanted = if self.dimension > 0 { self.dimension.to_string() } else { "the same number of".to_owned() };
            return Err(expected(format!("expected vectors of {wanted} numbers, found others")));
        }
        Ok(vectors.concat())
    }
}

/// `{"data": [{"index": 0, "embedding": [...]}, ...]}`, in any order.
fn of_openai(answer: &Value, count: usize) -> Option<Vec<Vec<f32>>> {
    let data = answer.get("data")?.as_array()?;
    let mut vectors: Vec<Option<Vec<f32>>> = vec![None; count];
    for (at, one) in data.iter().enumerate() {
        let index = one.get("index").map_or(Some(at as u64), Value::as_u64)?;
        *vectors.get_mut(usize::try_from(index).ok()?)? = Some(vector(one.get("embedding")?)?);
    }
    vectors.into_iter().collect()
}

/// `[[...], ...]`, in the order of the texts.
fn of_tei(answer: &Value, count: usize) -> Option<Vec<Vec<f32>>> {
    let vectors: Vec<Vec<f32>> = answer.as_array()?.iter().map(vector).collect::<Option<_>>()?;
    (vectors.len() == count).then_some(vectors)
}

fn vector(value: &Value) -> Option<Vec<f32>> {
    value.as_array()?.iter().map(|number| number.as_f64().map(|number| number as f32)).collect()
}

/// The text behind its prefix; a prefix with `{text}` goes around it.
fn with_prefix(prefix: &str, text: &str) -> String {
    match prefix.split_once("{text}") {
        Some((before, after)) => format!("{before}{text}{after}"),
        None => format!("{prefix}{text}"),
    }
}

impl Embedder for ServedEmbedder {
    fn embed(&self, texts: &[&str], side: Side) -> Result<Vec<f32>> {
        let prefix = match side {
            Side::Query => &self.prefixes.query,
            Side::Passage => &self.prefixes.passage,
        };
        let texts: Vec<String> = texts.iter().map(|text| with_prefix(prefix, text)).collect();
        texts.chunks(BATCH).map(|batch| self.batch(batch)).collect::<Result<Vec<_>>>().map(|all| all.concat())
    }

    fn dimension(&self) -> usize {
        self.dimension
    }

    fn identity(&self) -> &str {
        &self.identity
    }
}

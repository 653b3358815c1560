//! The two names of each option: on the command line, as errors name it, and as a field of
//! [`PlanOptions`](super::PlanOptions).

use crate::methods::METHODS;

/// The options of `moot ask` and `moot run`, without their dashes, and the fields that they fill. What a `no-` option turns
/// off is the field's `false`.
pub(crate) const SPELLINGS: &[(&str, &str)] = &[
    ("docs", "documents.paths"),
    ("whole", "documents.whole"),
    ("corpus", "corpus.paths"),
    ("cutoff", "corpus.cutoff"),
    ("top", "corpus.top"),
    ("by-source", "corpus.by_source"),
    ("source", "corpus.sources"),
    ("from", "corpus.from"),
    ("until", "corpus.until"),
    ("no-fold", "corpus.fold"),
    ("exact-search", "corpus.exact_search"),
    ("retriever", "corpus.retriever"),
    ("embedder", "corpus.embedder"),
    ("embedder-device", "corpus.embedder_device"),
    ("reranker", "corpus.reranker"),
    ("reranker-device", "corpus.reranker_device"),
    ("reranker-candidates", "corpus.reranker_candidates"),
    ("method", "method.name"),
    ("preset", "method.preset"),
    ("set", "method.switches"),
    ("prompts", "method.prompts"),
    ("source-weights", "method.source_weights"),
    ("seed", "method.seed"),
    ("max-tokens", "method.max_tokens"),
    ("free-form", "method.free_form"),
    ("think", "method.think"),
    ("temperature", "method.temperature"),
    ("top-k", "method.top_k"),
    ("top-p", "method.top_p"),
    ("classifier", "classifier.name"),
    ("classifier-device", "classifier.device"),
    ("model", "model"),
    ("offline", "runtime.offline"),
    ("device", "runtime.device"),
    ("devices", "runtime.devices"),
    ("exact", "runtime.exact"),
    ("recipe", "runtime.recipe"),
    ("threads", "runtime.threads"),
    ("kv-memory", "runtime.kv_memory"),
    ("memory", "runtime.memory"),
    ("max-rows", "runtime.max_rows"),
    ("step-tokens", "runtime.step_tokens"),
    ("weights", "runtime.weights"),
    ("no-prefix-reuse", "runtime.prefix_reuse"),
    ("no-speculation", "runtime.speculation"),
    ("remote-calls", "runtime.remote_calls"),
    ("remote-timeout", "runtime.remote_timeout"),
    ("remote-retries", "runtime.remote_retries"),
    ("output", "run.output"),
    ("answers", "run.answers"),
    ("format", "run.format"),
    ("skip-bad", "run.skip_bad"),
    ("limit", "run.limit"),
    ("sample", "run.sample"),
    ("sample-seed", "run.sample_seed"),
    ("shard", "run.shard"),
    ("dry-run", "run.dry_run"),
    ("in-flight", "run.in_flight"),
    ("retry-errors", "run.retry_errors"),
    ("reuse", "run.reuse"),
];

/// The field that the message of a usage error begins with, where it begins with one: `method.max_tokens 0: ...`,
/// `documents[0].text: expected ...`. Options are spelled as fields already.
#[must_use]
pub fn field_of_message(message: &str) -> Option<&str> {
    let (first, rest) = message.split_at(message.find([':', ' '])?);
    let is_path = first.chars().all(|c| c.is_ascii_alphanumeric() || "_.[]".contains(c));
    // An option with its value, `method.max_tokens 0: ...`; else a name alone may be any word.
    let is_field = first.contains('.') || rest.starts_with(": expected ");
    (is_path && is_field).then_some(first)
}

/// The field that the option `--option` fills, `method.max_tokens` for `max-tokens`; a method's switch is a field of
/// `method.switches`. `None` for an option that fills no field.
///
/// A face that reads JSON passes it to [`with_options_spelled`](crate::error::with_options_spelled).
#[must_use]
pub fn field_of(option: &str) -> Option<String> {
    if let Some((_, field)) = SPELLINGS.iter().find(|(name, _)| *name == option) {
        return Some((*field).to_owned());
    }
    let switch = |name: &str| METHODS.iter().flat_map(|row| row.switches).any(|switch| switch.name == name);
    let name = [Some(option), option.strip_prefix("no-")].into_iter().flatten().find(|name| switch(name))?;
    Some(format!("method.switches.{name}"))
}

//! The fuzz targets. A target is one function from bytes to an outcome, so that any other fuzzer can call it too.

use super::fuzz_entry;
use super::json;
use super::mutate;
use super::random::Random;
use moot_models::arch::{self, Config};
use moot_models::weights::{Gguf, Safetensors, Weights};
use moot_models::{DType, Device, KvCache, ModelError};
use std::path::Path;

/// A row of [`TARGETS`].
pub(crate) struct Target {
    pub(crate) name: &'static str,
    /// The entry. An error is as good an outcome as any; only a panic, a hang and a greedy allocation are faults.
    pub(crate) entry: fn(&[u8]) -> Result<(), ModelError>,
    /// Changes an input a little, by what its format is.
    pub(crate) mutate: fn(&mut Vec<u8>, &mut Random),
    /// Files under `models/` that are in the corpus besides `fuzz/corpus/<name>`.
    pub(crate) more: &'static [&'static str],
    /// The bound on its memory.
    pub(crate) bound: Bound,
}

/// Bytes that a target may hold at once.
pub(crate) struct Bound {
    /// Whatever the input.
    pub(crate) fixed: usize,
    /// For each byte of it.
    pub(crate) factor: usize,
}

/// A header's: messages, tables of a few rows, the scratch of a parser. A GGUF array of bytes is held as 64-bit numbers
/// (8), while the input itself (1) and a growing table's two copies are there too; a JSON number of two characters is a
/// value of 32 bytes, in a tree whose tables double. Both come of bytes that are really there: no number in a file is
/// believed.
const HEADER: Bound = Bound { fixed: 64 << 10, factor: 40 };

/// A vocabulary's: the automata of its splitter and normaliser, which a short pattern makes; a token of some 10 bytes is
/// in tables both ways, there twice while they are made, and may be a special one's pattern besides.
const VOCABULARY: Bound = Bound { fixed: 2 << 20, factor: 200 };

/// A tokenizer's: as that of a vocabulary, and sixteen steps whose pattern is compiled, classes of Unicode to 300 kB each.
const TOKENIZER: Bound = Bound { fixed: 7 << 20, ..VOCABULARY };

const TOKENIZERS: &[&str] = &["tests/golden/tokenizer/tiny.tokenizer.json"];

const CONFIGS: &[&str] = &[
    "tests/golden/architectures/llama3/config.json",
    "tests/golden/architectures/llama-linear/config.json",
    "tests/golden/architectures/mistral/config.json",
    "tests/golden/architectures/qwen3/config.json",
    "tests/golden/architectures/qwen3-yarn/config.json",
    "tests/golden/architectures/phi3/config.json",
    "tests/golden/architectures/phi3-long/config.json",
    "tests/golden/architectures/gemma3/config.json",
    "tests/golden/architectures/gemma3-scalar/config.json",
    "tests/golden/architectures/qwen2-window/config.json",
    "tests/golden/architectures/smollm3/config.json",
    "tests/golden/architectures/qwen3moe/config.json",
    "tests/golden/architectures/gpt-oss/config.json",
    "tests/golden/architectures/qwen35/config.json",
    "tests/golden/architectures/qwen35-images/config.json",
    "tests/golden/architectures/qwen35moe/config.json",
    "tests/golden/architectures/ministral3/config.json",
    "tests/golden/architectures/ministral3-images/config.json",
    "tests/golden/architectures/gemma3-images/config.json",
    "tests/golden/architectures/gemma4/config.json",
    "tests/golden/architectures/gemma4-moe/config.json",
    "tests/golden/architectures/gemma4-images/config.json",
    "tests/golden/architectures/olmo2/config.json",
    "tests/golden/architectures/olmo3/config.json",
    "tests/golden/architectures/granite/config.json",
    "tests/golden/architectures/glm4/config.json",
    "tests/golden/architectures/lfm2/config.json",
    "tests/golden/architectures/lfm2moe/config.json",
    "tests/golden/tiny/qwen2/config.json",
];

/// Every target there is.
pub(crate) const TARGETS: &[Target] = &[
    Target { name: "gguf", entry: gguf, mutate: mutate::gguf, more: &[], bound: HEADER },
    Target { name: "safetensors", entry: safetensors, mutate: json::safetensors, more: &[], bound: HEADER },
    Target { name: "config", entry: config, mutate: json::document, more: CONFIGS, bound: HEADER },
    Target { name: "vocabulary", entry: vocabulary, mutate: mutate::gguf, more: &[], bound: VOCABULARY },
    Target {
        name: "tokenizer",
        entry: fuzz_entry::tokenizer_json,
        mutate: json::document,
        more: TOKENIZERS,
        bound: TOKENIZER,
    },
    Target { name: "template", entry: template, mutate: jinja, more: TEMPLATES, bound: TEMPLATE },
];

/// A template's: the values of one rendering, each within the stated limits.
const TEMPLATE: Bound = Bound { fixed: 32 << 20, factor: 400 };

const TEMPLATES: &[&str] = &[
    "tests/golden/tokenizer/templates/llama3.1.jinja",
    "tests/golden/tokenizer/templates/mistral-v0.3.jinja",
    "tests/golden/tokenizer/templates/phi3.jinja",
    "tests/golden/tokenizer/templates/qwen3.jinja",
    "tests/golden/tokenizer/templates/qwen35.jinja",
    "tests/golden/tokenizer/templates/harmony.jinja",
    "tests/golden/tokenizer/templates/lfm2.jinja",
    "tests/golden/tokenizer/templates/gemma3.jinja",
    "tests/golden/tokenizer/templates/gemma4.jinja",
];

/// Words of the language, those that make much of little first.
#[rustfmt::skip]
const JINJA: &[&str] = &[
    "{% set ns = namespace(s='x') %}", "{% for i in range(9999) %}", "{% endfor %}", "{% set ns.s = ns.s ~ ns.s %}",
    "{% set ns.s = [ns.s, ns.s] %}", "{% set ns.s = ns.s + ns.s %}", "{{ ns.s }}", "| indent(5000000000)", "* 99999999",
    "| format(1)", "'%1000000000d'", "| tojson(indent=9999)", "| batch(5000000000, 'x')", "| list", "| join(ns.s)",
    "| replace('x', ns.s)", ".split('')", ".format(ns.s)", "{% set x %}", "{% endset %}", "{{ x }}", "{% macro m(a) %}",
    "{% endmacro %}", "{{ m(m) }}", "{% if", "{% else %}", "{% endif %}", "{{", "}}", "{%", "%}", "[", "]", "(", ")", "'",
    "messages", "message.content", "loop.index0", "{% generation %}", "{% endgeneration %}", "raise_exception('x')",
    "strftime_now('%d')", "| map('upper')", "| sort", "in", "not ", "is defined", "[::-1]", "9999999999999999999",
    "{% elif x %}", " + x", " ~ ns.s", ".x", "[0]", "()", "{% set ns.s = [loop, 1] %}", "{% set ns.a = namespace() %}", "is eq ns.s",
    "== ns.s", "loop.cycle()", "loop.changed(ns.s)", "{% include 'chat_template' %}", "{% block a %}", "{{ self.a() }}",
    "| map('map', 'map', 'upper')", "| select('in', ns.s)", ".strip(ns.s)", "| trim(ns.s)", "{'a': ns.s}", "**{'a': ns.s}", "*ns.s",
    "{% with %}", "{% endwith %}", "{% for j in range(9999) %}", "recursive",
];

fn jinja(bytes: &mut Vec<u8>, random: &mut Random) {
    if random.below(3) == 0 {
        return mutate::blind(bytes, random);
    }
    let at = random.below(bytes.len() + 1);
    let end = (at + random.below(2) * random.below(12)).min(bytes.len());
    // Now and then as a chain.
    let times = if random.below(8) == 0 { 1 + random.below(4096) } else { 1 };
    drop(bytes.splice(at..end, random.pick(JINJA).repeat(times).bytes()));
}

/// A chat template: compiled, and rendered for a short conversation.
pub(crate) fn template(bytes: &[u8]) -> Result<(), ModelError> {
    use moot_models::tokenizer::{ChatTemplate, Message, Role, Thinking};
    let source = String::from_utf8_lossy(bytes);
    let template = ChatTemplate::new(&source, "fuzzed", Some("<s>"), Some("</s>"))?;
    let messages = [Message::new(Role::System, "a"), Message::new(Role::User, " b\n")];
    template.render(&messages, true, Thinking::On).map(drop)
}

/// A GGUF file: its header, its architecture, a row of every tensor.
pub(crate) fn gguf(bytes: &[u8]) -> Result<(), ModelError> {
    let gguf = Gguf::from_bytes(Path::new("fuzzed.gguf"), bytes.to_vec())?;
    let weights = Weights::Gguf(gguf);
    for name in weights.names() {
        read_row(&weights, name)?;
    }
    let spec = arch::spec(&weights)?;
    assert!(spec.file_row(spec.head_dim - 1) < spec.head_dim);
    Ok(())
}

/// A safetensors file: its header, a row of every tensor.
pub(crate) fn safetensors(bytes: &[u8]) -> Result<(), ModelError> {
    let weights = Weights::Safetensors(Safetensors::from_bytes(Path::new("fuzzed"), bytes.to_vec())?);
    weights.names().try_for_each(|name| read_row(&weights, name))
}

fn read_row(weights: &Weights, name: &str) -> Result<(), ModelError> {
    weights.stored_type(name)?;
    let shape = weights.shape(name)?;
    let &[outputs, inputs] = &shape[..] else {
        return weights.dense(name, &shape, DType::F32, &Device::Cpu).map(|_| ());
    };
    let rows = weights.rows(name, outputs, inputs)?;
    if outputs > 0 {
        rows.read(outputs - 1, &mut vec![0.0; inputs]);
    }
    rows.check_read()
}

/// A GGUF file's vocabulary and chat template.
pub(crate) fn vocabulary(bytes: &[u8]) -> Result<(), ModelError> {
    let gguf = Gguf::from_bytes(Path::new("fuzzed.gguf"), bytes.to_vec())?;
    fuzz_entry::gguf_vocabulary(gguf.metadata())
}

/// A config.json.
pub(crate) fn config(bytes: &[u8]) -> Result<(), ModelError> {
    let spec = arch::spec_of_config(&Config::parse(Path::new("fuzzed"), bytes)?)?;
    assert!(spec.file_row(spec.head_dim * spec.heads - 1) < spec.head_dim * spec.heads);
    assert!(KvCache::page_bytes(&spec, DType::F32) > 0);
    assert!(spec.note().is_none_or(|note| note.len() < 300));
    Ok(())
}

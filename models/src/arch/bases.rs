//! Bases of rotations where a file states none.

/// transformers' bases, by the architecture's name in [`super::ARCHS`]. A config.json of one that is not here must state
/// its base: that of Ministral 3 depends in transformers on which other fields are absent.
const BASES: &[(&str, f64)] = &[
    ("llama", 1e4),
    ("mistral", 1e4),
    ("qwen2", 1e4),
    ("qwen3", 1e4),
    ("qwen3moe", 1e4),
    ("phi3", 1e4),
    ("gemma3", 1e6),
    ("gemma4", 1e6),
    ("smollm3", 2e6),
    ("qwen35", 1e4),
    ("qwen35moe", 1e4),
    ("gpt-oss", 1.5e5),
    ("olmo2", 1e4),
    ("olmo3", 5e5),
    ("granite", 1e4),
    ("glm4", 1e4),
    ("lfm2", 1e6),
    ("lfm2moe", 1e6),
];

/// The base of `architecture` where a config.json states none.
pub(super) fn usual(architecture: &str) -> Option<f64> {
    BASES.iter().find(|(name, _)| *name == architecture).map(|(_, base)| *base)
}

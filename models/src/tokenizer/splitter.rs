//! How byte-level families split text into words. GGUF stores only the name of the rule.

use tokenizers::PreTokenizerWrapper;
use tokenizers::pre_tokenizers::byte_level::ByteLevel;
use tokenizers::pre_tokenizers::digits::Digits;
use tokenizers::pre_tokenizers::split::{Split, SplitPattern};
use tokenizers::tokenizer::SplitDelimiterBehavior;

/// How text is cut into the words that BPE works on.
#[derive(Debug)]
pub struct Splitter {
    /// `tokenizer.ggml.pre`.
    pub name: &'static str,
    /// Other names of the same.
    pub also: &'static [&'static str],
    /// The model family whose published `tokenizer.json` this row repeats.
    pub family: &'static str,
    /// Whether text is brought to Unicode normal form C first.
    pub nfc: bool,
    /// The cut itself.
    pub rule: SplitRule,
    /// Whether a word that is itself a token is taken whole, merges or not.
    pub ignore_merges: bool,
    /// The default of `tokenizer.ggml.add_bos_token`.
    pub add_bos: bool,
}

/// The cut of a [`Splitter`].
#[derive(Debug, Clone, Copy)]
pub enum SplitRule {
    /// Matches of a pattern, each a word, and what lies between them; then the same in each word by the next pattern.
    Patterns(&'static [&'static str]),
    /// GPT-2's own pattern.
    Gpt2,
    /// Every digit alone, then GPT-2's own pattern.
    DigitsThenGpt2,
}

/// Qwen's pattern: a digit is a word.
const QWEN2: &str = concat!(
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}",
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
);
/// Qwen3.5's: as Qwen2's, but marks belong to words.
const QWEN35: &str = concat!(
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}",
    r"| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
);
/// Llama 3's, from OpenAI's cl100k: up to three digits are a word.
const LLAMA3: &str = concat!(
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}",
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
);
/// Mistral's Tekken: a word also ends where a small letter is followed by a capital.
const TEKKEN: &str = concat!(
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+",
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}",
    r"| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
);
/// OpenAI's o200k: as Tekken's, but up to three digits are a word, and an ending such as "'ll" belongs to its word.
const O200K: &str = concat!(
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
);
/// llama.cpp's rule where a converter did not know the model's own.
const LLAMA_CPP: &[&str] = &[
    r"[\p{P}\$\+<=>\^~\|]+",
    r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)",
    r"\p{N}+",
    r"[0-9][0-9][0-9]",
];

const fn row(name: &'static str, family: &'static str, rule: SplitRule) -> Splitter {
    Splitter { name, also: &[], family, nfc: false, rule, ignore_merges: false, add_bos: false }
}

/// Known splitters. A new one is a row here; the test over this table asks for its golden ids.
pub static SPLITTERS: [Splitter; 10] = [
    Splitter {
        also: &["deepseek-r1-qwen"],
        nfc: true,
        ..row("qwen2", "Qwen2, Qwen2.5, Qwen3", SplitRule::Patterns(&[QWEN2]))
    },
    Splitter { also: &["refact"], ..row("smollm", "SmolLM, SmolLM2, Granite 3", SplitRule::DigitsThenGpt2) },
    Splitter {
        also: &["llama3", "llama-v3", "lfm2"],
        ignore_merges: true,
        add_bos: true,
        ..row("llama-bpe", "Llama 3, LFM2", SplitRule::Patterns(&[LLAMA3]))
    },
    Splitter { ignore_merges: true, add_bos: true, ..row("tekken", "Mistral Nemo", SplitRule::Patterns(&[TEKKEN])) },
    row("gpt-2", "GPT-2", SplitRule::Gpt2),
    row("default", "llama.cpp's own default", SplitRule::Patterns(LLAMA_CPP)),
    // The vocabularies of these two are tiktoken's, which looks whole words up first, as does the tokenizer.json that
    // transformers converts from them. llama.cpp does so for glm4 alone.
    Splitter { ignore_merges: true, ..row("gpt-4o", "gpt-oss", SplitRule::Patterns(&[O200K])) },
    Splitter { also: &["chatglm-bpe"], ignore_merges: true, ..row("glm4", "GLM-4", SplitRule::Patterns(&[LLAMA3])) },
    row("dbrx", "OLMo 2, OLMo 3", SplitRule::Patterns(&[LLAMA3])),
    Splitter { nfc: true, ..row("qwen35", "Qwen3.5, Qwen3.6, Qwen3.8", SplitRule::Patterns(&[QWEN35])) },
];

impl Splitter {
    /// The row called `name`.
    #[must_use]
    pub fn find(name: &str) -> Option<&'static Self> {
        SPLITTERS.iter().find(|row| row.name == name || row.also.contains(&name))
    }

    /// The cut and GPT-2's alphabet, as steps of a pipeline.
    pub(super) fn steps(&self) -> Result<Vec<PreTokenizerWrapper>, tokenizers::Error> {
        let mut steps: Vec<PreTokenizerWrapper> = Vec::new();
        match self.rule {
            SplitRule::Patterns(patterns) => {
                for pattern in patterns {
                    let pattern = SplitPattern::Regex((*pattern).to_owned());
                    steps.push(Split::new(pattern, SplitDelimiterBehavior::Isolated, false)?.into());
                }
            }
            SplitRule::DigitsThenGpt2 => steps.push(Digits::new(true).into()),
            SplitRule::Gpt2 => {}
        }
        let own_pattern = !matches!(self.rule, SplitRule::Patterns(_));
        steps.push(ByteLevel::new(false, true, own_pattern).into());
        Ok(steps)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use tokenizers::{OffsetReferential, OffsetType, PreTokenizedString, PreTokenizer};

    fn words<'a>(name: &str, text: &'a str) -> Vec<&'a str> {
        let mut cut = PreTokenizedString::from(text);
        for step in Splitter::find(name).unwrap().steps().unwrap() {
            step.pre_tokenize(&mut cut).unwrap();
        }
        let words = cut.get_splits(OffsetReferential::Original, OffsetType::Byte);
        words.into_iter().map(|(_, (from, to), _)| &text[from..to]).collect()
    }

    #[test]
    fn digits_are_words_of_the_length_that_the_family_has() {
        for name in ["dbrx", "glm4", "chatglm-bpe", "llama-bpe", "lfm2", "gpt-4o"] {
            assert_eq!(words(name, "in 12345"), ["in", " ", "123", "45"], "{name}");
        }
        for name in ["qwen2", "qwen35", "tekken"] {
            assert_eq!(words(name, "in 12345"), ["in", " ", "1", "2", "3", "4", "5"], "{name}");
        }
        for name in ["smollm", "refact"] {
            assert_eq!(words(name, "in 123"), ["in", " ", "1", "2", "3"], "{name}");
        }
        assert_eq!(words("gpt-2", "in 12345"), ["in", " 12345"]);
    }

    #[test]
    fn whole_words_are_looked_up_first_where_the_family_does_so() {
        let first = ["glm4", "chatglm-bpe", "gpt-4o", "llama-bpe", "lfm2", "tekken"];
        assert!(first.iter().all(|name| Splitter::find(name).unwrap().ignore_merges));
        let merged = ["dbrx", "qwen2", "qwen35", "smollm", "refact", "gpt-2", "default"];
        assert!(merged.iter().all(|name| !Splitter::find(name).unwrap().ignore_merges));
    }
}

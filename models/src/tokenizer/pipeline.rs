//! Normalisers, pre-tokenizers and subwords; no added vocabulary, no post-processor.

use super::normalizer::NormalizerStep;
use tokenizers::{
    Model, ModelWrapper, NormalizedString, OffsetReferential, OffsetType, PreTokenizedString, PreTokenizer,
    PreTokenizerWrapper,
};

/// How many times longer all steps together may make a text. Unicode's compatibility forms make one character of three
/// bytes 33 bytes long, and spaces three bytes each.
const MOST_GROWTH: usize = 16;
/// Bytes that may come on top: what is put in front of a short text.
const SLACK: usize = 1 << 10;
/// How many times longer one pre-tokenizer may make a text: `ByteLevel` puts a space in front of every word, and writes a
/// byte as up to two.
const STEP_GROWTH: usize = 4;

/// Everything that makes tokens of a text without added tokens.
#[derive(Debug)]
pub(super) struct Pipeline {
    pub(super) normalizers: Vec<NormalizerStep>,
    pub(super) splitters: Vec<PreTokenizerWrapper>,
    pub(super) model: ModelWrapper,
}

impl Pipeline {
    /// `text` after the normalisers, with where each byte came from.
    ///
    /// # Errors
    /// A step that fails, or that makes the text too long.
    pub(super) fn normalize(&self, text: &str) -> tokenizers::Result<NormalizedString> {
        let most = longest(text.len());
        let mut text = NormalizedString::from(text);
        for step in &self.normalizers {
            step.apply(&mut text)?;
            fits(text.len(), most)?;
        }
        Ok(text)
    }

    /// Appends the ids of a normalised text.
    ///
    /// # Errors
    /// As [`Self::normalize`], and where the subwords fail.
    pub(super) fn encode(&self, text: NormalizedString, ids: &mut Vec<u32>) -> tokenizers::Result<()> {
        let mut length = text.len();
        let most = longest(text.len());
        let mut words = PreTokenizedString::from(text);
        for step in &self.splitters {
            step.pre_tokenize(&mut words)?;
            length = length.saturating_mul(STEP_GROWTH);
            if length > most {
                // The bound is not enough; the length is.
                let splits = words.get_splits(OffsetReferential::Normalized, OffsetType::None);
                length = splits.last().map_or(0, |&(_, (_, end), _)| end);
                fits(length, most)?;
            }
        }
        self.model.tokenize_in_pretokenized(&mut words, None)?;
        ids.extend_from_slice(words.into_encoding(None, 0, OffsetType::None)?.get_ids());
        Ok(())
    }
}

fn longest(length: usize) -> usize {
    length.saturating_mul(MOST_GROWTH).saturating_add(SLACK)
}

fn fits(length: usize, most: usize) -> tokenizers::Result<()> {
    if length <= most {
        return Ok(());
    }
    Err(format!("expected steps that make a text at most {MOST_GROWTH} times longer, found more than {most} bytes")
        .into())
}

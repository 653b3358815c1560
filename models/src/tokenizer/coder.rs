//! A vocabulary: text to ids, ids to text.

use super::added::{AddedTokens, Scaffold};
use super::chat::{Segment, join};
use super::metaspace::{Metaspace, Prefix};
use super::pipeline::Pipeline;
use super::table::{TokenKind, TokenTable};
use crate::error::{ModelError, Result};
use std::ops::Range;
use std::path::PathBuf;
use tokenizers::normalizer::Range as Referential;
use tokenizers::{Model, NormalizedString};

/// Position of a text between added tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TextPosition {
    /// At the beginning of a text.
    Beginning,
    /// At the beginning of a text that continues another one.
    Continuation,
    /// After an added token.
    AfterAdded,
}

/// A model's vocabulary and the way into it. Cheap to share by reference between threads.
#[derive(Debug)]
pub struct Tokenizer {
    pub(super) path: PathBuf,
    pub(super) pipeline: Pipeline,
    pub(super) metaspace: Option<Metaspace>,
    pub(super) leading_space: bool,
    pub(super) tokens: TokenTable,
    pub(super) added: AddedTokens,
    pub(super) recased: bool,
    pub(super) bos: Option<u32>,
    pub(super) first_eos: Option<u32>,
    pub(super) eos: Vec<u32>,
    pub(super) add_bos: bool,
}

impl Tokenizer {
    /// Ids of `text` as content: none of them is special, whatever the text says. No BOS is added.
    ///
    /// # Errors
    /// [`ModelError::Format`] when the file's own pipeline fails on the text.
    pub fn encode_text(&self, text: &str) -> Result<Vec<u32>> {
        self.encode_around_added(text, &[], TextPosition::Beginning)
    }

    /// Ids of a text that continues another one, as the prefilled beginning of a reply continues its prompt. Special tokens
    /// are recognised inside scaffold alone. No BOS is added, and no space that a SentencePiece vocabulary puts in front
    /// of a text. The two texts are tokenised apart: a word that is split between them becomes other tokens than in one
    /// piece.
    ///
    /// # Errors
    /// As [`Self::encode_text`].
    pub fn encode_continuation(&self, segments: &[Segment]) -> Result<Vec<u32>> {
        let (text, scaffold) = join(segments);
        self.encode_around_added(&text, &scaffold, TextPosition::Continuation)
    }

    /// Ids of a whole prompt. Special tokens are recognised inside scaffold alone: one that would begin in scaffold
    /// and end in content, or reach over content from scaffold to scaffold, is ordinary text. Exactly one BOS stands
    /// in front where the model wants one, whether the template writes none, one or several.
    ///
    /// # Errors
    /// As [`Self::encode_text`].
    pub fn encode_prompt(&self, segments: &[Segment]) -> Result<Vec<u32>> {
        let (text, scaffold) = join(segments);
        let mut ids = self.encode_around_added(&text, &scaffold, TextPosition::Beginning)?;
        if let Some(bos) = self.bos {
            let written = ids.iter().take_while(|&&id| id == bos).count();
            ids.drain(..written.saturating_sub(1));
            if written == 0 && self.add_bos {
                ids.insert(0, bos);
            }
        }
        Ok(ids)
    }

    fn encode_around_added(&self, text: &str, scaffold: &[Range<usize>], begins: TextPosition) -> Result<Vec<u32>> {
        let scaffold = Scaffold(scaffold);
        let mut ids = Vec::new();
        let (mut from, mut position) = (0, begins);
        for found in self.added.find(text, scaffold) {
            self.encode_between(text, from..found.start, scaffold, position, &mut ids)?;
            ids.push(found.id);
            (from, position) = (found.end, TextPosition::AfterAdded);
        }
        self.encode_between(text, from..text.len(), scaffold, position, &mut ids)?;
        Ok(ids)
    }

    /// Appends the ids of bytes `at` of `text`, in which no added token stands as written: it may hold some that are
    /// matched in the normalised text.
    fn encode_between(
        &self,
        text: &str,
        at: Range<usize>,
        scaffold: Scaffold<'_>,
        position: TextPosition,
        ids: &mut Vec<u32>,
    ) -> Result<()> {
        let (piece, start) = (&text[at.clone()], at.start);
        if !self.added.any_normalized(scaffold.touches(&at)) {
            return self.encode_plain(piece, position, ids);
        }
        let normalized = self.pipeline.normalize(piece).map_err(|reason| self.failed(&reason))?;
        let is_scaffold = |range: Range<usize>| {
            let original = normalized.convert_offsets(Referential::Normalized(range));
            let original = original.filter(|original| !original.is_empty());
            original.is_some_and(|original| scaffold.contains(&(start + original.start..start + original.end)))
        };
        let (mut from, mut position) = (0, position);
        for found in self.added.find_normalized(normalized.get(), is_scaffold) {
            self.encode_normalized(&normalized, from..found.start, position, ids)?;
            ids.push(found.id);
            (from, position) = (found.end, TextPosition::AfterAdded);
        }
        self.encode_normalized(&normalized, from..normalized.len(), position, ids)
    }

    /// Appends the ids of bytes `range`, which stand at `position`, of a normalised text.
    fn encode_normalized(
        &self,
        text: &NormalizedString,
        range: Range<usize>,
        position: TextPosition,
        ids: &mut Vec<u32>,
    ) -> Result<()> {
        if range.is_empty() {
            return Ok(());
        }
        if let Some(metaspace) = self.metaspace_at(position) {
            let piece = &text.get()[range];
            return if metaspace.is_normalizer() {
                self.encode_words(metaspace, piece, ids)
            } else {
                self.encode_words(metaspace, &metaspace.spell(piece, position == TextPosition::Beginning), ids)
            };
        }
        let piece = text.slice(Referential::Normalized(range)).ok_or("a range outside the text (bug)");
        let encoded = piece.map_err(Into::into).and_then(|piece| self.pipeline.encode(piece, ids));
        encoded.map_err(|reason| self.failed(&reason))
    }

    /// The alphabet of a piece that stands at `position`: a continuation has no space put in front of it.
    fn metaspace_at(&self, position: TextPosition) -> Option<Metaspace> {
        self.metaspace.map(|metaspace| match position {
            TextPosition::Continuation => Metaspace { prefix: Prefix::Never, ..metaspace },
            TextPosition::Beginning | TextPosition::AfterAdded => metaspace,
        })
    }

    /// Appends the ids of a piece without added tokens that stands at `position`.
    fn encode_plain(&self, piece: &str, position: TextPosition, ids: &mut Vec<u32>) -> Result<()> {
        if piece.is_empty() {
            return Ok(());
        }
        let Some(metaspace) = self.metaspace_at(position) else {
            let encoded = self.pipeline.normalize(piece).and_then(|text| self.pipeline.encode(text, ids));
            return encoded.map_err(|reason| self.failed(&reason));
        };
        self.encode_words(metaspace, &metaspace.spell(piece, position == TextPosition::Beginning), ids)
    }

    /// Appends the ids of a text in `metaspace`'s alphabet.
    fn encode_words(&self, metaspace: Metaspace, spelled: &str, ids: &mut Vec<u32>) -> Result<()> {
        for word in metaspace.words(spelled) {
            let tokens = self.pipeline.model.tokenize(word).map_err(|reason| self.failed(&reason))?;
            ids.extend(tokens.iter().map(|token| token.id));
        }
        Ok(())
    }

    fn failed(&self, reason: &tokenizers::Error) -> ModelError {
        ModelError::Format {
            path: self.path.clone(),
            format: "tokenizer",
            location: "pipeline".into(),
            expected: "steps that can encode any text".into(),
            found: reason.to_string(),
        }
    }

    /// The bytes that `ids` add to a text; control tokens and unused ids are skipped. Bytes,
    /// since a character may be spread over several tokens and the last one may not have come yet.
    #[must_use]
    pub fn decode_bytes(&self, ids: &[u32]) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(ids.len() * 4);
        for &id in ids {
            if self.tokens.kind(id) != TokenKind::Control {
                bytes.extend_from_slice(self.tokens.bytes(id).unwrap_or_default());
            }
        }
        bytes
    }

    /// The whole text that `ids` are: [`Self::decode_bytes`] less the space that SentencePiece puts in front of every
    /// text. Bytes that are no UTF-8 become U+FFFD.
    #[must_use]
    pub fn decode_text(&self, ids: &[u32]) -> String {
        self.text(ids.iter().copied().filter(|&id| self.tokens.kind(id) != TokenKind::Control))
    }

    /// [`Self::decode_text`] with the texts of control tokens: as scaffold it encodes to these control tokens again.
    #[must_use]
    pub fn decode_scaffold(&self, ids: &[u32]) -> String {
        self.text(ids.iter().copied())
    }

    fn text(&self, ids: impl Iterator<Item = u32>) -> String {
        let (mut bytes, mut own_space) = (Vec::new(), self.leading_space);
        for id in ids {
            let mut piece = self.tokens.bytes(id).unwrap_or_default();
            if own_space && self.tokens.kind(id) != TokenKind::Control && !piece.is_empty() {
                piece = piece.strip_prefix(b" ").unwrap_or(piece);
                own_space = false;
            }
            bytes.extend_from_slice(piece);
        }
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Whether every text begins with a space of the tokenizer's own, which [`Self::decode_text`] takes off.
    #[must_use]
    pub fn leading_space(&self) -> bool {
        self.leading_space
    }

    /// One more than the largest id; some ids below may stand for nothing.
    #[must_use]
    pub fn vocab_size(&self) -> usize {
        self.tokens.len()
    }

    /// The raw bytes that `id` stands for; for an added token its own text. `None` for ids that stand for nothing
    /// (gaps, and the padding that some vocabularies are rounded up with).
    #[must_use]
    pub fn token_bytes(&self, id: u32) -> Option<&[u8]> {
        self.tokens.bytes(id)
    }

    /// Whether `id` is a control token or another added marker (`<tool_call>`): ids that content never yields.
    #[must_use]
    pub fn is_special(&self, id: u32) -> bool {
        matches!(self.tokens.kind(id), TokenKind::Control | TokenKind::Marker)
    }

    /// The file, or the folder's file, that it was read from.
    #[must_use]
    pub fn path(&self) -> &std::path::Path {
        &self.path
    }

    /// The id of the added token that is written `text`, where there is one.
    #[must_use]
    pub fn special_id(&self, text: &str) -> Option<u32> {
        self.added.id(text)
    }

    /// Whether files beside `tokenizer.json` changed its normaliser (`Casing`).
    #[must_use]
    pub fn recased(&self) -> bool {
        self.recased
    }

    /// All ids that end a turn, ascending: those the files name (`eos_token_id`, `eot_token_id`, `eom_token_id` of a
    /// GGUF; `eos_token` and every `eos_token_id` of a folder), and every token of the vocabulary that is written as
    /// one of the usual end-of-turn markers (`<|im_end|>`, `<|eot_id|>`, `<|endoftext|>`, ...). Empty for a model
    /// with neither.
    #[must_use]
    pub fn eos_ids(&self) -> &[u32] {
        &self.eos
    }

    /// The one of [`Self::eos_ids`] that the files call the end-of-sequence token, where they name one.
    #[must_use]
    pub fn eos_id(&self) -> Option<u32> {
        self.first_eos
    }

    /// The beginning-of-sequence token, where the vocabulary has one.
    #[must_use]
    pub fn bos_id(&self) -> Option<u32> {
        self.bos
    }

    /// Whether the model wants its BOS in front of every prompt.
    #[must_use]
    pub fn add_bos(&self) -> bool {
        self.add_bos
    }

    /// The text of special token `id`, for chat templates (`bos_token`, `eos_token`).
    pub(crate) fn special_text(&self, id: u32) -> Option<&str> {
        self.token_bytes(id).and_then(|bytes| std::str::from_utf8(bytes).ok())
    }
}

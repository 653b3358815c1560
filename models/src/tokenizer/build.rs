//! From a vocabulary as read, whatever the file, to a checked [`Tokenizer`].

use super::added::{AddedToken, AddedTokens};
use super::blueprint::{Blueprint, Subwords};
use super::coder::Tokenizer;
use super::entry::Entry;
use super::pipeline::Pipeline;
use super::table::{Spelling, TokenKind, TokenTable, byte_escape};
use crate::error::{ModelError, Result};
use std::collections::{HashMap, HashSet};
use tokenizers::ModelWrapper;
use tokenizers::models::bpe::{BPE, Vocab};
use tokenizers::models::wordpiece::WordPiece;

/// Control tokens that end a turn or a text wherever a vocabulary has them, whatever its configuration names:
/// a model that was tuned on one of these emits it even where `eos_token_id` is another.
const END_OF_TURN: [&str; 11] = [
    "<|im_end|>",
    "<|eot_id|>",
    "<|eom_id|>",
    "<|end|>",
    "<|end_of_turn|>",
    "<end_of_turn>",
    "<turn|>",
    "<|end_of_text|>",
    "<|endoftext|>",
    "<|return|>",
    "<|call|>",
];

/// Added tokens at most: Gemma has 6,400. They are searched one by one.
const MOST_ADDED: usize = 1 << 16;

impl Blueprint {
    /// Checks all and builds.
    ///
    /// # Errors
    /// [`ModelError::Field`] for a text that two ids share and for a merge that is not of and into known tokens.
    pub(super) fn build(mut self) -> Result<Tokenizer> {
        let first_eos = self.eos.first().copied();
        self.settle_kinds();
        let (vocab, added) = self.sort_entries()?;
        let model = self.model(vocab)?;
        let (normalizers, splitters) = (std::mem::take(&mut self.normalizers), std::mem::take(&mut self.splitters));
        let pipeline = Pipeline { normalizers, splitters, model };
        let added = AddedTokens::new(added, |text| pipeline.normalize(text).map(|text| text.get().to_owned()));
        let added = added
            .map_err(|reason| self.wrong("normalizer", "steps that can take an added token", reason.to_string()))?;
        let mut tokens = TokenTable::default();
        for entry in &self.entries {
            tokens.push(&entry.text, entry.kind, self.spelling);
        }
        Ok(Tokenizer {
            path: self.path,
            pipeline,
            metaspace: self.metaspace,
            leading_space: self.leading_space,
            tokens,
            added,
            recased: self.recased,
            bos: self.bos,
            first_eos,
            eos: self.eos,
            add_bos: self.add_bos,
        })
    }

    fn model(&mut self, vocab: Vocab) -> Result<ModelWrapper> {
        let unknown = self.entries.iter().find(|entry| entry.kind == TokenKind::Unknown);
        let unknown = unknown.map(|entry| entry.text.clone());
        match &mut self.subwords {
            Subwords::WordPiece { longest_word } => {
                let builder = WordPiece::builder().vocab(vocab).max_input_chars_per_word(*longest_word);
                let model = builder.unk_token(unknown.unwrap_or_default()).build();
                let model =
                    model.map_err(|reason| self.wrong(self.locations.tokens, "sound tokens", reason.to_string()));
                Ok(ModelWrapper::WordPiece(model?))
            }
            Subwords::Unigram(scores) => {
                let model = scores.model(&self.entries);
                let model =
                    model.map_err(|reason| self.wrong(self.locations.tokens, "sound pieces", reason.to_string()));
                Ok(ModelWrapper::Unigram(model?))
            }
            Subwords::Bpe { merges, ignore_merges, byte_fallback, fuse_unknown } => {
                let (ignore_merges, byte_fallback, fuse_unknown) = (*ignore_merges, *byte_fallback, *fuse_unknown);
                let merges = std::mem::take(merges);
                let merges = self.checked_merges(merges, &vocab)?;
                let mut builder = BPE::builder()
                    .vocab_and_merges(vocab, merges)
                    .ignore_merges(ignore_merges)
                    .byte_fallback(byte_fallback)
                    .fuse_unk(fuse_unknown);
                if let Some(unknown) = unknown {
                    builder = builder.unk_token(unknown);
                }
                let model = builder.build();
                let model =
                    model.map_err(|reason| self.wrong(self.locations.merges, "sound merges", reason.to_string()));
                Ok(ModelWrapper::BPE(model?))
            }
        }
    }

    /// Completes `eos` by the usual end-of-turn markers and makes BOS and every EOS a control token, whatever type
    /// the file gives them: converters are known to leave `<|eot_id|>` an ordinary token.
    fn settle_kinds(&mut self) {
        for (id, entry) in (0u32..).zip(&self.entries) {
            if entry.kind != TokenKind::Absent && END_OF_TURN.contains(&entry.text.as_str()) {
                self.eos.push(id);
            }
        }
        self.eos.sort_unstable();
        self.eos.dedup();
        for &id in self.eos.iter().chain(&self.bos) {
            self.entries[id as usize].kind = TokenKind::Control;
        }
        for entry in &mut self.entries {
            if entry.kind == TokenKind::Marker && entry.text.chars().all(char::is_whitespace) {
                entry.kind = TokenKind::Space;
            }
        }
    }

    /// The vocabulary of the subword model, and the added tokens. No text is in both.
    fn sort_entries(&self) -> Result<(Vocab, Vec<AddedToken>)> {
        let mut vocab = Vocab::with_capacity(self.entries.len());
        let mut added = Vec::new();
        let mut seen = HashMap::with_capacity(self.entries.len());
        for (id, entry) in (0u32..).zip(&self.entries).filter(|(_, entry)| entry.kind != TokenKind::Absent) {
            if let Some(twin) = seen.insert(entry.text.as_str(), id) {
                let found = format!("ids {twin} and {id} with {:?}", entry.text);
                return Err(self.wrong(self.locations.tokens, "texts that differ", found));
            }
            if matches!(entry.kind, TokenKind::Text | TokenKind::Unknown) {
                vocab.insert(entry.text.clone(), id);
            } else {
                let flags = self.flags.get(&id).copied().unwrap_or_default();
                let anywhere = entry.kind == TokenKind::Space;
                added.push(AddedToken { id, text: entry.text.clone(), flags, anywhere });
            }
        }
        if added.len() > MOST_ADDED {
            let expected = format!("at most {MOST_ADDED} control tokens and markers");
            return Err(self.wrong(self.locations.tokens, &expected, added.len().to_string()));
        }
        Ok((vocab, added))
    }

    /// The merges, less those that touch what text must not become: an added token, the unknown one, and in
    /// SentencePiece's alphabet a byte's (a document that says `<0x0A>` means six characters).
    ///
    /// The check is necessary: the BPE builder indexes out of bounds on a product longer than every token.
    fn checked_merges(&self, merges: Vec<(String, String)>, vocab: &Vocab) -> Result<Vec<(String, String)>> {
        let apart = |entry: &&Entry| match entry.kind {
            TokenKind::Text => self.spelling == Spelling::Metaspace && byte_escape(&entry.text).is_some(),
            _ => true,
        };
        let apart: HashSet<&str> = self.entries.iter().filter(apart).map(|entry| entry.text.as_str()).collect();
        let mut product = String::new();
        let mut kept = Vec::with_capacity(merges.len());
        for (index, (left, right)) in merges.into_iter().enumerate() {
            product.clear();
            product.push_str(&left);
            product.push_str(&right);
            let parts = [left.as_str(), right.as_str(), product.as_str()];
            if let Some(unknown) = parts.iter().find(|p| !vocab.contains_key(**p) && !apart.contains(**p)) {
                let field = format!("{}[{index}]", self.locations.merges);
                return Err(self.wrong(&field, "tokens of the vocabulary", format!("{unknown:?}")));
            }
            if !parts.iter().any(|part| apart.contains(part)) {
                kept.push((left, right));
            }
        }
        Ok(kept)
    }

    fn wrong(&self, field: &str, expected: &str, found: String) -> ModelError {
        ModelError::Field { path: self.path.clone(), field: field.to_owned(), expected: expected.to_owned(), found }
    }
}

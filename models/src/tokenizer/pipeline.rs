//! From a vocabulary as read, whatever the file, to a checked [`Tokenizer`].

use super::added::{AddedToken, AddedTokens, Flags};
use super::table::{Spelling, TokenKind, TokenTable};
use super::{END_OF_TURN, Tokenizer};
use crate::error::{ModelError, Result};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::PathBuf;
use tokenizers::models::bpe::{BPE, Vocab};
use tokenizers::{DecoderWrapper, NormalizerWrapper, PostProcessorWrapper, PreTokenizerWrapper, TokenizerImpl};

/// Normaliser, splitter and BPE; no added vocabulary, no post-processor.
pub(super) type Pipeline =
    TokenizerImpl<BPE, NormalizerWrapper, PreTokenizerWrapper, PostProcessorWrapper, DecoderWrapper>;

/// A vocabulary entry as the file has it.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub(super) text: String,
    pub(super) kind: TokenKind,
}

impl Entry {
    pub(super) fn absent() -> Self {
        Self { text: String::new(), kind: TokenKind::Absent }
    }
}

/// Where the parts stand in their file, for messages.
#[derive(Debug, Clone, Copy)]
pub(super) struct Places {
    pub(super) tokens: &'static str,
    pub(super) merges: &'static str,
}

/// BPE's own switches.
#[derive(Debug, Default)]
pub(super) struct BpeOptions {
    /// A piece that is itself a token is not built by merges.
    pub(super) ignore_merges: bool,
    /// Characters without a token become `<0xNN>` tokens.
    pub(super) byte_fallback: bool,
    pub(super) fuse_unknown: bool,
}

/// Everything a tokenizer is made of, unchecked.
#[derive(Debug)]
pub(super) struct Blueprint {
    pub(super) path: PathBuf,
    pub(super) places: Places,
    /// By id.
    pub(super) entries: Vec<Entry>,
    pub(super) merges: Vec<(String, String)>,
    /// Of added tokens that have any.
    pub(super) flags: BTreeMap<u32, Flags>,
    pub(super) spelling: Spelling,
    pub(super) bpe: BpeOptions,
    pub(super) normalizer: Option<NormalizerWrapper>,
    pub(super) splitter: Option<PreTokenizerWrapper>,
    /// Below `entries.len()`, as are `eos`.
    pub(super) bos: Option<u32>,
    /// The one that templates call `eos_token` first.
    pub(super) eos: Vec<u32>,
    pub(super) add_bos: bool,
}

impl Blueprint {
    /// Checks all and builds.
    ///
    /// # Errors
    /// [`ModelError::Field`] for a text that two ids share and for a merge that is not of and into known tokens.
    pub(super) fn build(mut self) -> Result<Tokenizer> {
        let first_eos = self.eos.first().copied();
        self.settle_kinds();
        let (vocab, added) = self.sort_entries()?;
        let unknown = self.entries.iter().find(|entry| entry.kind == TokenKind::Unknown);
        let unknown = unknown.map(|entry| entry.text.clone());
        let merges = self.checked_merges(&vocab)?;
        let mut builder = BPE::builder()
            .vocab_and_merges(vocab, merges)
            .ignore_merges(self.bpe.ignore_merges)
            .byte_fallback(self.bpe.byte_fallback)
            .fuse_unk(self.bpe.fuse_unknown);
        if let Some(unknown) = unknown {
            builder = builder.unk_token(unknown);
        }
        let bpe =
            builder.build().map_err(|reason| self.wrong(self.places.merges, "sound merges", reason.to_string()))?;
        let mut pipeline = Pipeline::new(bpe);
        pipeline
            .with_normalizer(self.normalizer.take())
            .map_err(|reason| ModelError::Field {
                path: self.path.clone(),
                field: "normalizer".into(),
                expected: "steps that work".into(),
                found: reason.to_string(),
            })?
            .with_pre_tokenizer(self.splitter.take());
        let mut tokens = TokenTable::default();
        for entry in &self.entries {
            tokens.push(&entry.text, entry.kind, self.spelling);
        }
        Ok(Tokenizer {
            path: self.path,
            pipeline,
            tokens,
            added: AddedTokens::new(added),
            bos: self.bos,
            first_eos,
            eos: self.eos,
            add_bos: self.add_bos,
        })
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

    /// What BPE may yield, and what only the scaffold may hold. No text is in both.
    fn sort_entries(&self) -> Result<(Vocab, Vec<AddedToken>)> {
        let mut vocab = Vocab::with_capacity(self.entries.len());
        let mut added = Vec::new();
        let mut seen = HashMap::with_capacity(self.entries.len());
        for (id, entry) in (0u32..).zip(&self.entries).filter(|(_, entry)| entry.kind != TokenKind::Absent) {
            if let Some(twin) = seen.insert(entry.text.as_str(), id) {
                let found = format!("{:?} at both {twin} and {id}", entry.text);
                return Err(self.wrong(self.places.tokens, "texts that differ", found));
            }
            if matches!(entry.kind, TokenKind::Text | TokenKind::Unknown) {
                vocab.insert(entry.text.clone(), id);
            } else {
                let flags = self.flags.get(&id).copied().unwrap_or_default();
                let anywhere = entry.kind == TokenKind::Space;
                added.push(AddedToken { id, text: entry.text.clone(), flags, anywhere });
            }
        }
        Ok((vocab, added))
    }

    /// The merges, less those that touch an added token: they could only spell it from content.
    ///
    /// The check is not a nicety: the BPE builder indexes out of bounds on a product longer than every token.
    fn checked_merges(&mut self, vocab: &Vocab) -> Result<Vec<(String, String)>> {
        let merges = std::mem::take(&mut self.merges);
        let others: HashSet<&str> =
            self.entries.iter().filter(|e| !vocab.contains_key(&e.text)).map(|e| e.text.as_str()).collect();
        let mut product = String::new();
        let mut kept = Vec::with_capacity(merges.len());
        for (index, (left, right)) in merges.into_iter().enumerate() {
            product.clear();
            product.push_str(&left);
            product.push_str(&right);
            let parts = [left.as_str(), right.as_str(), product.as_str()];
            if parts.iter().all(|part| vocab.contains_key(*part)) {
                kept.push((left, right));
            } else if let Some(stranger) = parts.iter().find(|p| !vocab.contains_key(**p) && !others.contains(**p)) {
                let field = format!("{}[{index}]", self.places.merges);
                return Err(self.wrong(&field, "tokens of the vocabulary", format!("{stranger:?}")));
            }
        }
        Ok(kept)
    }

    fn wrong(&self, field: &str, expected: &str, found: String) -> ModelError {
        ModelError::Field { path: self.path.clone(), field: field.to_owned(), expected: expected.to_owned(), found }
    }
}

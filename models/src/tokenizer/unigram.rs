//! Unigram vocabularies of a `tokenizer.json` (XLM-RoBERTa, DeBERTa-v3): pieces with scores, the likeliest cut wins.

use super::entry::Entry;
use super::files::wrong;
use super::steps::flat_steps;
use super::table::TokenKind;
use crate::error::Result;
use serde::Deserialize;
use serde_json::Value;
use std::collections::HashMap;
use std::path::Path;

/// The model as its file has it.
#[derive(Deserialize)]
pub(super) struct Unigram {
    vocab: Vec<(String, f64)>,
    unk_id: Option<usize>,
    #[serde(default)]
    byte_fallback: bool,
}

/// The scores of tokens, and the handling of unknown text.
#[derive(Debug)]
pub(super) struct Scores {
    /// By id; added tokens may have ids beyond.
    scores: Vec<f64>,
    unknown: usize,
    byte_fallback: bool,
}

impl Unigram {
    /// Vocabulary, text of the unknown token, and scores.
    ///
    /// # Errors
    /// No unknown token, a score that is not a number, a text that occurs twice, spaces that are not written as `▁`.
    pub(super) fn parts(
        self,
        path: &Path,
        splitter: Option<&Value>,
    ) -> Result<(HashMap<String, u32>, Option<String>, Scores)> {
        check_spaces(path, splitter)?;
        let unknown = self.unk_id.filter(|&id| id < self.vocab.len());
        let unknown =
            unknown.ok_or_else(|| wrong(path, "model.unk_id", "the id of a piece", &format!("{:?}", self.unk_id)))?;
        let text = self.vocab[unknown].0.clone();
        let mut ids = HashMap::with_capacity(self.vocab.len());
        let mut scores = Vec::with_capacity(self.vocab.len());
        for (id, (piece, score)) in (0u32..).zip(self.vocab) {
            let location = || format!("model.vocab[{id}]");
            if !score.is_finite() {
                return Err(wrong(path, &location(), "a score that is a number", &score.to_string()));
            }
            if let Some(twin) = ids.insert(piece.clone(), id) {
                return Err(wrong(
                    path,
                    &location(),
                    "texts that differ",
                    &format!("ids {twin} and {id} with {piece:?}"),
                ));
            }
            scores.push(score);
        }
        Ok((ids, Some(text), Scores { scores, unknown, byte_fallback: self.byte_fallback }))
    }
}

impl Scores {
    /// Of the pieces of a GGUF, by id; `unknown` is the id of the one for unknown text.
    pub(super) fn of(scores: Vec<f64>, unknown: usize) -> Self {
        Self { scores, unknown, byte_fallback: false }
    }

    /// The model over `entries`. An entry that is not ordinary text keeps its id and gets a text that no word holds,
    /// words being without spaces: content never becomes it.
    ///
    /// # Errors
    /// The crate's reason.
    pub(super) fn model(&self, entries: &[Entry]) -> tokenizers::Result<tokenizers::models::unigram::Unigram> {
        let piece = |(id, (entry, &score)): (usize, (&Entry, &f64))| {
            let text = if entry.kind == TokenKind::Text { entry.text.clone() } else { format!(" {id}") };
            (text, score)
        };
        let vocab = entries.iter().zip(&self.scores).enumerate().map(piece).collect();
        tokenizers::models::unigram::Unigram::from(vocab, Some(self.unknown), self.byte_fallback)
    }
}

/// Refuses a splitter that leaves a space in a word: pieces that content must not become are given texts with one, see
/// [`Scores::model`].
///
/// # Errors
/// [`crate::ModelError::Field`].
fn check_spaces(path: &Path, splitter: Option<&Value>) -> Result<()> {
    let steps = splitter.map(|splitter| flat_steps(splitter, "pretokenizers")).unwrap_or_default();
    let names: Vec<_> = steps.iter().map(|(name, _)| *name).collect();
    if !names.contains(&"Metaspace") {
        return Err(wrong(path, "pre_tokenizer", "Metaspace among its steps", &format!("{names:?}")));
    }
    let replaced_by = |step: &Value| step["replacement"].to_string();
    for (_, step) in steps.iter().filter(|(name, _)| *name == "Metaspace") {
        if replaced_by(step) != "\"▁\"" {
            let expected = "\"▁\" instead of spaces";
            return Err(wrong(path, "pre_tokenizer.replacement", expected, &replaced_by(step)));
        }
    }
    Ok(())
}

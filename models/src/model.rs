//! A model: weights, tokenizer and chat template of one file or folder.

use crate::arch;
use crate::decoder::{Decoder, LoadOptions};
use crate::error::{ModelError, Result};
use crate::spec::DecoderSpec;
use crate::stand_in;
use crate::tokenizer::{ChatTemplate, Message, Thinking, Tokenizer};
use crate::weights::{RandomOptions, Weights};
use std::path::{Path, PathBuf};

/// A loaded model.
#[derive(Debug)]
pub struct Model {
    /// The file or folder it came from.
    pub path: PathBuf,
    /// Token ids to logits.
    pub decoder: Decoder,
    /// Text to token ids and back.
    pub tokenizer: Tokenizer,
    /// Conversations to prompts.
    pub template: ChatTemplate,
}

impl Model {
    /// Loads a `.gguf` file, or a folder with config.json, tokenizer.json and safetensors.
    ///
    /// # Errors
    /// Anything missing, malformed or of an unknown kind, by file, field or tensor.
    pub fn open(path: &Path, options: &LoadOptions) -> Result<Self> {
        let model = Self::load(&Weights::open(path)?, options)?;
        Ok(Self { path: path.to_owned(), ..model })
    }

    /// A model of random weights in the shape of `spec`, for benches; its replies are random tokens. Its vocabulary has
    /// a token for every byte and `spec.vocab` in all, so a text has more tokens than the real model's would make of
    /// it.
    ///
    /// # Errors
    /// A vocabulary of fewer than 258 tokens, or no memory on the device.
    pub fn random(spec: &DecoderSpec, random: RandomOptions, options: &LoadOptions) -> Result<Self> {
        Self::load(&Weights::random(spec, random), options)
    }

    /// Loads what `weights` hold, and the tokenizer that belongs to them.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn load(weights: &Weights, options: &LoadOptions) -> Result<Self> {
        let path = weights.path();
        let spec = arch::spec(weights)?;
        // The vocabulary first: it is quick to refuse, the weights are not quick to load.
        let (tokenizer, template) = match weights {
            Weights::Gguf(gguf) => {
                let tokenizer = Tokenizer::from_gguf(gguf.metadata())?;
                let template = ChatTemplate::from_gguf(gguf.metadata(), &tokenizer)?;
                (tokenizer, template)
            }
            Weights::Safetensors(_) => {
                let tokenizer = Tokenizer::from_dir(path)?;
                let template = ChatTemplate::from_dir(path, &tokenizer)?;
                (tokenizer, template)
            }
            Weights::Random(_) => {
                let metadata = stand_in::metadata(path, spec.vocab)?;
                let tokenizer = Tokenizer::from_gguf(&metadata)?;
                let template = ChatTemplate::from_gguf(&metadata, &tokenizer)?;
                (tokenizer, template)
            }
        };
        let wrong = |field: &str, expected: String, found: String| {
            Err(ModelError::Field { path: path.to_owned(), field: field.into(), expected, found })
        };
        if tokenizer.vocab_size() > spec.vocab {
            let expected = format!("at most {} tokens, the rows of the embedding", spec.vocab);
            return wrong("vocabulary", expected, tokenizer.vocab_size().to_string());
        }
        // Without an end-of-turn token every reply would run to its limit.
        if tokenizer.eos_ids().is_empty() {
            return wrong("end-of-text token", "the id of a token that ends a reply".into(), "none".into());
        }
        let decoder = Decoder::load(spec, weights, options)?;
        Ok(Self { path: path.to_owned(), decoder, tokenizer, template })
    }

    /// The ids of a conversation, up to where the assistant's next turn begins.
    ///
    /// # Errors
    /// The template refuses the conversation.
    pub fn prompt(&self, messages: &[Message], thinking: Thinking) -> Result<Vec<u32>> {
        self.tokenizer.encode_prompt(&self.template.render(messages, true, thinking)?)
    }
}

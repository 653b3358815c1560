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
        // A vocabulary of 150,000 tokens takes a quarter of a second: on a thread of the pool, beside the weights. These stay
        // on this thread, to which a GPU's context belongs.
        let mut vocabulary = None;
        let decoder = rayon::in_place_scope(|scope| {
            scope.spawn(|_| vocabulary = Some(read_vocabulary(weights, spec.vocab)));
            Decoder::load(spec.clone(), weights, options)
        });
        // Of two errors the vocabulary's, whatever the number of threads.
        let (tokenizer, template) = vocabulary.expect("the scope ends after what it spawned (bug)")?;
        Ok(Self { path: path.to_owned(), decoder: decoder?, tokenizer, template })
    }

    /// The ids of a conversation, up to where the assistant's next turn begins.
    ///
    /// # Errors
    /// The template refuses the conversation.
    pub fn prompt(&self, messages: &[Message], thinking: Thinking) -> Result<Vec<u32>> {
        self.tokenizer.encode_prompt(&self.template.render(messages, true, thinking)?)
    }
}

/// The tokenizer and the chat template that belong to `weights`, whose embedding has `rows` rows.
fn read_vocabulary(weights: &Weights, rows: usize) -> Result<(Tokenizer, ChatTemplate)> {
    let path = weights.path();
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
            let metadata = stand_in::metadata(path, rows)?;
            let tokenizer = Tokenizer::from_gguf(&metadata)?;
            let template = ChatTemplate::from_gguf(&metadata, &tokenizer)?;
            (tokenizer, template)
        }
    };
    let wrong = |field: &str, expected: String, found: String| {
        Err(ModelError::Field { path: path.to_owned(), field: field.into(), expected, found })
    };
    if tokenizer.vocab_size() > rows {
        let expected = format!("at most {rows} tokens, the rows of the embedding");
        return wrong("vocabulary", expected, tokenizer.vocab_size().to_string());
    }
    // Without an end-of-turn token every reply would run to its limit.
    if tokenizer.eos_ids().is_empty() {
        return wrong("end-of-text token", "the id of a token that ends a reply".into(), "none".into());
    }
    Ok((tokenizer, template))
}

//! A model as people mean the word: weights, tokenizer and chat template of one file or folder.

use crate::arch;
use crate::decoder::{Decoder, LoadOptions};
use crate::error::{ModelError, Result};
use crate::tokenizer::{ChatTemplate, Message, Thinking, Tokenizer};
use crate::weights::Weights;
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
    /// Whatever is missing, malformed or of an unknown kind, by file, field or tensor.
    pub fn open(path: &Path, options: &LoadOptions) -> Result<Self> {
        let weights = Weights::open(path)?;
        let spec = arch::spec(&weights)?;
        // The vocabulary first: it is quick to refuse, the weights are not quick to load.
        let (tokenizer, template) = match &weights {
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
        };
        if tokenizer.vocab_size() > spec.vocab {
            return Err(ModelError::Field {
                path: path.to_owned(),
                field: "vocabulary".into(),
                expected: format!("at most {} tokens, the rows of the embedding", spec.vocab),
                found: tokenizer.vocab_size().to_string(),
            });
        }
        let decoder = Decoder::load(spec, &weights, options)?;
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

//! Text to token ids and back, and conversations to prompts.
//!
//! **A document's text can never become a control token.** The inner pipeline knows no added token at all: their
//! texts are taken out of its vocabulary and every merge that would spell one is dropped. Added tokens are matched by
//! `added` alone, and only inside [`Segment::Scaffold`]. So it does not matter how a document writes `<|im_end|>`:
//! there is no path from content to that id.
//!
//! Ids still equal Hugging Face's for ordinary content, since the text between two added tokens goes through the
//! pipeline as one piece, scaffold words and content together, just as there.

mod added;
mod blueprint;
mod build;
mod byte_level;
mod casing;
mod charsmap;
mod chat;
mod coder;
mod entry;
mod files;
mod gguf;
mod json;
mod metaspace;
mod normalizer;
mod open;
mod pieces;
mod pipeline;
mod post_processor;
mod python;
mod sentencepiece;
mod spaced;
mod special;
mod splitter;
mod steps;
mod table;
mod template;
mod unigram;
mod vocabulary;

pub use casing::Casing;
pub use chat::{Message, Role, Segment, Thinking};
pub use coder::Tokenizer;
pub(crate) use post_processor::Ends;
pub use python::Date;
pub use special::SpecialTokens;
pub use splitter::{SPLITTERS, SplitRule, Splitter};
pub use template::{ChatTemplate, ThoughtMarks};

//! Chains of thought that grow by a sentence (IRCoT, section 3).

use crate::answers::words::Level;
use crate::retrieval::chunk::sentences::sentences;

/// The first sentence of a text.
pub(crate) fn first_sentence(text: &str) -> Option<String> {
    sentences(text).first().map(|range| text[range.clone()].to_owned())
}

/// Whether a sentence states the answer (IRCoT, section 3.1).
pub(crate) fn ends_chain(sentence: &str) -> bool {
    Level::Voted.contains(sentence, "answer is")
}

//! How a reply is sampled and where it ends, as a request says.
//!
//! Without `temperature` the likeliest token is taken, and without `seed` the seed is 0: the same request gives the same
//! reply, as on the command line.

use super::fields::Body;
use crate::generation::Sampling;
use crate::llm::remote::STOP_BYTES;
use crate::serve::body::TextOrList;
use crate::serve::refusal::{Answer, Refusal};

/// Replies to one prompt.
const MOST_REPLIES: usize = 128;

impl Body {
    /// How tokens are chosen.
    pub(super) fn sampling(&self) -> Answer<Sampling> {
        let temperature = self.temperature.unwrap_or(0.0);
        // OpenAI's range.
        if !(0.0..=2.0).contains(&temperature) {
            return Err(Refusal::field("temperature", "a number from 0 to 2", temperature));
        }
        // -1 is vLLM's "all".
        let top_k = self.top_k.unwrap_or(0);
        if top_k < -1 {
            return Err(Refusal::field("top_k", "-1, 0 or more", top_k));
        }
        Sampling::new(temperature, usize::try_from(top_k).unwrap_or(0), self.top_p.unwrap_or(1.0))
            .map_err(|wrong| Refusal::field(wrong.field, wrong.expected, wrong.found))
    }

    /// The seed of reply `index`.
    pub(super) fn seed_of(&self, index: usize) -> u64 {
        // Any 64 bits are a seed.
        self.seed.unwrap_or(0).cast_unsigned().wrapping_add(index as u64)
    }

    /// Replies to each prompt.
    pub(super) fn replies(&self) -> Answer<usize> {
        match self.n.unwrap_or(1) {
            // The upper bound is OpenAI's own.
            n if (1..=MOST_REPLIES).contains(&n) => Ok(n),
            n => Err(Refusal::field("n", &format!("a whole number from 1 to {MOST_REPLIES}"), n)),
        }
    }

    /// The texts that end a reply.
    pub(super) fn stops(&self) -> Answer<Vec<String>> {
        let stops = match &self.stop {
            None => Vec::new(),
            Some(TextOrList::Text(text)) => vec![text.clone()],
            Some(TextOrList::List(texts)) => texts.clone(),
        };
        if let Some(long) = stops.iter().find(|stop| stop.len() > STOP_BYTES) {
            return Err(Refusal::field("stop", &format!("texts of at most {STOP_BYTES} bytes"), long.len()));
        }
        Ok(stops.into_iter().filter(|stop| !stop.is_empty()).collect())
    }
}

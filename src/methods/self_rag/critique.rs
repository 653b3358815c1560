//! The critique of a response, its score, and the method's resolved switches.

use crate::generation::TokenLogprob;
use moot_models::kernels::math::exp;

/// The resolved switches.
pub(super) struct SelfRag {
    pub(super) aggregate: bool,
    pub(super) prompted: bool,
    pub(super) threshold: f64,
    /// Of relevance, support and utility.
    pub(super) weights: [f64; 3],
    pub(super) sequence_score: bool,
    pub(super) long: bool,
    pub(super) beam_width: usize,
    pub(super) max_depth: usize,
    pub(super) top: usize,
}

/// The reply from one document, or from memory.
pub(super) struct Response {
    /// `None`: unknown, or a reply that cannot be read.
    pub(super) answer: Option<String>,
    /// As the aggregator reads it.
    pub(super) text: String,
    pub(super) critique: Critique,
    pub(super) malformed: bool,
    /// The number of its call.
    pub(super) call: usize,
}

/// Relevance and support from 0 to 1, utility from -1 to 1.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Critique {
    pub(super) relevance: f64,
    pub(super) support: f64,
    pub(super) utility: f64,
    /// exp(mean log-probability), where the score has it.
    pub(super) sequence: f64,
}

impl SelfRag {
    pub(super) fn score(&self, critique: &Critique) -> f64 {
        let [relevance, support, utility] = self.weights;
        relevance * critique.relevance + support * critique.support + utility * critique.utility + critique.sequence
    }

    /// A critique as text, for the aggregator and for display.
    pub(super) fn critique_line(&self, critique: &Critique) -> String {
        let Critique { relevance, support, utility, .. } = *critique;
        let score = self.score(critique);
        let [relevance, support, utility, score] = [relevance, support, utility, score].map(hundredths);
        format!("relevance {relevance:.2}, support {support:.2}, utility {utility:.2}, score {score:.2}")
    }
}

/// Rounded, and without the sign that a small negative number would leave before 0.00.
fn hundredths(x: f64) -> f64 {
    (x * 100.0).round() / 100.0 + 0.0
}

/// exp(mean log-probability) of tokens; 0 where there is none.
pub(super) fn sequence_score(tokens: &[TokenLogprob]) -> f64 {
    let sum: f64 = tokens.iter().map(|token| f64::from(token.logprob)).sum();
    if tokens.is_empty() { 0.0 } else { exp(sum / tokens.len() as f64) }
}

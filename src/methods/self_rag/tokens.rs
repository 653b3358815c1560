//! Critiques by control tokens, as Self-RAG's models were trained to give them (section 3.3 and table 1).

use super::critique::{Critique, Response, sequence_score};
use crate::answers::spans;
use crate::answers::unknown::is_unknown;
use crate::answers::words::Level;
use crate::error::{MootError, Result};
use crate::generation::{self, Logprobs, TokenLogprob};
use crate::prompt_file;
use crate::prompts::File;
use crate::protocol::formats::TEXT;
use crate::protocol::passages::offered;
use crate::protocol::{Ask, Ctx};
use crate::question::Question;
use crate::transcript::{CallRecord, Parsed};
use moot_models::kernels::math::exp;
use serde_json::json;

pub(super) const GENERATOR: File = prompt_file!("self_rag/generator.jinja");

const RETRIEVAL: [&str; 2] = ["[Retrieval]", "[No Retrieval]"];
const RELEVANCE: [&str; 2] = ["[Relevant]", "[Irrelevant]"];
const SUPPORT: [&str; 3] = ["[Fully supported]", "[Partially supported]", "[No support / Contradictory]"];
const UTILITY: [&str; 5] = ["[Utility:1]", "[Utility:2]", "[Utility:3]", "[Utility:4]", "[Utility:5]"];
/// Tokens that are written and never judged.
const OTHERS: [&str; 3] = ["<paragraph>", "</paragraph>", "[Continue to Use Evidence]"];

/// The generator's text from one document, up to its next retrieval.
#[derive(Clone)]
pub(super) struct Segment {
    /// The number of its call.
    pub call: usize,
    /// Without control tokens; never empty.
    pub text: String,
    /// With control tokens, as later segments are written after it.
    pub written: Vec<generation::Segment>,
    /// The generator's own.
    pub critique: Critique,
    /// No retrieval followed: the answer ends here.
    pub last: bool,
}

/// The ids of the tokens that judge, and of those that a segment may hold beside them.
pub(super) struct Tokens {
    retrieval: [u32; 2],
    relevance: [u32; 2],
    support: [u32; 3],
    utility: [u32; 5],
    /// Of [`OTHERS`]; a model may lack the last one.
    others: [Option<u32>; 3],
}

impl Tokens {
    /// The tokens of the generator's model.
    ///
    /// # Errors
    /// [`MootError::Usage`] naming the first token that the vocabulary lacks.
    pub(super) fn of(ctx: &Ctx<'_>) -> Result<Self> {
        ids(ctx, ["<paragraph>", "</paragraph>"])?;
        Ok(Self {
            others: OTHERS.map(|text| ctx.token("generator", text)),
            retrieval: ids(ctx, RETRIEVAL)?,
            relevance: ids(ctx, RELEVANCE)?,
            support: ids(ctx, SUPPORT)?,
            utility: ids(ctx, UTILITY)?,
        })
    }

    /// Scores [Retrieval] as the response's beginning.
    pub(super) fn decide(&self, question: &Question) -> Ask {
        generate(question, "decision", "").prefill_scaffold(RETRIEVAL[0]).scored().logprobs(watch(&self.retrieval))
    }

    /// P([Retrieval]) over both retrieval tokens.
    pub(super) fn retrieval(&self, decided: &CallRecord) -> f64 {
        decided.scores.last().map_or(0.0, |token| shares::<2>(&token.watched)[0])
    }

    /// The response to a document.
    pub(super) fn respond(&self, question: &Question, document: &str) -> Ask {
        // `critique` reads by position: relevance from 0, support from 2, utility from 5.
        let watched: Vec<u32> = [&self.relevance[..], &self.support, &self.utility].concat();
        generate(question, "document", document).logprobs(watch(&watched))
    }

    /// The segment of a long answer that follows `written`, from a document.
    pub(super) fn go_on(&self, question: &Question, written: Vec<generation::Segment>, document: &str) -> Ask {
        // Retrieval comes last, from 10, so that the positions that `critique` reads stay.
        let watched: Vec<u32> = [&self.relevance[..], &self.support, &self.utility, &self.retrieval].concat();
        let mut ask = generate(question, "", "").logprobs(watch(&watched));
        ask.prefill = written;
        ask.prefill_scaffold("[Retrieval]<paragraph>").prefill(document).prefill_scaffold("</paragraph>")
    }

    /// The text of a reply to [`Tokens::go_on`] up to the next retrieval: at [Retrieval], or at [No Retrieval] where
    /// P([Retrieval]) over both tokens exceeds `threshold`. `None` where it wrote no word.
    pub(super) fn segment(&self, call: &CallRecord, threshold: f64, sequence: bool) -> Option<Segment> {
        let [again, enough] = self.retrieval;
        let ends = |token: &TokenLogprob| match token.id {
            Some(id) if id == again => true,
            Some(id) if id == enough => shares::<2>(token.watched.get(10..).unwrap_or_default())[0] > threshold,
            _ => false,
        };
        let end = call.logprobs.iter().position(ends);
        let tokens = &call.logprobs[..end.unwrap_or(call.logprobs.len())];
        let mut written: Vec<generation::Segment> = Vec::new();
        for (token, range) in tokens.iter().zip(spans::ranges(&call.reply, &call.logprobs)) {
            match (token.id.and_then(|id| self.control(id)), written.last_mut()) {
                (Some(control), _) => written.push(generation::Segment::Scaffold(control.to_owned())),
                (None, Some(generation::Segment::Content(text))) => text.push_str(&call.reply[range]),
                (None, _) if range.is_empty() => {}
                (None, _) => written.push(generation::Segment::Content(call.reply[range].to_owned())),
            }
        }
        let content = written.iter().filter(|part| matches!(part, generation::Segment::Content(_)));
        let text = without_tokens(&content.map(generation::Segment::text).collect::<Vec<_>>().join(" "));
        let critique = self.critique(tokens, sequence);
        let segment = Segment { call: call.number, text, written, critique, last: end.is_none() };
        (!Level::Voted.words(&segment.text).is_empty()).then_some(segment)
    }

    /// The control token of this id.
    fn control(&self, id: u32) -> Option<&'static str> {
        let judging = [&RETRIEVAL[..], &RELEVANCE, &SUPPORT, &UTILITY].concat();
        let ids = [&self.retrieval[..], &self.relevance, &self.support, &self.utility].concat();
        let index = ids.iter().position(|known| *known == id);
        let other = || OTHERS.iter().zip(self.others).find(|(_, known)| *known == Some(id)).map(|(text, _)| *text);
        index.map(|index| judging[index]).or_else(other)
    }

    /// The response from memory.
    pub(super) fn remember(&self, question: &Question) -> Ask {
        generate(question, "memory", "")
    }

    /// A response and its critique: relevance is read at the first step, whatever token was generated there.
    pub(super) fn read(&self, call: &CallRecord, sequence: bool) -> Response {
        let critique = self.critique(&call.logprobs, sequence);
        let text = without_tokens(&call.reply);
        let malformed = call.parsed == Parsed::Malformed || Level::Voted.words(&text).is_empty();
        let answer = (!malformed && !is_unknown(&text)).then(|| text.clone());
        Response { answer, text, critique, malformed, call: call.number }
    }

    /// The critique that tokens hold: relevance at the first, support and utility at the first token that judges so.
    fn critique(&self, tokens: &[TokenLogprob], sequence: bool) -> Critique {
        let at = |ids: &[u32]| tokens.iter().find(|token| token.id.is_some_and(|id| ids.contains(&id)));
        let watched = |token: Option<&TokenLogprob>, from: usize| -> Vec<f32> {
            token.and_then(|token| token.watched.get(from..)).unwrap_or_default().to_vec()
        };
        let [relevant, _] = shares(&watched(tokens.first(), 0));
        let [fully, partially, _] = shares(&watched(at(&self.support), 2));
        let utility: [f64; 5] = shares(&watched(at(&self.utility), 5));
        Critique {
            relevance: relevant,
            support: fully + 0.5 * partially,
            utility: utility.iter().zip([-1.0, -0.5, 0.0, 0.5, 1.0]).map(|(share, value)| share * value).sum(),
            sequence: if sequence { sequence_score(tokens) } else { 0.0 },
        }
    }
}

fn ids<const N: usize>(ctx: &Ctx<'_>, texts: [&str; N]) -> Result<[u32; N]> {
    let mut ids = [0; N];
    for (id, text) in ids.iter_mut().zip(texts) {
        *id = ctx.token("generator", text).ok_or_else(|| {
            MootError::Usage(format!(
                "self-rag: the generator's model has no token {text:?}: expected a Self-RAG model (selfrag-7b), or \
                 --set prompted=true, which asks for critiques in words"
            ))
        })?;
    }
    Ok(ids)
}

fn watch(ids: &[u32]) -> Logprobs {
    Logprobs { top: 0, watch: ids.to_vec() }
}

fn generate(question: &Question, step: &str, document: &str) -> Ask {
    let values = json!({ "question": question.text, "options": offered(question), "step": step, "document": document });
    Ask::new("generator", GENERATOR, values, &TEXT).raw()
}

/// The first N log-probabilities as probabilities that sum to 1; zeros where there are fewer than N.
fn shares<const N: usize>(logprobs: &[f32]) -> [f64; N] {
    let Some(logprobs) = logprobs.first_chunk::<N>() else { return [0.0; N] };
    let largest = logprobs.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    // Where all are minus infinity, their differences would be no numbers.
    if !largest.is_finite() {
        return [0.0; N];
    }
    let weights = logprobs.map(|logprob| exp(f64::from(logprob) - f64::from(largest)));
    let sum: f64 = weights.iter().sum();
    weights.map(|weight| weight / sum)
}

/// A reply without control tokens, which some vocabularies write as text, on one line.
fn without_tokens(reply: &str) -> String {
    let tokens = [&RETRIEVAL[..], &RELEVANCE, &SUPPORT, &UTILITY, &OTHERS].concat();
    let text = tokens.iter().fold(reply.to_owned(), |text, token| text.replace(token, " "));
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

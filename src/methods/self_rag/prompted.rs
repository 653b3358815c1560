//! Critiques asked in words, for models without Self-RAG's control tokens.

use super::critique::{Critique, Response, sequence_score};
use crate::error::Result;
use crate::generation::Logprobs;
use crate::prompt_file;
use crate::prompts::File;
use crate::protocol::formats::{ANSWER, CHOICE};
use crate::protocol::passages::offered;
use crate::protocol::{Ask, Ctx};
use crate::question::Question;
use crate::transcript::{CallRecord, Parsed};
use moot_models::kernels::math::exp;
use serde_json::{Value, json};

pub(super) const RETRIEVE: File = prompt_file!("self_rag/retrieve.jinja");
pub(super) const RESPONSE: File = prompt_file!("self_rag/response.jinja");
pub(super) const RELEVANCE: File = prompt_file!("self_rag/relevance.jinja");
pub(super) const SUPPORT: File = prompt_file!("self_rag/support.jinja");
pub(super) const UTILITY: File = prompt_file!("self_rag/utility.jinja");

/// The choices, and the value of each.
const RELEVANCES: [(&str, f64); 2] = [("relevant", 1.0), ("irrelevant", 0.0)];
const SUPPORTS: [(&str, f64); 3] = [("fully supported", 1.0), ("partially supported", 0.5), ("no support", 0.0)];
const UTILITIES: [(&str, f64); 5] = [("1", -1.0), ("2", -0.5), ("3", 0.0), ("4", 0.5), ("5", 1.0)];

/// The decision about documents: they are to be read, or not.
const DECISIONS: [&str; 2] = ["yes", "no"];

/// The probability of "yes", normalised over "yes" and "no", as the decision about documents. A model that cannot score text
/// decides by its reply, as 1 or 0.
pub(super) fn retrieval(question: &Question, ctx: &mut Ctx<'_>) -> Result<f64> {
    let values = json!({ "question": question.text });
    let ask = || Ask::new("generator", RETRIEVE, values.clone(), &CHOICE).options(DECISIONS);
    if ctx.capabilities("generator").scores {
        let scored = ctx.ask_all(&DECISIONS.map(|decision| ask().prefill(decision).scored()))?;
        let [yes, no] = [0, 1].map(|index| f64::from(scored[index].total_score()));
        return Ok(1.0 / (1.0 + exp(no - yes)));
    }
    ctx.fall_back("the model cannot score text: its yes or no was used as a probability of 1 or 0");
    let decided = ctx.ask(ask())?;
    match decided.parsed {
        Parsed::Choice { option, .. } => Ok(if option == 0 { 1.0 } else { 0.0 }),
        _ => {
            ctx.fall_back("a decision that cannot be read: the documents were read");
            Ok(1.0)
        }
    }
}

/// A response to each document, then the three critiques of each.
pub(super) fn respond(
    question: &Question,
    ctx: &mut Ctx<'_>,
    numbers: &[usize],
    documents: &[String],
    sequence: bool,
) -> Result<Vec<Response>> {
    let asks = numbers.iter().zip(documents).map(|(&number, text)| {
        let ask = ask(question, Some(text)).document(number);
        if sequence { ask.logprobs(Logprobs::default()) } else { ask }
    });
    let calls = ctx.ask_all(&asks.collect::<Vec<_>>())?;
    let judged = numbers.iter().zip(documents).zip(&calls);
    let asks: Vec<Ask> = judged.flat_map(|((&number, text), call)| judges(question, number, text, call)).collect();
    let critiques = ctx.ask_all(&asks)?;
    let responses = calls.iter().zip(critiques.chunks(3)).map(|(call, critiques)| Response {
        critique: Critique {
            relevance: value(&critiques[0], &RELEVANCES),
            support: value(&critiques[1], &SUPPORTS),
            utility: value(&critiques[2], &UTILITIES),
            sequence: if sequence { sequence_score(&call.logprobs) } else { 0.0 },
        },
        ..read(call)
    });
    Ok(responses.collect())
}

/// The response to a document, or from memory.
pub(super) fn ask(question: &Question, document: Option<&str>) -> Ask {
    let values = json!({ "question": question.text, "options": offered(question), "document": document });
    Ask::new("generator", RESPONSE, values, &ANSWER)
}

/// A response without its critique.
pub(super) fn read(call: &CallRecord) -> Response {
    let answer = match &call.parsed {
        Parsed::Answer { answer, .. } => answer.clone(),
        _ => None,
    };
    let malformed = call.parsed == Parsed::Malformed;
    Response { answer, text: call.reply.trim().to_owned(), critique: Critique::default(), malformed, call: call.number }
}

/// The calls that judge a response: relevance, support, utility.
fn judges(question: &Question, number: usize, document: &str, response: &CallRecord) -> [Ask; 3] {
    let values = json!({ "question": question.text, "document": document, "response": response.reply.trim() });
    let judge = |prompt: File, choices: &[(&str, f64)], values: Value| {
        let options = choices.iter().map(|(option, _)| *option);
        Ask::new("generator", prompt, values, &CHOICE).options(options).round(2).document(number)
    };
    [
        judge(RELEVANCE, &RELEVANCES, values.clone()),
        judge(SUPPORT, &SUPPORTS, values.clone()),
        judge(UTILITY, &UTILITIES, values),
    ]
}

/// The value of a choice; a malformed reply counts 0.
fn value(call: &CallRecord, choices: &[(&str, f64)]) -> f64 {
    match call.parsed {
        Parsed::Choice { option, .. } => choices[option].1,
        _ => 0.0,
    }
}

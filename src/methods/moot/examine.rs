//! The examination: does this document state that this value is the answer?

use super::values::Value;
use crate::error::Result;
use crate::generation::Logprobs;
use crate::prompt_file;
use crate::prompts::File;
use crate::protocol::formats::CHOICE;
use crate::protocol::passages::shown;
use crate::protocol::scored::{TOKENS, TOP, probability};
use crate::protocol::{Ask, Ctx};
use crate::question::Question;
use serde_json::json;

/// Its prompt.
pub(super) const EXAMINER: File = prompt_file!("moot/examiner.jinja");

const OPTIONS: [&str; 2] = ["yes", "no"];

/// The probability of yes in the surest of the documents that give each value. Of documents that are copies of each other the
/// first is examined.
pub(super) fn all(question: &Question, values: &[Value], units: &[Vec<usize>], ctx: &mut Ctx<'_>) -> Result<Vec<f64>> {
    let gives = |value: &Value, unit: &[usize]| unit.iter().find(|number| value.documents.contains(number)).copied();
    // The calls of one document stand next to each other: they share its prefix.
    let cells: Vec<(usize, usize)> = units
        .iter()
        .flat_map(|unit| values.iter().enumerate().filter_map(|(index, value)| Some((index, gives(value, unit)?))))
        .collect();
    let asks: Vec<Ask> = cells.iter().map(|&(index, number)| ask(question, number, &values[index])).collect();
    let mut surest = vec![0.0; values.len()];
    for (&(index, _), call) in cells.iter().zip(ctx.ask_all(&asks)?) {
        surest[index] = probability(&call, OPTIONS).max(surest[index]);
    }
    Ok(surest)
}

fn ask(question: &Question, number: usize, value: &Value) -> Ask {
    let document = shown(&question.documents[number]);
    let asked = json!({ "question": question.text, "document": document, "candidate": value.text });
    let logprobs = Logprobs { top: TOP, ..Logprobs::default() };
    Ask::new("examiner", EXAMINER, asked, &CHOICE)
        .round(2)
        .document(number)
        .about(value.text.as_str())
        .options(OPTIONS)
        .max_tokens(TOKENS)
        .logprobs(logprobs)
}

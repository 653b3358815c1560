//! The examination: does this document state that this value is the answer?

use super::values::Value;
use crate::error::Result;
use crate::generation::Logprobs;
use crate::prompt_file;
use crate::prompts::File;
use crate::protocol::formats::CHOICE;
use crate::protocol::passages::shown;
use crate::protocol::{Ask, Ctx};
use crate::question::Question;
use crate::transcript::{CallRecord, Parsed};
use moot_models::kernels::math::exp;
use serde_json::json;

/// Its prompt.
pub(super) const EXAMINER: File = prompt_file!("moot/examiner.jinja");

const OPTIONS: [&str; 2] = ["yes", "no"];

/// Tokens of a reply, which is one word.
const TOKENS: usize = 4;

/// Likeliest tokens that are read: spellings of yes and no are among them.
const TOP: usize = 12;

/// The probability of yes in the surest of the documents that give each value. Of documents that are copies of each other the first
/// is examined.
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
        surest[index] = probability(&call).max(surest[index]);
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
        .options(OPTIONS)
        .max_tokens(TOKENS)
        .logprobs(logprobs)
}

/// The probability of yes beside no by the first token; of a model without log-probabilities 1 or 0 by its reply.
fn probability(call: &CallRecord) -> f64 {
    let Some(first) = call.logprobs.first().filter(|first| !first.top.is_empty()) else {
        return match call.parsed {
            Parsed::Choice { option, .. } => f64::from(u8::from(option == 0)),
            _ => 0.5,
        };
    };
    let of = |word: &str| -> f64 {
        let spelt = first.top.iter().filter(|token| token.text.trim().eq_ignore_ascii_case(word));
        spelt.map(|token| exp(f64::from(token.logprob))).sum()
    };
    let (yes, no) = (of("yes"), of("no"));
    if yes + no > 0.0 { yes / (yes + no) } else { 0.5 }
}

#[cfg(test)]
mod tests {
    use super::probability;
    use crate::generation::{Alternative, TokenLogprob};
    use crate::transcript::{CallRecord, Parsed};

    #[test]
    fn spellings_of_yes_count_beside_those_of_no_alone() {
        let token = |text: &str, p: f32| Alternative { id: None, text: text.into(), logprob: p.ln() };
        let top = vec![token("no", 0.2), token(" Yes", 0.1), token("yes", 0.3), token("maybe", 0.4)];
        let first = TokenLogprob { id: None, text: "no".into(), logprob: 0.2_f32.ln(), top, watched: Vec::new() };
        let call = CallRecord { logprobs: vec![first], ..CallRecord::default() };
        assert!((probability(&call) - 4.0 / 6.0).abs() < 1e-6);
    }

    #[test]
    fn without_log_probabilities_the_reply_decides() {
        let of = |parsed| probability(&CallRecord { parsed, ..CallRecord::default() });
        let choice = |option| Parsed::Choice { option, explanation: String::new() };
        assert_eq!((of(choice(0)), of(choice(1)), of(Parsed::Malformed)), (1.0, 0.0, 0.5));
    }
}

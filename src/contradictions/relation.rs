//! The relation of one statement to another: probabilities of the first token of a reply, after worked examples.

use super::claims::Claim;
use crate::error::Result;
use crate::generation::{Logprobs, Message, Role};
use crate::prompt_file;
use crate::prompts::File;
use crate::protocol::Ask;
use crate::protocol::formats::CHOICE;
use crate::protocol::scored::{TOKENS, TOP, probabilities};
use crate::transcript::CallRecord;
use serde_json::json;

/// The role that fills blanks and classifies the relation of statements.
pub const JUDGE: &str = "judge";

/// The prompt.
pub(super) const RELATION_PROMPT: File = prompt_file!("contradictions/relation.jinja");

/// The judge's options. Their first letters differ, so that the first token identifies the option.
const OPTIONS: [&str; 3] = ["contradicts", "supports", "neither"];

/// Worked examples: a text, a statement, and the right option. Without them a model of 1.5B is hardly better than chance.
// 40 examples instead of 11 did not decide better (benches/results/contradictions.md).
const EXAMPLES: [(&str, &str, usize); 11] = [
    ("The bridge at Alm has four arches.", "Alm's bridge was built with six arches.", 0),
    ("In 2015 the museum had 12,000 visitors.", "The museum counted 15,400 visitors in 2018.", 2),
    ("The tank holds 10 litres.", "The tank takes about 2.6 gallons.", 1),
    ("Guests may not smoke anywhere, the terrace included.", "Smoking is allowed on the terrace.", 0),
    ("Peter Holt the baker died in 1880.", "Peter Holt, who flew the mail, died in 1951.", 2),
    ("An old map puts the spring at Dorn, but that is an error; it is at Welle.", "The spring is at Welle.", 1),
    ("The author of the novel is Ben Osgood.", "The novel was written by Clara Wynn.", 0),
    ("The basic model weighs 3 kg.", "The large model weighs 5 kg.", 2),
    ("The roof is made of slate.", "The garden has a pond of 40 square metres.", 2),
    ("The app needs a connection.", "The app can be used offline.", 0),
    ("The fee was 20 euros until 2020 and is now 25.", "The fee is 25 euros.", 1),
];

/// The turns of the worked examples.
///
/// # Errors
/// A prompt that cannot be rendered.
pub(super) fn examples() -> Result<Vec<Message>> {
    let mut turns = Vec::with_capacity(2 * EXAMPLES.len());
    for (text, statement, option) in EXAMPLES {
        let asked = RELATION_PROMPT.render(json!({ "text": text, "statement": statement }))?;
        turns.push(Message::new(Role::User, asked));
        turns.push(Message::new(Role::Assistant, OPTIONS[option]));
    }
    Ok(turns)
}

/// The call for the relation of `own` to `other`.
pub(super) fn ask(own: &Claim, other: &Claim, examples: &[Message]) -> Ask {
    let values = json!({ "text": other.alone(), "statement": own.alone() });
    Ask::new(JUDGE, RELATION_PROMPT, values, &CHOICE)
        .options(OPTIONS)
        .after(examples.to_vec())
        .max_tokens(TOKENS)
        .logprobs(Logprobs { top: TOP, ..Logprobs::default() })
}

/// The probabilities of the options in a reply.
pub(super) fn read(call: &CallRecord) -> [f64; 3] {
    probabilities(call, OPTIONS)
}

#[cfg(test)]
mod tests {
    use super::OPTIONS;

    #[test]
    fn no_two_options_begin_alike() {
        for (index, one) in OPTIONS.iter().enumerate() {
            assert!(OPTIONS[..index].iter().all(|other| other.as_bytes()[..2] != one.as_bytes()[..2]));
        }
    }
}

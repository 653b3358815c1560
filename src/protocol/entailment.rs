//! Entailment by a model's replies, where a run has no classifier: the role `entailment` chooses one of three relations.

use crate::prompt_file;
use crate::prompts::File;
use crate::protocol::ask::Ask;
use crate::protocol::formats::{CHOICE, Format};
use crate::transcript::{CallRecord, Pair, Parsed, Relation};
use serde_json::json;

/// The role that classifies pairs.
pub(crate) const ROLE: &str = "entailment";

/// Its prompt; the row of a method that classifies pairs lists it.
pub const PROMPT: File = prompt_file!("entailment/relation.jinja");

/// Its format.
pub static FORMAT: &Format = &CHOICE;

const RELATIONS: [&str; 3] = ["entails", "contradicts", "neither"];

pub(super) fn ask(pair: &Pair) -> Ask {
    let values = json!({ "premise": pair.premise, "hypothesis": pair.hypothesis });
    Ask::new(ROLE, PROMPT, values, FORMAT).options(RELATIONS)
}

/// The relation assumed for a pair whose reply is malformed or failed.
pub(super) const NEUTRAL: Relation = Relation { entailment: 0.0, neutral: 1.0, contradiction: 0.0 };

/// The relation that a reply chooses, with probability 1; `None` for a malformed reply.
pub(super) fn chosen(call: &CallRecord) -> Option<Relation> {
    let Parsed::Choice { option, .. } = call.parsed else { return None };
    let one = |index| f32::from(u8::from(option == index));
    // By the order of RELATIONS, which is not that of the fields.
    Some(Relation { entailment: one(0), contradiction: one(1), neutral: one(2) })
}

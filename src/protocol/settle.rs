//! Settles a conclusion: its answers are marked, and those of a prompt's worked example are refused.
//!
//! A mark changes no metric. A refusal does: the answer is left out of the conclusion, as a fallback that `score` counts.

use crate::answers::grounds::{Example, Held, is_choice};
use crate::answers::words::Level;
use crate::protocol::{Ctx, OwnPrompts};
use crate::question::{Answer, Conclusion, Document};
use crate::transcript::Parsed;
use std::collections::BTreeSet;

/// The conclusion with its answers marked, and without those that a prompt's worked example gave.
pub(super) fn settle(conclusion: Conclusion, ctx: &mut Ctx<'_>, prompts: &OwnPrompts) -> Conclusion {
    let documents: Vec<&Document> = ctx.documents().collect();
    let question = ctx.question();
    let agents = ctx.calls().iter().any(|call| call.document.is_some() && matches!(call.parsed, Parsed::Answer { .. }));
    let held = Held::of(documents.iter().copied(), agents).asked(&question.text);
    let asked: Vec<&str> = std::iter::once(&question.text).chain(&question.options).map(String::as_str).collect();
    let asked = Level::Assessed.words(&asked.join("\n"));
    let used: BTreeSet<&str> = ctx.calls().iter().map(|call| call.prompt.as_str()).collect();
    let examples: Vec<Example> = ctx
        .files()
        .iter()
        .filter(|file| used.contains(file.name))
        .map(|file| Example::of(prompts.of(*file).text))
        .collect();
    let choice = |text: &str| is_choice(text, &question.options);
    let is_example = |answer: &Answer| {
        let words = Level::Assessed.words(&answer.text);
        examples.iter().any(|example| example.gives(&words))
            && !words.within(&asked)
            && !held.holds(&answer.text)
            && !held.is_labelled(&answer.text)
            && !choice(&answer.text)
    };
    let (refused, mut answers): (Vec<Answer>, Vec<Answer>) = conclusion.answers.into_iter().partition(is_example);
    for answer in &mut answers {
        answer.marks = held.marks(answer, choice(&answer.text));
    }
    let refused: Vec<String> = refused.into_iter().map(|answer| answer.text).collect();
    for text in &refused {
        ctx.fall_back(format!(
            "the answer {text:?} occurs in the prompt's worked example and in no document: it was refused"
        ));
    }
    Conclusion { answers, refused, ..conclusion }
}

//! TriviaQA: trivia questions with aliases of the answer, as published (`Data`) or as Hugging Face's rows.
//!
//! The evidence lies in files of its own and is not read.

use super::{Item, Row, fields};
use crate::error::Result;
use crate::question::{Gold, Question};

pub(super) const ROW: Row = Row {
    name: "triviaqa",
    about: "trivia questions with aliases of the answer; the evidence files are not read",
    paper: "Joshi et al., 2017 (arXiv 1705.03551); nlp.cs.washington.edu/triviaqa",
    licence: "Apache-2.0",
    detect: |object| {
        let answer = object.object("Answer").or_else(|| object.object("answer"));
        answer.is_some_and(|answer| ["Aliases", "aliases", "Value", "value"].iter().any(|field| answer.has(field)))
    },
    read,
    bare_nan: false,
    merge: false,
    titled: false,
};

/// Field names, as published and as Hugging Face writes them.
const NAMES: [[&str; 5]; 2] = [
    ["Question", "QuestionId", "Answer", "Value", "Aliases"],
    ["question", "question_id", "answer", "value", "aliases"],
];

fn read(item: &Item) -> Result<Question> {
    let object = &item.object;
    let [question, id, answer, value, aliases] = NAMES[usize::from(!object.has(NAMES[0][0]))];
    let text = object.full_string(question)?;
    let gold = object.object(answer).ok_or_else(|| object.wrong("an object", answer, object.value(answer)))?;
    let mut known = vec![gold.string(value)?];
    for alias in fields::optional_texts(&gold, aliases)? {
        if !known.contains(&alias) {
            known.push(alias);
        }
    }
    Ok(Question { id: fields::id(item, id, &text), text, gold: Some(Gold::any_of(known)), ..Question::default() })
}

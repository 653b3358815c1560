//! A single agent with self-reflection (MADAM-RAG, section 5.1 and appendix E; after Self-Refine and Huang et al.): it answers
//! from all documents, reviews its answer, and answers again, in one chat.

use crate::answers::vote;
use crate::answers::words::Level;
use crate::error::Result;
use crate::generation::{Message, Role};
use crate::prompt_file;
use crate::prompts::File;
use crate::protocol::formats::{ANSWERS, TEXT};
use crate::protocol::readers::{CONCATENATED, of_all_documents};
use crate::protocol::switches::{Kind, Switch, Values};
use crate::protocol::{Ask, Ctx, Method, Needs, Row};
use crate::question::{Conclusion, Question};
use crate::transcript::{CallRecord, Parsed, QuestionRecord};
use serde_json::json;

const REVIEW: File = prompt_file!("self_reflection/review.jinja");
const REFINE: File = prompt_file!("self_reflection/refine.jinja");

/// Self-reflection's row.
pub(crate) static ROW: Row = Row {
    name: "self-reflection",
    paper: "Retrieval-Augmented Generation with Conflicting Evidence (arXiv 2504.13079), section 5.1 and appendix E (Single Agent with Self-reflection)",
    about: "one reader answers from all documents, reviews its answer and refines it",
    protocol: "\
1. The reader reads the question and all documents, and lists all correct answers.
2. `rounds` times: the reader reviews its last answer in free text, then answers again, in the same chat.
3. The last list is the conclusion. A malformed list before it is reviewed as it is; a malformed last one leaves no answer.
An empty review counts as a fallback: the reader answers again without one.",
    calls: "1 + 2 x rounds (5 by default)",
    headline: "RAMDocs strict EM: Llama-3.3-70B 30.40, Qwen2.5-72B 21.80 (table 1)",
    prompts: &[CONCATENATED, REVIEW, REFINE],
    formats: &[&ANSWERS, &TEXT],
    roles: &["reader"],
    switches: &[Switch {
        name: "rounds",
        about: "rounds of review and refinement",
        kind: Kind::Count(0, 16),
        default: "2",
    }],
    presets: &[],
    max_tokens: 128,
    needs: Needs::DOCUMENTS,
    build,
};

struct SelfReflection {
    rounds: usize,
}

fn build(values: &mut Values) -> Result<Box<dyn Method>> {
    Ok(Box::new(SelfReflection { rounds: values.count("rounds") }))
}

impl Method for SelfReflection {
    fn answer(&self, question: &Question, ctx: &mut Ctx<'_>) -> Result<Conclusion> {
        let mut answer = ctx.ask(of_all_documents(question))?;
        for round in 1..=self.rounds {
            let review = Ask::new("reader", REVIEW, json!({}), &TEXT).round(round + 1).after(chat(&answer));
            let review = ctx.ask(review)?;
            if review.parsed == Parsed::Malformed {
                ctx.fall_back("an empty review: the reader answered again without one");
            }
            let refine = Ask::new("reader", REFINE, json!({}), &ANSWERS).round(round + 1).after(chat(&review));
            answer = ctx.ask(refine)?;
        }
        Ok(Conclusion { rounds: self.rounds + 1, ..vote::reader(&answer, &question.documents) })
    }
}

/// The chat up to and with the reply of `call`.
fn chat(call: &CallRecord) -> Vec<Message> {
    let mut messages = call.messages.clone();
    messages.push(Message::new(Role::Assistant, call.reply.trim()));
    messages
}

/// Of the refined lists of answers those that differ from the list before them, and all; `None` where none was refined. A list that
/// is malformed differs from one that is not.
#[must_use]
pub(crate) fn refined(record: &QuestionRecord) -> Option<(usize, usize)> {
    let answers = |call: &CallRecord| match &call.parsed {
        Parsed::Answers { answers, .. } => Some(Level::Voted.set(answers.iter().map(String::as_str))),
        _ => None,
    };
    let lists: Vec<&CallRecord> = record.calls.iter().filter(|call| call.prompt != REVIEW.name).collect();
    let pairs = lists.windows(2).filter(|pair| pair[1].prompt == REFINE.name);
    let changed = pairs.clone().filter(|pair| answers(pair[0]) != answers(pair[1])).count();
    let all = pairs.count();
    (all > 0).then_some((changed, all))
}

//! The baseline without documents: the model answers from memory (MADAM-RAG, appendix E, "No RAG").

use crate::answers::vote;
use crate::error::Result;
use crate::prompt_file;
use crate::prompts::File;
use crate::protocol::formats::{CHOICE, LIST, SHORT};
use crate::protocol::passages::{offered, short_answer};
use crate::protocol::switches::{Kind, Switch, Values};
use crate::protocol::{Ask, Ctx, Method, Needs, Row};
use crate::question::{Conclusion, Question};
use serde_json::json;

const ANSWERER: File = prompt_file!("closed_book/answerer.jinja");
const ONE: File = prompt_file!("closed_book/one.jinja");

/// The closed book's row.
pub(crate) static ROW: Row = Row {
    name: "closed-book",
    paper: "Retrieval-Augmented Generation with Conflicting Evidence (arXiv 2504.13079), section 5.1 and appendix E (No RAG)",
    about: "the model answers from memory, without the documents",
    protocol: "\
1. The answerer reads the question alone and lists its answers; with `one-answer` it gives one, of a question with
   options one of them (DRAG's Naive Gen). A malformed reply leaves no answer.",
    calls: "1",
    headline: "RAMDocs strict EM: Llama-3.3-70B 5.80 (table 1)",
    prompts: &[ANSWERER, ONE],
    formats: &[&LIST, &SHORT, &CHOICE],
    roles: &["answerer"],
    switches: &[Switch {
        name: "one-answer",
        about: "whether one answer is asked for, instead of all correct ones",
        kind: Kind::Flag,
        default: "false",
    }],
    presets: &[],
    max_tokens: 128,
    needs: Needs::NOTHING,
    build,
};

struct ClosedBook {
    one: bool,
}

fn build(values: &mut Values) -> Result<Box<dyn Method>> {
    Ok(Box::new(ClosedBook { one: values.flag("one-answer") }))
}

impl Method for ClosedBook {
    fn answer(&self, question: &Question, ctx: &mut Ctx<'_>) -> Result<Conclusion> {
        let values = json!({ "question": question.text, "options": offered(question) });
        let call = ctx.ask(if self.one {
            short_answer(question, Ask::new("answerer", ONE, values, &SHORT))
        } else {
            Ask::new("answerer", ANSWERER, values, &LIST)
        })?;
        Ok(vote::reader(&call, &[]))
    }
}

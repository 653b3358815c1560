//! Iter-RetGen (Shao et al., arXiv 2305.15294): the whole last generation is the next query.

use crate::answers::vote;
use crate::error::Result;
use crate::prompt_file;
use crate::prompts::File;
use crate::protocol::formats::THOUGHT;
use crate::protocol::passages::{TOP, offered, search, texts};
use crate::protocol::switches::{Kind, Switch, Values};
use crate::protocol::{Ask, Ctx, Method, Needs, Row};
use crate::question::{Conclusion, Question};
use serde_json::json;

const READER: File = prompt_file!("iter_retgen/reader.jinja");

/// Iter-RetGen's row.
pub(crate) static ROW: Row = Row {
    name: "iter-retgen",
    paper: "Enhancing Retrieval-Augmented Large Language Models with Iterative Retrieval-Generation Synergy (arXiv 2305.15294), section 3",
    about: "retrieve with the question and the last generation, generate, repeat",
    protocol: "\
1. The retriever finds `per-query` passages for the question.
2. The reader thinks step by step and answers.
3. Until `iterations` are done: the retriever finds passages for the question followed by the whole last reply, and the
   reader answers from these.
4. The last answer is the conclusion; a malformed last reply leaves none. One before it goes into the query as it is.",
    calls: "iterations (3 by default), with as many retriever calls",
    headline: "HotpotQA EM 27.80, StrategyQA EM 62.00: Llama-3.1-8B (DRAG, table 1)",
    prompts: &[READER],
    formats: &[&THOUGHT],
    roles: &["reader"],
    switches: &[
        Switch { name: "iterations", about: "retrievals and generations", kind: Kind::Count(1, 16), default: "3" },
        TOP,
    ],
    presets: &[],
    max_tokens: 128,
    needs: Needs::RETRIEVER,
    build,
};

struct IterRetgen {
    iterations: usize,
    top: usize,
}

fn build(values: &mut Values) -> Result<Box<dyn Method>> {
    Ok(Box::new(IterRetgen { iterations: values.count("iterations"), top: values.count("per-query") }))
}

impl Method for IterRetgen {
    fn answer(&self, question: &Question, ctx: &mut Ctx<'_>) -> Result<Conclusion> {
        let mut query = question.text.clone();
        let mut round = 0;
        loop {
            round += 1;
            let numbers = search(ctx, &[&query], self.top)?.pop().unwrap_or_default();
            if numbers.is_empty() {
                ctx.fall_back("nothing was found: the reader answered from memory");
            }
            let values =
                json!({ "question": question.text, "passages": texts(ctx, &numbers), "options": offered(question) });
            let call = ctx.ask(Ask::new("reader", READER, values, &THOUGHT).round(round))?;
            if round == self.iterations {
                return Ok(Conclusion { rounds: round, ..vote::reader(&call, ctx.documents()) });
            }
            let words = call.reply.split_whitespace();
            query = [question.text.as_str()].into_iter().chain(words).collect::<Vec<_>>().join(" ");
        }
    }
}

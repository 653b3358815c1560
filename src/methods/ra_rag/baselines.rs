//! RA-RAG's baselines without sources: naive RAG and naive LLM (section 5.1).

use crate::answers::unknown::is_unknown;
use crate::answers::vote;
use crate::error::Result;
use crate::prompt_file;
use crate::prompts::File;
use crate::protocol::formats::SHORT;
use crate::protocol::passages::{nearest, texts};
use crate::protocol::source_readers::READER;
use crate::protocol::{Ask, Ctx};
use crate::question::{Conclusion, Question};
use crate::retrieval::{Filter, Wanted};
use crate::transcript::{CallRecord, Parsed};
use serde_json::json;

pub(super) const MEMORY: File = prompt_file!("ra_rag/memory.jinja");

/// One call without documents.
pub(super) fn from_memory(question: &Question, ctx: &mut Ctx<'_>) -> Result<Conclusion> {
    let call = ctx.ask(Ask::new("reader", MEMORY, json!({ "question": question.text }), &SHORT))?;
    Ok(Conclusion { explanation: "from memory".into(), ..concluded(&call, ctx) })
}

/// The request to the retriever: the best `pool` passages, unfolded.
pub(super) fn of_pool(pool: usize, filter: Filter) -> Wanted {
    Wanted { top: pool, by_source: false, fold: false, filter }
}

/// One call with the best `pool` documents of all sources.
pub(super) fn from_pool(question: &Question, ctx: &mut Ctx<'_>, pool: usize) -> Result<Conclusion> {
    let numbers = if question.documents.is_empty() {
        let wanted = of_pool(pool, ctx.wanted().filter.clone());
        let hits = ctx.retrieve(&[&question.text], &wanted)?.pop().unwrap_or_default();
        ctx.take_up(hits)
    } else {
        nearest(question, ctx, pool)?
    };
    if numbers.is_empty() {
        ctx.fall_back("nothing was found: the reader answered from memory");
    }
    let values = json!({ "question": question.text, "documents": texts(ctx, &numbers) });
    let call = ctx.ask(Ask::new("reader", READER, values, &SHORT))?;
    Ok(concluded(&call, ctx))
}

/// The conclusion of the single reader; "I don't know" is unknown.
fn concluded(call: &CallRecord, ctx: &Ctx<'_>) -> Conclusion {
    let conclusion = vote::reader(call, ctx.documents());
    match &call.parsed {
        Parsed::Answer { answer: Some(answer), .. } if is_unknown(answer) => {
            Conclusion { answers: Vec::new(), ..conclusion }
        }
        _ => conclusion,
    }
}

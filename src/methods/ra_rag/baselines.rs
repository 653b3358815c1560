//! RA-RAG's baselines without sources: naive RAG and naive LLM (section 5.1).

use crate::answers::unknown::is_unknown;
use crate::answers::vote;
use crate::answers::words::Level;
use crate::error::Result;
use crate::prompt_file;
use crate::prompts::File;
use crate::protocol::formats::SHORT;
use crate::protocol::passages::texts;
use crate::protocol::{Ask, Ctx};
use crate::question::{Conclusion, Document, Question};
use crate::retrieval::{Filter, Wanted};
use crate::transcript::{CallRecord, Parsed};
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use serde_json::json;
use std::collections::HashSet;

pub(super) const POOL: File = prompt_file!("ra_rag/pool.jinja");
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
        best(question, ctx, pool)?
    };
    if numbers.is_empty() {
        ctx.fall_back("nothing was found: the reader answered from memory");
    }
    let values = json!({ "question": question.text, "documents": texts(ctx, &numbers) });
    let call = ctx.ask(Ask::new("reader", POOL, values, &SHORT))?;
    Ok(concluded(&call, ctx))
}

/// The `pool` documents nearest to the question, best first: by the dot product of their vectors where the run has an
/// embedder, else by the share of the question's words that they hold. Ties are broken by the question's seed, because
/// documents of one source are adjacent.
pub(in crate::methods) fn best(question: &Question, ctx: &mut Ctx<'_>, pool: usize) -> Result<Vec<usize>> {
    let documents: Vec<Document> = ctx.documents().cloned().collect();
    let mut numbers: Vec<usize> = (0..documents.len()).collect();
    if numbers.len() <= pool {
        return Ok(numbers);
    }
    let all: Vec<&str> = [&*question.text].into_iter().chain(documents.iter().map(|d| &*d.text)).collect();
    let scores: Vec<f32> = match ctx.embed(&all)? {
        Some(vectors) => vectors[1..].iter().map(|v| v.iter().zip(&vectors[0]).map(|(a, b)| a * b).sum()).collect(),
        None => documents.iter().map(|document| held(&question.text, document)).collect(),
    };
    numbers.shuffle(&mut ChaCha8Rng::seed_from_u64(ctx.seed("pool", 1, 0)));
    numbers.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]));
    numbers.truncate(pool);
    Ok(numbers)
}

/// The share of the question's distinct words that a document holds.
fn held(question: &str, document: &Document) -> f32 {
    let words: HashSet<String> = Level::Voted.words(question).to_vec().into_iter().collect();
    let there: HashSet<String> = Level::Voted.words(&document.text).to_vec().into_iter().collect();
    words.intersection(&there).count() as f32 / words.len().max(1) as f32
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

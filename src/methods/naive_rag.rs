//! Naive RAG (DRAG, section 4.2): one retrieval with the question, one reader.

use crate::answers::vote;
use crate::error::Result;
use crate::protocol::formats::{CHOICE, SHORT};
use crate::protocol::passages::{TOP, given_or_found, texts};
use crate::protocol::readers::{PASSAGES, of_passages};
use crate::protocol::switches::Values;
use crate::protocol::{Ctx, Method, Needs, Row};
use crate::question::{Conclusion, Question};

/// Naive RAG's row.
pub(crate) static ROW: Row = Row {
    name: "naive-rag",
    paper: "Removal of Hallucination on Hallucination: Debate-Augmented RAG (arXiv 2505.18581), section 4.2 (Naive RAG)",
    about: "one retrieval with the question, one reader, the answer alone",
    protocol:
        "\
1. The retriever finds `per-query` passages for the question; without a corpus the question's documents are read.
2. The reader answers from the passages, with the answer alone; of a question with options, with one of them.
A malformed reply leaves no answer. Where nothing is found, the reader answers from memory, which counts as a fallback.",
    calls: "1, with 1 retriever call",
    headline: "HotpotQA EM 25.80, StrategyQA EM 62.60: Llama-3.1-8B (DRAG, table 1)",
    prompts: &[PASSAGES],
    formats: &[&SHORT, &CHOICE],
    roles: &["reader"],
    switches: &[TOP],
    presets: &[],
    // Of DRAG's code; the paper names no limit.
    max_tokens: 256,
    needs: Needs::PASSAGES,
    build,
};

struct NaiveRag {
    top: usize,
}

fn build(values: &mut Values) -> Result<Box<dyn Method>> {
    Ok(Box::new(NaiveRag { top: values.count("per-query") }))
}

impl Method for NaiveRag {
    fn answer(&self, question: &Question, ctx: &mut Ctx<'_>) -> Result<Conclusion> {
        let numbers = given_or_found(ctx, question, self.top)?;
        if numbers.is_empty() {
            ctx.fall_back("nothing was found: the reader answered from memory");
        }
        let call = ctx.ask(of_passages(question, &texts(ctx, &numbers)))?;
        Ok(vote::reader(&call, ctx.documents()))
    }
}

//! The baseline of one prompt with all documents (MADAM-RAG, section 5.1 and appendix E, "Concatenated Prompt").

use crate::answers::vote;
use crate::error::Result;
use crate::protocol::formats::ANSWERS;
use crate::protocol::readers::{CONCATENATED, of_all_documents};
use crate::protocol::switches::Values;
use crate::protocol::{Ctx, Method, Needs, Row};
use crate::question::{Conclusion, Question};

/// The concatenated prompt's row.
pub(crate) static ROW: Row = Row {
    name: "concatenated",
    paper: "Retrieval-Augmented Generation with Conflicting Evidence (arXiv 2504.13079), section 5.1 and appendix E (Concatenated Prompt)",
    about: "one reader answers from all documents in one prompt",
    protocol: "\
1. The reader reads the question and all documents, and lists all correct answers with an
   explanation. A malformed list leaves no answer.",
    calls: "1",
    headline: "RAMDocs strict EM: Llama-3.3-70B 32.60, Qwen2.5-72B 20.60 (table 1)",
    prompts: &[CONCATENATED],
    formats: &[&ANSWERS],
    roles: &["reader"],
    switches: &[],
    presets: &[],
    max_tokens: 128,
    needs: Needs::DOCUMENTS,
    build,
};

struct Concatenated;

fn build(_: &mut Values) -> Result<Box<dyn Method>> {
    Ok(Box::new(Concatenated))
}

impl Method for Concatenated {
    fn answer(&self, question: &Question, ctx: &mut Ctx<'_>) -> Result<Conclusion> {
        let call = ctx.ask(of_all_documents(question))?;
        Ok(vote::reader(&call, &question.documents))
    }
}

//! The baseline of one prompt with all documents (MADAM-RAG, section 5.1 and appendix E, "Concatenated Prompt").

use crate::answers::vote;
use crate::error::Result;
use crate::prompt_file;
use crate::prompts::File;
use crate::protocol::formats::ANSWERS;
use crate::protocol::passages::all_texts;
use crate::protocol::switches::Values;
use crate::protocol::{Ask, Ctx, Method, Needs, Row};
use crate::question::{Conclusion, Question};
use serde_json::{Value, json};

pub(super) const READER: File = prompt_file!("concatenated/reader.jinja");

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
    prompts: &[READER],
    formats: &[&ANSWERS],
    roles: &["reader"],
    switches: &[],
    presets: &[],
    needs: Needs::DOCUMENTS,
    build,
};

struct Concatenated;

fn build(_: &mut Values) -> Result<Box<dyn Method>> {
    Ok(Box::new(Concatenated))
}

impl Method for Concatenated {
    fn answer(&self, question: &Question, ctx: &mut Ctx<'_>) -> Result<Conclusion> {
        let call = ctx.ask(Ask::new("reader", READER, values(question), &ANSWERS))?;
        Ok(vote::reader(&call, &question.documents))
    }
}

/// The values of [`READER`]: the question and its documents.
pub(super) fn values(question: &Question) -> Value {
    json!({ "question": question.text, "documents": all_texts(question) })
}

//! Calls that methods of several papers make alike: a reader of all documents, a reader of passages, the agent of a document.

use crate::generation::Sampling;
use crate::prompt_file;
use crate::prompts::File;
use crate::protocol::ask::Ask;
use crate::protocol::formats::{ANSWER, ANSWERS, SHORT};
use crate::protocol::passages::{all_texts, offered, short_answer};
use crate::question::Question;
use serde_json::json;

/// The prompt of a document's agent (MADAM-RAG, section 4 and appendix E).
pub(crate) const AGENT: File = prompt_file!("madam_rag/agent.jinja");
/// The prompt of one reader of all documents (MADAM-RAG, appendix E, "Concatenated Prompt").
pub(crate) const CONCATENATED: File = prompt_file!("concatenated/reader.jinja");
/// The prompt of one reader of passages (DRAG, section 4.2, Naive RAG).
pub(crate) const PASSAGES: File = prompt_file!("naive_rag/reader.jinja");

/// Sampling of several replies where the run is greedy (Self-Consistency, section 3.1).
pub(crate) const SAMPLING: Sampling = Sampling::Seeded { temperature: 0.7, top_k: 40, top_p: 1.0 };

/// The call of the agent of document `index`, which reads the lines `told` of the round before.
pub(crate) fn agent(question: &Question, index: usize, round: usize, told: Option<&[String]>) -> Ask {
    let values = json!({
        "question": question.text,
        "document": question.documents[index].text.trim(),
        "number": index + 1,
        "history": told,
    });
    Ask::new("agent", AGENT, values, &ANSWER).round(round).document(index)
}

/// The call of one reader, which reads the question and all of its documents and lists all correct answers.
pub(crate) fn of_all_documents(question: &Question) -> Ask {
    let values = json!({ "question": question.text, "documents": all_texts(question) });
    Ask::new("reader", CONCATENATED, values, &ANSWERS)
}

/// The call of one reader of `passages`, which gives the answer alone, or one of the question's options.
pub(crate) fn of_passages(question: &Question, passages: &[String]) -> Ask {
    let values = json!({ "question": question.text, "passages": passages, "options": offered(question) });
    short_answer(question, Ask::new("reader", PASSAGES, values, &SHORT))
}

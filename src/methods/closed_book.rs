//! The baseline without documents: what the model says from memory (MADAM-RAG, appendix E, "No RAG").

use crate::error::Result;
use crate::eval::record::Parsed;
use crate::methods::ctx::{Ask, Ctx};
use crate::methods::reply::Format;
use crate::methods::{Method, Row, Switches, vote};
use crate::question::{Conclusion, Question};
use serde_json::json;

/// The closed book's row.
pub const ROW: Row = Row {
    name: "closed-book",
    paper: "Retrieval-Augmented Generation with Conflicting Evidence, section 5.1 and appendix E (No RAG)",
    about: "the model answers from memory, without the documents",
    prompts: &["closed_book/answerer.jinja", "reply/list.lark", "reply/list.jsonc"],
    roles: &["answerer"],
    needs_documents: false,
    build,
};

struct ClosedBook;

fn build(switches: &Switches) -> Result<Box<dyn Method>> {
    switches.refuse_all(ROW.name)?;
    Ok(Box::new(ClosedBook))
}

impl Method for ClosedBook {
    fn answer(&self, question: &Question, ctx: &mut Ctx<'_>) -> Result<Conclusion> {
        let ask = Ask {
            role: "answerer",
            round: 1,
            document: None,
            prompt: "closed_book/answerer.jinja",
            values: json!({ "question": question.text }),
            format: Format::List,
        };
        Ok(match ctx.ask(question, ask)?.parsed {
            Parsed::Answers { answers, explanation } => {
                Conclusion { answers: vote::by_text(&answers, &[]), explanation, rounds: 1, ..Conclusion::default() }
            }
            _ => Conclusion { malformed: true, rounds: 1, ..Conclusion::default() },
        })
    }

    fn switches(&self) -> serde_json::Value {
        json!({})
    }
}

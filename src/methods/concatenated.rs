//! The baseline of one prompt with all documents (MADAM-RAG, section 5.1 and appendix E, "Concatenated Prompt").

use crate::error::Result;
use crate::eval::record::Parsed;
use crate::methods::ctx::{Ask, Ctx};
use crate::methods::reply::Format;
use crate::methods::{Method, Row, Switches, require_documents, vote};
use crate::question::{Conclusion, Question};
use serde_json::json;

/// The concatenated prompt's row.
pub const ROW: Row = Row {
    name: "concatenated",
    paper: "Retrieval-Augmented Generation with Conflicting Evidence, section 5.1 and appendix E (Concatenated Prompt)",
    about: "one reader answers from all documents in one prompt",
    prompts: &["concatenated/reader.jinja", "reply/answers.lark", "reply/answers.jsonc"],
    roles: &["reader"],
    needs_documents: true,
    build,
};

struct Concatenated;

fn build(switches: &Switches) -> Result<Box<dyn Method>> {
    switches.refuse_all(ROW.name)?;
    Ok(Box::new(Concatenated))
}

impl Method for Concatenated {
    fn answer(&self, question: &Question, ctx: &mut Ctx<'_>) -> Result<Conclusion> {
        require_documents(ROW.name, question)?;
        let documents: Vec<&str> = question.documents.iter().map(|document| document.text.trim()).collect();
        let ask = Ask {
            role: "reader",
            round: 1,
            document: None,
            prompt: "concatenated/reader.jinja",
            values: json!({ "question": question.text, "documents": documents }),
            format: Format::Answers,
        };
        Ok(match ctx.ask(question, ask)?.parsed {
            Parsed::Answers { answers, explanation } => Conclusion {
                answers: vote::by_text(&answers, &question.documents),
                explanation,
                rounds: 1,
                ..Conclusion::default()
            },
            _ => Conclusion { malformed: true, rounds: 1, ..Conclusion::default() },
        })
    }

    fn switches(&self) -> serde_json::Value {
        json!({})
    }
}

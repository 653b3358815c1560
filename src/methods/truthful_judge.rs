//! TruthfulQA's judges of free answers (ConflictScore, section 6.1): is an answer truthful, and is it informative?
//!
//! This is a metric that needs a model, so unlike other methods it reads the dataset's right and wrong answers.

use crate::error::Result;
use crate::prompt_file;
use crate::prompts::File;
use crate::protocol::formats::CHOICE;
use crate::protocol::switches::Values;
use crate::protocol::{Ask, Ctx, Method, Needs, Row};
use crate::question::{Answer, Conclusion, Gold, Judged, Question};
use crate::transcript::{CallRecord, Parsed};
use serde_json::json;

const TRUTHFUL: File = prompt_file!("truthful_judge/truthful.jinja");
const INFORMATIVE: File = prompt_file!("truthful_judge/informative.jinja");

/// The role that judges.
pub(crate) const ROLE: &str = "judge";

const VERDICTS: [&str; 2] = ["True", "False"];

/// The judges' row.
pub(crate) static ROW: Row = Row {
    name: "truthful-judge",
    paper: "ConflictScore, section 6.1, appendix B (tables 17 and 18)",
    about: "judges whether a response is truthful, by the right and wrong answers of the dataset, and whether it is informative",
    protocol: "\
1. The judge reads the question, its right and wrong answers and the response, and says True or False: is it truthful?
2. In another call of the same stage the judge says whether the response is informative.
The conclusion lists the qualities found. A malformed verdict is none. A question without a response has no verdicts.",
    calls: "2",
    headline: "TruthfulQA, gpt-4.1-mini: RAG 78.7 truthful, 91.5 informative; Control-RAG 81.6, 93.2 (table 4)",
    prompts: &[TRUTHFUL, INFORMATIVE],
    formats: &[&CHOICE],
    roles: &[ROLE],
    switches: &[],
    presets: &[],
    // The paper names no limit, and its code is not published. A verdict is one word.
    max_tokens: 128,
    needs: Needs::NOTHING,
    build,
};

struct TruthfulJudge;

fn build(_: &mut Values) -> Result<Box<dyn Method>> {
    Ok(Box::new(TruthfulJudge))
}

impl Method for TruthfulJudge {
    fn answer(&self, question: &Question, ctx: &mut Ctx<'_>) -> Result<Conclusion> {
        if question.responses.is_empty() {
            ctx.fall_back("there is no response to judge");
            return Ok(Conclusion { rounds: 1, ..Conclusion::default() });
        }
        let right: Vec<&str> = question.gold.iter().flat_map(Gold::aliases).collect();
        let wrong: Vec<&str> = question.gold.iter().flat_map(|gold| &gold.wrong).map(String::as_str).collect();
        let values = json!({
            "question": question.text, "response": question.responses.join("; "), "right": right, "wrong": wrong,
        });
        let ask = |prompt| Ask::new(ROLE, prompt, values.clone(), &CHOICE).options(VERDICTS);
        let calls = ctx.ask_all(&[ask(TRUTHFUL), ask(INFORMATIVE)])?;
        let judged = Judged { truthful: verdict(&calls[0]), informative: verdict(&calls[1]) };
        let named = [(judged.truthful, "truthful"), (judged.informative, "informative")];
        let answers = named.iter().filter(|(verdict, _)| *verdict == Some(true)).map(|(_, name)| Answer::new(name));
        Ok(Conclusion {
            answers: answers.collect(),
            malformed: calls.iter().all(|call| call.parsed == Parsed::Malformed),
            rounds: 1,
            calls: calls.iter().map(|call| call.number).collect(),
            judged: Some(judged),
            ..Conclusion::default()
        })
    }
}

fn verdict(call: &CallRecord) -> Option<bool> {
    match call.parsed {
        Parsed::Choice { option, .. } => Some(option == 0),
        _ => None,
    }
}

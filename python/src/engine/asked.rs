//! Questions and texts of a caller, with their documents.

use super::shared;
use crate::given::{self, Given};
use crate::method::Own;
use crate::teller::Teller;
use moot::assess::{Answered, Assessment, Neither};
use moot::eval::record::Writer;
use moot::question;
use moot::transcript::QuestionRecord;
use moot::workspace::{Control, CorpusOptions, MethodOptions, PlanOptions, Workspace};
use moot::{MootError, Result};
use serde::Deserialize;
use serde_json::json;
use std::path::{Path, PathBuf};

/// The id of a question that is asked by hand, which seeds its calls: the same as on the command line.
const ID: &str = "asked";

/// The fields of both requests.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Common {
    documents: Vec<Given>,
    whole: bool,
    method: MethodOptions,
    corpus: CorpusOptions,
    output: Option<PathBuf>,
}

/// A question.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Question {
    question: String,
    options: Vec<String>,
    with: Common,
}

/// A text whose claims are labelled.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Text {
    text: String,
    question: String,
    with: Common,
}

fn given(field: &str, text: &str) -> Result<()> {
    if text.trim().is_empty() {
        return Err(MootError::Usage(format!("{field}: expected a text, found none")));
    }
    Ok(())
}

/// Answers; the result is JSON.
pub(super) fn answer(
    workspace: &Workspace,
    request: Question,
    own: Option<Own>,
    control: &Control,
    teller: &Teller,
) -> Result<String> {
    given("question", &request.question)?;
    let question =
        question::Question { text: request.question, options: request.options, ..question::Question::default() };
    let (record, method) = recorded(workspace, question, request.with, own, control, teller)?;
    let answered = Answered::of(&method, &record)
        .ok_or_else(|| MootError::Question(format!("{method} concluded nothing: expected answers or none")))?;
    Ok(json!(answered).to_string())
}

/// Labels the claims of a text; the result is JSON.
pub(super) fn conflict(workspace: &Workspace, request: Text, control: &Control, teller: &Teller) -> Result<String> {
    given("text", &request.text)?;
    let question =
        question::Question { text: request.question, responses: vec![request.text], ..question::Question::default() };
    let with = Common { method: request.with.method.for_claims(), ..request.with };
    let (record, _) = recorded(workspace, question, with, None, control, teller)?;
    let assessment = Assessment::of(&record, Neither::default())
        .ok_or_else(|| MootError::Usage("text: expected a text with claims, found one without".into()))?;
    Ok(json!(assessment).to_string())
}

/// The record of a question, which is written where an output is named, and the method's name.
fn recorded(
    workspace: &Workspace,
    question: question::Question,
    with: Common,
    own: Option<Own>,
    control: &Control,
    teller: &Teller,
) -> Result<(QuestionRecord, String)> {
    let documents = given::documents(with.documents, with.whole, control)?;
    let searched = documents.is_empty();
    let question = question::Question { id: ID.into(), documents, ..question };
    let options = PlanOptions { method: with.method, corpus: with.corpus, ..PlanOptions::default() };
    let shared = shared(workspace, options, own, searched, control)?;
    let method = shared.plan().method().row().name.to_owned();
    let record = shared.answer(&question, teller)?;
    with.output.as_deref().map_or(Ok(()), |path| write(path, &shared, &record))?;
    Ok((record, method))
}

fn write(path: &Path, workspace: &Workspace, record: &QuestionRecord) -> Result<()> {
    Writer::write_new(path, &workspace.header(), |writer| writer.append(record))
}

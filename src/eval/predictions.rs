//! Answers of another system as a record, so that the same metrics score them.
//!
//! A file of predictions is JSON lines, a JSON array, CSV or TSV: an `id` of the dataset and an `answer` (a text) or `answers` (a
//! list; a list as JSON text in a table). A text file has one answer a line, in the order of the dataset. A record of moot's
//! gives its own conclusions.

use crate::answers::unknown::is_unknown;
use crate::answers::words::Level;
use crate::error::{MootError, Result};
use crate::eval::datasets::{self, Dataset, Item};
use crate::eval::record::reader::Record;
use crate::eval::record::{Header, VERSION, is_record};
use crate::jsonl::{self, Lines, Object};
use crate::llm::ModelIdentity;
use crate::protocol::ctx::Settings;
use crate::question::{Answer, Conclusion, Question};
use crate::transcript::QuestionRecord;
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap};
use std::path::Path;

/// The method's name in the header of such a record; no row has this name.
pub const METHOD: &str = "predictions";

/// The error of a question without a prediction.
const MISSING: &str = "no prediction";

/// Predictions matched with the questions of a dataset.
#[derive(Debug)]
pub struct Predictions {
    /// Every question of the dataset with its prediction; one without has an error, so that it scores wrong.
    pub record: Record,
    /// Ids of the questions without a prediction.
    pub missing: Vec<String>,
    /// Ids of predictions for no question of the dataset; they are left out.
    pub unknown: Vec<String>,
}

impl Predictions {
    /// Reads the predictions at `path` for the questions of `dataset`.
    ///
    /// # Errors
    /// [`MootError::Io`]; [`MootError::Input`] with line and field for an item without an id or an answer, an id that is there
    /// twice, a text with more or fewer lines than the dataset has questions, a record that was altered, or a file without any
    /// prediction for the dataset.
    pub fn read(path: &Path, dataset: &Dataset) -> Result<Self> {
        let is_text = path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("txt"));
        let (header, mut found) = match () {
            () if is_record(path)? => recorded(path)?,
            () if is_text => (header(), lines_of_text(path, dataset)?),
            () => (header(), answered(path)?),
        };
        let mut missing = Vec::new();
        let mut one = |(index, question): (usize, &Question)| match found.remove(&question.id) {
            Some(record) => QuestionRecord { place: Some(index), ..about(record, question) },
            None => {
                missing.push(question.id.clone());
                let (question, error) = (question.clone(), Some(MISSING.to_owned()));
                QuestionRecord { question, error, place: Some(index), ..QuestionRecord::default() }
            }
        };
        let questions: Vec<QuestionRecord> = dataset.questions.iter().enumerate().map(&mut one).collect();
        if missing.len() == questions.len() {
            let known = dataset.questions.first().map_or("", |question| question.id.as_str());
            let first = found.keys().next().map_or("none".to_owned(), |id| format!("{:?}", jsonl::shortened(id)));
            return Err(MootError::Input {
                path: path.into(),
                line: None,
                expected: format!("ids of {}, as {known:?}", dataset.identity.name),
                found: format!("others, as {first}"),
            });
        }
        let header = Header { dataset: Some(dataset.identity.clone()), ..header };
        let record = Record { path: path.into(), header, questions, torn: false };
        Ok(Self { record, missing, unknown: found.into_keys().collect() })
    }
}

/// Conclusions by question id, sorted.
type Found = BTreeMap<String, QuestionRecord>;

fn recorded(path: &Path) -> Result<(Header, Found)> {
    let (record, ledger) = Record::read_whole(path)?;
    ledger.check(path)?;
    Ok((record.header, record.questions.into_iter().map(|record| (record.question.id.clone(), record)).collect()))
}

/// `record` as one about `question`: what the dataset says is right counts, and the documents are those that were read.
fn about(record: QuestionRecord, question: &Question) -> QuestionRecord {
    let documents = match record.question.documents.is_empty() {
        true => question.documents.clone(),
        false => record.question.documents.clone(),
    };
    QuestionRecord { question: Question { documents, ..question.clone() }, ..record }
}

fn header() -> Header {
    Header {
        moot_record: VERSION,
        program: "another program".to_owned(),
        dataset: None,
        method: METHOD.to_owned(),
        label: None,
        preset: None,
        switches: json!({}),
        settings: Settings::default(),
        model: ModelIdentity { name: "another system".to_owned(), ..ModelIdentity::default() },
        roles: BTreeMap::new(),
        prompts: BTreeMap::new(),
        own_prompts: BTreeMap::new(),
        retriever: None,
        wanted: None,
        weights: None,
        classifier: None,
        embedder: None,
        replayed: None,
        forked: None,
        corrected: None,
        reused: Vec::new(),
    }
}

fn answered(path: &Path) -> Result<Found> {
    let mut found = Found::new();
    let mut lines: HashMap<String, usize> = HashMap::new();
    for item in datasets::items(path)? {
        let Item { number, object } = item?;
        let id = id(&object)?;
        if let Some(first) = lines.insert(id.clone(), number) {
            let again = format!("{:?} again, as in item {first}", jsonl::shortened(&id));
            return Err(object.complaint("each id once", again));
        }
        found.insert(id, concluded(texts(&object)?));
    }
    Ok(found)
}

/// One answer a line, in the order of the dataset; a line without text is "unknown".
fn lines_of_text(path: &Path, dataset: &Dataset) -> Result<Found> {
    let count = dataset.questions.len();
    // One more tells that there are too many.
    let lines = Lines::open(path)?.with_blank().take(count + 1).collect::<Result<Vec<_>>>()?;
    if lines.len() != count {
        let found = if lines.len() > count { "more".to_owned() } else { lines.len().to_string() };
        return Err(MootError::Input {
            path: path.into(),
            line: None,
            expected: format!("{count} lines, an answer to each question of {} in its order", dataset.identity.name),
            found,
        });
    }
    let answers = dataset.questions.iter().zip(lines);
    let one = |(question, (_, line)): (&Question, (usize, String))| {
        (question.id.clone(), concluded(vec![line.trim().to_owned()]))
    };
    Ok(answers.map(one).collect())
}

/// A question with these answers; "unknown" and the like do not count.
fn concluded(texts: Vec<String>) -> QuestionRecord {
    let texts = texts.into_iter().filter(|text| !is_unknown(text));
    let answers = Level::Voted.without_repeats(texts).iter().map(|text| Answer::new(text)).collect();
    let conclusion = Some(Conclusion { answers, rounds: 1, ..Conclusion::default() });
    QuestionRecord { conclusion, ..QuestionRecord::default() }
}

fn id(object: &Object) -> Result<String> {
    match object.value("id") {
        Some(Value::Number(number)) => Ok(number.to_string()),
        _ => object.full_string("id"),
    }
}

/// The answers: of `answer` at most one, of `answers` any number; null, an empty text and an empty list are "unknown".
fn texts(object: &Object) -> Result<Vec<String>> {
    let named = |field: &str| object.fields().any(|name| name == field);
    match (named("answer"), named("answers")) {
        (true, true) => Err(object.complaint("`answer` or `answers`", "both".into())),
        (true, false) => Ok(object.optional_string("answer")?.into_iter().collect()),
        (false, true) => match object.value("answers") {
            None => Ok(Vec::new()),
            Some(Value::String(cell)) => jsonl::parse(cell.as_bytes())
                .map_err(|e| object.complaint("a list of texts as JSON in `answers`", jsonl::json_fault(&e))),
            Some(_) => object.objects_or_texts("answers")?.iter().map(|answer| answer.string("text")).collect(),
        },
        (false, false) => Err(object.complaint("`answer` or `answers`", format!("the fields {}", object.names()))),
    }
}

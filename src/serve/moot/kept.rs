//! The kind of a record, its line in the list of records, and the record of documents that were compared.

use crate::contradictions::Report;
use crate::error::{MootError, Result};
use crate::escape;
use crate::eval::record::reader::Record;
use crate::eval::record::{Header, Reader};
use crate::files::{self, outputs};
use crate::jsonl::{self, MAX_LINE};
use crate::methods::conflict_score;
use crate::question::Document;
use crate::transcript::QuestionRecord;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::io::Read;
use std::path::{Component, Path};

/// The ending of a record: JSON lines.
pub(super) const RECORD: &str = "jsonl";

/// The ending of a comparison: one JSON object.
pub(super) const COMPARISON: &str = "json";

/// Characters of a checked text that a list shows.
const SHOWN: usize = 200;

/// The kind of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Kind {
    /// A question.
    Question,
    /// The questions of a dataset.
    Run,
    /// A text whose claims were labelled.
    Check,
    /// Documents that were compared with each other.
    Contradictions,
}

impl Kind {
    /// Of the record that begins with `header`.
    pub(super) fn of(header: &Header) -> Self {
        match () {
            () if header.dataset.is_some() => Self::Run,
            () if header.method == conflict_score::ROW.name => Self::Check,
            () => Self::Question,
        }
    }
}

/// A record in the list.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Listed {
    /// Its name in paths.
    pub id: String,
    pub kind: Kind,
    /// For a check, the question that its text answers; empty for a run and for contradictions.
    pub question: String,
    pub method: String,
    pub answers: Vec<String>,
    /// Of a run, how many questions it has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub questions: Option<usize>,
    /// Of a check, the beginning of its text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Of contradictions, how many documents were compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub documents: Option<usize>,
    /// Of contradictions, how many were found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contradictions: Option<usize>,
}

impl Listed {
    fn new(id: &str, kind: Kind, method: &str) -> Self {
        let (id, question, method, answers) = (id.to_owned(), String::new(), method.to_owned(), Vec::new());
        let (questions, text, documents, contradictions) = (None, None, None, None);
        Self { id, kind, question, method, answers, questions, text, documents, contradictions }
    }

    /// Of a question with `answers`, or of a check, recorded as `id`.
    pub(super) fn of_question(id: &str, header: &Header, record: &QuestionRecord, answers: Vec<String>) -> Self {
        let kind = Kind::of(header);
        // ConflictScore concludes a label of the whole text, which is not an answer.
        let answers = if kind == Kind::Question { answers } else { Vec::new() };
        let text = record.question.responses.first().filter(|_| kind == Kind::Check);
        let text = text.map(|text| escape::beginning(text, SHOWN));
        Self { question: record.question.text.clone(), answers, text, ..Self::new(id, kind, &header.method) }
    }

    /// Of a run with `questions`.
    pub(super) fn of_run(id: &str, method: &str, questions: usize) -> Self {
        Self { questions: Some(questions), ..Self::new(id, Kind::Run, method) }
    }

    /// Of documents that were compared.
    pub(super) fn of_comparison(id: &str, comparison: &Comparison) -> Self {
        let report = &comparison.report;
        let (documents, contradictions) = (Some(report.counts.documents), Some(report.findings().count()));
        Self { documents, contradictions, ..Self::new(id, Kind::Contradictions, "contradictions") }
    }

    /// The list's line of a file; `None` if it is not a record, or has not one question.
    pub(super) fn of_file(path: &Path) -> Option<Self> {
        let id = path.file_stem()?.to_str().filter(|id| is_id(id) && is_own(path))?;
        if is_comparison(path) {
            return Comparison::read(path).ok().map(|comparison| Self::of_comparison(id, &comparison));
        }
        let record = Record::read(path).ok()?;
        if record.header.dataset.is_some() {
            return Some(Self::of_run(id, &record.header.method, record.questions.len()));
        }
        let [question] = record.questions.as_slice() else { return None };
        let answers = question.conclusion.iter().flat_map(|conclusion| &conclusion.answers);
        let answers = answers.map(|answer| answer.text.clone()).collect();
        Some(Self::of_question(id, &record.header, question, answers))
    }
}

/// Whether `id` can name a record: one part of a path, not hidden, without control characters.
pub(super) fn is_id(id: &str) -> bool {
    let mut parts = Path::new(id).components();
    let is_part = matches!((parts.next(), parts.next()), (Some(Component::Normal(part)), None) if part == id);
    is_part && !id.starts_with('.') && !id.contains(char::is_control)
}

/// Whether `path` is a regular file. A link is none: it may lead out of the folder of records.
fn is_own(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|found| found.is_file())
}

/// Whether `path` is a regular file that begins as a record does; a comparison is read to its end.
pub(super) fn is_record(path: &Path) -> bool {
    let begins = |path| if is_comparison(path) { Comparison::read(path).is_ok() } else { Reader::open(path).is_ok() };
    is_own(path) && begins(path)
}

/// Whether the record at `path` has neither a question nor a call.
pub(super) fn is_empty(path: &Path) -> bool {
    match Reader::open(path) {
        Ok(mut reader) => reader.next().is_none() && reader.journal().is_empty(),
        Err(_) => path.metadata().is_ok_and(|found| found.len() == 0),
    }
}

/// Whether `path` is of a comparison, by its ending.
pub(super) fn is_comparison(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == COMPARISON)
}

/// The record of documents that were compared with each other: the findings, and the models that made them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Comparison {
    /// The version of this program.
    pub version: String,
    /// The identity of each role's model.
    pub models: Vec<(String, Value)>,
    /// The embedder; `None` where pairs were found by words alone.
    pub embedder: Option<String>,
    /// The least probability of a finding.
    pub least: f64,
    pub report: Report,
    /// Lines on what was read.
    pub read: Vec<String>,
    /// The documents of the request; empty where the server's corpus was compared.
    pub documents: Vec<Document>,
}

impl Comparison {
    /// Writes a new file, which appears whole.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub(super) fn write(&self, path: &Path) -> Result<()> {
        let json = serde_json::to_vec(self);
        let json = json.map_err(|e| MootError::Usage(format!("the comparison cannot be JSON: {e} (bug)")))?;
        outputs::write_new(path, &json)
    }

    /// Reads a file.
    ///
    /// # Errors
    /// A file that cannot be read, or that holds something else.
    pub(super) fn read(path: &Path) -> Result<Self> {
        let mut bytes = Vec::new();
        // A longer file is cut here, and refused as JSON that ends too early.
        files::open(path)?.take(MAX_LINE).read_to_end(&mut bytes).map_err(|e| MootError::io(path, "read", e))?;
        jsonl::parse(&bytes).map_err(|error| MootError::Input {
            path: path.to_owned(),
            line: None,
            expected: "the record of a comparison".into(),
            found: jsonl::json_fault(&error),
        })
    }
}

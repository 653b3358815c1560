//! The input of `moot conflict`: a text and documents, or the answers of a record.

use super::args::Args;
use crate::cli::terminal::columns::printable;
use crate::error::{MootError, Result};
use crate::eval::queries;
use crate::eval::record::reader::Record;
use crate::question::{Document, Question};
use crate::retrieval::given;
use crate::transcript::QuestionRecord;
use crate::workspace::{by_hand, of_answer};
use std::io::Read;
use std::path::Path;

/// Questions whose responses or claims are judged.
pub(super) enum Input {
    /// One, whose assessment is printed.
    One(Question),
    /// All of a record, which are recorded.
    All(Vec<Question>),
}

/// Reads what was typed.
///
/// # Errors
/// A file, standard input or a record that cannot be read; a text without words; nothing to compare with.
pub(super) fn read(args: &Args) -> Result<Input> {
    if let [path, wanted @ ..] = args.record.as_slice() {
        return of_record(args, Path::new(path), wanted.first());
    }
    let response = args.response.as_deref().map(response).transpose()?;
    let documents = documents(args)?;
    if args.against.is_empty() {
        match (documents.len(), &response) {
            (0, _) => {
                let expected = "expected --docs PATH or --against CORPUS";
                return Err(MootError::Usage(format!("nothing to compare with: {expected}")));
            }
            (1, None) => {
                return Err(MootError::Usage(
                    "one document has no other to be compared with: expected a text, moot conflict RESPONSE --docs PATH, or \
                     more documents"
                        .into(),
                ));
            }
            _ => {}
        }
    } else if response.is_none() {
        return Err(MootError::Usage(
            "a corpus has no claims of its own: expected moot conflict RESPONSE --against PATH".into(),
        ));
    }
    Ok(Input::One(Question { documents, ..by_hand(response.into_iter().collect()) }))
}

fn documents(args: &Args) -> Result<Vec<Document>> {
    if args.docs.is_empty() {
        return Ok(Vec::new());
    }
    let given = given::load(&args.docs)?;
    given.skipped.iter().for_each(|skipped| anstream::eprintln!("skipped {}", printable(skipped)));
    // Copies would each count as a supporter or a contradictor.
    let (documents, copies) = given::folded(given.documents);
    given.notes.iter().chain(&copies).for_each(|note| anstream::eprintln!("note {}", printable(note)));
    Ok(documents)
}

/// The text of a file or of standard input.
fn response(typed: &str) -> Result<String> {
    let path = Path::new(typed);
    let text = if typed == "-" {
        let mut bytes = Vec::new();
        let name = Path::new("standard input");
        std::io::stdin().lock().read_to_end(&mut bytes).map_err(|e| MootError::io(name, "read", e))?;
        String::from_utf8(bytes)
            .map_err(|e| wrong(name, "text in UTF-8", format!("other bytes after {}", e.utf8_error().valid_up_to())))?
    } else if !path.exists() && typed.contains(' ') {
        return Err(MootError::Usage(format!(
            "no file is called {typed:?}: expected a file, or - and the text on standard input"
        )));
    } else {
        // The message says whether the text or a document is empty.
        let is_empty = std::fs::read_to_string(path).is_ok_and(|text| text.trim().is_empty());
        if is_empty { String::new() } else { given::text(path)? }
    };
    if text.trim().is_empty() {
        return Err(wrong(path, "a text with claims", "an empty text".into()));
    }
    Ok(text)
}

fn wrong(path: &Path, expected: &str, found: String) -> MootError {
    MootError::Input { path: path.into(), line: None, expected: expected.into(), found }
}

/// The answers of a record, each with the question's documents, or with others that were typed.
fn of_record(args: &Args, path: &Path, wanted: Option<&String>) -> Result<Input> {
    let record = Record::read(path)?;
    let others = documents(args)?;
    let others = (!others.is_empty() || !args.against.is_empty()).then_some(others);
    let one = match (wanted, record.questions.as_slice()) {
        (Some(wanted), questions) => Some(queries::find(questions, wanted)?),
        (None, [only]) => Some(only),
        (None, []) => return Err(wrong(path, "recorded questions", "none".into())),
        (None, _) => None,
    };
    let question = |record: &QuestionRecord| of_answer(record, others.as_deref());
    match one {
        Some(one) => question(one).map(Input::One).ok_or_else(|| {
            let id = &one.question.id;
            wrong(path, "an answer and documents to compare it with", format!("question {id:?} without one of them"))
        }),
        None if args.output.is_none() => Err(MootError::Usage(format!(
            "{}: {} questions: expected which one (--record RECORD QUESTION), or -o FILE for all of them",
            path.display(),
            record.questions.len()
        ))),
        None => {
            let questions: Vec<Question> = record.questions.iter().filter_map(question).collect();
            let without = record.questions.len() - questions.len();
            if without > 0 {
                anstream::eprintln!("{without} questions without an answer or documents are left out");
            }
            Ok(Input::All(questions))
        }
    }
}

//! A benchmark of sources as a folder: estimate.jsonl, test.jsonl, corpus.jsonl and oracle.json.

use super::Built;
use crate::error::{MootError, Result};
use crate::eval::sources::labels::CorpusLine;
use crate::files::outputs::write_new;
use crate::question::{Document, Question};
use serde_json::{Value, json};
use std::path::Path;

/// Writes the files of a benchmark into a folder that has none of them.
///
/// # Errors
/// [`MootError::Input`] if the folder has one of them; a file that cannot be written.
pub(crate) fn save(built: &Built, folder: &Path) -> Result<()> {
    let files = files(built)?;
    if let Some(there) = files.iter().map(|(name, _)| folder.join(name)).find(|path| path.exists()) {
        return Err(MootError::Input {
            path: there,
            line: None,
            expected: "a folder without a benchmark".into(),
            found: "one that was built before".into(),
        });
    }
    write_missing(&files, folder)
}

/// Writes the files of a benchmark that a folder does not have. A stopped run resumes with the benchmark of the same
/// options.
///
/// # Errors
/// [`MootError::Input`] if the folder has the benchmark of other options.
pub(crate) fn keep(built: &Built, folder: &Path) -> Result<()> {
    write_missing(&files(built)?, folder)
}

fn write_missing(files: &[(&str, String)], folder: &Path) -> Result<()> {
    std::fs::create_dir_all(folder).map_err(|e| MootError::io(folder, "create", e))?;
    for (name, text) in files {
        let path = folder.join(name);
        match std::fs::read(&path) {
            Ok(there) if there == text.as_bytes() => {}
            Ok(_) => {
                return Err(MootError::Input {
                    path,
                    line: None,
                    expected: "the benchmark of these options (other options need another --output)".into(),
                    found: "another benchmark".into(),
                });
            }
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => write_new(&path, text.as_bytes())?,
            Err(e) => return Err(MootError::io(&path, "read", e)),
        }
    }
    Ok(())
}

/// The files of a benchmark, by name.
fn files(built: &Built) -> Result<[(&'static str, String); 4]> {
    let lines =
        |questions: &[Question]| questions.iter().map(|question| format!("{}\n", object(question))).collect::<String>();
    let all = built.estimate.iter().chain(&built.test);
    // Noise is the factual document of another question: in the corpus, its source would have it for that question too, beyond
    // the planted coverage and reliability.
    let is_noise = |document: &&Document| document.label.as_ref().is_some_and(|label| label.kind == "noise");
    let all = all.flat_map(|question| {
        question.documents.iter().filter(|document| !is_noise(document)).map(move |document| (question, document))
    });
    let line = |(number, (question, document)): (usize, (&Question, &Document))| CorpusLine {
        id: format!("d{number}"),
        text: document.text.clone(),
        source: document.source.clone().unwrap_or_default(),
        question: question.id.clone(),
        label: document.label.clone().unwrap_or_default(),
    };
    let corpus: String = all.enumerate().map(line).map(|line| format!("{}\n", json!(line))).collect();
    Ok([
        ("estimate.jsonl", lines(&built.estimate)),
        ("test.jsonl", lines(&built.test)),
        ("corpus.jsonl", corpus),
        ("oracle.json", built.oracle.text()?),
    ])
}

/// A question in moot's own form (docs/data.md).
fn object(question: &Question) -> Value {
    let document = |document: &Document| {
        let label = document.label.as_ref().map(|label| json!({ "kind": label.kind, "answer": label.answer }));
        json!({ "text": document.text, "title": document.name, "source": document.source, "label": label })
    };
    let gold = question.gold.clone().unwrap_or_default();
    json!({
        "id": question.id,
        "question": question.text,
        "documents": question.documents.iter().map(document).collect::<Vec<_>>(),
        "answers": gold.answers,
        "wrong_answers": gold.wrong,
    })
}

//! The input of `moot conflict`: a text from a file or from standard input, documents, or the answers of a record.

use super::args::Args;
use crate::error::{MootError, Result};
use crate::retrieval::given;
use crate::workspace::ConflictOptions;
use std::io::Read;
use std::path::{Path, PathBuf};

/// What was typed, with the text read.
///
/// # Errors
/// A file or standard input that cannot be read; a text without words.
pub(super) fn options(args: &Args) -> Result<ConflictOptions> {
    Ok(ConflictOptions {
        response: args.response.as_deref().map(response).transpose()?,
        documents: args.docs.clone(),
        record: args.record.first().map(PathBuf::from),
        question: args.record.get(1).cloned(),
        all: args.output.is_some(),
    })
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
        // A text was typed in place of its file.
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

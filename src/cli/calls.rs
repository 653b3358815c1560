//! `moot calls`: a run's calls, for any other server to do the same work.

use crate::cli::output;
use crate::error::{MootError, Result};
use crate::eval::record::{CallRecord, Reader, writer};
use crate::llm::Message;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// Print the calls of a record, one JSON object a line
///
/// Calls of one question with the same stage depend only on earlier stages, so they may be sent at once.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A record, as `moot run -o` writes it
    #[arg(value_name = "RECORD")]
    pub record: PathBuf,
}

/// One line of the export.
#[derive(Serialize)]
struct Line<'a> {
    question: &'a str,
    stage: usize,
    role: &'a str,
    round: usize,
    messages: &'a [Message],
    max_tokens: usize,
    completion_tokens: usize,
}

/// Prints the calls of `args.record`, question by question in the order recorded.
///
/// # Errors
/// A record that cannot be read, or is corrupt.
pub fn run(args: &Args) -> Result<()> {
    for record in Reader::open(&args.record)? {
        let record = record?;
        let mut bytes = Vec::new();
        for call in &record.calls {
            bytes.extend(exported(&record.question.id, call)?);
        }
        if output::write(&bytes)?.is_break() {
            return Ok(());
        }
    }
    Ok(())
}

fn exported(question: &str, call: &CallRecord) -> Result<Vec<u8>> {
    let line = Line {
        question,
        stage: call.stage,
        role: &call.role,
        round: call.round,
        messages: &call.messages,
        max_tokens: call.max_tokens,
        completion_tokens: call.usage.generated,
    };
    writer::line(&line).map_err(|e| MootError::io(Path::new("standard output"), "write", e))
}

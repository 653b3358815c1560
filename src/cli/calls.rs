//! `moot calls`: prints a run's calls, to send the same work to another server.

use crate::cli::terminal::output;
use crate::error::{MootError, Result};
use crate::eval::record::{Reader, writer};
use crate::generation::{Logprobs, Message, Sampling, Segment};
use crate::transcript::CallRecord;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// Print the calls of a record that were made, one JSON object per line
///
/// Calls of one question with the same stage depend only on earlier stages and can be sent at once. Calls whose replies were taken from equal ones are left out.
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
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    raw_prompt: &'a [Segment],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    prefill: &'a [Segment],
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    score: bool,
    max_tokens: usize,
    seed: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    sampling: Option<Sampling>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    stop: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    logprobs: Option<&'a Logprobs>,
    completion_tokens: usize,
}

/// Prints the calls of `args.record` that were made, question by question in the order recorded.
///
/// # Errors
/// A record that cannot be read, or is corrupt.
pub fn run(args: &Args) -> Result<()> {
    for record in Reader::open(&args.record)? {
        let record = record?;
        let mut bytes = Vec::new();
        for call in record.calls.iter().filter(|call| call.taken_from.is_none()) {
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
        raw_prompt: &call.raw_prompt,
        prefill: &call.prefill,
        score: call.score,
        max_tokens: call.max_tokens,
        seed: call.seed,
        sampling: call.sampling,
        stop: &call.stop,
        logprobs: call.wanted_logprobs.as_ref(),
        completion_tokens: call.usage.generated,
    };
    writer::line(&line).map_err(|e| MootError::io(Path::new("standard output"), "write", e))
}

//! `moot record show`: prints a recorded debate.

use crate::cli::claims;
use crate::cli::debate;
use crate::cli::debate::{STRONG, View};
use crate::cli::records;
use crate::cli::terminal::columns::{printable, wrap};
use crate::cli::terminal::output;
use crate::error::{MootError, Result};
use crate::eval::queries::{Judged, find, gold_in_words, ordered, outcome};
use crate::transcript::QuestionRecord;
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  moot record show madam.jsonl           the questions and their answers
  moot record show madam.jsonl 3         the debate about the third
  moot record show madam.jsonl bridge    the one whose text holds \"bridge\"";

/// Print a recorded debate, or list the questions of a record
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// A record, as `moot run -o` writes it
    #[arg(value_name = "RECORD")]
    pub record: PathBuf,
    /// A question: its number in the list, its id, or part of its text
    #[arg(value_name = "QUESTION")]
    pub question: Option<String>,
    /// Show everything: whole reasons, and every document of many
    #[arg(long)]
    pub full: bool,
}

/// Prints one debate or the list of questions.
///
/// # Errors
/// A record that cannot be read or is corrupt; a question that is not in it, or an ambiguous one.
pub fn run(args: &Args) -> Result<()> {
    let record = records::read(&args.record)?;
    if let Some(label) = &record.header.label {
        output::print(&format!("{}\n", printable(label)))?;
    }
    match (&args.question, record.questions.as_slice()) {
        (Some(wanted), questions) => show(find(questions, wanted)?, args.full),
        (None, [only]) => show(only, args.full),
        (None, questions) => output::print_lines(&list(questions)),
    }
}

/// The questions, a line each with the outcome.
#[must_use]
pub fn list(questions: &[QuestionRecord]) -> String {
    let row = |(i, q): (usize, &QuestionRecord)| {
        let judged = match (Judged::of(q), &q.question.gold) {
            (Some(judged), _) if judged.is_right() => format!(" ({judged})"),
            (Some(judged), Some(gold)) => format!(" ({judged}; gold: {})", gold_in_words(gold)),
            _ => String::new(),
        };
        // One line per question, even if its text contains line ends.
        let (text, line) = (printable(&q.question.text), printable(&(outcome(q, "; ") + &judged)));
        format!("{}  {text} -> {line}\n", i + 1)
    };
    if questions.is_empty() {
        return "no question recorded yet\n".into();
    }
    ordered(questions).into_iter().enumerate().map(row).collect()
}

/// The gold answers below a debate, and whether its conclusion is right.
fn gold(record: &QuestionRecord, columns: usize) -> String {
    let Some(gold) = &record.question.gold else { return String::new() };
    let judged = Judged::of(record).map(|judged| format!("  {judged}")).unwrap_or_default();
    let lines = wrap(&printable(&gold_in_words(gold)), columns.saturating_sub(2));
    let lines: String = lines.iter().map(|line| format!("  {line}\n")).collect();
    format!("\n{STRONG}Gold{STRONG:#}{judged}\n{lines}")
}

fn show(question: &QuestionRecord, full: bool) -> Result<()> {
    let claims = claims::shown(question);
    if let Some((page, true)) = &claims {
        return output::print(page);
    }
    let columns = output::columns();
    let printed = debate::show_with(Vec::new(), question, View { columns, full, quotes: true, turns: true });
    let text = printed.map_err(|e| MootError::io(Path::new("standard output"), "write", e))?;
    output::print(&(String::from_utf8_lossy(&text).into_owned() + &gold(question, columns)))?;
    claims.map_or(Ok(()), |(page, _)| output::print(&format!("\n{page}")))
}

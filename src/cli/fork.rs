//! `moot record fork`: a recorded debate is held again from a round on, with a change.

use crate::cli::args::again;
use crate::cli::args::values;
use crate::cli::debate::beside;
use crate::cli::terminal::columns::printable;
use crate::cli::terminal::interrupt;
use crate::cli::terminal::output;
use crate::error::{MootError, Result};
use crate::escape;
use crate::eval::compare::{self, Change as Compared};
use crate::eval::fork::{Course, Fork};
use crate::files::outputs::refuse_existing;
use crate::transcript::QuestionRecord;
use crate::workspace::{ForkChange, Recorded, Silent};
use serde_json::json;
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  moot record fork madam.jsonl bridge --drop 3                       the whole debate without document 3
  moot record fork madam.jsonl bridge --round 2 --edit diary.md=new.txt
  moot record fork madam.jsonl 4 --round 2 --tell \"The diary was written decades later.\" -o told.jsonl";

/// Hold a recorded debate again from a round on: without a document, with another text, or with a text added to every
/// prompt
///
/// Earlier rounds keep their recorded replies. From the round on, calls that equal a recorded one are answered from the
/// record, all others by its model. Prints both courses side by side.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
#[command(group = clap::ArgGroup::new("change").required(true).args(["drop", "edit", "tell"]))]
pub(crate) struct Args {
    /// A record, as `moot run -o` writes it
    #[arg(value_name = "RECORD")]
    pub record: PathBuf,
    /// The question: its number in the list of `moot record show`, its id, or part of its text
    #[arg(value_name = "QUESTION")]
    pub question: String,
    /// The first round that is held again
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = values::count, allow_negative_numbers = true)]
    pub round: usize,
    /// Leave a document out: its number, or its name
    #[arg(long, value_name = "DOC")]
    pub drop: Option<String>,
    /// Give a document the text of a file
    #[arg(long, value_name = "DOC=FILE")]
    pub edit: Option<String>,
    /// Add this text at the end of every prompt
    #[arg(long, value_name = "TEXT")]
    pub tell: Option<String>,
    /// Write the new course as a record that names its origin
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
    /// Arguments for opening the recorded run again.
    #[command(flatten)]
    pub again: again::AgainArgs,
}

/// Holds the debate again and prints both courses.
///
/// # Errors
/// A record, a question, a round or a document that cannot be used; a model other than the record's; what would end a run.
pub(crate) fn run(args: &Args) -> Result<()> {
    args.output.as_deref().map_or(Ok(()), refuse_existing)?;
    let recorded = Recorded::read(&args.record)?;
    let (old, fork) = recorded.fork(&args.question, args.round, &change(args)?)?;
    let control = interrupt::listen()?;
    let workspace = args.again.open(&recorded, &control)?;
    let held = workspace.fork(&recorded.record, &recorded.chain, old, &fork, &Silent)?;
    args.output.as_deref().map_or(Ok(()), |path| held.write(path))?;
    let course = held.course;
    if args.json {
        let object = json!({
            "question": old.question.id, "round": fork.round, "change": fork.describe(old),
            "recorded": { "outcome": compare::outcome(old), "conclusion": old.conclusion },
            "forked": { "outcome": compare::outcome(&course.record), "conclusion": course.record.conclusion,
                        "error": course.record.error },
            "differs": compare::answers_differ(old, &course.record),
            "cost": course.cost,
        });
        output::print(&format!("{}\n", escape::json(&object.to_string())))?;
    } else {
        output::print(&text(&fork, old, &course, args.output.as_deref())?)?;
    }
    course.record.error.map_or(Ok(()), |error| Err(MootError::Question(error)))
}

fn text(fork: &Fork, old: &QuestionRecord, course: &Course, saved: Option<&Path>) -> Result<String> {
    let names = ("as recorded", &*format!("from round {} {}", fork.round, fork.describe(old)));
    let both = Compared { first: old, other: &course.record, values: None };
    let mut text = beside::print(names, &both, output::columns())?;
    let (then, now) = (compare::outcome(old), compare::outcome(&course.record));
    let verdict = if compare::answers_differ(old, &course.record) {
        format!("{then} -> {now}")
    } else {
        format!("the same answer: {now}")
    };
    text.push_str(&format!("\nAnswer  {}\nCalls   {}\n", printable(&verdict), course.cost));
    if let Some(path) = saved {
        text.push_str(&format!("Saved   {}\n", printable(&path.display().to_string())));
    }
    Ok(text)
}

fn change(args: &Args) -> Result<ForkChange> {
    if let Some(document) = &args.drop {
        return Ok(ForkChange::Drop(document.clone()));
    }
    let Some(typed) = &args.edit else {
        return Ok(ForkChange::Tell(args.tell.clone().unwrap_or_default()));
    };
    // A document's name may hold a `=`; a file's path behind the last one is more likely without.
    let (document, path) = typed
        .rsplit_once('=')
        .ok_or_else(|| MootError::Usage(format!("--edit {typed}: expected DOC=FILE, found no `=`")))?;
    Ok(ForkChange::Edit(document.to_owned(), path.into()))
}

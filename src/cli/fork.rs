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
use crate::eval::fork::{Change, Course, Fork};
use crate::eval::queries;
use crate::files::outputs::refuse_existing;
use crate::retrieval::given;
use crate::transcript::QuestionRecord;
use crate::workspace::{Recorded, Silent};
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
pub struct Args {
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
pub fn run(args: &Args) -> Result<()> {
    args.output.as_deref().map_or(Ok(()), refuse_existing)?;
    let (record, chain) = Recorded::read(&args.record)?;
    let id = queries::find(&record.questions, &args.question)?.question.id.clone();
    let change = change(args, queries::find(&record.questions, &args.question)?)?;
    let fork = Fork { round: args.round, change };
    fork.check(queries::find(&record.questions, &args.question)?)?;
    let control = interrupt::listen()?;
    let opened = args.again.open(record, chain, &control)?;
    let old = queries::find(&opened.record.questions, &id)?;
    let held = opened.workspace.fork(&opened.record, &opened.chain, old, &fork, &Silent)?;
    args.output.as_deref().map_or(Ok(()), |path| held.write(path))?;
    let course = held.course;
    if args.json {
        let object = json!({
            "question": id, "round": fork.round, "change": fork.describe(old),
            "recorded": { "outcome": compare::outcome(old), "conclusion": old.conclusion },
            "forked": { "outcome": compare::outcome(&course.record), "conclusion": course.record.conclusion,
                        "error": course.record.error },
            "differs": compare::answers_differ(old, &course.record),
            "cost": course.cost,
        });
        return output::print(&format!("{}\n", escape::json(&object.to_string())));
    }
    output::print(&text(&fork, old, &course, args.output.as_deref())?)
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

fn change(args: &Args, old: &QuestionRecord) -> Result<Change> {
    if let Some(typed) = &args.drop {
        return Ok(Change::Drop(document(old, typed)?));
    }
    if let Some(typed) = &args.edit {
        // A document's name may hold a `=`; a file's path behind the last one is more likely without.
        let (name, path) = typed
            .rsplit_once('=')
            .ok_or_else(|| MootError::Usage(format!("--edit {typed}: expected DOC=FILE, found no `=`")))?;
        return Ok(Change::Edit(document(old, name)?, given::text(Path::new(path))?));
    }
    let text = args.tell.clone().unwrap_or_default();
    if text.trim().is_empty() {
        return Err(MootError::Usage("--tell: expected a text, found an empty one".into()));
    }
    Ok(Change::Tell(text.trim().to_owned()))
}

/// The number, from 0, of the document that is typed as a number from 1 or as a name.
fn document(old: &QuestionRecord, typed: &str) -> Result<usize> {
    let documents: Vec<&str> = old.question.documents.iter().chain(&old.retrieved).map(|d| d.name.as_str()).collect();
    let by_name: Vec<usize> = (0..documents.len()).filter(|&number| documents[number] == typed).collect();
    let by_number = typed.parse::<usize>().ok().filter(|number| (1..=documents.len()).contains(number));
    match (by_name.as_slice(), by_number) {
        (&[only], _) => Ok(only),
        ([], Some(number)) => Ok(number - 1),
        ([], None) => {
            let list: Vec<String> =
                documents.iter().zip(1..).map(|(name, number)| format!("{number} {name}")).collect();
            let known = if list.is_empty() { "none".to_owned() } else { list.join(", ") };
            Err(MootError::UnknownName { kind: "document", name: typed.to_owned(), known })
        }
        (several, _) => {
            Err(MootError::Usage(format!("{} documents are called {typed:?}: expected a number", several.len())))
        }
    }
}

//! `moot show`: prints a recorded debate.

use crate::cli::claims;
use crate::cli::debate;
use crate::cli::debate::{STRONG, View};
use crate::cli::terminal::columns::{printable, wrap};
use crate::cli::terminal::output;
use crate::error::{MootError, Result};
use crate::eval::judgement::{self, Outcome};
use crate::eval::record::reader::Record;
use crate::question::Gold;
use crate::transcript::QuestionRecord;
use crate::unicode;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  moot show madam.jsonl           the questions and their answers
  moot show madam.jsonl 3         the debate about the third
  moot show madam.jsonl bridge    the one whose text holds \"bridge\"";

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
    let record = read(&args.record)?;
    if let Some(label) = &record.header.label {
        output::print(&format!("{}\n", printable(label)))?;
    }
    match (&args.question, record.questions.as_slice()) {
        (Some(wanted), questions) => show(find(questions, wanted)?, args.full),
        (None, [only]) => show(only, args.full),
        (None, questions) => output::print_lines(&list(questions)),
    }
}

/// Reads a record, and says on standard error what is left out of it.
///
/// # Errors
/// As [`Record::read`].
pub fn read(path: &Path) -> Result<Record> {
    let (record, ledger) = Record::read_whole(path)?;
    let note = |text: &str| anstream::eprintln!("note: {}: {text}", printable(&path.display().to_string()));
    if record.torn {
        note("the last line was cut short and is left out");
    }
    if let Some(line) = ledger.altered.first() {
        let count = ledger.altered.len();
        note(&format!(
            "{count} lines are not as they were written, first line {line} (`moot verify --hashes` lists them)"
        ));
    }
    Ok(record)
}

/// The questions in the dataset's order where the record has it, else in the order in which they were recorded.
#[must_use]
pub fn ordered(questions: &[QuestionRecord]) -> Vec<&QuestionRecord> {
    let mut ordered: Vec<&QuestionRecord> = questions.iter().collect();
    let places: BTreeSet<usize> = questions.iter().filter_map(|question| question.place).collect();
    // Parts of one run that were merged may have the same places.
    if places.len() == questions.len() {
        ordered.sort_by_key(|question| question.place);
    }
    ordered
}

/// The question named by `wanted`: an id, else a number from 1 in the order of [`ordered`], else a part of its text.
///
/// # Errors
/// [`MootError::Usage`] if no question or several match.
pub fn find<'a>(questions: &'a [QuestionRecord], wanted: &str) -> Result<&'a QuestionRecord> {
    if let Some(found) = questions.iter().find(|q| q.question.id == wanted) {
        return Ok(found);
    }
    let numbered = |n: usize| ordered(questions).get(n.checked_sub(1)?).copied();
    if let Some(found) = wanted.parse::<usize>().ok().and_then(numbered) {
        return Ok(found);
    }
    let part = unicode::folded(wanted);
    let holding: Vec<_> = questions.iter().filter(|q| unicode::folded(&q.question.text).contains(&*part)).collect();
    match holding.as_slice() {
        [only] => Ok(only),
        [] => Err(MootError::Usage(format!(
            "no question of the {} recorded has the id, number or text {wanted:?}",
            questions.len()
        ))),
        several => {
            let held = |q: &QuestionRecord| several.iter().any(|other| std::ptr::eq(*other, q));
            let places = ordered(questions).into_iter().zip(1_usize..).filter(|(q, _)| held(q));
            let named: Vec<String> =
                places.take(5).map(|(q, number)| format!("{number} (id {})", printable(&q.question.id))).collect();
            let more = if several.len() > named.len() { ", ..." } else { "" };
            let count = several.len();
            Err(MootError::Usage(format!("{count} questions hold {wanted:?}: {}{more}", named.join(", "))))
        }
    }
}

/// The questions, a line each with the outcome.
#[must_use]
pub fn list(questions: &[QuestionRecord]) -> String {
    let row = |(i, q): (usize, &QuestionRecord)| {
        let outcome = match (&q.conclusion, &q.error) {
            (_, Some(error)) => format!("error: {error}"),
            (Some(c), _) if c.malformed => "malformed".into(),
            (Some(c), _) if c.answers.is_empty() => "unknown".into(),
            (Some(c), _) => c.answers.iter().map(|a| a.text.as_str()).collect::<Vec<_>>().join("; "),
            (None, None) => "nothing concluded".into(),
        };
        let judged = match (judged(q), &q.question.gold) {
            (Some(judged), _) if judged.starts_with(RIGHT) => format!(" ({judged})"),
            (Some(judged), Some(gold)) => format!(" ({judged}; gold: {})", told(gold)),
            _ => String::new(),
        };
        // One line per question, even if its text contains line ends.
        let (text, line) = (printable(&q.question.text), printable(&(outcome + &judged)));
        format!("{}  {text} -> {line}\n", i + 1)
    };
    if questions.is_empty() {
        return "no question recorded yet\n".into();
    }
    ordered(questions).into_iter().enumerate().map(row).collect()
}

/// The judgement of a conclusion with all right answers.
const RIGHT: &str = "right";

/// The outcome of a question with gold answers in a word; exact match lets answers pass that are not known to be wrong: "right,
/// and 1 more".
fn judged(record: &QuestionRecord) -> Option<String> {
    let gold = record.question.gold.as_ref()?;
    Some(match (Outcome::of(record), judgement::others(record)) {
        (Outcome::Right, more @ 1..) if !gold.unanswerable => format!("{RIGHT}, and {more} more"),
        (Outcome::Malformed | Outcome::Error, _) => Outcome::Unknown.told().to_owned(),
        (outcome, _) => outcome.told().to_owned(),
    })
}

/// The gold answers in words: "1931 (Nineteen thirty-one), 1968; all of them".
fn told(gold: &Gold) -> String {
    if gold.unanswerable || gold.answers.is_empty() {
        return "no answer is right".to_owned();
    }
    let answer = |aliases: &Vec<String>| match aliases.as_slice() {
        [] => String::new(),
        [only] => only.clone(),
        [first, others @ ..] => format!("{first} ({})", others.join(", ")),
    };
    let answers: Vec<String> = gold.answers.iter().map(answer).collect();
    let every = if gold.all_required && answers.len() > 1 { "; all of them" } else { "" };
    let wrong = if gold.wrong.is_empty() { String::new() } else { format!("; wrong: {}", gold.wrong.join(", ")) };
    format!("{}{every}{wrong}", answers.join(", "))
}

/// The gold answers below a debate, and whether its conclusion is right.
fn gold(record: &QuestionRecord, columns: usize) -> String {
    let Some(gold) = &record.question.gold else { return String::new() };
    let judged = judged(record).map(|judged| format!("  {judged}")).unwrap_or_default();
    let lines = wrap(&printable(&told(gold)), columns.saturating_sub(2));
    let lines: String = lines.iter().map(|line| format!("  {line}\n")).collect();
    format!("\n{STRONG}Gold{STRONG:#}{judged}\n{lines}")
}

fn show(question: &QuestionRecord, full: bool) -> Result<()> {
    let claims = claims::shown(question);
    if let Some((page, true)) = &claims {
        return output::print(page);
    }
    let columns = output::columns();
    let printed = debate::show_with(Vec::new(), question, View { columns, full, quotes: true });
    let text = printed.map_err(|e| MootError::io(Path::new("standard output"), "write", e))?;
    output::print(&(String::from_utf8_lossy(&text).into_owned() + &gold(question, columns)))?;
    claims.map_or(Ok(()), |(page, _)| output::print(&format!("\n{page}")))
}

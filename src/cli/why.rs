//! `moot record why`: the documents that decided an answer.

use crate::cli::args::again;
use crate::cli::args::values;
use crate::cli::terminal::columns::{printable, shorten};
use crate::cli::terminal::interrupt;
use crate::cli::terminal::output;
use crate::error::Result;
use crate::eval::fork::Cost;
use crate::eval::scores::aligned;
use crate::eval::why::Why;
use crate::workspace::Recorded;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Instant;

const EXAMPLES: &str = "\
Examples:
  moot record why madam.jsonl bridge          the debate again without each document in turn
  moot record why madam.jsonl --limit 10      the first ten questions, and which sources turn answers
  moot record why madam.jsonl bridge --json";

/// Hold a debate again without each document; print which documents changed the answer, and the cost
///
/// Calls that do not read the missing document are answered from the record; the others share their prefixes. For every method
/// that reads documents, passages of a corpus included.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// A record, as `moot run -o` writes it
    #[arg(value_name = "RECORD")]
    pub record: PathBuf,
    /// A question: its number in the list of `moot record show`, its id, or part of its text; by default all of them
    #[arg(value_name = "QUESTION")]
    pub question: Option<String>,
    /// Only the first N questions of the record
    #[arg(long, value_name = "N", conflicts_with = "question")]
    #[arg(value_parser = values::count, allow_negative_numbers = true)]
    pub limit: Option<usize>,
    /// Debates held at once
    #[arg(long, value_name = "N", default_value = "8", value_parser = values::count, allow_negative_numbers = true)]
    pub in_flight: usize,
    /// Print one JSON object a question
    #[arg(long)]
    pub json: bool,
    /// Arguments for opening the recorded run again.
    #[command(flatten)]
    pub again: again::AgainArgs,
}

/// Holds every debate without each of its documents, and prints each question as soon as it is known.
///
/// # Errors
/// A record or a question that cannot be used, or without documents; a model other than the record's; what would end a run.
pub(crate) fn run(args: &Args) -> Result<()> {
    let recorded = Recorded::read(&args.record)?;
    let olds = recorded.debates(args.question.as_deref(), args.limit)?;
    let control = interrupt::listen()?;
    let workspace = args.again.open(&recorded, &control)?;
    let started = Instant::now();
    let mut all = Vec::new();
    workspace.why(&recorded.record, &olds, args.in_flight, &mut |why| {
        let shown = if args.json { output::json(&why)? } else { text(&why, output::columns()) };
        all.push(why);
        output::print(&shown)
    })?;
    if args.json || all.len() < 2 {
        return Ok(());
    }
    output::print(&summary(&all, started.elapsed().as_secs_f64()))
}

/// One question: a row a document, those that turned the answer marked.
fn text(why: &Why, columns: usize) -> String {
    let head = ["", "without", "answer", "right", "calls", "computed", "shared", "out", "s"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    for one in &why.documents {
        let source = one.source.as_ref().map(|source| format!(" ({source})")).unwrap_or_default();
        let name = shorten(&printable(&format!("{} {}{source}", one.document, one.name)), columns / 3);
        let Cost { computed, usage, seconds, .. } = one.cost;
        let mut row = vec![if one.turned { "*" } else { "" }.to_owned(), name];
        row.push(shorten(&printable(&one.outcome), columns / 3));
        row.push(one.right.map_or("-", |right| if right { "yes" } else { "no" }).to_owned());
        row.extend([computed, usage.computed, usage.reused, usage.generated].map(|count| count.to_string()));
        row.push(format!("{seconds:.1}"));
        rows.push(row);
    }
    let names: Vec<String> = why.turning().map(|one| format!("{} {}", one.document, one.name)).collect();
    let verdict = match names.len() {
        0 => "removing any one document leaves the answer unchanged".to_owned(),
        1 => format!("removing {} changes the answer", names[0]),
        _ => format!("removing any one of these changes the answer: {}", names.join(", ")),
    };
    format!(
        "{}: {}\nAnswer  {}\n{}{}\nCalls   {}\n\n",
        printable(&why.question),
        printable(&why.text),
        printable(&why.outcome),
        aligned(&rows),
        printable(&verdict),
        // The sum over debates that are held at once would be more than the clock's.
        Cost { seconds: why.elapsed, ..why.cost }
    )
}

/// All questions: how often a document turned the answer, by its kind and its source.
fn summary(all: &[Why], seconds: f64) -> String {
    let mut cost = Cost::default();
    let mut groups: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    for why in all {
        cost += why.cost;
        for one in &why.documents {
            let kind = one.kind.as_ref().map(|kind| format!("labelled {kind}"));
            let source = one.source.as_ref().map(|source| format!("of {source}"));
            for name in kind.into_iter().chain(source) {
                let group = groups.entry(name).or_default();
                group.0 += 1;
                group.1 += usize::from(one.turned);
            }
        }
    }
    cost.seconds = seconds;
    let turned = all.iter().filter(|why| why.turning().next().is_some()).count();
    let mut text = format!("{turned} of {} answers depend on a single document\n", all.len());
    let mut groups: Vec<_> = groups.into_iter().filter(|(_, (_, turned))| *turned > 0).collect();
    groups.sort_by_key(|(_, (_, turned))| std::cmp::Reverse(*turned));
    for (name, (documents, turned)) in groups.into_iter().take(10) {
        text.push_str(&format!(
            "  {turned} of {documents} documents {} changed an answer when removed\n",
            printable(&name)
        ));
    }
    text + &format!("Calls   {cost}\n")
}

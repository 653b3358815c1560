//! `moot ask`: one question over the user's own documents; prints the debate as it happens.

use crate::cli::columns::printable;
use crate::cli::debate::live::Live;
use crate::cli::debate::{DebatePrinter, View, Watched};
use crate::cli::interrupt::Interrupt;
use crate::cli::tooling::{ClassifierArgs, Tooling};
use crate::cli::{advice, method, model, output, retrieve};
use crate::error::{MootError, Result};
use crate::eval::record::{Header, INLINE};
use crate::llm::Llm;
use crate::methods::ctx::{Observer, Silent};
use crate::methods::presets;
use crate::question::Question;
use crate::retrieval::given;
use std::io::IsTerminal;
use std::path::Path;

const EXAMPLES: &str = "\
Examples:
  moot ask \"When did the bridge open?\" --docs notes/
  moot ask \"When did the bridge open?\" --docs council.txt diary.md --rounds 2 --history peers
  moot ask --docs ramdocs.jsonl:17 --model smollm2-135m
  moot ask \"When did the bridge open?\" --corpus archive/ --by-source --until 1998";

/// Ask a question of documents that contradict each other, and watch them debate it
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// What to ask; may be left out where a dataset line brings its own question
    #[arg(value_name = "QUESTION")]
    pub question: Option<String>,
    /// Documents: .txt, .md, .jsonl, a line of it (file.jsonl:17), folders, globs
    #[arg(short, long, value_name = "PATH", num_args = 1.., conflicts_with = "corpus")]
    pub docs: Vec<String>,
    /// The corpus to search for documents.
    #[command(flatten)]
    pub retrieve: retrieve::Args,
    /// The classifier of pairs.
    #[command(flatten)]
    pub classifier: ClassifierArgs,
    /// Print the record (two JSON lines, as `moot run` writes them) instead of the debate
    #[arg(long, conflicts_with = "full")]
    pub json: bool,
    /// Show everything: whole reasons, quoted sentences, and every document of many
    #[arg(long)]
    pub full: bool,
    /// The method and its settings.
    #[command(flatten)]
    pub method: method::Args,
    /// Model and device.
    #[command(flatten)]
    pub model: model::Args,
}

/// Answers the question and prints the debate or the record.
///
/// # Errors
/// Errors of documents, arguments, a model or a call.
pub fn run(args: &Args) -> Result<()> {
    let resolved = args.method.resolve_or(Some(presets::ASK))?;
    let interrupt = Interrupt::listen()?;
    let question = question(args)?;
    if resolved.row().needs.documents && question.documents.is_empty() && !args.retrieve.is_typed() {
        let name = resolved.row().name;
        return Err(MootError::Usage(format!(
            "{name} needs documents: expected --docs PATH, --corpus PATH, or --method closed-book"
        )));
    }
    let tooling = Tooling::open(&args.model, &args.retrieve, &args.classifier, &resolved, &interrupt)?;
    interrupt.answering();
    let tools = tooling.tools();
    let (question, events) = resolved.method.gather(&question, tools)?;
    let ask = |observer: &dyn Observer| {
        let (record, error) =
            resolved.method.record_gathered(&question, events.clone(), tools, &resolved.settings, observer);
        if let Some(line) = resolved.unknown_sources(record.question.documents.iter().chain(&record.retrieved)) {
            anstream::eprintln!("{line}");
        }
        error.map_or(Ok(record), Err)
    };
    if args.json {
        let record = ask(&Silent)?;
        // One line for the question, its calls inside.
        let header = Header { moot_record: INLINE, ..resolved.header(None, tools) };
        let lines = [serde_json::to_string(&header), serde_json::to_string(&record)];
        for line in lines {
            let line =
                line.map_err(|e| MootError::Usage(format!("the record cannot be written as JSON: {e} (bug)")))?;
            output::print(&format!("{line}\n"))?;
        }
        return Ok(());
    }
    let view = View { columns: output::columns(), full: args.full, quotes: args.full };
    let printer = DebatePrinter::with(anstream::stdout(), &question, view);
    // A person who watches sees each agent as it answers; a file has them in their order.
    let printer = if std::io::stdout().is_terminal() { printer.as_they_arrive() } else { printer };
    let live = Live::new();
    let record = std::thread::scope(|scope| {
        scope.spawn(|| live.watch(|| tooling.llm.engine_stats()));
        // The scope waits for the thread, also where the method panics.
        let _end = live.until_dropped();
        ask(&Watched { printer: &printer, live: &live })
    })?;
    tooling.report();
    match printer.finish(&record) {
        Ok(_) => {
            output::print(&tooling.llm.engine_stats().map(|stats| packing(&stats)).unwrap_or_default())?;
            advice::after_a_debate(&args.model.model, &record);
            Ok(())
        }
        Err(e) if e.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        Err(e) => Err(MootError::io(Path::new("standard output"), "write", e)),
    }
}

/// The question and its documents; prints the files that were skipped.
fn question(args: &Args) -> Result<Question> {
    if args.retrieve.is_typed() {
        let text = args.question.clone().filter(|text| !text.trim().is_empty());
        let missing = || MootError::Usage("no question: expected moot ask \"QUESTION\" --corpus PATH".into());
        let text = text.ok_or_else(|| swallowed(args).unwrap_or_else(missing))?;
        return Ok(Question { id: "asked".into(), text, ..Question::default() });
    }
    let given = given::load(&args.docs).map_err(|e| swallowed(args).unwrap_or(e))?;
    for skipped in &given.skipped {
        anstream::eprintln!("skipped {}", printable(skipped));
    }
    let Some(text) = args.question.clone().or(given.question) else {
        return Err(MootError::Usage("no question: expected moot ask \"QUESTION\" --docs PATH".into()));
    };
    if text.trim().is_empty() {
        return Err(MootError::Usage("the question is empty".into()));
    }
    Ok(Question { id: "asked".into(), text, documents: given.documents, gold: given.gold, ..Question::default() })
}

/// The error for a question typed after `--docs` or `--corpus`, which take all arguments that follow.
fn swallowed(args: &Args) -> Option<MootError> {
    let option = if args.docs.is_empty() { "--corpus" } else { "--docs" };
    let last = args
        .docs
        .iter()
        .chain(&args.retrieve.corpus)
        .next_back()
        .filter(|last| args.question.is_none() && last.contains([' ', '?']))?;
    if Path::new(last).exists() {
        return None;
    }
    Some(MootError::Usage(format!(
        "no document is called {last:?}; a question goes first: moot ask {last:?} {option} PATH"
    )))
}

/// Statistics of packing and of draft tokens.
fn packing(stats: &crate::engine::Stats) -> String {
    let computed = stats.prefilled + stats.decoded;
    let guessed = match stats.guessed {
        0 => String::new(),
        guessed => format!("; {} of {guessed} guessed tokens were right", stats.guessed_right),
    };
    format!(
        "Steps  {} forward passes, {computed} tokens; padded batches would have computed {} more ({:.0} %){guessed}\n",
        stats.steps,
        stats.padding_avoided,
        100.0 * stats.padding_avoided as f64 / computed.max(1) as f64
    )
}

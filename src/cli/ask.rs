//! `moot ask`: one question over the user's own documents; prints the conclusion, and with `--full` the debate as it
//! happens.

use crate::cli::args::{corpus, method, model};
use crate::cli::debate::live::Live;
use crate::cli::debate::{DebatePrinter, View, Watched};
use crate::cli::terminal::columns::wrap;
use crate::cli::terminal::{interrupt, output};
use crate::cli::{advice, choice};
use crate::error::{MootError, Result};
use crate::eval::record::{Header, INLINE};
use crate::llm::Llm;
use crate::protocol::ctx::Silent;
use crate::question::Question;
use crate::transcript::QuestionRecord;
use crate::workspace::{DocumentOptions, Plan, PlanOptions, Workspace};
use std::io::IsTerminal;
use std::path::Path;
use std::thread::Builder;

const EXAMPLES: &str = "\
Examples:
  moot ask \"When did the bridge open?\" --docs notes/
  moot ask \"When did the bridge open?\" --docs council.txt diary.md --method madam-rag --set rounds=2
  moot ask --docs ramdocs.jsonl:17 --model smollm2-135m
  moot ask \"When did the bridge open?\" --corpus archive/ --by-source --until 1998";

/// Answer a question from documents that contradict each other, with those for and against each answer
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The question; may be left out where a dataset line brings its own
    #[arg(value_name = "QUESTION")]
    pub question: Option<String>,
    /// Documents, each with an agent: files, folders, globs, a line of .jsonl (file.jsonl:17), - for standard input
    ///
    /// Files as --corpus reads them. More than 40 documents, or one of more than 3,000 words, are searched as a corpus is: the
    /// passages that are about the question get the agents
    #[arg(short, long, value_name = "PATH", num_args = 1.., conflicts_with = "corpus", group = "searched")]
    pub docs: Vec<String>,
    /// Give every document of --docs an agent, however many and however long they are
    #[arg(long, requires = "docs", conflicts_with_all = ["corpus", "top", "by_source", "retriever"], hide_short_help = true)]
    pub whole: bool,
    /// The corpus to search for documents.
    #[command(flatten)]
    pub retrieve: corpus::CorpusArgs,
    /// The classifier of pairs.
    #[command(flatten)]
    pub classifier: corpus::ClassifierArgs,
    /// Print the record, two JSON lines as `moot run` writes them
    #[arg(long, conflicts_with = "full")]
    pub json: bool,
    /// Show the debate as it happens, with reasons and quoted sentences
    #[arg(long)]
    pub full: bool,
    /// The method and its settings.
    #[command(flatten)]
    pub method: method::MethodArgs,
    /// Model and device.
    #[command(flatten)]
    pub model: model::ModelArgs,
}

/// Answers the question and prints the debate or the record.
///
/// # Errors
/// Errors of documents, arguments, a model or a call.
pub(crate) fn run(args: &Args) -> Result<()> {
    let control = interrupt::listen()?;
    asks(args)?;
    let model = choice::model(&args.model, !args.json);
    let plan = Plan::of(PlanOptions { model: model.clone(), ..args.options()? }, &control)?;
    let workspace = Workspace::open(plan, &control).map_err(|e| swallowed(args).unwrap_or(e))?;
    if args.json {
        return print_record(&workspace);
    }
    let Some(question) = workspace.question() else { return Ok(()) };
    let record = debate(args, &workspace, question)?;
    if let Some(record) = record {
        advice::after_a_debate(&model, &workspace.plan().method().method.roles(), &record);
    }
    Ok(())
}

/// Refuses a command without a question, where no dataset's line can bring one.
fn asks(args: &Args) -> Result<()> {
    let is_asked = args.question.as_ref().is_some_and(|text| !text.trim().is_empty());
    if is_asked || !args.docs.is_empty() {
        return Ok(());
    }
    let option = if args.retrieve.corpus.is_empty() { "--docs" } else { "--corpus" };
    let missing = || MootError::Usage(format!("no question: expected moot ask \"QUESTION\" {option} PATH"));
    Err(swallowed(args).unwrap_or_else(missing))
}

impl Args {
    /// As the plan takes them.
    ///
    /// # Errors
    /// As [`method::MethodArgs::options`].
    pub(super) fn options(&self) -> Result<PlanOptions> {
        Ok(PlanOptions {
            question: self.question.clone(),
            documents: DocumentOptions { paths: self.docs.clone(), whole: self.whole },
            corpus: self.retrieve.options(),
            method: self.method.options()?,
            classifier: self.classifier.options(),
            model: self.model.name(),
            runtime: self.model.runtime.options(),
            run: None,
        })
    }
}

/// Prints the record, two JSON lines: the header, and the question with its calls.
fn print_record(workspace: &Workspace) -> Result<()> {
    let record = workspace.ask(&Silent)?;
    let header = Header { moot_record: INLINE, ..workspace.header() };
    output::print_json(&header)?;
    output::print_json(&record)
}

/// Prints the debate while it is held; `None` where the reader has left.
fn debate(args: &Args, workspace: &Workspace, question: &Question) -> Result<Option<QuestionRecord>> {
    let view = View { columns: output::columns(), full: args.full, quotes: args.full, turns: args.full };
    let printer = DebatePrinter::with(anstream::stdout(), question, view);
    // A person who watches sees each agent as it answers; a file has them in their order.
    let printer = if std::io::stdout().is_terminal() { printer.as_they_arrive() } else { printer };
    let live = Live::new();
    let record = std::thread::scope(|scope| {
        // Where the system starts no further thread, nothing is shown meanwhile.
        let _ = Builder::new().spawn_scoped(scope, || live.watch(|| workspace.models().engine_stats()));
        // The scope waits for the thread, also where the method panics.
        let _end = live.until_dropped();
        workspace.ask(&Watched { printer: &printer, live: &live })
    })?;
    workspace.note_counts();
    match printer.finish(&record) {
        Ok(_) => {
            let stats = workspace.models().engine_stats().filter(|_| args.full);
            output::print(&stats.map(|stats| packing(&stats, view.columns)).unwrap_or_default())?;
            Ok(Some(record))
        }
        Err(e) if e.kind() == std::io::ErrorKind::BrokenPipe => Ok(None),
        Err(e) => Err(MootError::io(Path::new("standard output"), "write", e)),
    }
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

/// Statistics of packing and of draft tokens, in lines of at most `columns`.
fn packing(stats: &crate::engine::Stats, columns: usize) -> String {
    const LABEL: usize = "Steps  ".len();
    let computed = stats.prefilled + stats.decoded;
    let drafted = match stats.drafted {
        0 => String::new(),
        drafted => format!("; {} of {drafted} draft tokens were accepted", stats.accepted),
    };
    let told = format!(
        "{} forward passes, {computed} tokens; padded batches would have computed {} more ({:.0} %){drafted}",
        stats.steps,
        stats.padding_avoided,
        100.0 * stats.padding_avoided as f64 / computed.max(1) as f64
    );
    let lines = wrap(&told, columns.saturating_sub(LABEL));
    let labels = std::iter::once("Steps  ").chain(std::iter::repeat("       "));
    labels.zip(lines).map(|(label, line)| format!("{label}{line}\n")).collect()
}

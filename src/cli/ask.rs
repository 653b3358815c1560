//! `moot ask`: one question over the user's own documents; prints the debate as it happens.

use crate::cli::columns::wrap;
use crate::cli::debate::live::Live;
use crate::cli::debate::{DebatePrinter, View, Watched};
use crate::cli::fetching::tell;
use crate::cli::interrupt::Interrupt;
use crate::cli::retrieve::Toggle;
use crate::cli::tooling::{ClassifierArgs, Tooling};
use crate::cli::{advice, method, model, output, retrieve};
use crate::error::{MootError, Result};
use crate::eval::record::{Header, INLINE};
use crate::llm::Llm;
use crate::methods::ASK;
use crate::protocol::Row;
use crate::protocol::ctx::{Observer, Silent};
use crate::question::Question;
use crate::retrieval::corpus::Corpus;
use crate::retrieval::given::{self, Given, Reading, Room};
use crate::retrieval::{Retriever, Wanted};
use crate::transcript::Event;
use std::io::IsTerminal;
use std::path::Path;

const EXAMPLES: &str = "\
Examples:
  moot ask \"When did the bridge open?\" --docs notes/
  moot ask \"When did the bridge open?\" --docs council.txt diary.md --set rounds=2
  moot ask --docs ramdocs.jsonl:17 --model smollm2-135m
  moot ask \"When did the bridge open?\" --corpus archive/ --by-source --until 1998";

/// Ask a question of documents that contradict each other, and watch them debate it
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// What to ask; may be left out where a dataset line brings its own question
    #[arg(value_name = "QUESTION")]
    pub question: Option<String>,
    /// Documents, each with an agent: files, folders, globs, a line of .jsonl (file.jsonl:17), - for standard input
    ///
    /// Files as --corpus reads them. More than 40 documents, or one of more than 3,000 words, are searched as a corpus is: the
    /// passages that are about the question get the agents
    #[arg(short, long, value_name = "PATH", num_args = 1.., conflicts_with = "corpus", group = "searched")]
    pub docs: Vec<String>,
    /// Give every document of --docs an agent, however many and however long they are
    #[arg(long, requires = "docs", conflicts_with_all = ["top", "by_source", "retriever"], hide_short_help = true)]
    pub whole: bool,
    /// The corpus to search for documents.
    #[command(flatten)]
    pub retrieve: retrieve::Args,
    /// The classifier of pairs.
    #[command(flatten)]
    pub classifier: ClassifierArgs,
    /// Print the record, two JSON lines as `moot run` writes them
    #[arg(long, conflicts_with = "full")]
    pub json: bool,
    /// Show whole reasons, quoted sentences and every document
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
    let resolved = args.method.resolve_or(Some(ASK))?;
    let interrupt = Interrupt::listen()?;
    let mut retrieve = args.retrieve.clone();
    retrieve.cutoff.get_or_insert(Toggle::On);
    let question = question(args, &mut retrieve, resolved.row())?;
    if resolved.row().needs.documents && question.documents.is_empty() && !retrieve.is_typed() {
        let name = resolved.row().name;
        return Err(MootError::Usage(format!(
            "{name} needs documents: expected --docs PATH, --corpus PATH, or --method closed-book"
        )));
    }
    let mut gathered = None;
    let mut search = |retriever: Option<&dyn Retriever>, wanted: &Wanted| {
        let found = resolved.method.gather_from(&question, retriever, wanted)?;
        tell_taken(&found.0, &found.1);
        if retrieve.is_built() {
            tell_notes(&found.0);
        }
        gathered = Some(found);
        Ok(())
    };
    let tooling = Tooling::open_after(&args.model, &retrieve, &args.classifier, &resolved, &interrupt, &mut search)?;
    interrupt.answering();
    let tools = tooling.tools();
    let (question, events) = gathered.expect("the documents are gathered before a model is opened (bug)");
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
            let stats = tooling.llm.engine_stats().filter(|_| args.full);
            output::print(&stats.map(|stats| packing(&stats, view.columns)).unwrap_or_default())?;
            advice::after_a_debate(&args.model.model, &record);
            Ok(())
        }
        Err(e) if e.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        Err(e) => Err(MootError::io(Path::new("standard output"), "write", e)),
    }
}

/// The question and its documents, where they are read whole; documents that are searched become the corpus of `retrieve`.
/// Prints what was skipped, and which of the two was done.
fn question(args: &Args, retrieve: &mut retrieve::Args, row: &Row) -> Result<Question> {
    retrieve.check()?;
    refuse_unread(args, row)?;
    if retrieve.is_typed() {
        let text = args.question.clone().filter(|text| !text.trim().is_empty());
        let missing = || MootError::Usage("no question: expected moot ask \"QUESTION\" --corpus PATH".into());
        let text = text.ok_or_else(|| swallowed(args).unwrap_or_else(missing))?;
        return Ok(Question { id: "asked".into(), text, ..Question::default() });
    }
    let given = documents(args, retrieve, row).map_err(|e| swallowed(args).unwrap_or(e))?;
    let Some(text) = args.question.clone().or(given.question) else {
        return Err(MootError::Usage("no question: expected moot ask \"QUESTION\" --docs PATH".into()));
    };
    if text.trim().is_empty() {
        return Err(MootError::Usage("the question is empty".into()));
    }
    Ok(Question { id: "asked".into(), text, documents: given.documents, gold: given.gold, ..Question::default() })
}

/// The given documents; none where they are searched.
fn documents(args: &Args, retrieve: &mut retrieve::Args, row: &Row) -> Result<Given> {
    if args.docs.is_empty() {
        return Ok(Given::default());
    }
    let corpus = Corpus::open(&args.docs)?;
    let why = match searched_anyway(retrieve, row) {
        Some(why) => why,
        None => {
            let room = Room { documents: retrieve.top.unwrap_or(Room::DEFAULT.documents), ..Room::DEFAULT };
            match given::read(&corpus, &retrieve.filter(), (!args.whole).then_some(room))? {
                Reading::Whole(given) => {
                    tell_read(&given, row);
                    return Ok(given);
                }
                Reading::TooMuch(why) => why,
            }
        }
    };
    tell(&format!("{why}: the documents are searched for passages about the question"));
    retrieve.corpus.clone_from(&args.docs);
    retrieve.read = Some(corpus);
    Ok(Given::default())
}

/// Why given documents are searched however few they are.
fn searched_anyway(retrieve: &retrieve::Args, row: &Row) -> Option<String> {
    let typed = [(retrieve.by_source, "--by-source"), (retrieve.retriever.is_some(), "--retriever")];
    let option = typed.iter().find(|(typed, _)| *typed).map(|(_, option)| format!("{option} was given"));
    option.or_else(|| row.needs.retriever.then(|| format!("{} retrieves", row.name)))
}

/// Refuses documents for a method that reads none. A dataset's line may be given for its question alone.
fn refuse_unread(args: &Args, row: &Row) -> Result<()> {
    let option = match () {
        () if row.needs.searches() => return Ok(()),
        () if !args.retrieve.corpus.is_empty() => "--corpus",
        () if !args.docs.is_empty() && args.question.is_some() => "--docs",
        () => return Ok(()),
    };
    Err(MootError::Usage(format!("{option}: {} reads no documents; expected the question alone", row.name)))
}

/// Says how many passages were found and are read, where documents were searched for the question.
fn tell_taken(question: &Question, events: &[Event]) {
    let found = |event: &Event| match event {
        Event::Retrieval { hits, .. } => Some(hits.iter().map(Vec::len).sum::<usize>()),
        _ => None,
    };
    let (passages, documents) = (events.iter().filter_map(found).sum::<usize>(), question.documents.len());
    if passages > 0 {
        let passages = if passages == 1 { "1 passage" } else { &format!("{passages} passages") };
        let documents = if documents == 1 { "1 document" } else { &format!("{documents} documents") };
        tell(&format!("{passages} of {documents} found and read"));
    }
}

/// Prints the notes on the files of the documents found, which were printed when their index was built.
fn tell_notes(question: &Question) {
    for document in &question.documents {
        document.notes.iter().for_each(|note| tell(&format!("note {}: {note}", document.name)));
    }
}

/// Says what was read of the given documents.
fn tell_read(given: &Given, row: &Row) {
    for skipped in &given.skipped {
        tell(&format!("skipped {skipped}"));
    }
    for note in &given.notes {
        tell(&format!("note {note}"));
    }
    let count = given.documents.len();
    if given.left_out.count() > 0 {
        tell(&given.left_out.describe(count + given.left_out.count()));
    }
    if !row.needs.searches() {
        return tell(&format!("{} reads no documents: the question alone is taken", row.name));
    }
    let read = if count == 1 { "1 document is" } else { &format!("{count} documents are") };
    tell(&format!("{read} read whole"));
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
    let guessed = match stats.guessed {
        0 => String::new(),
        guessed => format!("; {} of {guessed} guessed tokens were right", stats.guessed_right),
    };
    let told = format!(
        "{} forward passes, {computed} tokens; padded batches would have computed {} more ({:.0} %){guessed}",
        stats.steps,
        stats.padding_avoided,
        100.0 * stats.padding_avoided as f64 / computed.max(1) as f64
    );
    let lines = wrap(&told, columns.saturating_sub(LABEL));
    let labels = std::iter::once("Steps  ").chain(std::iter::repeat("       "));
    labels.zip(lines).map(|(label, line)| format!("{label}{line}\n")).collect()
}

//! `moot conflict`: what a text claims, which documents support it and which contradict it.

mod input;
pub(super) mod metric;
mod page;

use crate::assess::{Assessment, Neither, html, markdown};
use crate::cli::columns::printable;
use crate::cli::fetching::tell;
use crate::cli::interrupt::Interrupt;
use crate::cli::method::Resolved;
use crate::cli::switches::Switches;
use crate::cli::tooling::{ClassifierArgs, Tooling};
use crate::cli::{method, model, output, retrieve, values};
use crate::error::{MootError, Result};
use crate::escape;
use crate::eval::record::{Header, Writer};
use crate::eval::runner::{self, Run};
use crate::files;
use crate::methods::conflict_score::{ROW, labels};
use crate::protocol::ctx::{Observer, Settings, Tools};
use crate::question::Question;
use crate::transcript::{CallRecord, QuestionRecord};
use clap::ValueEnum;
use indicatif::{ProgressBar, ProgressStyle};
use input::Input;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  moot conflict answer.txt --docs council.txt diary.md
  moot conflict answer.txt --against archive/ --format html > answer.html
  moot conflict --record madam.jsonl 3
  moot conflict --record madam.jsonl -o claims.jsonl    every question; moot score claims.jsonl
  moot conflict --docs council.txt diary.md             the documents against each other";

/// Show which documents support and which contradict each claim of a text, with quotes
///
/// Without a text, the claims are those of the documents themselves, each compared with the others.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The text whose claims are checked: a .txt or .md file, or - for standard input
    #[arg(value_name = "RESPONSE", conflicts_with = "record")]
    pub response: Option<String>,
    /// The documents: .txt, .md, .jsonl, a line of it (file.jsonl:17), folders, globs
    #[arg(short, long, value_name = "PATH", num_args = 1.., conflicts_with = "against")]
    pub docs: Vec<String>,
    /// Or a corpus in which evidence is searched for each claim: files, folders and globs, or an index
    #[arg(long, value_name = "PATH", num_args = 1..)]
    pub against: Vec<String>,
    /// Passages searched for each claim [default: 5]
    #[arg(long, value_name = "N", value_parser = values::count, requires = "against", allow_negative_numbers = true)]
    pub top: Option<usize>,
    /// Embedder of the corpus, or "none" for BM25 alone
    #[arg(long, value_name = "NAME", requires = "against")]
    pub embedder: Option<String>,
    /// The answers of a record, with its documents; one question by number, id or text, or all of them (with -o)
    #[arg(long, value_names = ["RECORD", "QUESTION"], num_args = 1..=2)]
    pub record: Vec<String>,
    /// Write what was done as a record, which show, calls, verify and score read
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// What is printed
    #[arg(long, value_name = "FORM", default_value = "text")]
    pub format: Form,
    /// How claims with neither supporters nor contradictors count in CS-R
    #[arg(long, value_name = "HOW", default_value = "left-out")]
    pub neither: Counted,
    /// Switches of the method conflict-score.
    #[command(flatten)]
    pub switches: Switches,
    /// Seeds everything that is left to chance
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = values::whole::<u64>)]
    #[arg(allow_negative_numbers = true)]
    pub seed: u64,
    /// Do not constrain replies by a grammar: quotes are checked afterwards
    #[arg(long)]
    pub free_form: bool,
    /// What classifies pairs, with --labels entailment or both.
    #[command(flatten)]
    pub classifier: ClassifierArgs,
    /// Which model, and on what.
    #[command(flatten)]
    pub model: model::Args,
}

/// What is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Form {
    /// For a terminal
    Text,
    /// One JSON object
    Json,
    /// Markdown
    Markdown,
    /// One HTML page, without anything from elsewhere
    Html,
}

/// How claims with neither supporters nor contradictors count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Counted {
    /// Left out of the mean
    LeftOut,
    /// As a ratio of 0
    Zero,
}

impl From<Counted> for Neither {
    fn from(counted: Counted) -> Self {
        match counted {
            Counted::LeftOut => Self::LeftOut,
            Counted::Zero => Self::Zero,
        }
    }
}

/// Labels and prints.
///
/// # Errors
/// A text, documents, a record or a model that cannot be used; a text without words; a single document without a text; a call
/// that failed.
pub fn run(args: &Args) -> Result<()> {
    let resolved = args.method().resolve()?;
    let interrupt = Interrupt::listen()?;
    let input = input::read(args)?;
    if let Some(path) = &args.output {
        files::output(path)?;
        // All answers of a record can be continued; a single one would be written twice.
        if matches!(input, Input::One(_)) && path.metadata().is_ok_and(|file| file.len() > 0) {
            let path = path.display();
            return Err(MootError::Usage(format!("{path} exists: expected a new file after -o")));
        }
    }
    let tooling = Tooling::open(&args.model, &args.retrieve(), &args.classifier, &resolved, &interrupt)?;
    interrupt.answering();
    let tools = tooling.tools();
    let header = resolved.header(None, tools);
    let question = match input {
        Input::One(question) => question,
        Input::All(questions) => {
            let path = args.output.as_deref().unwrap_or(Path::new(""));
            let ended = record_all(path, &header, &questions, &resolved, tools, &interrupt);
            let path = printable(&path.display().to_string());
            tell(&format!("recorded in {path}; `moot score {path}` scores it, `moot show {path} N` shows one"));
            return ended;
        }
    };
    let watch = Watch { bar: bar() };
    let (record, error) = resolved.method.record(&question, tools, &resolved.settings, &watch);
    watch.bar.finish_and_clear();
    tooling.report();
    if let Some(path) = &args.output {
        let record = QuestionRecord { error: error.as_ref().map(ToString::to_string), ..record.clone() };
        Writer::open(path, &header)?.append(&record)?;
    }
    error.map_or(Ok(()), Err)?;
    print(args, &record, &header.model_of(labels::ROLE).name)
}

/// Labels all of `questions` and records them at `path`; those that are recorded there already are left as they are.
fn record_all(
    path: &Path,
    header: &Header,
    questions: &[Question],
    resolved: &Resolved,
    tools: Tools<'_>,
    interrupt: &Interrupt,
) -> Result<()> {
    let mut writer = Writer::open(path, header)?;
    let (method, settings, stop) = (&resolved.method, &resolved.settings, &interrupt.stop);
    let run = Run { questions, method, tools, settings, in_flight: IN_FLIGHT, stop };
    let progress = bar();
    let ended = runner::run(&run, &mut writer, &mut |state| {
        progress.set_length(state.total as u64);
        progress.set_position(state.done as u64);
    });
    progress.finish_and_clear();
    ended.map(drop)
}

/// Questions of a record assessed at once.
const IN_FLIGHT: usize = 4;

/// Prints the assessment; `model` is the labeller's, as far as it labelled.
fn print(args: &Args, record: &QuestionRecord, model: &str) -> Result<()> {
    let mut assessment = Assessment::of(record, args.neither.into())
        .ok_or_else(|| MootError::Usage(format!("{} concluded no claims (bug)", ROW.name)))?;
    if assessment.labelled_by.iter().any(|(by, _)| by == labels::ROLE) {
        assessment.model = printable(model);
    }
    output::print(&match args.format {
        Form::Text => page::page(&assessment, record, output::columns()),
        Form::Markdown => markdown::page(&assessment),
        Form::Html => html::page(&assessment),
        Form::Json => {
            let json = serde_json::to_string_pretty(&assessment);
            let json = json.map_err(|e| MootError::Usage(format!("the assessment cannot be JSON: {e} (bug)")))?;
            escape::json(&json) + "\n"
        }
    })
}

/// An assessment as `moot show` prints it, and whether it is all that the record holds: some methods also answer.
pub(super) fn shown(record: &QuestionRecord) -> Option<(String, bool)> {
    let assessment = Assessment::of(record, Neither::LeftOut)?;
    let alone = record.calls.iter().all(|call| ROW.all_roles().any(|role| role == call.role));
    Some((page::page(&assessment, record, output::columns()), alone))
}

impl Args {
    fn method(&self) -> method::Args {
        of_method(ROW.name, &self.switches, self.seed, self.free_form)
    }

    fn retrieve(&self) -> retrieve::Args {
        searching(&self.against, self.top, self.embedder.as_deref())
    }
}

/// A method with these switches.
fn of_method(name: &str, switches: &Switches, seed: u64, free_form: bool) -> method::Args {
    method::Args {
        method: Some(name.to_owned()),
        preset: None,
        prompts: None,
        switches: switches.clone(),
        source_weights: None,
        seed,
        max_tokens: Settings::default().max_tokens,
        free_form,
        think: 0,
        temperature: None,
        top_k: 0,
        top_p: 1.0,
    }
}

/// What is searched for evidence; nothing for an empty corpus.
fn searching(corpus: &[String], top: Option<usize>, embedder: Option<&str>) -> retrieve::Args {
    retrieve::Args {
        corpus: corpus.to_vec(),
        read: None,
        cutoff: None,
        top,
        by_source: false,
        source: Vec::new(),
        from: None,
        until: None,
        no_fold: false,
        retriever: None,
        embedder: embedder.map(str::to_owned),
        embedder_device: "cpu".to_owned(),
    }
}

/// Counts calls on a terminal while they are made.
struct Watch {
    bar: ProgressBar,
}

impl Observer for Watch {
    fn stage(&self, _: usize, count: usize) {
        self.bar.set_length(self.bar.position() + count as u64);
    }

    fn call(&self, _: usize, _: &CallRecord) {
        self.bar.inc(1);
    }
}

fn bar() -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{bar:24} {pos}/{len}  {eta} left");
    ProgressBar::new(0).with_style(style.expect("a template of ours (bug)"))
}

/// A question that is asked by hand.
fn by_hand(responses: Vec<String>) -> Question {
    Question { id: "asked".into(), responses, ..Question::default() }
}

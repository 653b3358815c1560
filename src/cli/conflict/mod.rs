//! `moot conflict`: the claims of a text, and the documents that support and that contradict each.

mod input;

use crate::assess::{Assessment, Neither, html, markdown};
use crate::cli::args::{Switches, corpus, model, values};
use crate::cli::claims;
use crate::cli::terminal::columns::printable;
use crate::cli::terminal::{interrupt, output, tell};
use crate::error::{MootError, Result};
use crate::escape;
use crate::files::outputs::{self, InputPath};
use crate::methods::conflict_score::{ROW, settings};
use crate::protocol::ctx::Observer;
use crate::transcript::{CallRecord, QuestionRecord};
use crate::workspace::{CorpusOptions, MethodOptions, Plan, PlanOptions, Workspace};
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
    /// Also write a record, which show, calls, verify and score read
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// The output format
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
    /// The classifier of pairs, with --labels entailment or both.
    #[command(flatten)]
    pub classifier: corpus::ClassifierArgs,
    /// Model and device.
    #[command(flatten)]
    pub model: model::ModelArgs,
}

/// The output format.
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
    let control = interrupt::listen()?;
    let plan = Plan::of(args.options()?, &control)?;
    let input = input::read(args)?;
    if let Some(path) = &args.output {
        outputs::distinct(&[("-o", path)], &args.inputs())?;
        outputs::check(path)?;
        // All answers of a record can be continued; a single one would be written twice.
        if matches!(input, Input::One(_)) {
            outputs::refuse_existing(path)?;
        }
    }
    let workspace = Workspace::open(plan, &control)?;
    let question = match input {
        Input::One(question) => question,
        Input::All(questions) => {
            let path = args.output.as_deref().unwrap_or(Path::new(""));
            let ended = workspace.record_all(path, &questions);
            let path = printable(&path.display().to_string());
            tell(&format!("recorded in {path}; `moot score {path}` scores it, `moot record show {path} N` shows one"));
            return ended;
        }
    };
    let watch = Watch { bar: bar() };
    let record = workspace.conflict(&question, args.output.as_deref(), &watch);
    watch.bar.finish_and_clear();
    workspace.note_counts();
    print(args, &record?, &workspace.header().model_of(settings::ROLE).name)
}

/// Prints the assessment; `model` is the labeller's, as far as it labelled.
fn print(args: &Args, record: &QuestionRecord, model: &str) -> Result<()> {
    let mut assessment = Assessment::of(record, args.neither.into())
        .ok_or_else(|| MootError::Usage(format!("{} concluded no claims (bug)", ROW.name)))?;
    if assessment.labelled_by.iter().any(|(by, _)| by == settings::ROLE) {
        assessment.model = printable(model);
    }
    output::print(&match args.format {
        Form::Text => claims::page(&assessment, record, output::columns()),
        Form::Markdown => markdown::page(&assessment),
        // A page keeps marks of writing direction, which a browser needs.
        Form::Html => return output::write(html::page(&assessment).as_bytes()).map(drop),
        Form::Json => {
            let json = serde_json::to_string_pretty(&assessment);
            let json = json.map_err(|e| MootError::Usage(format!("the assessment cannot be JSON: {e} (bug)")))?;
            escape::json(&json) + "\n"
        }
    })
}

impl Args {
    /// Files and folders that it reads, with their arguments.
    fn inputs(&self) -> Vec<InputPath<'_>> {
        let response = self.response.iter().map(|typed| ("RESPONSE", typed));
        let record = self.record.iter().take(1).map(|typed| ("--record", typed));
        let docs = self.docs.iter().map(|typed| ("--docs", typed));
        let against = self.against.iter().map(|typed| ("--against", typed));
        let all = response.chain(record).chain(docs).chain(against);
        all.map(|(argument, typed)| (argument, Path::new(typed))).collect()
    }

    fn options(&self) -> Result<PlanOptions> {
        let method = MethodOptions {
            name: Some(ROW.name.to_owned()),
            switches: self.switches.typed()?,
            seed: self.seed,
            free_form: self.free_form,
            ..MethodOptions::default()
        };
        let corpus = CorpusOptions {
            paths: self.against.clone(),
            top: self.top,
            embedder: self.embedder.clone(),
            ..CorpusOptions::default()
        };
        Ok(PlanOptions {
            corpus,
            method,
            classifier: self.classifier.options(),
            model: self.model.model.clone(),
            runtime: self.model.runtime.options(),
            ..PlanOptions::default()
        })
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

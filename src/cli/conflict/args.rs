//! The arguments of `moot conflict`.

use super::printed::Counted;
use super::{calibrate, correct};
use crate::cli::args::form::Form;
use crate::cli::args::{Switches, corpus, model, values};
use crate::error::Result;
use crate::files::outputs::InputPath;
use crate::workspace::{CorpusOptions, MethodOptions, PlanOptions};
use clap::ValueEnum;
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
#[command(after_help = EXAMPLES, args_conflicts_with_subcommands = true)]
pub(crate) struct Args {
    /// Subcommands.
    #[command(subcommand)]
    pub command: Option<Subcommand>,
    /// The text whose claims are checked: a .txt or .md file, or - for standard input
    #[arg(value_name = "RESPONSE", conflicts_with = "record")]
    pub response: Option<String>,
    /// The documents: files as `moot index build` reads them, a line of .jsonl (file.jsonl:17), folders, globs
    #[arg(short, long, value_name = "PATH", num_args = 1.., conflicts_with = "against")]
    pub docs: Vec<String>,
    /// A corpus to search for evidence on each claim, instead of --docs: files, folders and globs, or an index
    #[arg(long, value_name = "PATH", num_args = 1..)]
    pub against: Vec<String>,
    /// Passages searched for each claim [default: 5]
    #[arg(long, value_name = "N", value_parser = values::count, requires = "against", allow_negative_numbers = true)]
    pub top: Option<usize>,
    /// Embedder of the corpus, or "none" for BM25 alone
    #[arg(long, value_name = "NAME", requires = "against")]
    pub embedder: Option<String>,
    /// Read the candidates of each search with this reranker, and keep the most relevant
    #[arg(long, value_name = "NAME", requires = "against")]
    pub reranker: Option<String>,
    /// The answers of a record, with its documents; one question by number, id or text, or all of them (with -o)
    #[arg(long, value_names = ["RECORD", "QUESTION"], num_args = 1..=2)]
    pub record: Vec<String>,
    /// Write the calls and labels as a record, which show, calls, verify and score read
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Output format
    #[arg(long, value_name = "FORM", default_value = "text")]
    pub format: Form,
    /// How claims with neither supporters nor contradictors count in CS-R
    #[arg(long, value_name = "HOW", default_value = "left-out")]
    pub neither: Counted,
    /// Exit with 1 if a claim is contradicted by a document, or is unsupported by all
    #[arg(long, value_name = "WHAT", value_delimiter = ',')]
    pub fail_on: Vec<FailOn>,
    /// Switches of the method conflict-score.
    #[command(flatten)]
    pub switches: Switches,
    /// A folder of your own prompts, named as by `moot prompts list`
    #[arg(long, value_name = "DIR")]
    pub prompts: Option<PathBuf>,
    /// Seed of all random choices
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = values::whole::<u64>)]
    #[arg(allow_negative_numbers = true)]
    pub seed: u64,
    /// Do not constrain replies by a grammar: quotes are checked afterwards
    #[arg(long)]
    pub free_form: bool,
    /// Classifier of pairs, for --labels entailment or both.
    #[command(flatten)]
    pub classifier: corpus::ClassifierArgs,
    /// Model and device.
    #[command(flatten)]
    pub model: model::ModelArgs,
}

/// Subcommands; without one, claims are labelled.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Subcommand {
    /// Fit the weights of scored labels to a record of labelled claims
    Calibrate(calibrate::Args),
    /// Replace labels of a record by a person's
    Correct(correct::Args),
}

/// Claims that make the command fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FailOn {
    /// A claim with a contradictor
    Contradicted,
    /// A claim without a supporter
    Unsupported,
}

impl Args {
    /// Files and folders that it reads, with their arguments.
    pub(super) fn inputs(&self) -> Vec<InputPath<'_>> {
        let response = self.response.iter().map(|typed| ("RESPONSE", typed));
        let record = self.record.iter().take(1).map(|typed| ("--record", typed));
        let docs = self.docs.iter().map(|typed| ("--docs", typed));
        let against = self.against.iter().map(|typed| ("--against", typed));
        let all = response.chain(record).chain(docs).chain(against);
        all.map(|(argument, typed)| (argument, Path::new(typed))).collect()
    }

    /// The options of the plan.
    ///
    /// # Errors
    /// A switch that is not the method's, or a value that it does not take.
    pub(super) fn options(&self) -> Result<PlanOptions> {
        let method = MethodOptions {
            switches: self.switches.typed()?,
            prompts: self.prompts.clone(),
            seed: self.seed,
            free_form: self.free_form,
            ..MethodOptions::default()
        };
        let corpus = CorpusOptions {
            paths: self.against.clone(),
            top: self.top,
            embedder: self.embedder.clone(),
            reranker: self.reranker.clone(),
            ..CorpusOptions::default()
        };
        Ok(PlanOptions {
            corpus,
            method: method.for_claims(),
            classifier: self.classifier.options(),
            model: self.model.name(),
            runtime: self.model.runtime.options(),
            ..PlanOptions::default()
        })
    }
}

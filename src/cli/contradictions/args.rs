//! The arguments of `moot contradictions`.

use crate::cli::args::form::Form;
use crate::cli::args::{model, values};
use crate::contradictions::{Options, PROBABILITY, is_probability};
use crate::error::{MootError, Result};
use crate::files::outputs::InputPath;
use crate::workspace::{EmbedderOptions, MethodOptions, PlanOptions, contradictions_cache};
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  moot contradictions docs/
  moot contradictions docs/ -o contradictions.html -o contradictions.json
  moot contradictions docs/ --since origin/main --fail-above 0.9      in CI: what this branch changed
  moot contradictions docs/ --dry-run                                 counts, without a model";

/// Show where the documents of a folder contradict each other, without a question
///
/// Each sentence is compared with the nearest sentences of the other documents. Finished work is kept in the cache: run
/// the same command to resume, or to compare only what is new.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The documents: folders, files as `moot index build` reads them, globs
    #[arg(value_name = "PATH", num_args = 1.., required = true)]
    pub paths: Vec<String>,
    /// Only contradictions of documents that changed since: a git revision, or a date as 2024-05-31
    #[arg(long, value_name = "REF|DATE")]
    pub since: Option<String>,
    /// Exit with 1 if a contradiction has this probability or a higher one; an error exits with 2
    #[arg(long, value_name = "P", value_parser = probability, allow_negative_numbers = true)]
    pub fail_above: Option<f64>,
    /// Least probability of a contradiction that is shown
    #[arg(long, value_name = "P", default_value_t = Options::default().least, value_parser = probability)]
    #[arg(allow_negative_numbers = true)]
    pub least: f64,
    /// Output format
    #[arg(long, value_name = "FORM", default_value = "text")]
    pub format: Form,
    /// Same as --format json
    #[arg(long, conflicts_with = "format")]
    pub json: bool,
    /// Also write the report here: .html, .md or .json
    #[arg(short, long, value_name = "FILE")]
    pub output: Vec<PathBuf>,
    /// Also write every labelled pair with its features here, as JSON lines
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub pairs: Option<PathBuf>,
    /// Most pairs that are labelled of each claim
    #[arg(long, value_name = "N", default_value_t = Options::default().pairs, value_parser = values::count)]
    #[arg(allow_negative_numbers = true, hide_short_help = true)]
    pub most_pairs: usize,
    /// Target number of labelled pairs of each document; the most promising first
    #[arg(long, value_name = "N", default_value_t = Options::default().of_document, value_parser = values::count)]
    #[arg(allow_negative_numbers = true, hide_short_help = true)]
    pub document_pairs: usize,
    /// Only count documents, sentences and calls; no model is loaded
    #[arg(long)]
    pub dry_run: bool,
    /// Neither read nor write the cache of finished work
    #[arg(long)]
    pub no_cache: bool,
    /// Embedder that finds pairs, or "none" for words alone [default: all-minilm-l6-v2]
    #[arg(long, value_name = "NAME")]
    pub embedder: Option<String>,
    /// Device of the embedder: cpu, cuda, cuda:N or metal
    #[arg(long, value_name = "DEVICE", default_value = "cpu", hide_short_help = true)]
    pub embedder_device: String,
    /// Model and device.
    #[command(flatten)]
    pub model: model::ModelArgs,
}

fn probability(typed: &str) -> std::result::Result<f64, String> {
    let number = typed.parse().ok().filter(|&number| is_probability(number));
    number.ok_or_else(|| format!("expected {PROBABILITY}"))
}

impl Args {
    /// Checks what clap cannot.
    ///
    /// # Errors
    /// A `--fail-above` below `--least`: contradictions between the two are not reported.
    pub(super) fn check(&self) -> Result<()> {
        match self.fail_above.filter(|fails| *fails < self.least) {
            Some(fails) => Err(MootError::Usage(format!(
                "--fail-above {fails}: expected a probability from --least {least} on, below which nothing is reported \
                 (--least {fails} lowers it)",
                least = self.least
            ))),
            None => Ok(()),
        }
    }

    /// The format of standard output.
    pub(super) fn form(&self) -> Form {
        if self.json { Form::Json } else { self.format }
    }

    /// Files and folders that are read, with their arguments.
    pub(super) fn inputs(&self) -> Vec<InputPath<'_>> {
        self.paths.iter().map(|typed| ("PATH", Path::new(typed))).collect()
    }

    /// The options of the plan.
    pub(super) fn plan(&self) -> PlanOptions {
        PlanOptions {
            method: MethodOptions::default(),
            model: self.model.name(),
            runtime: self.model.runtime.options(),
            ..PlanOptions::default()
        }
    }

    /// How documents are compared.
    ///
    /// # Errors
    /// The cache folder is not known.
    pub(super) fn options(&self) -> Result<Options> {
        let cache = if self.no_cache { None } else { Some(contradictions_cache(&self.paths)?) };
        Ok(Options { pairs: self.most_pairs, of_document: self.document_pairs, least: self.least, cache })
    }

    /// The embedder.
    pub(super) fn embedder(&self) -> EmbedderOptions {
        EmbedderOptions {
            name: self.embedder.clone(),
            device: self.embedder_device.clone(),
            offline: self.model.runtime.offline,
        }
    }
}

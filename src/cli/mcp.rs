//! `moot mcp`: the models of this machine as tools of an assistant.

use crate::cli::args::{corpus, method, model};
use crate::cli::terminal::interrupt;
use crate::error::Result;
use crate::serve::{ServeOptions, StdioServer};
use crate::workspace::{DocumentOptions, PlanOptions};
use std::io::BufReader;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples (an assistant starts the command; docs/mcp.md has the configuration of several):
  moot mcp
  moot mcp --corpus archive/ -m qwen3-4b
  moot serve                     the same tools over HTTP, at http://127.0.0.1:8642/mcp";

/// Serve the tools of an assistant (MCP) over standard input and output
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Keep the records of questions in this folder; otherwise they are gone when the server ends
    #[arg(long, value_name = "FOLDER")]
    pub records: Option<PathBuf>,
    /// The corpus to search for documents.
    #[command(flatten)]
    pub retrieve: corpus::CorpusArgs,
    /// The classifier of pairs.
    #[command(flatten)]
    pub classifier: corpus::ClassifierArgs,
    /// The method of questions that name none, and its settings.
    #[command(flatten)]
    pub method: method::MethodArgs,
    /// Model and device.
    #[command(flatten)]
    pub model: model::ModelArgs,
}

/// Serves until standard input ends, Ctrl-C or SIGTERM. Standard output has the protocol alone.
///
/// # Errors
/// Errors of a model, a corpus or an argument.
pub fn run(args: &Args) -> Result<()> {
    let control = interrupt::listen()?;
    StdioServer::new(args.options()?)?.run(BufReader::new(std::io::stdin()), std::io::stdout(), &control)
}

impl Args {
    fn options(&self) -> Result<ServeOptions> {
        let plan = PlanOptions {
            question: None,
            documents: DocumentOptions::default(),
            corpus: self.retrieve.options(),
            method: self.method.options()?,
            classifier: self.classifier.options(),
            model: self.model.model.clone(),
            runtime: self.model.runtime.options(),
            run: None,
        };
        Ok(ServeOptions { records: self.records.clone(), plan, ..ServeOptions::default() })
    }
}

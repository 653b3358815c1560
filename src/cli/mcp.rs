//! `moot mcp`: the models of this machine as tools of an assistant.

use crate::cli::args::plan::PlanArgs;
use crate::cli::terminal::interrupt;
use crate::error::Result;
use crate::serve::{ServeOptions, StdioServer};
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
pub(crate) struct Args {
    /// Keep the records of questions in this folder; otherwise they are gone when the server ends
    #[arg(long, value_name = "FOLDER")]
    pub records: Option<PathBuf>,
    /// Corpus, classifier, model, and the method of questions that name none.
    #[command(flatten)]
    pub plan: PlanArgs,
}

/// Serves until standard input ends, Ctrl-C or SIGTERM. Standard output has the protocol alone.
///
/// # Errors
/// Errors of a model, a corpus or an argument.
pub(crate) fn run(args: &Args) -> Result<()> {
    let control = interrupt::listen()?;
    StdioServer::new(args.options()?)?.run(BufReader::new(std::io::stdin()), std::io::stdout(), &control)
}

impl Args {
    fn options(&self) -> Result<ServeOptions> {
        Ok(ServeOptions { records: self.records.clone(), plan: self.plan.options()?, ..ServeOptions::default() })
    }
}

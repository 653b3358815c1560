//! `moot serve`: the models of this machine over HTTP.

use crate::cli::args::plan::PlanArgs;
use crate::cli::args::values;
use crate::cli::terminal::interrupt;
use crate::error::Result;
use crate::serve::{Limits, ServeOptions, Server};
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  moot serve                                         the page at http://127.0.0.1:8642, the API at /v1
  moot serve --corpus archive/ --records asked/
  MOOT_SERVE_KEY=... moot serve --host 0.0.0.0 --name moot.example.org";

/// Serve models and methods over HTTP: a page, OpenAI's API, and questions of documents
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Address to listen on; one that other machines reach needs a key in MOOT_SERVE_KEY
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    pub host: String,
    /// Port; 0 takes a free one
    #[arg(long, value_name = "N", default_value_t = ServeOptions::default().port)]
    pub port: u16,
    /// A name by which clients call this server, besides its addresses and localhost; repeatable
    #[arg(long, value_name = "NAME")]
    pub name: Vec<String>,
    /// Keep the records of questions in this folder; otherwise they are gone when the server ends
    #[arg(long, value_name = "FOLDER")]
    pub records: Option<PathBuf>,
    /// Requests answered at once
    #[arg(long, value_name = "N", default_value_t = Limits::default().at_once, value_parser = values::count)]
    #[arg(allow_negative_numbers = true, hide_short_help = true)]
    pub requests: usize,
    /// Requests that wait for one of these; further ones are refused with 429
    #[arg(long, value_name = "N", default_value_t = Limits::default().waiting, value_parser = values::count)]
    #[arg(allow_negative_numbers = true, hide_short_help = true)]
    pub waiting: usize,
    /// Seconds until a request is ended
    #[arg(long, value_name = "S", default_value_t = Limits::default().seconds, hide_short_help = true)]
    pub request_time: u64,
    /// Corpus, classifier, model, and the method of questions that name none.
    #[command(flatten)]
    pub plan: PlanArgs,
}

/// Serves until Ctrl-C or SIGTERM; then requests in flight may end.
///
/// # Errors
/// An address that cannot be listened on; errors of a model, a corpus or an argument.
pub(crate) fn run(args: &Args) -> Result<()> {
    let control = interrupt::listen()?;
    Server::listen(args.options()?)?.run(&control)
}

impl Args {
    fn options(&self) -> Result<ServeOptions> {
        let limits =
            Limits { at_once: self.requests, waiting: self.waiting, seconds: self.request_time, ..Limits::default() };
        Ok(ServeOptions {
            host: self.host.clone(),
            port: self.port,
            names: self.name.clone(),
            // From the environment alone: other programs of the machine read command lines.
            key: std::env::var("MOOT_SERVE_KEY").ok().filter(|key| !key.trim().is_empty()),
            records: self.records.clone(),
            plan: self.plan.options()?,
            limits,
        })
    }
}

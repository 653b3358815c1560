//! The command line: one file a subcommand, thin.

pub mod ask;
pub mod bench;
pub mod calls;
pub mod columns;
pub mod debate;
pub mod method;
pub mod model;
pub mod output;
pub mod run;
pub mod score;
pub mod show;

use crate::engine::Cancel;
use crate::error::{MootError, Result};
use clap::{Parser, Subcommand};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Let documents argue: every document gets an agent, the agents debate, an aggregator concludes
#[derive(Debug, Parser)]
#[command(version, propagate_version = true, max_term_width = 100)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Ask(ask::Args),
    Run(RunArgs),
    Score(score::Args),
    Show(show::Args),
    Calls(calls::Args),
    Bench(bench::Args),
}

/// Answer every question of a dataset and record it; the same command goes on where it was stopped
#[derive(Debug, clap::Args)]
struct RunArgs {
    #[command(flatten)]
    run: run::Args,
    #[command(flatten)]
    model: model::Args,
}

impl Cli {
    /// Does what was typed.
    ///
    /// # Errors
    /// The subcommand's.
    pub fn run(&self) -> Result<()> {
        match &self.command {
            Command::Ask(args) => ask::run(args, on_ctrl_c(&Arc::default())?),
            Command::Run(args) => {
                let stop = Arc::default();
                let cancel = on_ctrl_c(&stop)?;
                let prepared = run::prepare(&args.run)?;
                prepared.run(&args.model.start(cancel)?, &stop)
            }
            Command::Score(args) => score::run(args),
            Command::Show(args) => show::run(args),
            Command::Calls(args) => calls::run(args),
            Command::Bench(args) => bench::run(args),
        }
    }
}

/// The first Ctrl-C sets `stop` and cancels what is in flight; the second ends the program at once.
fn on_ctrl_c(stop: &Arc<AtomicBool>) -> Result<Cancel> {
    let cancel = Cancel::default();
    let (stop, handle) = (stop.clone(), cancel.clone());
    let installed = ctrlc::set_handler(move || {
        if stop.swap(true, Ordering::Relaxed) {
            std::process::exit(i32::from(run::INTERRUPTED));
        }
        handle.cancel();
    });
    installed.map_err(|e| MootError::Usage(format!("Ctrl-C cannot be handled here: {e}")))?;
    Ok(cancel)
}

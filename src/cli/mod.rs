//! The command line: one file a subcommand, thin.

mod advice;
pub mod args;
pub mod ask;
pub mod bench;
pub mod calls;
mod claims;
pub mod compare;
pub mod conflict;
pub mod debate;
pub mod doctor;
pub mod fork;
pub mod index;
pub mod merge;
pub mod methods;
pub mod models;
pub mod prompts;
pub mod replay;
pub mod report;
pub mod reproduce;
pub mod run;
pub mod score;
pub mod show;
pub mod slices;
pub mod sources;
pub mod terminal;
pub mod verify;
pub mod why;

use crate::error::{MootError, Result};
use clap::error::ErrorKind;
use clap::{Arg, ArgAction, CommandFactory, FromArgMatches, Parser, Subcommand};

/// Let documents argue: each document gets an agent, the agents debate, an aggregator concludes
#[derive(Debug, Parser)]
#[command(version, propagate_version = true, max_term_width = 100)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Ask(ask::Args),
    Run(run::Args),
    Conflict(conflict::Args),
    Score(score::Args),
    Compare(compare::Args),
    Merge(merge::Args),
    Replay(replay::Args),
    Fork(fork::Args),
    Why(why::Args),
    Reproduce(reproduce::Args),
    Report(report::Args),
    Methods(methods::Args),
    Prompts(prompts::Args),
    Show(show::Args),
    Calls(calls::Args),
    Slices(slices::Args),
    Sources(sources::Args),
    Verify(verify::Args),
    Bench(bench::Args),
    Index(index::Args),
    Models(models::Args),
    Doctor(doctor::Args),
}

impl Cli {
    /// Parses the command line. For help or the version, prints them and exits.
    ///
    /// # Errors
    /// [`MootError::Arguments`].
    pub fn read() -> Result<Self> {
        let typed = with_short_help(Self::command()).try_get_matches();
        typed.and_then(|matches| Self::from_arg_matches(&matches)).map_err(|e| match e.kind() {
            ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => e.exit(),
            ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => e.exit(),
            _ => refusal(&e, std::env::args().nth(1)),
        })
    }

    /// Runs the subcommand.
    ///
    /// # Errors
    /// The subcommand's.
    pub fn run(&self) -> Result<()> {
        match &self.command {
            Command::Ask(args) => ask::run(args),
            Command::Run(args) => run::run(args),
            Command::Conflict(args) => conflict::run(args),
            Command::Score(args) => score::run(args),
            Command::Compare(args) => compare::run(args),
            Command::Merge(args) => merge::run(args),
            Command::Replay(args) => replay::run(args),
            Command::Fork(args) => fork::run(args),
            Command::Why(args) => why::run(args),
            Command::Reproduce(args) => reproduce::run(args),
            Command::Report(args) => report::run(args),
            Command::Methods(args) => methods::run(args),
            Command::Prompts(args) => prompts::run(args),
            Command::Show(args) => show::run(args),
            Command::Calls(args) => calls::run(args),
            Command::Slices(args) => slices::run(args),
            Command::Sources(args) => sources::run(args),
            Command::Verify(args) => verify::run(args),
            Command::Bench(args) => bench::run(args),
            Command::Index(args) => index::run(args),
            Command::Models(args) => models::run(args),
            Command::Doctor(args) => doctor::run(args),
        }
    }
}

/// `command`, of whose subcommands those with options hidden from the short help print it for `--help` too, one line an
/// option, and every option for `--help-all`.
fn with_short_help(command: clap::Command) -> clap::Command {
    let long = |sub: &&clap::Command| sub.get_arguments().any(Arg::is_hide_short_help_set);
    let names: Vec<String> = command.get_subcommands().filter(long).map(|sub| sub.get_name().to_owned()).collect();
    names.iter().fold(command, |command, name| {
        command.mut_subcommand(name, |sub| {
            let help = Arg::new("help").short('h').long("help").action(ArgAction::HelpShort);
            let all = Arg::new("help-all").long("help-all").action(ArgAction::HelpLong);
            sub.disable_help_flag(true)
                .next_help_heading(None::<&str>)
                .arg(help.help("Print this help"))
                .arg(all.help("Print every option: switches of methods, sampling, retrieval, engine, servers"))
        })
    })
}

/// Converts clap's error to one line and one hint, like all errors of this program; `first` is the first argument.
fn refusal(error: &clap::Error, first: Option<String>) -> MootError {
    let text = error.render().to_string();
    let mut paragraphs = text.split("\n\n").map(terminal::columns::printable);
    let wrong = paragraphs.next().unwrap_or_default();
    let tip = paragraphs.find_map(|paragraph| paragraph.strip_prefix("tip: ").map(str::to_owned));
    let command = first.filter(|word| Cli::command().find_subcommand(word).is_some());
    let help =
        || format!("see `{} --help`", ["moot"].into_iter().chain(command.as_deref()).collect::<Vec<_>>().join(" "));
    MootError::Arguments {
        wrong: wrong.strip_prefix("error: ").unwrap_or(&wrong).to_owned(),
        hint: tip.unwrap_or_else(help),
    }
}

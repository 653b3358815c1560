//! The command line: one file a subcommand, thin.

mod advice;
pub mod args;
pub(crate) mod ask;
pub(crate) mod bench;
pub mod calls;
pub(crate) mod check;
mod choice;
mod claims;
pub mod compare;
pub(crate) mod conflict;
pub(crate) mod contradictions;
pub mod debate;
pub(crate) mod doctor;
#[cfg(test)]
mod examples;
pub(crate) mod fork;
pub(crate) mod index;
pub(crate) mod mcp;
pub(crate) mod merge;
pub mod methods;
pub(crate) mod models;
pub(crate) mod prompts;
mod records;
pub(crate) mod replay;
pub(crate) mod report;
mod report_page;
pub(crate) mod reproduce;
pub mod run;
pub mod score;
pub(crate) mod serve;
pub mod show;
pub(crate) mod slices;
pub(crate) mod sources;
#[cfg(test)]
mod spelled;
pub mod terminal;
pub(crate) mod verify;
pub(crate) mod why;

use crate::cli::terminal::columns::wrap;
use crate::cli::terminal::output;
use crate::error::{MootError, Result};
use crate::llm::remote::Notice;
use crate::retrieval::corpus::{PDF_WORKER, serve_pdf};
use crate::workspace::models::RuntimeOptions;
use clap::error::ErrorKind;
use clap::{Arg, ArgAction, CommandFactory, FromArgMatches, Parser, Subcommand};
use std::ffi::OsString;
use std::path::Path;

/// Answer questions from documents that contradict each other, with the documents for and against each answer
#[derive(Debug, Parser)]
#[command(version, propagate_version = true, max_term_width = HELP_COLUMNS)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
#[allow(clippy::large_enum_variant, reason = "a process has one value")]
enum Command {
    Ask(ask::Args),
    Run(run::Args),
    Conflict(conflict::Args),
    Contradictions(contradictions::Args),
    Serve(serve::Args),
    Mcp(mcp::Args),
    Score(score::Args),
    Compare(compare::Args),
    Report(report::Args),
    Index(index::Args),
    Models(models::Args),
    /// Work with a record: show it, repeat its calls, merge parts, fork a debate
    #[command(subcommand)]
    Record(OfRecord),
    Methods(methods::Args),
    Prompts(prompts::Args),
    Sources(sources::Args),
    /// Reproduce the papers' tables, check datasets, build slices, measure speed
    #[command(subcommand)]
    Lab(OfLab),
    Doctor(doctor::Args),
    /// Old names, from before commands had groups: `moot show` is `moot record show`, `moot bench` is `moot lab bench`.
    #[command(flatten)]
    OldRecord(OfRecord),
    #[command(flatten)]
    OldLab(OfLab),
    /// Read PDF files for another process of this program
    #[command(name = PDF_WORKER, hide = true)]
    ReadPdf,
}

/// Commands on one record.
#[derive(Debug, Subcommand)]
#[allow(clippy::large_enum_variant, reason = "a process has one value")]
enum OfRecord {
    Show(show::Args),
    Calls(calls::Args),
    Verify(verify::Args),
    Replay(replay::Args),
    Merge(merge::Args),
    Fork(fork::Args),
    Why(why::Args),
}

/// Commands for researchers and developers.
#[derive(Debug, Subcommand)]
#[allow(clippy::large_enum_variant, reason = "a process has one value")]
enum OfLab {
    Reproduce(reproduce::Args),
    Check(check::Args),
    Slices(slices::Args),
    Bench(bench::Args),
}

/// The subcommands as the help lists them. One that is in no group is an old name.
const GROUPS: [(&str, &[&str]); 3] = [
    ("Commands", &["ask", "run", "conflict", "contradictions", "score", "compare", "report", "index", "models"]),
    ("Servers", &["serve", "mcp"]),
    ("Records, methods and research", &["record", "methods", "prompts", "sources", "lab", "doctor"]),
];

/// Columns of the help at most.
const HELP_COLUMNS: usize = 100;

impl Cli {
    /// Parses a command line, the program's name first. For help or the version, prints them and exits.
    ///
    /// # Errors
    /// [`MootError::Arguments`].
    pub(crate) fn read(typed: impl IntoIterator<Item = OsString>) -> Result<Self> {
        let typed: Vec<OsString> = typed.into_iter().collect();
        let matches = Self::grouped().try_get_matches_from(&typed);
        matches.and_then(|matches| Self::from_arg_matches(&matches)).map_err(|e| match e.kind() {
            // Help is no error: clap prints it and ends the program with its own code.
            ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => e.exit(),
            ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => e.exit(),
            _ => refusal(&e, typed.iter().skip(1).map(|word| word.to_string_lossy().into_owned())),
        })
    }

    /// The command with its help: subcommands in groups, old names hidden, long options behind `--help-all`.
    #[must_use]
    pub fn grouped() -> clap::Command {
        let command = with_short_help(Self::command());
        let is_old = |name: &str| GROUPS.iter().all(|(_, names)| !names.contains(&name)) && name != "help";
        let old: Vec<String> = command.get_subcommands().map(|sub| sub.get_name().to_owned()).collect();
        let command = old
            .iter()
            .filter(|name| is_old(name))
            .fold(command, |command, name| command.mut_subcommand(name, |sub| sub.hide(true)));
        let listed = listed(&command);
        command.help_template(format!(
            "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{listed}Options:\n{{options}}"
        ))
    }

    /// Starts the threads of commands that compute without a model. The others start theirs when the model is opened.
    fn start_pool(&self) -> Result<()> {
        let runtime = match &self.command {
            Command::Score(args) => args.model.runtime.options(),
            Command::Compare(_)
            | Command::Report(_)
            | Command::Index(_)
            | Command::Sources(_)
            | Command::Doctor(_)
            | Command::Record(OfRecord::Replay(_))
            | Command::OldRecord(OfRecord::Replay(_))
            | Command::Lab(OfLab::Reproduce(_))
            | Command::OldLab(OfLab::Reproduce(_)) => RuntimeOptions::default(),
            _ => return Ok(()),
        };
        runtime.start_pool(&Notice::new(terminal::tell))
    }

    /// The exit code of an error that is not the command line's. `moot contradictions` and `moot conflict` exit with 1 for a
    /// finding alone.
    pub(crate) fn code_of_errors(&self) -> u8 {
        if matches!(self.command, Command::Contradictions(_) | Command::Conflict(_)) { 2 } else { 1 }
    }

    /// Runs the subcommand.
    ///
    /// # Errors
    /// The subcommand's; [`MootError::Threads`].
    pub(crate) fn run(&self) -> Result<()> {
        self.start_pool()?;
        match &self.command {
            Command::Ask(args) => ask::run(args),
            Command::Run(args) => run::run(args),
            Command::Conflict(args) => conflict::run(args),
            Command::Contradictions(args) => contradictions::run(args),
            Command::Serve(args) => serve::run(args),
            Command::Mcp(args) => mcp::run(args),
            Command::Score(args) => score::run(args),
            Command::Compare(args) => compare::run(args),
            Command::Report(args) => report::run(args),
            Command::Index(args) => index::run(args),
            Command::Models(args) => models::run(args),
            Command::Methods(args) => methods::run(args),
            Command::Prompts(args) => prompts::run(args),
            Command::Sources(args) => sources::run(args),
            Command::Doctor(args) => doctor::run(args),
            Command::Record(of) | Command::OldRecord(of) => of.run(),
            Command::Lab(of) | Command::OldLab(of) => of.run(),
            Command::ReadPdf => serve_pdf().map_err(|e| MootError::io(Path::new("-"), "read PDF files from", e)),
        }
    }
}

impl OfRecord {
    fn run(&self) -> Result<()> {
        match self {
            Self::Show(args) => show::run(args),
            Self::Calls(args) => calls::run(args),
            Self::Verify(args) => verify::run(args),
            Self::Replay(args) => replay::run(args),
            Self::Merge(args) => merge::run(args),
            Self::Fork(args) => fork::run(args),
            Self::Why(args) => why::run(args),
        }
    }
}

impl OfLab {
    fn run(&self) -> Result<()> {
        match self {
            Self::Reproduce(args) => reproduce::run(args, &Cli::grouped()),
            Self::Check(args) => check::run(args),
            Self::Slices(args) => slices::run(args),
            Self::Bench(args) => bench::run(args),
        }
    }
}

/// The subcommands in their groups, each with the first line of its help, which goes on below its beginning.
fn listed(command: &clap::Command) -> String {
    let mut text = String::new();
    let longest = GROUPS.iter().flat_map(|(_, names)| *names).map(|name| name.len()).max().unwrap_or_default();
    let margin = longest + 4;
    let columns = output::columns().min(HELP_COLUMNS).saturating_sub(margin);
    for (heading, names) in GROUPS {
        text.push_str(&format!("{heading}:\n"));
        for name in names {
            let about = command.find_subcommand(name).and_then(clap::Command::get_about);
            let about = about.map(ToString::to_string).unwrap_or_default();
            let lines = wrap(about.lines().next().unwrap_or_default(), columns);
            text.push_str(&format!("  {name:<longest$}  {}\n", lines.join(&format!("\n{}", " ".repeat(margin)))));
        }
        text.push('\n');
    }
    text
}

/// `command`, of whose subcommands those with options hidden from the short help print it for `--help` too, one line an
/// option, and every option for `--help-all`.
fn with_short_help(command: clap::Command) -> clap::Command {
    let names: Vec<String> = command.get_subcommands().map(|sub| sub.get_name().to_owned()).collect();
    names.iter().fold(command, |command, name| command.mut_subcommand(name, |sub| short_help(sub, false)))
}

/// `command` with such a help. Where a command above it has one, clap's own flag is off here too: `is_below` says so.
fn short_help(command: clap::Command, is_below: bool) -> clap::Command {
    let is_long = command.get_arguments().any(Arg::is_hide_short_help_set);
    let names: Vec<String> = command.get_subcommands().map(|sub| sub.get_name().to_owned()).collect();
    let own = is_below || is_long;
    let command = names.iter().fold(command, |command, name| command.mut_subcommand(name, |sub| short_help(sub, own)));
    if !own {
        return command;
    }
    let help = Arg::new("help").short('h').long("help").action(ArgAction::HelpShort);
    // Without a heading: otherwise the two would be listed under that of the last group of options.
    let command = command.disable_help_flag(true).next_help_heading(None::<&str>).arg(help.help("Print this help"));
    if !is_long {
        return command;
    }
    let all = Arg::new("help-all").long("help-all").action(ArgAction::HelpLong);
    command.arg(all.help("Print every option: switches of methods, sampling, retrieval, engine, servers"))
}

/// Converts clap's error to one line and one hint, like all errors of this program; `typed` are the arguments.
fn refusal(error: &clap::Error, typed: impl Iterator<Item = String>) -> MootError {
    let text = error.render().to_string();
    // clap puts empty lines between the error, its tips and the usage.
    let mut paragraphs = text.split("\n\n").map(terminal::columns::printable);
    let wrong = paragraphs.next().unwrap_or_default();
    let tip = paragraphs.find_map(|paragraph| paragraph.strip_prefix("tip: ").map(str::to_owned));
    // As many words as name a subcommand, and a subcommand of that.
    let mut words = vec!["moot".to_owned()];
    let mut command = Cli::command();
    for word in typed {
        let Some(sub) = command.find_subcommand(&word).cloned() else { break };
        command = sub;
        words.push(word);
    }
    let help = || format!("see `{} --help`", words.join(" "));
    MootError::Arguments {
        wrong: wrong.strip_prefix("error: ").unwrap_or(&wrong).to_owned(),
        hint: tip.unwrap_or_else(help),
    }
}

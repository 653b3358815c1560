//! Options that were typed with a figure of other commands: these take them over.

use crate::cli::args::corpus::CorpusArgs;
use crate::error::Result;
use crate::methods;
use crate::protocol::{OwnPrompts, Row};
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Args, Command, FromArgMatches};
use std::collections::BTreeMap;
use std::path::Path;

/// Options that `moot run` has too, with another meaning.
const OTHERS: [&str; 2] = ["output", "format"];

/// Options that belong to rows: a figure's commands weigh sources themselves, and their methods have no preset.
const OF_ROWS: [&str; 2] = ["source_weights", "preset"];

/// The options of `moot lab reproduce` that were typed, by the ids of their arguments.
#[derive(Debug, Clone, Default)]
pub(crate) struct Given(BTreeMap<String, Vec<String>>);

/// A command that makes a figure, in words.
struct Made {
    words: Vec<String>,
    /// Its arguments; none for a command that takes no option over.
    arguments: Vec<Arg>,
    /// Its method.
    method: &'static str,
}

impl Made {
    fn new(command: &str, program: &Command) -> Self {
        let words: Vec<String> = command.split(' ').map(str::to_owned).collect();
        let (path, method): (&[&str], &str) = match words.get(1).map(String::as_str) {
            Some("run") => (&["run"], "source-pools"),
            Some("sources") if words.get(2).is_some_and(|word| word == "trials") => (&["sources", "trials"], "ra-rag"),
            _ => (&[], ""),
        };
        let arguments = if path.is_empty() { Vec::new() } else { arguments(program, path) };
        Self { words, arguments, method }
    }

    /// The index of the corpus that it searches.
    fn corpus(&self) -> Option<usize> {
        Some(self.words.iter().position(|word| word == "--corpus")? + 1)
    }

    /// Whether it takes over the option with this id. Options of a corpus have no meaning for `moot run` without one.
    fn takes(&self, id: &str) -> bool {
        let retrieval = CorpusArgs::augment_args(Command::new("retrieval"));
        let of_corpus = retrieval.get_arguments().any(|argument| argument.get_id() == id);
        let searches = self.corpus().is_some() || self.method == "ra-rag";
        !OTHERS.contains(&id) && !OF_ROWS.contains(&id) && (searches || !of_corpus)
    }
}

impl Given {
    /// `commands` of `program`, each with the options that it takes over, and the options that none of them does.
    ///
    /// # Errors
    /// Prompts that cannot be read.
    pub(super) fn passed_on(&self, commands: &[&str], program: &Command) -> Result<(Vec<String>, Vec<String>)> {
        let mut taken: Vec<String> = OTHERS.map(str::to_owned).to_vec();
        let mut all = Vec::new();
        for command in commands {
            let mut made = Made::new(command, program);
            for argument in std::mem::take(&mut made.arguments) {
                let id = argument.get_id().as_str();
                let Some((values, long)) = self.0.get(id).zip(argument.get_long()) else { continue };
                if !made.takes(id) || id == "prompts" && !uses(made.method, values)? {
                    continue;
                }
                taken.push(id.to_owned());
                match made.corpus().filter(|_| id == "corpus") {
                    Some(at) => made.words.splice(at..=at, values.iter().map(|value| quoted(value))).for_each(drop),
                    None if !argument.get_action().takes_values() => made.words.push(format!("--{long}")),
                    None => made.words.extend(values.iter().map(|value| format!("--{long} {}", quoted(value)))),
                }
            }
            all.push(made.words.join(" "));
        }
        let of_run = arguments(program, &["run"]);
        let unused = of_run.iter().filter(|argument| {
            let id = argument.get_id().as_str();
            self.0.contains_key(id) && !taken.iter().any(|taken| taken == id)
        });
        Ok((all, unused.filter_map(Arg::get_long).map(|long| format!("--{long}")).collect()))
    }
}

/// The arguments of a subcommand.
fn arguments(program: &Command, path: &[&str]) -> Vec<Arg> {
    let command = path.iter().try_fold(program, |command, name| command.find_subcommand(name));
    command.into_iter().flat_map(Command::get_arguments).cloned().collect()
}

/// Whether a method uses one of the prompts in the folders `dirs`.
fn uses(method: &str, dirs: &[String]) -> Result<bool> {
    let row = Row::named(method)?;
    let mut any = false;
    for dir in dirs {
        any |= !OwnPrompts::read(Path::new(dir), &methods::replaceable())?.among(row.files()).is_empty();
    }
    Ok(any)
}

/// A value as a shell reads it.
fn quoted(value: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "_./:=,#@+-".contains(c);
    if !value.is_empty() && value.chars().all(plain) {
        return value.to_owned();
    }
    let escaped = value.chars().flat_map(|c| "\"\\$`".contains(c).then_some('\\').into_iter().chain([c]));
    format!("\"{}\"", escaped.collect::<String>())
}

impl FromArgMatches for Given {
    fn from_arg_matches(matches: &ArgMatches) -> std::result::Result<Self, clap::Error> {
        let typed = matches.ids().filter(|id| matches.value_source(id.as_str()) == Some(ValueSource::CommandLine));
        let values = |id: &clap::Id| {
            let raw = matches.get_raw(id.as_str()).into_iter().flatten();
            raw.map(|value| value.to_string_lossy().into_owned()).collect()
        };
        Ok(Self(typed.map(|id| (id.to_string(), values(id))).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> std::result::Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// It adds no argument: it reads those of the command.
impl Args for Given {
    fn augment_args(command: Command) -> Command {
        command
    }

    fn augment_args_for_update(command: Command) -> Command {
        command
    }
}

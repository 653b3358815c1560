//! Flags of methods' switches, made from the table of methods: `--set NAME=VALUE`, or `--NAME VALUE`.

use crate::cli::args::corpus::CorpusArgs;
use crate::cli::args::model::ModelArgs;
use crate::error::{MootError, Result};
use crate::files;
use crate::methods::METHODS;
use crate::protocol::switches::{Kind, Switch, Typed};
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;
use std::sync::OnceLock;

/// Bytes of a file that a switch names, at most.
const MOST_BYTES: u64 = 1 << 20;

/// Switches as typed.
#[derive(Debug, Clone, Default)]
pub struct Switches {
    set: Vec<String>,
    flags: Typed,
}

impl Switches {
    /// The switches by name. Unknown names are refused later, by the method.
    ///
    /// # Errors
    /// [`MootError::Usage`] for a `--set` that is not NAME=VALUE, and for a switch given twice.
    pub(crate) fn typed(&self) -> Result<Typed> {
        let mut typed = self.flags.clone();
        for set in &self.set {
            let Some((name, value)) = set.split_once('=').map(|(name, value)| (name.trim(), value.trim())) else {
                return Err(MootError::Usage(format!("--set {set}: expected NAME=VALUE, found no `=`")));
            };
            if typed.insert(name.to_owned(), value.to_owned()).is_some() {
                return Err(MootError::Usage(format!("--set {set}: {name} is set twice")));
            }
        }
        for (name, value) in &mut typed {
            if takes_file(name) && value != "none" && !value.starts_with('{') {
                *value = object_of(name, Path::new(value.as_str()))?;
            }
        }
        Ok(typed)
    }
}

fn takes_file(name: &str) -> bool {
    METHODS.iter().flat_map(|row| row.switches).any(|switch| switch.name == name && switch.kind == Kind::Object)
}

/// The JSON object in a file that a switch names.
fn object_of(name: &str, path: &Path) -> Result<String> {
    let mut text = String::new();
    let read = files::open(path)?.take(MOST_BYTES).read_to_string(&mut text);
    read.map_err(|e| MootError::io(path, "read", e))?;
    serde_json::from_str::<serde_json::Map<String, Value>>(&text).map_err(|e| MootError::Input {
        path: path.to_owned(),
        line: Some(e.line()),
        expected: format!("a JSON object for --{name}"),
        found: e.to_string(),
    })?;
    Ok(text.trim().to_owned())
}

/// The description of a switch, and the methods that have it so.
type Use = (&'static str, Vec<&'static str>);

/// Every switch name once, with its uses: methods may mean different things by a name.
fn table() -> Vec<(&'static Switch, Vec<Use>)> {
    let mut table: Vec<(&Switch, Vec<Use>)> = Vec::new();
    for row in METHODS {
        for switch in row.switches {
            let index = table.iter().position(|(known, _)| known.name == switch.name).unwrap_or_else(|| {
                table.push((switch, Vec::new()));
                table.len() - 1
            });
            let uses = &mut table[index].1;
            match uses.iter_mut().find(|(about, _)| *about == switch.about) {
                Some((_, methods)) => methods.push(row.name),
                None => uses.push((switch.about, vec![row.name])),
            }
        }
    }
    table
}

/// The rows of [`table`] that are flags. A name that another option has already is left to `--set`: `--top` is the number of
/// passages of a corpus.
fn flags() -> impl Iterator<Item = (&'static Switch, Vec<Use>)> {
    let taken = ModelArgs::augment_args(CorpusArgs::augment_args(Command::new("moot")));
    table().into_iter().filter(move |(switch, _)| taken.get_arguments().all(|arg| arg.get_long() != Some(switch.name)))
}

/// The name `no-NAME` of a flag; static, because clap requires it.
fn negative(name: &'static str) -> &'static str {
    static NAMES: OnceLock<BTreeMap<&str, String>> = OnceLock::new();
    let names =
        NAMES.get_or_init(|| table().iter().map(|(switch, _)| (switch.name, format!("no-{}", switch.name))).collect());
    &names[name]
}

impl Args for Switches {
    fn augment_args(command: Command) -> Command {
        let set = Arg::new("set")
            .long("set")
            .value_name("NAME=VALUE")
            .action(ArgAction::Append)
            .help("Set a switch of the method (`moot methods METHOD` lists them)");
        let mut command = command.arg(set);
        // An option of the subcommand itself goes first: `moot prompts compare --variant` is a file.
        let own: Vec<String> = command.get_arguments().filter_map(Arg::get_long).map(str::to_owned).collect();
        for (switch, uses) in flags().filter(|(switch, _)| own.iter().all(|name| name != switch.name)) {
            let uses = uses.iter().map(|(about, methods)| format!("{about} ({})", methods.join(", ")));
            let help = uses.collect::<Vec<_>>().join("; ");
            let flag = Arg::new(switch.name).long(switch.name).help(help).hide_short_help(true);
            if switch.kind == Kind::Flag {
                let no = negative(switch.name);
                let off = Arg::new(no).long(no).action(ArgAction::SetTrue).hide(true);
                let on =
                    // With `=` alone: otherwise the flag would take the word behind it, a question say, as its value.
                    flag.num_args(0..=1).require_equals(true).default_missing_value("true").value_name("true|false");
                command = command.arg(on).arg(off.conflicts_with(switch.name));
            } else {
                command = command.arg(flag.value_name("VALUE").allow_hyphen_values(true));
            }
        }
        command
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for Switches {
    fn from_arg_matches(matches: &ArgMatches) -> std::result::Result<Self, clap::Error> {
        let mut switches = Self::default();
        switches.update_from_arg_matches(matches)?;
        Ok(switches)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> std::result::Result<(), clap::Error> {
        self.set.extend(matches.get_many::<String>("set").into_iter().flatten().cloned());
        for (switch, _) in flags() {
            // An option of the subcommand of this name has another type, or is not there.
            if let Ok(Some(value)) = matches.try_get_one::<String>(switch.name) {
                self.flags.insert(switch.name.to_owned(), value.clone());
            }
            let off = matches.try_get_one::<bool>(negative(switch.name));
            if switch.kind == Kind::Flag && off.is_ok_and(|off| off == Some(&true)) {
                self.flags.insert(switch.name.to_owned(), "false".to_owned());
            }
        }
        Ok(())
    }
}

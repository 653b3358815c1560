//! Tests of the table of spellings: each option of `moot ask` and `moot run` fills the field that its row names.

use super::{Cli, Command};
use crate::workspace::{SPELLINGS, field_of};
use clap::FromArgMatches;
use serde_json::Value;
use std::collections::BTreeMap;

/// The command line before an option under test: it has what the option may require, and nothing that it excludes.
const BEFORE: [&str; 6] = [
    "ask Q",
    "ask Q --docs d",
    "ask Q --corpus c --temperature 1 --classifier c --reranker r",
    RUN,
    "run set.jsonl --answers answers.csv",
    "run set.jsonl --output record.jsonl --sample 9",
];
const RUN: &str = "run set.jsonl --output record.jsonl";
const VALUES: [&str; 10] = ["", " 3", " off", " bm25", " 2018", " 2/4", " widened", " int8", " a.csv", " rounds=3"];
/// Arguments that fill no field: they choose what is printed.
const PRINTING: [&str; 2] = ["json", "full"];

/// The options that a command line gives, as JSON; `None` where it is refused.
fn options(command: &clap::Command, typed: &str) -> Option<Value> {
    let words = ["moot"].into_iter().chain(typed.split(' '));
    let cli = Cli::from_arg_matches(&command.clone().try_get_matches_from(words).ok()?).ok()?;
    let options = match cli.command {
        Command::Ask(args) => args.options(),
        Command::Run(args) => args.options(),
        _ => return None,
    };
    Some(serde_json::to_value(options.ok()?).unwrap())
}

/// The fields of `value` by their paths.
fn fields(value: &Value, path: &str, found: &mut BTreeMap<String, Value>) {
    let Some(object) = value.as_object().filter(|_| path != "method.switches") else {
        found.insert(path.to_owned(), value.clone());
        return;
    };
    for (name, value) in object {
        fields(value, &if path.is_empty() { name.clone() } else { format!("{path}.{name}") }, found);
    }
}

fn fields_of(value: &Value) -> BTreeMap<String, Value> {
    let mut found = BTreeMap::new();
    fields(value, "", &mut found);
    found
}

/// The fields that `--option` changes, by the first way to type it that changes any.
fn changed(command: &clap::Command, option: &str) -> Vec<String> {
    for before in BEFORE {
        let without = fields_of(&options(command, before).unwrap());
        for value in VALUES {
            let Some(with) = options(command, &format!("{before} --{option}{value}")) else { continue };
            let with = fields_of(&with);
            let other: Vec<String> =
                with.iter().filter(|(name, value)| without[*name] != **value).map(|(name, _)| name.clone()).collect();
            if !other.is_empty() {
                return other;
            }
        }
    }
    Vec::new()
}

#[test]
fn each_option_fills_the_field_of_its_row() {
    let command = Cli::grouped();
    for (option, field) in SPELLINGS {
        assert_eq!(changed(&command, option), [*field], "--{option}");
    }
    assert_eq!(changed(&command, "rounds"), ["method.switches"]);
    assert_eq!(field_of("no-aggregator").as_deref(), Some("method.switches.aggregator"));
    assert_eq!(field_of("features"), None);
}

#[test]
fn every_field_and_every_option_has_a_row() {
    let command = Cli::grouped();
    let positional = ["question", "run.dataset"];
    for name in fields_of(&options(&command, RUN).unwrap()).keys() {
        let known = SPELLINGS.iter().any(|(_, field)| field == name);
        assert!(known || positional.contains(&name.as_str()), "no option fills {name}");
    }
    for subcommand in ["ask", "run"] {
        let arguments = command.find_subcommand(subcommand).unwrap().get_arguments();
        for option in arguments.filter_map(clap::Arg::get_long).filter(|name| !PRINTING.contains(name)) {
            assert!(field_of(option).is_some() || option.starts_with("help"), "--{option} has no row");
        }
    }
}

//! Switches: what may be typed, what it means, and what is refused.

use crate::methods::{typed, usage_error};
use moot::cli::Cli;
use moot::cli::args::method::MethodArgs;
use moot::llm::remote::Notice;
use moot::methods::{self, METHODS};
use moot::protocol::switches::{Kind, Switch, Typed, Values};
use serde_json::json;
use std::collections::BTreeSet;

const TABLE: &[Switch] = &[
    Switch { name: "rounds", about: "rounds", kind: Kind::Count(1, 16), default: "3" },
    Switch { name: "theta", about: "threshold", kind: Kind::Number(0.0, 1.0), default: "0.5" },
    Switch { name: "aggregator", about: "conclude", kind: Kind::Flag, default: "true" },
    Switch { name: "history", about: "what is read", kind: Kind::Choice(&["own", "peers"]), default: "own" },
];

fn resolve(switches: &[(&str, &str)]) -> moot::Result<Values> {
    Values::resolve("tested", TABLE, &typed(switches))
}

#[test]
fn defaults_are_used_for_switches_that_are_not_typed() {
    let values = resolve(&[]).unwrap();
    assert_eq!((values.count("rounds"), values.number("theta"), values.flag("aggregator")), (3, 0.5, true));
    assert_eq!((values.choice("history"), values.is_typed("history")), ("own", false));
    assert_eq!(values.json(), json!({ "rounds": 3, "theta": 0.5, "aggregator": true, "history": "own" }));
    let values = resolve(&[("history", "own"), ("rounds", "16"), ("theta", "1"), ("aggregator", "false")]).unwrap();
    assert!(values.is_typed("history"), "also where the default was typed");
    assert_eq!(values.json(), json!({ "rounds": 16, "theta": 1.0, "aggregator": false, "history": "own" }));
}

#[test]
fn bounds_are_included_and_everything_beyond_is_refused() {
    for (name, good) in [("rounds", &["1", "16"][..]), ("theta", &["0", "1", "0.999", "1e-3"])] {
        for value in good {
            assert!(resolve(&[(name, value)]).is_ok(), "{name} {value}");
        }
    }
    for (name, expected, bad) in [
        (
            "rounds",
            "a whole number from 1 to 16",
            &["0", "17", "-1", "2.0", "", " 3", "three", "99999999999999999999"][..],
        ),
        ("theta", "a number from 0 to 1", &["-0.001", "1.001", "NaN", "inf", "", "1,0", "half"]),
        ("aggregator", "true or false", &["", "1", "yes", "True", "TRUE"]),
        ("history", "own or peers", &["", "Own", "peer", "own,peers"]),
    ] {
        for value in bad {
            let line = usage_error(resolve(&[(name, value)]));
            assert_eq!(line, format!("tested, switch {name}: expected {expected}, found {value:?}"));
        }
    }
}

#[test]
fn an_unknown_switch_is_named_with_those_that_there_are() {
    let line = usage_error(resolve(&[("round", "3")]));
    assert_eq!(line, "tested has no switch \"round\" (it has: rounds, theta, aggregator, history)");
}

#[test]
fn every_default_of_every_method_is_a_value_of_its_switch() {
    for row in METHODS {
        let values = methods::build(row.name, &Typed::new()).unwrap().values.json();
        let names: Vec<&str> = values.as_object().unwrap().keys().map(String::as_str).collect();
        let table: Vec<&str> = row.switches.iter().map(|switch| switch.name).collect();
        assert_eq!(names, table, "{}", row.name);
        for switch in row.switches {
            assert!(!switch.about.is_empty(), "{} {}", row.name, switch.name);
            let typed = typed(&[(switch.name, switch.default)]);
            assert!(Values::resolve(row.name, row.switches, &typed).is_ok(), "{} {}", row.name, switch.name);
        }
    }
}

/// Without an aggregator agents can read only each other, so the default of `history` depends on it.
#[test]
fn a_default_may_depend_on_another_switch() {
    let resolved = |switches: &[(&str, &str)]| methods::build("madam-rag", &typed(switches)).unwrap().values.json();
    let read = |values: serde_json::Value| (values["history"].clone(), values["aggregator"].clone());
    assert_eq!(read(resolved(&[])), (json!("aggregate"), json!(true)));
    let alone = (json!("peers"), json!(false));
    assert_eq!(read(resolved(&[("aggregator", "false")])), alone);
    assert_eq!(read(resolved(&[("aggregator", "false"), ("history", "peers")])), alone);
    let deaf = methods::build("madam-rag", &typed(&[("aggregator", "false"), ("history", "aggregate")]));
    assert!(usage_error(deaf).starts_with("madam-rag: without an aggregator there is no history `aggregate`"));
}

#[derive(Debug, clap::Parser)]
struct Line {
    #[command(flatten)]
    args: MethodArgs,
}

/// The method's switches, as typed after `moot`; or the refusal of the command line or the method.
fn command_line(line: &str) -> Result<serde_json::Value, String> {
    let words = ["moot"].into_iter().chain(line.split(' ').filter(|word| !word.is_empty()));
    let parsed = <Line as clap::Parser>::try_parse_from(words).map_err(|e| e.to_string())?;
    let resolved = parsed
        .args
        .options()
        .and_then(|options| options.resolve(methods::RUN, &Notice::default()))
        .map_err(|e| e.to_string())?;
    Ok(resolved.method.values.json())
}

#[test]
fn switches_are_typed_by_name_or_by_set() {
    let rounds = |line: &str| command_line(line).unwrap()["rounds"].clone();
    assert_eq!(rounds(""), 3);
    assert_eq!(rounds("--rounds 2"), 2);
    assert_eq!(rounds("--rounds=2"), 2);
    assert_eq!(rounds("--set rounds=2"), 2);
    assert_eq!(rounds("--set history=peers --set rounds=4"), 4);
    let aggregator = |line: &str| command_line(line).unwrap()["aggregator"].clone();
    for line in ["--no-aggregator", "--aggregator=false", "--set aggregator=false"] {
        assert_eq!(aggregator(line), false, "{line}");
    }
    for line in ["", "--aggregator", "--aggregator=true"] {
        assert_eq!(aggregator(line), true, "{line}");
    }
}

#[test]
fn a_switch_typed_twice_or_wrong_is_refused() {
    for (line, said) in [
        ("--rounds 2 --rounds 3", "'--rounds <VALUE>' cannot be used multiple times"),
        ("--rounds 2 --set rounds=3", "--set rounds=3: rounds is set twice"),
        ("--set rounds=2 --set rounds=2", "--set rounds=2: rounds is set twice"),
        ("--no-aggregator --aggregator", "cannot be used with"),
        ("--no-aggregator --set aggregator=true", "aggregator is set twice"),
        ("--set rounds", "--set rounds: expected NAME=VALUE, found no `=`"),
        ("--set =3", "madam-rag has no switch \"\""),
        ("--set rounds=", "switch rounds: expected a whole number from 1 to 16, found \"\""),
        ("--rounds -1", "switch rounds: expected a whole number from 1 to 16, found \"-1\""),
        (
            "--set ruonds=3",
            "madam-rag has no switch \"ruonds\" (it has: rounds, history, shuffle, aggregator, wording, stop, verdict)",
        ),
        ("--method closed-book --rounds 3", "closed-book has no switch \"rounds\" (it has: one-answer)"),
    ] {
        let refused = command_line(line).unwrap_err();
        assert!(refused.contains(said), "{line}: {refused}");
    }
}

/// No option and no group of a subcommand has the name of another. Release builds do not check it.
#[test]
fn every_option_has_a_name_of_its_own() {
    fn check(command: &clap::Command) {
        let mut seen = BTreeSet::new();
        for arg in command.get_arguments() {
            let names = arg.get_long().map(|long| format!("--{long}")).into_iter();
            for name in names.chain(arg.get_short().map(|short| format!("-{short}"))).chain([arg.get_id().to_string()])
            {
                assert!(seen.insert(name.clone()), "{}: {name} twice", command.get_name());
            }
        }
        for group in command.get_groups() {
            assert!(seen.insert(format!("group {}", group.get_id())), "{}: {}", command.get_name(), group.get_id());
        }
        command.get_subcommands().for_each(check);
    }
    check(&Cli::grouped());
}

/// Every switch of every method can be set, and typed as a flag.
#[test]
fn every_switch_is_a_flag() {
    for row in METHODS {
        for switch in row.switches {
            let set = format!("--method {} --set {}={}", row.name, switch.name, switch.default);
            assert!(command_line(&set).is_ok(), "{set}");
            let line = match switch.kind {
                Kind::Flag => format!("--method {} --{}={}", row.name, switch.name, switch.default),
                _ => format!("--method {} --{} {}", row.name, switch.name, switch.default),
            };
            let values = command_line(&line).unwrap_or_else(|e| panic!("{line}: {e}"));
            assert!(values.get(switch.name).is_some(), "{line}");
            if switch.kind == Kind::Flag {
                let off = format!("--method {} --no-{}", row.name, switch.name);
                let values = command_line(&off).unwrap_or_else(|e| panic!("{off}: {e}"));
                assert_eq!(values.get(switch.name), Some(&json!(false)), "{off}");
            }
        }
    }
}

//! Presets: they build, they are documented, and they are found by their method or alone.

use crate::methods::{typed, usage_error};
use moot::cli::args::method::MethodArgs;
use moot::llm::remote::Notice;
use moot::methods::{self, ASK, METHODS, RUN};
use moot::protocol::Row;
use moot::protocol::presets::Preset;
use moot::protocol::switches::Typed;
use moot::workspace::MethodOptions;
use serde_json::json;
use std::collections::BTreeSet;

/// Every preset with its method.
fn all() -> impl Iterator<Item = (&'static Row, &'static Preset)> {
    METHODS.iter().flat_map(|&row| row.presets.iter().map(move |preset| (row, preset)))
}

#[test]
fn every_preset_builds_has_a_name_of_its_own_in_its_method_and_is_documented() {
    let docs = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/prompts.md")).unwrap();
    for row in METHODS {
        let names: BTreeSet<&str> = row.presets.iter().map(|preset| preset.name).collect();
        assert_eq!(names.len(), row.presets.len(), "{}: a preset twice", row.name);
    }
    for (row, preset) in all() {
        let name = preset.name;
        let built = row.build_preset(preset, &Typed::new()).unwrap();
        assert_eq!((built.row.name, built.preset), (row.name, Some(name)));
        for (switch, value) in preset.switches {
            let set = built.values.json()[*switch].to_string();
            assert_eq!(set.trim_matches('"'), *value, "{name}: {switch}");
            let row = built.row.switches.iter().find(|row| row.name == *switch).unwrap();
            assert_ne!(row.default, *value, "{name}: {switch} has this value without the preset");
        }
        assert!(!preset.about.is_empty() && !preset.about.ends_with('.'), "{name}");
        assert!(docs.contains(&format!("| `{name}` | `{}` | ", row.name)), "docs/prompts.md has no row for {name}");
    }
}

#[test]
fn the_presets_that_were_global_are_found_alone() {
    for (name, method) in
        [("paper", "madam-rag"), ("peers", "madam-rag"), ("one-round", "madam-rag"), ("every-answer", "madam-rag")]
    {
        let (row, preset) = methods::preset(name).unwrap();
        assert_eq!((row.name, preset.name), (method, name));
    }
    let unknown = methods::preset("peer").map(|_| ()).unwrap_err().to_string();
    assert!(all().all(|(_, preset)| unknown.contains(preset.name)), "{unknown}");
}

#[test]
fn a_preset_that_the_method_does_not_have_is_refused_with_those_it_has() {
    let madam = Row::named("madam-rag").unwrap();
    let line = usage_error(madam.preset("tuneful"));
    let has = "paper, tuned, reference-code, peers, one-round, every-answer";
    assert_eq!(line, format!("madam-rag has no preset \"tuneful\" (it has: {has})"));
    let closed_book = Row::named("closed-book").unwrap();
    assert_eq!(usage_error(closed_book.preset("tuned")), "closed-book has no preset \"tuned\" (it has: paper)");
    // Every method's defaults are its paper's.
    assert!(METHODS.iter().all(|row| row.preset("paper").is_ok_and(|preset| preset.switches.is_empty())));
}

#[test]
fn switches_typed_go_before_the_presets() {
    let (row, preset) = methods::preset("every-answer").unwrap();
    let built = row.build_preset(preset, &typed(&[("aggregator", "true")])).unwrap();
    assert_eq!((built.values.count("rounds"), built.values.flag("aggregator")), (1, true));
    assert_eq!(built.preset, Some("every-answer"));
}

/// `madam-rag` alone is the paper's protocol.
#[test]
fn defaults_are_the_protocol_of_the_paper() {
    let built = methods::build("madam-rag", &Typed::new()).unwrap();
    assert_eq!(built.preset, None);
    let paper = json!({
        "rounds": 3, "history": "aggregate", "shuffle": true, "aggregator": true, "wording": "paper", "stop": "equal",
        "verdict": "asked"
    });
    assert_eq!(built.values.json(), paper);
    let (row, preset) = methods::preset("paper").unwrap();
    assert_eq!(row.build_preset(preset, &Typed::new()).unwrap().values.json(), paper);
}

#[derive(clap::Parser)]
struct Typing {
    #[command(flatten)]
    args: MethodArgs,
}

fn options(typing: &[&str]) -> MethodOptions {
    let typed = <Typing as clap::Parser>::try_parse_from(["moot"].iter().chain(typing)).unwrap();
    typed.args.options().unwrap()
}

/// Method and preset of what was typed, as `run` and as `ask` read it.
fn resolved(typing: &[&str]) -> [(&'static str, Option<&'static str>); 2] {
    [RUN, ASK].map(|default| {
        let built = options(typing).resolve(default, &Notice::default()).unwrap().method;
        (built.row.name, built.preset)
    })
}

#[test]
fn a_method_a_preset_or_both_may_be_typed() {
    assert_eq!(resolved(&[]), [("madam-rag", None), ("moot", None)]);
    assert_eq!(resolved(&["--method", "madam-rag", "--rounds", "2"]), [("madam-rag", None); 2]);
    assert_eq!(resolved(&["--preset", "peers"]), [("madam-rag", Some("peers")); 2]);
    assert_eq!(resolved(&["--method", "madam-rag", "--preset", "peers"]), [("madam-rag", Some("peers")); 2]);
    assert_eq!(resolved(&["--method", "closed-book"]), [("closed-book", None); 2]);
    let other = options(&["--method", "closed-book", "--preset", "peers"])
        .resolve(RUN, &Notice::default())
        .map(|_| ())
        .unwrap_err()
        .to_string();
    assert!(other.contains("closed-book has no preset \"peers\""), "{other}");
}

#[test]
fn several_are_each_combination_by_a_name_of_its_own() {
    let names = |typing: &[&str]| -> Vec<String> {
        options(typing).resolve_all(&Notice::default()).unwrap().into_iter().map(|(name, _)| name).collect()
    };
    assert_eq!(names(&[]), ["madam-rag"]);
    assert_eq!(names(&["--preset", "peers,one-round"]), ["peers", "one-round"]);
    assert_eq!(names(&["--method", "mad, drag"]), ["mad", "drag"]);
    let both = names(&["--method", "madam-rag", "--preset", "peers,one-round"]);
    assert_eq!(both, ["madam-rag.peers", "madam-rag.one-round"]);
    let twice =
        options(&["--preset", "peers,peers"]).resolve_all(&Notice::default()).map(|_| ()).unwrap_err().to_string();
    assert!(twice.contains("peers is given twice"), "{twice}");
}

//! Presets: they build, they are documented, and what `moot ask` uses is one of them.

use crate::methods::typed;
use moot::cli::args::method::MethodArgs;
use moot::llm::remote::Notice;
use moot::methods::{self, METHODS};
use moot::methods::{ASK, PRESETS};
use moot::protocol::presets::Preset;
use moot::protocol::switches::Typed;
use serde_json::json;
use std::collections::BTreeSet;

#[test]
fn every_preset_builds_has_a_name_of_its_own_and_is_documented() {
    let docs = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/prompts.md")).unwrap();
    let names: BTreeSet<&str> = PRESETS.iter().map(|preset| preset.name).collect();
    assert_eq!(names.len(), PRESETS.len());
    for preset in PRESETS {
        let name = preset.name;
        let built = preset.build(&Typed::new()).unwrap();
        assert_eq!((built.row.name, built.preset), (preset.method, Some(name)));
        for (switch, value) in preset.switches {
            let set = built.values.json()[*switch].to_string();
            assert_eq!(set.trim_matches('"'), *value, "{name}: {switch}");
            let row = built.row.switches.iter().find(|row| row.name == *switch).unwrap();
            assert_ne!(row.default, *value, "{name}: {switch} has this value without the preset");
        }
        assert!(!preset.about.is_empty() && !preset.about.ends_with('.'), "{name}");
        assert!(METHODS.iter().all(|row| row.name != name), "{name} is a method");
        assert!(docs.contains(&format!("| `{name}` | ")), "docs/prompts.md has no row for {name}");
    }
    assert!(names.contains(ASK));
    let unknown = Preset::named("debat").unwrap_err().to_string();
    assert!(PRESETS.iter().all(|preset| unknown.contains(preset.name)), "{unknown}");
}

#[test]
fn switches_typed_go_before_the_presets() {
    let built = Preset::named("every-answer").unwrap().build(&typed(&[("aggregator", "true")])).unwrap();
    assert_eq!((built.values.count("rounds"), built.values.flag("aggregator")), (1, true));
    assert_eq!(built.preset, Some("every-answer"));
}

/// `madam-rag` alone is the paper's protocol; `moot ask` alone is its preset.
#[test]
fn without_switches_a_method_is_what_its_paper_says() {
    let built = methods::build("madam-rag", &Typed::new()).unwrap();
    assert_eq!(built.preset, None);
    let paper = json!({
        "rounds": 3, "history": "aggregate", "order": "document-first", "own-reply": false, "ask-again": "all",
        "grounded": false, "evidence": "explanation", "provenance": false, "aggregator": true
    });
    assert_eq!(built.values.json(), paper);
    assert_eq!(Preset::named("paper").unwrap().build(&Typed::new()).unwrap().values.json(), paper);
}

#[derive(clap::Parser)]
struct Typing {
    #[command(flatten)]
    args: MethodArgs,
}

/// Method, preset and `own-reply` of what was typed, as `run` and as `ask` read it.
fn resolved(typing: &[&str]) -> [(String, Option<String>, bool); 2] {
    let args = <Typing as clap::Parser>::try_parse_from(["moot"].iter().chain(typing)).unwrap().args;
    [None, Some(ASK)].map(|preset| {
        let built = args.options().unwrap().resolve(preset, &Notice::default()).unwrap().method;
        let own = built.row.switches.iter().any(|switch| switch.name == "own-reply") && built.values.flag("own-reply");
        (built.row.name.to_owned(), built.preset.map(str::to_owned), own)
    })
}

#[test]
fn a_method_that_is_typed_has_no_preset() {
    let madam = |preset: Option<&str>, own| ("madam-rag".to_owned(), preset.map(str::to_owned), own);
    assert_eq!(resolved(&[]), [madam(None, false), madam(Some(ASK), true)]);
    assert_eq!(resolved(&["--rounds", "2"]), [madam(None, false), madam(Some(ASK), true)]);
    assert_eq!(resolved(&["--method", "madam-rag"]), [madam(None, false), madam(None, false)]);
    assert_eq!(resolved(&["--preset", "peers"]), [madam(Some("peers"), false), madam(Some("peers"), false)]);
    let closed = ("closed-book".to_owned(), None, false);
    assert_eq!(resolved(&["--method", "closed-book"]), [closed.clone(), closed]);
    let both = <Typing as clap::Parser>::try_parse_from(["moot", "--method", "madam-rag", "--preset", "peers"]);
    assert!(both.is_err());
}

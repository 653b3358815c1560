//! Figures of sources, simulated and by trials, in processes of its own.

use super::program::{Workspace, moot, run, text};
use super::sources::{refused, said, shown};
use moot::eval::record::reader::Record;
use moot::eval::reproduce::{PaperTable, tables};
use moot::methods::replaceable;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// The commands of a figure, as `moot lab reproduce` prints them with `typed`, and what it notes.
fn printed(folder: &Path, figure: &str, typed: &[&str]) -> (Vec<String>, String) {
    let mut command = moot(["lab", "reproduce", figure, "--format", "json"]);
    command.args(typed).current_dir(folder);
    let output = run(command);
    let value: Value = serde_json::from_slice(&output.stdout).unwrap();
    let commands = value["made_by"].as_array().unwrap().iter().map(|command| command.as_str().unwrap().to_owned());
    (commands.collect(), text(&output.stderr))
}

/// A command is accepted whole: what it lacks are its files.
fn is_accepted(folder: &Path, command: &str) {
    let typed: Vec<&str> = command.split(' ').skip(1).collect();
    let output = moot(typed.iter().copied()).current_dir(folder).output().unwrap();
    let said = text(&output.stderr);
    // 2 would say that the command line is wrong.
    assert_eq!(output.status.code(), Some(1), "{command}: {said}");
    assert!(said.contains("No such file"), "{command}: {said}");
}

#[test]
fn commands_of_figures_are_accepted() {
    let folder = tempfile::tempdir().unwrap();
    let commands: Vec<&str> = tables().flat_map(|table| table.made_by).copied().collect();
    assert!(commands.len() > 8);
    commands.iter().for_each(|command| is_accepted(folder.path(), command));
}

/// Options of a figure stand in its commands, where these take them.
#[test]
fn options_of_a_figure_go_to_its_commands() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir_all(folder.path().join("mine/ra_rag")).unwrap();
    let own = format!("{}\nBe brief.", replaceable()["ra_rag/reader.jinja"].text);
    fs::write(folder.path().join("mine/ra_rag/reader.jinja"), own).unwrap();
    const TYPED: &str = "-m tiny.gguf --max-tokens 64 --sample 20 --sample-seed 7 --corpus wiki.index --retriever dense \
        --embedder contriever --prompts mine --preset tuned --offline --in-flight 2";
    let typed: Vec<&str> = TYPED.split(' ').filter(|word| !word.is_empty()).collect();
    let (commands, said) = printed(folder.path(), "ra-rag-figure-4", &typed);
    let of_both = ["--max-tokens 64", "--in-flight 2", "--model tiny.gguf", "--offline", "--embedder contriever"];
    let [pools, trials] = &commands[..] else { panic!("{commands:?}") };
    assert!(of_both.iter().all(|option| pools.contains(option) && trials.contains(option)), "{commands:?}");
    for (option, of_pools, of_trials) in [
        ("--sample 20 --sample-seed 7", true, false),
        (" --corpus wiki.index ", true, false),
        ("--retriever dense", true, false),
        ("wikipedia", false, false),
        // The folder has a prompt of the trials alone.
        ("--prompts mine", false, true),
        ("--preset", false, false),
        ("--format", false, false),
    ] {
        assert_eq!((pools.contains(option), trials.contains(option)), (of_pools, of_trials), "{option}: {commands:?}");
    }
    assert!(said.contains("note: no command of this figure takes --preset\n"), "{said}");
    commands.iter().for_each(|command| is_accepted(folder.path(), command));
    // HotpotQA's documents are its own: nothing is searched.
    let (commands, _) = printed(folder.path(), "ra-rag-figure-8", &typed);
    let searched = ["--corpus", "--retriever", "--embedder"];
    assert!(searched.iter().all(|option| !commands[0].contains(option)), "{commands:?}");
    assert!(commands[1].contains("--embedder contriever"), "{commands:?}");
    commands.iter().for_each(|command| is_accepted(folder.path(), command));
    let (spaced, _) = printed(folder.path(), "ra-rag-figure-8", &["-m", "my model.gguf"]);
    assert!(spaced[0].ends_with(" --model \"my model.gguf\""), "{spaced:?}");
    let (bare, said) = printed(folder.path(), "ra-rag-figure-4", &[]);
    assert_eq!(bare, PaperTable::named("ra-rag-figure-4").unwrap().made_by);
    assert_eq!(said, "");
}

/// The files of a table that are built, and the weights of its rows, are made by commands that can be copied.
#[test]
fn commands_that_make_the_data_of_tables_are_accepted() {
    let folder = tempfile::tempdir().unwrap();
    let tables: Vec<&PaperTable> = tables().filter(|table| table.key() == "ra-rag").collect();
    let data = tables.iter().flat_map(|table| table.data).map(|needed| needed.get);
    let rows = tables.iter().flat_map(|table| table.rows).map(|row| row.needs);
    let commands: BTreeSet<&str> = data.chain(rows).flat_map(|text| text.split('`').skip(1).step_by(2)).collect();
    assert!(commands.len() >= 14, "{commands:?}");
    commands.iter().for_each(|command| is_accepted(folder.path(), command));
    let one = commands.iter().filter(|command| command.contains("-one --reliability 0.5 --coverage 0.5"));
    assert!(
        one.clone().count() == 3 && one.into_iter().all(|c| c.ends_with("--estimate 0 --test 1600")),
        "{commands:?}"
    );
    let row = |table: &str, name: &str| {
        PaperTable::named(table).unwrap().rows.iter().find(|row| row.name == name).unwrap().needs
    };
    assert!(row("ra-rag-9", "entailment").contains("--variant wmv --equality entailment "));
    assert!(row("ra-rag-2", "unaligned").contains("--align-threshold 0 "));
}

#[test]
fn figures_are_written_as_pictures() {
    let folder = tempfile::tempdir().unwrap();
    let path = shown(folder.path());
    let (out, _) = said(&["simulate", "cost", "--trials", "1", "-o", &path]);
    assert!(
        out.contains(
            "| sources | WMV (paper) | RA-RAG, kappa 4 |\n|---|---|---|\n| 3 | 3.000 ±0.000 | 3.000 ±0.000 |\n"
        ),
        "{out}"
    );
    let picture = fs::read_to_string(folder.path().join("sources-cost.svg")).unwrap();
    assert!(picture.starts_with("<svg ") && picture.contains("RA-RAG, kappa 4"));
    let numbers = fs::read_to_string(folder.path().join("sources-cost.csv")).unwrap();
    let head = "sources,line,mean,low,high,trials,collapsed\n3,WMV (paper),3.000000,3.000000,3.000000,1,\n";
    assert!(numbers.starts_with(head) && numbers.lines().count() == 1 + 7 * 2, "{numbers}");
    let typed = ["simulate", "spammers", "--trials", "1", "--sources", "2", "--coverage", "0.5", "--kappa", "1"];
    let (out, _) = said(&typed);
    assert!(
        out.starts_with("Right answers by spammers among nine sources; here N 2, r 0.5, kappa 1 (spammers;"),
        "{out}"
    );
    assert!(out.contains("RA-RAG, kappa 1") && out.contains("\n| 1 | ") && !out.contains("\n| 2 | "), "{out}");
    let line = refused(&["simulate", "cost", "--sources", "4"]);
    assert!(line.contains("--sources does not apply to the figure cost") && line.contains("spammers kappa"), "{line}");
    for (option, value, wrong) in
        [("--mean", "1", "0.01 to 0.99"), ("--coverage", "2", "0 to 1"), ("--wrong", "5000", "1 to 1000")]
    {
        let line = refused(&["simulate", "copies", option, value]);
        assert!(line.contains(&format!("{option} {value}: expected a number from {wrong}")), "{line}");
    }
}

/// The whole experiment on invented questions: benchmarks, estimate, test, means, charts; the second time nothing is asked.
#[test]
fn trials_build_estimate_test_and_draw() {
    let workspace = Workspace::new();
    let typed = [
        "sources",
        "trials",
        "-o",
        "trials",
        "--vary",
        "sources",
        "--at",
        "3,4",
        "--trials",
        "2",
        "--estimate",
        "2",
        "--test",
        "3",
        "--model",
        "tiny.gguf",
        "--offline",
        "--kv-memory",
        "64M",
    ];
    let trials = || {
        let mut command = moot(typed);
        command.env("MOOT_CACHE", workspace.path("")).current_dir(workspace.path(""));
        run(command)
    };
    let output = trials();
    let said = text(&output.stdout);
    assert!(said.contains("Exact match, mean of 2 trials with its 95 % interval"), "{said}");
    assert!(said.contains("| sources | Oracle WMV | WMV | RA-RAG | kappa-RSS | MV | Naive RAG |"), "{said}");
    let rows: Vec<&str> = said.lines().filter(|line| line.starts_with("| 3 |") || line.starts_with("| 4 |")).collect();
    assert_eq!(rows.len(), 4, "a row an x, of exact match and of calls: {said}");
    // Sources answer alone: MV asks all of them, Naive RAG once.
    assert!(rows[2].ends_with(r"| 3.000 \[3.000, 3.000\] | 1.000 \[1.000, 1.000\] |"), "{}", rows[2]);
    assert!(rows[3].ends_with(r"| 4.000 \[4.000, 4.000\] | 1.000 \[1.000, 1.000\] |"), "{}", rows[3]);
    // Other options are no continuation of these trials.
    let mut command = moot(typed);
    command.args(["--mean", "0.9"]).env("MOOT_CACHE", workspace.path("")).current_dir(workspace.path(""));
    let refused = text(&command.output().unwrap().stderr);
    assert!(refused.contains("expected the benchmark of these options"), "{refused}");
    for file in ["sources-exact-match.svg", "sources-calls.svg", "sources-calls.csv", "sources-4/trial-2/sources.json"]
    {
        assert!(workspace.path(&format!("trials/{file}")).exists(), "{file}");
    }
    let weighted = Record::read(&workspace.path("trials/sources-3/trial-1/rrss-4.record.jsonl")).unwrap();
    assert_eq!(weighted.header.weights.as_ref().unwrap().name, "sources.json");
    let oracle = Record::read(&workspace.path("trials/sources-3/trial-1/oracle.record.jsonl")).unwrap();
    assert_eq!(oracle.header.weights.as_ref().unwrap().name, "oracle.json");
    // Two seeds are two benchmarks.
    let test = |trial: usize| fs::read(workspace.path(&format!("trials/sources-3/trial-{trial}/test.jsonl"))).unwrap();
    assert_ne!(test(1), test(2));
    assert_eq!(text(&trials().stdout), said);
}

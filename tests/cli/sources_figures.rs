//! Figures of sources, simulated and by trials, in processes of its own.

use super::program::{Workspace, moot, run, text};
use super::sources::{refused, said, shown};
use moot::eval::record::reader::Record;
use moot::eval::reproduce::tables;
use std::fs;

/// Every command that makes a figure of a paper is one that this program has.
#[test]
fn commands_of_figures_can_be_typed() {
    let commands: Vec<&str> = tables().flat_map(|table| table.made_by).copied().collect();
    assert!(commands.len() > 8);
    for command in commands {
        let typed = command.split_whitespace().skip(1).chain(["--help"]);
        let output = moot(typed).output().unwrap();
        assert!(output.status.success(), "{command}: {}", text(&output.stderr));
    }
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

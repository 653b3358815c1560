//! Runs in parts, dry runs and replays, by the program and by its functions.

use super::program::{Workspace, moot, run, text};
use super::{LINE, Line, ran};
use moot::cli::run as cli_run;
use moot::eval::record::reader::Record;
use moot::llm::scripted::Scripted;
use moot::protocol::ctx::Tools;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

fn sharded(folder: &Path, shard: &str, output: &str) -> Result<cli_run::Args, clap::Error> {
    let dataset = folder.join("set.jsonl");
    fs::write(&dataset, (0..7).map(|i| LINE.replace("When?", &format!("When {i}?"))).collect::<String>()).unwrap();
    let typed = ["run", dataset.to_str().unwrap(), "-o", output, "--method", "closed-book", "--shard", shard];
    <Line as clap::Parser>::try_parse_from(typed).map(|line| line.args)
}

#[test]
fn shards_are_all_questions_once() {
    let folder = tempfile::tempdir().unwrap();
    let llm = Scripted::new(|_| "Answers: [\"1902\"]".into());
    let mut parts = Vec::new();
    for part in 1..=3 {
        let path = folder.path().join(format!("{part}.jsonl"));
        let args = sharded(folder.path(), &format!("{part}/3"), path.to_str().unwrap()).unwrap();
        ran(&args, Tools::new(&llm)).unwrap();
        parts.push(path);
    }
    let ids = |path: &Path| -> Vec<String> {
        Record::read(path).unwrap().questions.into_iter().map(|q| q.question.text).collect()
    };
    assert_eq!(ids(&parts[1]).into_iter().collect::<BTreeSet<_>>(), ["When 1?", "When 4?"].map(str::to_owned).into());
    let whole = folder.path().join("whole.jsonl");
    let paths: Vec<&str> = parts.iter().map(|path| path.to_str().unwrap()).collect();
    let merged = run(moot(["record", "merge"].into_iter().chain(paths).chain(["-o", whole.to_str().unwrap()])));
    assert!(text(&merged.stdout).ends_with("whole.jsonl: 7 of 7 questions\n"), "{merged:?}");
    assert_eq!(ids(&whole).into_iter().collect::<BTreeSet<_>>().len(), 7);
    let hashes = run(moot(["record", "verify", whole.to_str().unwrap(), "--hashes"]));
    assert!(text(&hashes.stdout).contains("lines are as they were written"), "{hashes:?}");
    for wrong in ["0/3", "4/3", "1", "a/b", "1/0", "-1/2"] {
        assert!(sharded(folder.path(), wrong, "x.jsonl").is_err(), "{wrong}");
    }
}

#[test]
fn a_dry_run_counts_measures_and_writes_nothing() {
    let workspace = Workspace::new();
    let dry = || {
        let mut command = workspace.run_of(1, "out.jsonl");
        command.arg("--dry-run");
        text(&run(command).stdout)
    };
    let said = dry();
    assert!(!workspace.path("out.jsonl").exists());
    assert!(said.starts_with("Questions  3 to ask\nCalls      "), "{said}");
    assert!(said.contains("rounds x (documents + 1)") && said.contains("agent: "), "{said}");
    assert!(said.contains("Tokens     ") && said.contains("Time       about "), "{said}");
    // Two rounds at most and at least: all replies alike end the debate then, others do at the limit.
    let calls: usize =
        said.lines().find_map(|line| line.strip_prefix("Calls      ")?.split(' ').next()?.parse().ok()).unwrap();
    // A record that a kill cut short in its header is begun anew by the run.
    for begun in ["", "{\"moot_record\":3,\"prog"] {
        fs::write(workspace.path("out.jsonl"), begun).unwrap();
        assert!(dry().starts_with("Questions  3 to ask\nCalls      "), "{begun:?}");
        assert_eq!(fs::read_to_string(workspace.path("out.jsonl")).unwrap(), begun);
    }
    run(workspace.run_of(1, "out.jsonl"));
    let recorded: usize =
        Record::read(&workspace.path("out.jsonl")).unwrap().questions.iter().map(|q| q.calls.len()).sum();
    assert_eq!(calls, recorded);
    assert!(dry().starts_with("Questions  0 to ask\n           3 are recorded, 0 calls"), "{}", dry());
    let mut other = workspace.run_of(1, "out.jsonl");
    let refused = other.args(["--dry-run", "--seed", "7"]).output().unwrap();
    assert_eq!(refused.status.code(), Some(2));
    assert!(text(&refused.stderr).contains("settings.seed 0 there, 7 now"), "{refused:?}");
    // An altered line is refused as by the run, and the record stays as it is.
    let altered = fs::read_to_string(workspace.path("out.jsonl")).unwrap().replacen("\"reply\":\"", "\"reply\":\"x", 1);
    fs::write(workspace.path("out.jsonl"), &altered).unwrap();
    let errors = [Some("--dry-run"), None].map(|option| {
        let refused = workspace.run_of(1, "out.jsonl").args(option).output().unwrap();
        assert_eq!(refused.status.code(), Some(1), "{option:?}: {refused:?}");
        text(&refused.stderr).lines().find(|line| line.contains("expected a line as it was written")).map(str::to_owned)
    });
    assert!(errors[0].is_some() && errors[0] == errors[1], "{errors:?}");
    assert_eq!(fs::read_to_string(workspace.path("out.jsonl")).unwrap(), altered);
}

#[test]
fn a_replay_needs_no_model_and_is_a_record() {
    let workspace = Workspace::new();
    run(workspace.run_of(1, "out.jsonl"));
    let here = |typed: &[&str]| {
        let mut command = moot(typed.iter().copied());
        command.current_dir(workspace.path(""));
        command
    };
    fs::remove_file(workspace.path("tiny.gguf")).unwrap();
    let said = text(&run(here(&["record", "replay", "out.jsonl", "-o", "again.jsonl"])).stdout);
    assert!(
        said.starts_with("3 questions, ") && said.contains("0 with other prompts, 0 replies parsed otherwise"),
        "{said}"
    );
    let again = Record::read(&workspace.path("again.jsonl")).unwrap();
    assert_eq!(again.header.replayed.unwrap().chain, Record::read_whole(&workspace.path("out.jsonl")).unwrap().1.chain);
    let changed = text(&run(here(&["compare", "out.jsonl", "again.jsonl", "--changed"])).stdout);
    assert!(changed.contains("0 of 3 questions differ"), "{changed}");
    let json: Value = serde_json::from_slice(&run(here(&["record", "replay", "out.jsonl", "--json"])).stdout).unwrap();
    assert_eq!((&json["report"]["questions"], &json["report"]["unused"]), (&3.into(), &0.into()));
    assert_eq!(
        here(&["record", "replay", "out.jsonl", "-o", "again.jsonl"]).output().unwrap().status.code(),
        Some(2),
        "it exists"
    );
    let altered = fs::read_to_string(workspace.path("out.jsonl")).unwrap().replacen("\"reply\":\"", "\"reply\":\"x", 1);
    fs::write(workspace.path("altered.jsonl"), altered).unwrap();
    let refused = here(&["record", "replay", "altered.jsonl"]).output().unwrap();
    assert_eq!(refused.status.code(), Some(1));
    assert!(text(&refused.stderr).contains("expected a line as it was written"), "{refused:?}");
}
